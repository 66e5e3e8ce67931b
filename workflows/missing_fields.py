"""Cases without a field that a judge reads: where no case has it, that is said before anything is asked or loaded."""

from collections.abc import Iterable, Iterator
from itertools import chain

from ..data import Case
from ..errors import MissingField
from ..judging.judge import Judge

MOST_READ = 10_000  # cases that are looked at before the first case is judged


def with_fields(judge: Judge, cases: Iterable[Case]) -> Iterator[Case]:
    """The same cases, read up to the first that has what the judge reads.

    Those without it are unscored and cost no call, so after `MOST_READ` of them the judging begins all the same.

    Raises:
        MissingField: no case has it.
    """
    remaining, read_cases, missing = iter(cases), list[Case](), ""
    for case in remaining:
        read_cases.append(case)
        lacking = judge.lacks(case)
        missing = missing or lacking
        if not lacking or len(read_cases) == MOST_READ:
            return chain(read_cases, remaining)
    if read_cases:
        raise MissingField(f"no case has what the judge reads; of the first one: {missing}")
    return iter(())
