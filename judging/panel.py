"""A panel: several judges, or several samples of one, whose verdicts are pooled into one (panels: arXiv 2404.18796).

    mean, median    of the members' scores, candidate by candidate; the certainty is the share that names the winner
    majority        of the winners; equal counts are a tie
    probability     the mean of the members' distributions over winners

A member without a verdict is left out and noted; when every member fails the panel's verdict is unscored. So it is when
a member's server failed or its budget was used up: the next run asks that member again.
"""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..data import Case, Verdict
from ..data.case import Letter
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from .aggregate import best
from .category_verdict import category_of
from .composite import Composite, findings_of
from .evidence_reading import measured_of
from .hparam import HParam
from .judge import Judge
from .sampling import sampled

POOLS = ("mean", "median", "majority", "probability")
PASSING = ("infrastructure", "budget")  # reasons that say nothing of the case, and pass


class Panel(Composite):
    """Pools the verdicts of its members.

    Args:
        members: judges; each has its own LMs.
        pool: "mean", "median", "majority" or "probability".
        samples: how often each member judges, at temperature 0.7 where it writes; 1 is greedy. What is read from
            probabilities is the same in every sample.
    """

    name = "panel"

    def __init__(self, members: Sequence[Judge], *, pool: str = "majority", samples: int = 1) -> None:
        super().__init__(members)
        self.pool = HParam("majority", POOLS)
        self.samples = HParam(1, range(1, 101), search=(1, 3, 5))
        self.set(pool=pool, samples=samples)

    def assess(self, case: Case) -> Verdict:
        seats = [(member, draw) for member in self.members for draw in range(self.samples.value)]
        verdicts = concurrently(lambda seat: self._judged(case, *seat), seats)
        names = self._seats()
        scored = {name: verdict for name, verdict in zip(names, verdicts, strict=True) if verdict.status == "scored"}
        absent = [
            f"{name}: {verdict.reason or verdict.status}"
            for name, verdict in zip(names, verdicts, strict=True)
            if name not in scored
        ]
        passing = [verdict for verdict in verdicts if verdict.reason in PASSING]
        if passing or not scored:
            return (passing or verdicts)[0]
        pooled = pool(list(scored.values()), self.pool.value, len(case.candidates))
        agreed = [v.consistent for v in scored.values() if v.consistent is not None and not v.by_head]
        notes = dict.fromkeys([*absent, *(note for verdict in scored.values() for note in verdict.notes)])
        return Verdict(
            case_id=case.id,
            findings=findings_of(scored.items()),
            rationale="\n".join(
                f"{name}: {verdict.rationale}" for name, verdict in scored.items() if verdict.rationale
            ),
            consistent=None if len(agreed) < len(scored) else all(agreed),
            measured=measured_of(list(scored.items())),
            notes=tuple(notes),
            **pooled,
        )

    def _judged(self, case: Case, member: Judge, draw: int) -> Verdict:
        """A member's verdict; its calls are charged to the panel's ledger as well."""
        if self.samples.value == 1:
            return member(case)  # type: ignore[no-any-return]
        with sampled(draw + 1):
            return member(case)  # type: ignore[no-any-return]

    def _seats(self) -> list[str]:
        """One name a seat: the member's, and the draw."""
        if self.samples.value == 1:
            return self._names()
        return [f"{name} sample {draw + 1}" for name in self._names() for draw in range(self.samples.value)]


def pool(verdicts: Sequence[Verdict], how: str, candidates: int) -> dict[str, Any]:
    """The pooled winner, scores, distribution and certainty.

    Raises:
        DeclarationError: a pool of scores or of probabilities, and a member without any.
    """
    of_categories = all(verdict.category is not None for verdict in verdicts)
    scores = _pooled_scores(verdicts, statistics.median if how == "median" else _mean)
    if how in ("mean", "median"):
        if scores is None:
            raise DeclarationError(f"panel: pool={how} needs scores, and a member gives none. Use majority.")
        if candidates == 1:
            return {"scores": scores}
        named = best(scores)
        agreeing = [verdict.winner == named for verdict in verdicts]
        return {"scores": scores, "winner": named, "certainty": sum(agreeing) / len(agreeing)}
    if how == "majority":
        counts = Counter(verdict.answer for verdict in verdicts if verdict.answer is not None)
        if not counts:
            raise DeclarationError("panel: pool=majority needs winners, and single texts have none. Use mean.")
        shares = {name: n / counts.total() for name, n in sorted(counts.items())}
    else:
        if any(verdict.distribution is None for verdict in verdicts):
            raise DeclarationError(
                "panel: pool=probability needs distributions, and a member gives none. Use majority."
            )
        distributions: list[Mapping[str, float]] = [verdict.distribution or {} for verdict in verdicts]
        labels = sorted({label for distribution in distributions for label in distribution})
        shares = {label: _mean([distribution.get(label, 0.0) for distribution in distributions]) for label in labels}
        if candidates == 1 and not of_categories:
            return {"scores": scores, "distribution": shares, "certainty": max(shares.values())}
    if of_categories:
        order = list(verdicts[0].distribution or shares)
        pooled = category_of({name: shares.get(name, 0.0) for name in (*order, *shares)})
        return {"scores": scores, **pooled}
    top = [name for name, share in shares.items() if share == max(shares.values())]
    winner: Letter | int = "tie" if len(top) > 1 else _winner(top[0])
    return {"winner": winner, "scores": scores, "distribution": shares, "certainty": shares.get(str(winner), 0.0)}


def _pooled_scores(verdicts: Sequence[Verdict], average: Any) -> tuple[float, ...] | None:
    if any(verdict.scores is None for verdict in verdicts):
        return None
    return tuple(average(column) for column in zip(*(verdict.scores or () for verdict in verdicts), strict=True))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _winner(name: str) -> Any:
    return int(name) if name.isdigit() else name
