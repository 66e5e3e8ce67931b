"""What fewer criteria would have said: verdicts from a part of a run's findings, without an LM call.

Fennec's sweep of its branch count (arXiv 2405.12163, section 5) from one run with the most branches. Criteria are asked
for once, `count` of them, so n here means the first n that the model names when it is asked for all; asked for n alone
it may name others. Where fewer criteria than n were found, all of them count.
"""

from typing import TypeVar

from ..data import Verdict
from ..errors import DeclarationError
from .judge import rationale_of
from .merge import conclude

AnyVerdict = TypeVar("AnyVerdict", bound=Verdict)


def criteria(verdict: Verdict) -> list[str]:
    """The criteria of a verdict's readings in the order in which they were judged; factors are none."""
    return list(dict.fromkeys(finding.criterion for finding in verdict.findings if not finding.is_factor))


def first_branches(verdict: AnyVerdict, n: int, candidates: int = 2, **rules: float) -> AnyVerdict:
    """The verdict that the first n criteria alone give; with all of them it is the verdict itself.

    Corrections stay only with all criteria, for they were written from all; `usage` is always that of the whole run.

    Args:
        verdict: of a judge whose verdict is the merge of its findings (fennec); one without a score stays as it is.
        n: at least 1.
        candidates: how many were judged.
        rules: the judge's own `tie_threshold` and `score_weight`, as `merge.conclude` takes them.

    Raises:
        DeclarationError: n below 1, or a panel's verdict: its members are pooled, not merged.
    """
    if n < 1:
        raise DeclarationError(f"sweep: n must be at least 1, got {n}.")
    if verdict.status != "scored":
        return verdict
    if any(finding.member for finding in verdict.findings):
        raise DeclarationError(f"sweep: case {verdict.case_id!r} was judged by a panel. Give a run of fennec.")
    found = criteria(verdict)
    kept = tuple(finding for finding in verdict.findings if finding.criterion in found[:n])
    return verdict.model_copy(
        update={
            "findings": kept,
            "rationale": rationale_of(kept),
            "corrections": verdict.corrections if n >= len(found) else (),
            **conclude(kept, candidates, **rules),
        }
    )
