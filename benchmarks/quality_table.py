"""The figures of `benchmarks/quality.py`: rows of values by dealing, their intervals and differences, and the table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from dicast.benchmarks.quality_rivals import Recorded
from dicast.data import Case, Scores, Verdict
from dicast.stats.resampling import Estimate, bootstrap

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A rival on a set: per case and dealing whether it is right, or its score; NaN where it was not judged."""

    name: str
    values: Floats  # (dealings, n)
    calls: float
    tokens: float

    @property
    def means(self) -> Floats:
        """(n,) means over the dealings in which the case was judged."""
        seen = np.isfinite(self.values)
        means: Floats = np.where(seen, self.values, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        return means


def row_of(
    name: str, dealings: Sequence[tuple[Sequence[int], Sequence[Verdict]]], cases: Sequence[Case], column: int
) -> Row:
    values = np.full((len(dealings), len(cases)), math.nan)
    for dealing, (indices, verdicts) in enumerate(dealings):
        for index, verdict in zip(indices, verdicts, strict=True):
            values[dealing, index] = values_of(cases[index], verdict)[column]
    return Row(name, values, 0.0, 0.0)


def values_of(case: Case, verdict: Verdict) -> tuple[float, float]:
    """Whether the verdict is the label, and its score; NaN where it has none. An unscored verdict is wrong."""
    label = case.label.winner if case.label is not None else None
    right = math.nan if label is None else float(verdict.status == "scored" and verdict.winner == label)
    score = verdict.scores[0] if verdict.scores and len(case.candidates) == 1 else math.nan
    return right, score


def figure_of(row: Row, data: Recorded, other: Row | None = None) -> Estimate:
    """The figure of a row with its interval, or its difference to another row's."""
    aspects = np.array([case.aspect or "" for case in data.cases])
    people = np.array([case.label.values[0] if isinstance(case.label, Scores) else math.nan for case in data.cases])
    seen = np.flatnonzero(
        np.isfinite(row.values).any(axis=0) & (other is None or np.isfinite(other.values).any(axis=0))
    )
    first, second = row.means, None if other is None else other.means

    def of(values: Floats, rows: NDArray[np.intp]) -> float:
        if np.isnan(people).all():
            return float(values[rows].mean())
        figures = [
            float(spearmanr(values[part], people[part]).statistic)
            for aspect in np.unique(aspects[rows])
            if np.ptp(people[part := rows[aspects[rows] == aspect]]) and np.ptp(values[part])
        ]
        return float(np.mean(figures)) if figures else 0.0

    def statistic(drawn: NDArray[np.intp]) -> float:
        return of(first, seen[drawn]) - (0.0 if second is None else of(second, seen[drawn]))

    return bootstrap(statistic, len(seen), data.groups[seen])


def table(name: str, rows: Sequence[Row], data: Recorded) -> str:
    """A Markdown table: the figure, how often above `longer`, differences, and the cost of a verdict."""
    longer = rows[0]
    fitted = [row for row in rows if row.name.startswith("head on") and "state" not in row.name]
    against = fitted[0] if fitted else None
    heads = ["judge", "figure", "dealings above longer", "less longer"]
    heads += [f"less {against.name}"] if against else []
    lines = [f"## {name}: {len(data.cases)} cases, {data.groups.max() + 1} groups", ""]
    lines += ["| " + " | ".join([*heads, "calls", "tokens"]) + " |", "| --- " * (len(heads) + 2) + "|"]
    for row in rows:
        cells = [row.name, _interval(figure_of(row, data)), _above(row, longer, data)]
        cells.append("" if row is longer else _interval(figure_of(row, data, longer), signed=True))
        if against:
            cells.append("" if row is against else _interval(figure_of(row, data, against), signed=True))
        lines.append("| " + " | ".join([*cells, f"{row.calls:.1f}", f"{row.tokens:.0f}"]) + " |")
    return "\n".join(lines) + "\n"


def _above(row: Row, longer: Row, data: Recorded) -> str:
    if row is longer:
        return ""
    above = sum(
        figure_of(replace(row, values=row_values[None]), data).value
        > figure_of(replace(longer, values=longer_values[None]), data).value
        for row_values, longer_values in zip(row.values, longer.values, strict=False)
    )
    return f"{above} of {len(row.values)}"


def _interval(estimate: Estimate, *, signed: bool = False) -> str:
    shown = "{:+.3f} [{:+.3f}, {:+.3f}]" if signed else "{:.3f} [{:.3f}, {:.3f}]"
    return shown.format(estimate.value, estimate.low, estimate.high)
