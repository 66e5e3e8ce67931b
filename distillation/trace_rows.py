"""Rows of traces: written answers that came out right, in both orders, and soft targets of one-token questions.

Written answers (criteria, guidelines, judgments, reviews, corrections) pass rejection sampling and the consistency
filter, and judgments of a pair that were asked in one order only are added in the other. One-token questions are not
filtered: their targets are those of people and of the verdict over both orders (see `soft_targets`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .consistency import consistent
from .rejection import TOLERANCE, accepted
from .row import TrainingRow
from .soft_targets import Targets, soft_rows
from .swap import swapped
from .trace import Trace


@dataclass(frozen=True)
class TraceRows:
    """Rows, and what became of the traces.

    Attributes:
        rows: of one-token questions first.
        counts: by what happened, in words; for the data card.
    """

    rows: tuple[TrainingRow, ...]
    counts: Mapping[str, int]


def rows_of_traces(
    traces: Iterable[Trace],
    targets: Targets = "both",
    *,
    human_weight: float = 0.5,
    swap: bool = True,
    filtered: bool = True,
    unchecked: bool = False,
    tolerance: float = TOLERANCE,
) -> TraceRows:
    """The rows of traces.

    Args:
        targets: of one-token questions, see `soft_rows`; with "labels" written answers are learnt of labelled cases
            only.
        human_weight: as of `soft_rows`.
        swap: add the other order of judgments that were asked in one order only.
        filtered: drop judgments that differ between the orders.
        unchecked, tolerance: as of `rejection.accepted`.
    """
    traces = list(traces)
    counts: Counter[str] = Counter()
    if swap:
        traces, added = with_both_orders(traces)
        counts += added
    soft = soft_rows(traces, targets, human_weight=human_weight)
    counts.update({f"one-token targets: {origin}": n for origin, n in soft.counts.items()})
    written = [
        trace for trace in traces if not trace.probabilities and (targets != "labels" or trace.label is not None)
    ]
    sampled = accepted(written, tolerance=tolerance, unchecked=unchecked)
    counts.update({f"cases with written answers: {reason}": n for reason, n in sampled.counts.items()})
    chosen: Sequence[Trace] = sampled.traces
    if filtered:
        chosen, differing = consistent(chosen)
        counts["written judgments that differ between the orders"] = differing
    return TraceRows((*soft.rows, *(trace.row() for trace in chosen)), +counts)


def with_both_orders(traces: Sequence[Trace]) -> tuple[list[Trace], Counter[str]]:
    """The traces, each judgment of one order followed by that of the other order; and how many were added or could not.

    A judgment of a case whose question was asked in both orders is as it is.
    """
    orders: dict[tuple[str, str], set[str]] = {}
    for trace in traces:
        if trace.order is not None:
            orders.setdefault((trace.case_id, trace.task), set()).add(trace.order)
    result, counts = list[Trace](), Counter[str]()
    for trace in traces:
        result.append(trace)
        if trace.order is None or len(orders[trace.case_id, trace.task]) == 2:
            continue
        if (other := swapped(trace)) is not None:
            result.append(other)
        counts["judgments swapped" if other is not None else "judgments that cannot be swapped"] += 1
    return result, counts
