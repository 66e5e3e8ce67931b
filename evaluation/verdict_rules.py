"""How the verdicts that were asked in both orders count, and those without an answer.

    merge       sum     a vote for a and a tie make a; a and b make a tie: the sum of the two orders' letters
                tie     a letter where both orders name it, else a tie
                half    each order is an answer that counts by one half, so that accuracy is the mean of the orders
    unreadable  out     a verdict without an answer is left out of every measure but coverage
                wrong   it counts as an answer that no label has, as LLMBar (arXiv 2310.07641), JudgeBench (arXiv
                        2410.12784) and Fennec (arXiv 2405.12163) count it; where a judge was asked in both orders,
                        so does an order without an answer

A case of which only one order could be read has the verdict of that order, whichever it is; with `wrong` and `tie` it
has no answer, as the two orders do not agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..data import Judged, Scores
from ..data.case import Letter
from ..errors import DeclarationError

Merge = Literal["tie", "sum", "half"]
Unreadable = Literal["out", "wrong"]
MERGES: tuple[Merge, ...] = get_args(Merge)
UNREADABLE: tuple[Unreadable, ...] = get_args(Unreadable)
NO_ANSWER = "no answer"  # the label of a verdict that counts as wrong whatever people say
NOT_ASKED = ("missing_field", "infrastructure", "budget", "internal")  # reasons that say nothing about the judge
TO_FIRST: dict[Letter, int] = {"a": 1, "tie": 0, "b": -1}


@dataclass(frozen=True)
class VerdictRules:
    """How verdicts count.

    Attributes:
        merge: how the two orders make one verdict; None: the run's own verdict.
        unreadable: whether a verdict without an answer is left out or wrong.

    Raises:
        DeclarationError: a rule with another name.
    """

    merge: Merge | None = None
    unreadable: Unreadable = "out"

    def __post_init__(self) -> None:
        if self.merge is not None and self.merge not in MERGES:
            raise DeclarationError(f"merge: {self.merge!r} is not known. Give one of {', '.join(MERGES)}.")
        if self.unreadable not in UNREADABLE:
            raise DeclarationError(f"unreadable: {self.unreadable!r} is not known. Give {' or '.join(UNREADABLE)}.")

    @property
    def named(self) -> dict[str, str]:
        """The rules that a user named, for the signature line."""
        return ({"merge": self.merge} if self.merge else {}) | (
            {"unreadable": self.unreadable} if self.unreadable != "out" else {}
        )


AS_THE_RUN_HAS_IT = VerdictRules()


def merged(first: Letter, second: Letter, merge: Merge | None) -> Letter:
    """The verdict of two orders; of `half`, which has two, that of the sum."""
    if merge == "tie":
        return first if first == second else "tie"
    total = TO_FIRST[first] + TO_FIRST[second]
    return "a" if total > 0 else "b" if total < 0 else "tie"


def merged_verdict(judged: Judged, merge: Merge | None) -> Judged:
    """The verdict with the winner that the rule makes of its two orders; without a rule or two orders as it is.

    Where the winner changes, the certainty becomes the distribution's probability of the new one, if it has any.
    """
    orders = judged.order_winners
    if merge is None or judged.status != "scored" or len(orders) < 2:
        return judged
    winner = merged(orders["ab"], orders["ba"], merge)
    if winner == judged.winner:
        return judged
    certainty = judged.certainty if judged.distribution is None else judged.distribution.get(winner)
    return judged.model_copy(update={"winner": winner, "certainty": certainty})


def is_wrong(judged: Judged, rules: VerdictRules) -> bool:
    """Whether an unscored verdict counts as a wrong one: the judge was asked, and answered nothing that can be read."""
    has_winners = not (isinstance(judged.label, Scores) and len(judged.label.values) != 2)
    unanswered = judged.status == "unscored" and judged.reason not in NOT_ASKED
    return rules.unreadable == "wrong" and unanswered and has_winners


def mark_unread(rows: Sequence[dict[str, Any]], merge: Merge | None) -> None:
    """Give the orders without an answer the label `NO_ANSWER`, in the rows of a run of which such answers are wrong.

    The orders of a run are both where any case has both, else the one order that all its cases have; with several
    single orders it is not known which one an unread case was asked in.

    Args:
        rows: with `winner`, `orders` and `consistent`, of the verdicts that have a winner; changed in place.
    """
    both = any(len(row["orders"]) == 2 for row in rows)
    presented = {order for row in rows for order in row["orders"]}
    presented = presented if both or len(presented) == 1 else set()
    compared = any(row["consistent"] is not None for row in rows)
    for row in rows:
        missing = presented - set(row["orders"]) if row["winner"] is not None else set()
        row["orders"] = row["orders"] | dict.fromkeys(missing, NO_ANSWER)
        if (both and missing) or (compared and row["winner"] == NO_ANSWER):
            row["consistent"] = False
        if both and missing and merge == "tie":
            row["winner"] = NO_ANSWER


def answers_of(row: dict[str, Any], merge: Merge | None) -> tuple[str | None, ...]:
    """What counts as the row's answer: its winner, or with `half` the winners of both orders."""
    if merge != "half":
        return (row["winner"],)
    known = [row["orders"][order] for order in ("ab", "ba") if order in row["orders"]]
    return (known[0], known[-1]) if known else (row["winner"], row["winner"])
