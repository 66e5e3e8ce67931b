"""What a student learns of bridged judgments: criteria, guidelines, and the forward judgments that were confirmed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from ...data.case import digest
from ...judging.judge import fenced
from ...programs.fennec import MOST_BRANCHES, Fennec
from ..rendering import written_row
from ..row import TrainingRow
from ..swap import swapped
from .bridged import PROGRAM, Bridged
from .judgment import ReadCounts
from .statistics import SetStatistics

LEVEL_FIELDS = ("score_1", "score_2", "score_3", "score_4", "score_5", "comparison")


@dataclass(frozen=True)
class BridgedRows:
    """The rows of bridged judgments.

    Attributes:
        rows: of criteria, guidelines and judgments.
        statistics: by set.
    """

    rows: tuple[TrainingRow, ...]
    statistics: tuple[SetStatistics, ...]


@dataclass
class _Kept:
    """The judgments of one set that were kept, and counts of the others."""

    bridged: list[Bridged] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    disagreed: int = 0


def rows_of_bridged(bridged: Iterable[Bridged], counts: Mapping[str, ReadCounts] | None = None) -> BridgedRows:
    """The rows of the judgments that are confirmed, and what became of all.

    Args:
        counts: what was read of each set, for the statistics.
    """
    forward, by_source = Fennec(), defaultdict[str, _Kept](_Kept)
    for judged in bridged:
        of_set = by_source[judged.judgment.source]
        if judged.failure:
            of_set.failed[judged.failure] += 1
        elif judged.agrees:
            of_set.bridged.append(judged)
        else:
            of_set.disagreed += 1
    rows, statistics = list[TrainingRow](), list[SetStatistics]()
    for source, of_set in sorted(by_source.items()):
        chosen = sorted(of_set.bridged, key=lambda judged: judged.id)
        of_source = [*criteria_rows(chosen, forward), *(row for judged in chosen for row in rows_of(judged, forward))]
        rows += of_source
        statistics.append(_statistics(source, of_set, chosen, of_source, (counts or {}).get(source, ReadCounts())))
    return BridgedRows(tuple(rows), tuple(statistics))


def rows_of(bridged: Bridged, forward: Fennec) -> Iterator[TrainingRow]:
    """The rows of one judgment: its guideline where that is whole, and the forward judgment, a pair in both orders."""
    judgment, source = bridged.judgment, f"bridged:{bridged.judgment.source}"
    levels = levels_of(judgment.guideline)
    if levels is not None and all(levels.values()):
        yield written_row(
            forward.write_guideline,
            {"request": fenced(judgment.request), "criterion": judgment.criterion},
            levels,
            task=f"{PROGRAM}.guideline",
            case_id=judgment.id,
            group=digest(judgment.request),
            source=source,
        )
    for trace in bridged.traces:
        for shown in filter(None, (trace, swapped(trace))):
            yield shown.row(source=source)


def criteria_rows(bridged: Sequence[Bridged], forward: Fennec) -> Iterator[TrainingRow]:
    """For each request the row that teaches the criteria by which its responses were judged, in order, at most ten."""
    by_request: dict[str, dict[str, str]] = defaultdict(dict)
    for filled in bridged:
        criterion = filled.judgment.criterion
        by_request[filled.judgment.request].setdefault(criterion.casefold(), criterion)
    for request, criteria in by_request.items():
        named = list(criteria.values())[:MOST_BRANCHES]
        yield written_row(
            forward.find_criteria,
            {"request": fenced(request), "count": len(named)},
            {"criteria": named},
            task=f"{PROGRAM}.criteria",
            case_id=f"request/{digest(request)}",
            group=digest(request),
            source=f"bridged:{bridged[0].judgment.source}",
        )


def levels_of(guideline: str) -> dict[str, str] | None:
    """The fields of a guideline's answer; None where a level is missing.

    A set's rubric may lack the sentence on how the levels differ; that field is empty then.

    Example:
        >>> levels_of("1: bad\\n2: poor\\n3: fair\\n4: good\\n5: best\\nLook at: facts")["score_4"]
        'good'
    """
    starts = {**{f"{level}: ": f"score_{level}" for level in range(1, 6)}, "Look at: ": "comparison"}
    fields: dict[str, list[str]] = {}
    current: list[str] = []
    for line in guideline.splitlines():
        start = next((start for start in starts if line.startswith(start) and starts[start] not in fields), "")
        if start:
            current = fields[starts[start]] = [line[len(start) :]]
        else:
            current.append(line)
    if not set(LEVEL_FIELDS[:5]) <= set(fields):
        return None
    return {name: "\n".join(fields.get(name, [])).strip() for name in LEVEL_FIELDS}


def _statistics(
    source: str, of_set: _Kept, chosen: Sequence[Bridged], rows: Sequence[TrainingRow], read: ReadCounts
) -> SetStatistics:
    tasks = Counter(row.task.removeprefix(f"{PROGRAM}.") for row in rows)
    judged = len(chosen) + of_set.disagreed + of_set.failed.total()

    def mean_words(texts: Iterable[str]) -> float:
        return round(fmean([len(text.split()) for text in texts] or [0]), 1)

    return SetStatistics(
        source=source,
        rows=read.rows or judged,
        left_out=dict(read.left_out),
        judgments=read.judgments or judged,
        failed=dict(of_set.failed),
        disagreed=of_set.disagreed,
        confirmed=len(chosen),
        criteria=tasks["criteria"],
        guidelines=tasks["guideline"],
        pairwise=tasks["pairwise"],
        single=tasks["single"],
        criterion_words=mean_words(bridged.judgment.criterion for bridged in chosen),
        guideline_words=mean_words(bridged.judgment.guideline for bridged in chosen),
        judgment_words=mean_words(bridged.judgment.judgment for bridged in chosen),
    )
