"""Cases with categories are judged by programs that name one, which is checked before the first call."""

from collections.abc import Iterator
from itertools import chain

from ..data import Case
from ..errors import DataError
from ..judging.composite import Composite
from ..judging.judge import Judge


def of_namable(judge: Judge, cases: Iterator[Case]) -> Iterator[Case]:
    """The same cases, of which the first has been looked at.

    Raises:
        DataError: it has categories, and the judge gives scores alone.
    """
    first = next(cases, None)
    if first is None:
        return iter(())
    if first.categories and _gives_scores(judge):
        compiled = f"; or fit it to labels: dicast compile {judge.name}" if len(first.categories) == 2 else ""
        raise DataError(
            f"judge {judge.name!r}: case {first.id!r} is of {', '.join(first.categories)}, and it gives scores. "
            f"Use direct, or a rubric{compiled}."
        )
    return chain([first], cases)


def _gives_scores(judge: Judge) -> bool:
    """Whether it names no category, as it is; of several judges, whether none does."""
    if isinstance(judge, Composite):
        return judge.head is None and all(map(_gives_scores, judge.members))
    return judge.scores_only and judge.head is None
