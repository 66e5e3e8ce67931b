"""Of several verdicts of one case the last counts."""

from collections.abc import Iterable, Iterator, Mapping

from ..data import Judged
from ..engines.jsonl import key


def repeated_cases(verdicts: Iterable[Judged]) -> tuple[dict[int, int], int]:
    """The place of the last verdict of each case that has several, by the hash of its id; and how many do not count."""
    seen: set[int] = set()
    last: dict[int, int] = {}
    count = 0
    for place, judged in enumerate(verdicts):
        name = key(judged.case_id)
        if name in seen:
            last[name] = place
            count += 1
        seen.add(name)
    return last, count


def last_verdicts(verdicts: Iterable[Judged], last: Mapping[int, int]) -> Iterator[Judged]:
    """The verdicts that count; `last` as `repeated_cases` gives it for the same verdicts."""
    for place, judged in enumerate(verdicts):
        if last.get(key(judged.case_id), place) == place:
            yield judged
