"""How far judges agree with each other, without any human label.

same verdict  the proportion of cases on which two judges name the same winner
kappa         of two judges: Cohen 1960; of all the mean over pairs (Light 1971, Psychological Bulletin 76)
spearman      of two judges' scores; of all the mean over pairs
alpha         of all judges together: Krippendorff 2011, nominal for verdicts, interval for scores

All figures are of the cases that every judge scored, so that they can be compared. Texts judged on several aspects have
each figure by aspect, and their mean. Intervals resample whole groups. Agreement is not accuracy: judges of one family
share their errors.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..stats.agreement import Level, krippendorff_alpha
from ..stats.resampling import Estimate, bootstrap
from .agreement_results import AgreementOfValue, DisputedCase, JudgeAgreement, JudgeRow, TwoJudges
from .answer_table import AnswerTable, PairFigures
from .aspects import OfRows, Rows, mean_estimate, mean_of_means
from .judges_on_systems import ranked_alike
from .measure_factories import clip_interval, proportion_measure, to_measure
from .results import Measure
from .run_arrays import Floats

WIDER = 2.0  # a judge's range of scores over another's from which alpha says little


class _Figures:
    """The figures of a table, each as a measure of some of its cases."""

    def __init__(self, table: AnswerTable, seed: int) -> None:
        self.table, self.seed, self.pairs = table, seed, PairFigures(table)
        self.level: Level = "interval" if table.of_scores else "nominal"

    def everything(self) -> Rows:
        return np.arange(len(self.table.ids))

    def alpha(self, rows: Rows, without: int | None = None) -> Measure:
        answers = self.table.answers if without is None else np.delete(self.table.answers, without, axis=0)
        name = "alpha" if without is None else "alpha without this judge"
        return self._measure(
            name, lambda part: krippendorff_alpha(answers[:, part], self.level), rows,
            f"Krippendorff's alpha, {self.level}: 1 is full agreement, 0 that of chance",
        )  # fmt: skip

    def pair(self, first: int, second: int) -> Measure:
        name, description = ("spearman", "rank correlation") if self.table.of_scores else ("kappa", "Cohen's kappa")
        return self._measure(name, lambda part: float(self.pairs(part)[first, second]), self.everything(), description)

    def mean_pair(self, rows: Rows, judges: Sequence[tuple[int, int]], name: str, description: str) -> Measure:
        return self._measure(name, lambda part: _mean(self.pairs(part), judges), rows, description)

    def equal(self, rows: Rows, judges: Sequence[tuple[int, int]], name: str, description: str) -> Measure:
        """The proportion of cases, over these pairs of judges, on which both name the same winner."""
        answers, strata = self.table.answers[:, rows], self.table.strata.part(rows)
        equal = np.mean([answers[i] == answers[j] for i, j in judges], axis=0)
        if strata.several or len(judges) > 1:
            estimate = clip_interval(mean_of_means(strata, equal, self.table.group[rows]), 0, 1)
            return to_measure(name, estimate, description + strata.words(strata.names), is_proportion=True)
        return proportion_measure(name, equal.astype(bool), self.table.group[rows], description)

    def apart(self, judge: int) -> Estimate:
        """The mean figure of the other judges' pairs less that of this judge's; its interval is for all judges together
        (Bonferroni)."""
        count = len(self.table.judges)
        with_judge = [(i, j) for i, j in combinations(range(count), 2) if judge in (i, j)]
        others = [(i, j) for i, j in combinations(range(count), 2) if judge not in (i, j)]

        def difference(part: Rows) -> float:
            figures = self.pairs(part)
            return _mean(figures, others) - _mean(figures, with_judge)

        statistic = self.table.strata.mean_of(difference)
        return bootstrap(
            statistic, len(self.table.ids), self.table.group, seed=self.seed, level=1 - 0.05 / count, bounds=(-2.0, 2.0)
        )

    def _measure(self, name: str, statistic: OfRows, rows: Rows, description: str) -> Measure:
        strata = self.table.strata.part(rows)
        if not len(rows):
            return Measure(name=name, description=description, note="not defined on these cases")
        estimate, words = mean_estimate(
            strata, lambda part: statistic(rows[part]), self.table.group[rows], seed=self.seed
        )
        return to_measure(name, estimate, description + words)


def judge_agreement(table: AnswerTable, *, by: Sequence[str] = (), most: int = 20, seed: int = 0) -> JudgeAgreement:
    """How far the judges of a table agree.

    Args:
        table: the judges' answers.
        by: fields of the cases, for figures of each of their values; aspects are always among them.
        most: disputed cases listed.
        seed: of everything that is resampled.

    Raises:
        DeclarationError: a field that the cases do not have, or that has more than 100 values.
    """
    figures, count = _Figures(table, seed), len(table.judges)
    pairs, rows = list(combinations(range(count), 2)), np.arange(len(table.ids))
    far = [figures.apart(judge) for judge in range(count)] if count > 2 else []
    return JudgeAgreement(
        judges=table.judges,
        of_scores=table.of_scores,
        cases=len(table.ids),
        groups=len(np.unique(table.group)),
        unshared=dict(zip(table.judges, table.unshared, strict=True)),
        measures=_of_all(figures, rows, pairs),
        pairs=tuple(
            TwoJudges(first=table.judges[i], second=table.judges[j], measures=_of_pair(figures, i, j)) for i, j in pairs
        ),
        by_judge=tuple(_row(figures, judge, far[judge] if far else None) for judge in range(count)),
        odd_one_out=_odd_one_out(table, far),
        by_field=tuple(_by_field(figures, pairs, by)),
        disputed=_disputed(table, most),
        warnings=_warnings(table),
    )


def _of_all(figures: _Figures, rows: Rows, pairs: Sequence[tuple[int, int]]) -> tuple[Measure, ...]:
    of_pairs = "" if len(pairs) == 1 else ", mean over pairs of judges"
    if figures.table.of_scores:
        return (
            figures.alpha(rows),
            figures.mean_pair(rows, pairs, "spearman", "rank correlation of the judges' scores" + of_pairs),
        )
    return (
        figures.alpha(rows),
        figures.mean_pair(rows, pairs, "kappa", "Cohen's kappa" + of_pairs),
        figures.equal(rows, pairs, "same verdict", "two judges name the same winner" + of_pairs),
    )


def _of_pair(figures: _Figures, first: int, second: int) -> tuple[Measure, ...]:
    if figures.table.of_scores:
        return figures.pair(first, second), *ranked_alike(figures.table, first, second, seed=figures.seed)
    words = "both name the same winner"
    return figures.equal(figures.everything(), [(first, second)], "same verdict", words), figures.pair(first, second)


def _row(figures: _Figures, judge: int, far: Estimate | None) -> JudgeRow:
    table, name = figures.table, "spearman" if figures.table.of_scores else "kappa"
    others = [(min(judge, other), max(judge, other)) for other in range(len(table.judges)) if other != judge]
    measures = list[Measure]()
    if far is not None:
        measures.append(figures.mean_pair(figures.everything(), others, f"{name} with the others", f"mean {name}"))
        measures.append(figures.alpha(figures.everything(), without=judge))
        words = f"mean {name} of the other judges' pairs less that of this judge's"
        note = f"interval for {len(table.judges)} judges together (Bonferroni)"
        measures.append(to_measure("apart from the others", far, words, note, null_value=0.0))
    answers = table.answers[judge]
    shares = (
        {"lowest": float(answers.min()), "mean": float(answers.mean()), "highest": float(answers.max())}
        if table.of_scores
        else {label: float((answers == code).mean()) for code, label in enumerate(table.labels)}
    )
    return JudgeRow(judge=table.judges[judge], answers=shares, measures=tuple(measures))


def _odd_one_out(table: AnswerTable, far: Sequence[Estimate]) -> str | None:
    """The judge that is farthest from the others, if its interval is above 0."""
    known = [judge for judge, estimate in enumerate(far) if estimate.low > 0]
    return table.judges[max(known, key=lambda judge: far[judge].value)] if known else None


def _by_field(figures: _Figures, pairs: Sequence[tuple[int, int]], by: Sequence[str]) -> list[AgreementOfValue]:
    parts = list[AgreementOfValue]()
    for field in dict.fromkeys([*(["aspect"] if figures.table.strata.several else []), *by]):
        of_cases = figures.table.values_of(field)
        values = [
            AgreementOfValue(field=field, value=value, measures=_of_all(figures, rows, pairs))
            for value in sorted(set(filter(None, of_cases)))
            if len(rows := np.flatnonzero([case == value for case in of_cases]))
        ]
        parts += sorted(values, key=lambda part: (_value(part.measures[1]), part.value))
    return parts


def _disputed(table: AnswerTable, most: int) -> tuple[DisputedCase, ...]:
    """The cases of the greatest disagreement first; of equal ones those of which the judges are surest."""
    sure = np.nan_to_num(table.certainty, nan=0.0)
    order = np.lexsort((np.arange(len(table.ids)), -sure, -table.disagreement))[:most].tolist()
    return tuple(
        DisputedCase(
            id=table.ids[row],
            group=table.group_names[row],
            aspect=table.strata.names[table.strata.codes[row]] if table.strata.several else None,
            answers=tuple(table.answer(judge, row) for judge in range(len(table.judges))),
            disagreement=float(table.disagreement[row]),
        )
        for row in order
        if table.disagreement[row] > 0
    )


def _warnings(table: AnswerTable) -> tuple[str, ...]:
    widths = [high - low for low, high in table.ranges]
    if not widths or max(widths) <= WIDER * min(widths):
        return ()
    ranges = ", ".join(
        f"{name} {low:g}..{high:g}" for name, (low, high) in zip(table.judges, table.ranges, strict=True)
    )
    return (
        f"the judges' scores are on different scales ({ranges}): alpha compares the numbers as they are. Read "
        "spearman, which compares ranks",
    )


def _mean(figures: Floats, pairs: Sequence[tuple[int, int]]) -> float:
    return math.fsum(float(figures[i, j]) for i, j in pairs) / len(pairs)


def _value(measure: Measure) -> float:
    return math.inf if measure.value is None else measure.value
