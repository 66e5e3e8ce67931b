"""A judge whose accuracy and cost by setting are known, so that a search over its settings has a known answer."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from dicast.data import Case, Finding, Judged, Usage, Verdict
from dicast.engines.ledger import charge
from dicast.errors import DeclarationError
from dicast.judging.hparam import HParam
from dicast.judging.judge import Judge, verdict_of

CARE = {"plain": 0.60, "careful": 0.75, "sloppy": 0.45, "broken": 0.0}
VOTES = {1: 0.0, 3: 0.06, 5: 0.08}
ORDER = {"both": 0.05, "one": 0.0}
SPACE: dict[str, list[Any]] = {"care": ["plain", "careful", "sloppy"], "votes": [1, 3, 5], "order": ["both", "one"]}
# Worked out by hand from the tables above: accuracy and calls of the structures that no other one beats.
FRONT = [(0.75, 1), (0.80, 2), (0.81, 3), (0.83, 5), (0.86, 6), (0.88, 10)]


def truth(care: str, votes: int, order: str) -> tuple[float, int]:
    """The accuracy and the calls a verdict of these settings."""
    return round(CARE[care] + VOTES[votes] + ORDER[order], 2), votes * (2 if order == "both" else 1)


def everything() -> dict[tuple[str, int, str], tuple[float, int]]:
    return {point: truth(*point) for point in product(*SPACE.values())}


class Known(Judge):
    """Right on the cases whose ease is below its accuracy; `care="broken"` refuses to judge.

    Args:
        silent: the share of cases, the hardest, that sloppy judges leave unscored.
    """

    name = "known"

    def __init__(self, *, care: str = "plain", votes: int = 1, order: str = "both", silent: float = 0.0) -> None:
        super().__init__()
        self.care = HParam(care, tuple(CARE))
        self.votes = HParam(votes, (1, 3, 5))
        self.order = HParam(order, ("both", "one"))
        self.silent = silent

    def assess(self, case: Case) -> Verdict:
        if self.care.value == "broken":
            raise DeclarationError("judge 'known': care=broken judges nothing. Use another.")
        accuracy, calls = truth(self.care.value, self.votes.value, self.order.value)
        charge(Usage(calls=calls, prompt_tokens=90 * calls, completion_tokens=10 * calls))
        ease = case.meta["ease"]
        if self.care.value == "sloppy" and ease > 1 - self.silent:
            return Verdict(case_id=case.id, status="unscored", reason="parse_failure")
        assert case.label is not None
        said, other = (str(case.label.winner), "b" if case.label.winner == "a" else "a")
        if ease > accuracy:
            said, other = other, said
        return verdict_of(case, [Finding(criterion="known", distribution={said: 0.8, other: 0.2})])


def known_cases(n: int = 100, *, groups: int | None = None) -> list[Case]:
    """Labelled pairs whose ease runs evenly over (0, 1), so that the share of right verdicts is the accuracy itself.

    A group's cases are spread over all degrees of ease.
    """
    return [
        Case(
            id=f"{index:04}",
            query=f"question {index}",
            candidates=[{"text": "x"}, {"text": "y"}],
            label={"value": "ab"[index * 7 % 5 % 2]},
            group=f"group {index % (groups or n)}",
            meta={"ease": (index + 0.5) / n},
        )
        for index in range(n)
    ]


def measured(judge: Judge, cases: Sequence[Case]) -> list[Judged]:
    return [Judged.of(case, judge(case)) for case in cases]
