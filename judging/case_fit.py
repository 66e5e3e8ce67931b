"""Whether a judge can judge a case at all: its kind, and what it reads of it. Nothing is asked before that is known."""

from collections.abc import Callable

from ..data import Case
from ..errors import DeclarationError, MissingField


def check_case(name: str, case: object, lacks: Callable[[Case], str], *, pairs_only: bool) -> None:
    """Whether the judge of this name can judge the case.

    Args:
        lacks: as of the judge.
        pairs_only: whether it can judge nothing but pairs.

    Raises:
        DeclarationError: no case, or none of the judge's kind.
        MissingField: a case without something that the judge reads.
    """
    if not isinstance(case, Case):
        raise DeclarationError(f"judge {name!r}: a {type(case).__name__} is not a case. Give a dicast.Case.")
    if pairs_only and not case.is_pair:
        raise DeclarationError(
            f"judge {name!r}: case {case.id!r} has {len(case.candidates)} candidates, not two. "
            "Use a judge of single texts (dicast list)."
        )
    if missing := lacks(case):
        raise MissingField(missing)
