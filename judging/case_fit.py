"""Whether a judge can judge a case at all: its kind, and what it reads of it. Nothing is asked before that is known."""

from typing import TYPE_CHECKING

from ..data import Case
from ..errors import DeclarationError, MissingField

if TYPE_CHECKING:
    from .judge import Judge


def check_case(judge: "Judge", case: object) -> None:
    """Whether the judge can judge the case.

    Raises:
        DeclarationError: no case, or none of the judge's kind.
        MissingField: a case without something that the judge reads.
    """
    if not isinstance(case, Case):
        raise DeclarationError(f"judge {judge.name!r}: a {type(case).__name__} is not a case. Give a dicast.Case.")
    if judge.pairs_only and not case.is_pair:
        raise DeclarationError(
            f"judge {judge.name!r}: case {case.id!r} has {len(case.candidates)} candidates, not two. "
            "Use a judge of single texts (dicast list)."
        )
    if missing := judge.lacks(case):
        raise MissingField(missing)
