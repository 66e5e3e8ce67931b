"""Agreement of verdicts with human labels, and the confusion table."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stats import agreement as tables
from ...stats.resampling import bootstrap_table, mean
from ..answers import by_answer, of_answers, of_cases
from ..aspects import aspect_name, strata_of
from ..measure_factories import clip_interval, proportion_measure, to_measure, with_few_groups_warning
from ..metric import MetricOptions, register
from ..results import ConfusionTable, LabelRow, Measure
from ..run_arrays import PAIR, RunArrays
from ..verdict_rules import NO_ANSWER

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # of confusion tables (..., k, k)
LEAST_PROBABILITY = 1e-6  # in the cross-entropy
A_TIE_B = (0, 2, 1)  # a pair's labels as a scale: a tie lies between


@register("agreement", "accuracy", "accuracy without ties")
def accuracy(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Accuracy, over all labelled verdicts, over those that people do not call a tie, and of each aspect."""
    for measure in _accuracies(run, options):
        yield with_few_groups_warning(measure) if measure.name == "accuracy" else measure


@of_answers
def _accuracies(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    both = run.labelled
    if not both.n:
        return
    hits = both.judge == both.human
    yield proportion_measure("accuracy", hits, both.group, "the verdict equals the human label")
    if run.is_of_pairs and (untied := both.human != 2).any() and not untied.all():
        description = "over the cases that people do not call a tie"
        yield proportion_measure("accuracy without ties", hits[untied], both.group[untied], description)
    strata = strata_of(both)
    for aspect in strata.names if strata.several else ():
        rows = strata.rows(aspect)
        description = f"the verdict equals the human label, on the aspect {aspect}"
        yield proportion_measure(aspect_name("accuracy", aspect), hits[rows], both.group[rows], description)


@register(
    "agreement",
    "both-orders accuracy",
    "consistency",
    "both-orders accuracy without ties",
    "consistency without ties",
    "mean of orders",
    "order a, b",
    "order b, a",
)
def order_agreement(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Accuracy and consistency of both orders of a pair, over all cases and over those that people do not call a tie
    (Fennec, arXiv 2405.12163, sections 4.1 and 5)."""
    both = run.labelled
    if (answered := both.consistent >= 0).any():
        description = "both orders, each by itself, name the human winner"
        yield proportion_measure(
            "both-orders accuracy", both.both_orders_correct[answered], both.group[answered], description
        )
    if (answered := run.consistent >= 0).any():
        description = "both orders, each by itself, name the same winner"
        yield proportion_measure("consistency", run.consistent[answered] == 1, run.group[answered], description)
    yield from _without_ties(both)
    if (answered := both.in_both_orders).any():
        hits, description = both.by_order == both.human[:, None], "accuracy over both orders, each by one half"
        yield proportion_measure("mean of orders", hits[answered], both.group[answered], description)
    for order, winners in (("a, b", both.by_order[:, 0]), ("b, a", both.by_order[:, 1])):
        if (answered := winners >= 0).any():
            description = f"accuracy of the order {order} by itself"
            yield proportion_measure(
                f"order {order}", (winners == both.human)[answered], both.group[answered], description
            )


def _without_ties(both: RunArrays) -> Iterator[Measure]:
    """Both-orders accuracy and consistency over the cases that people do not call a tie, where they call some a tie."""
    untied = (both.human != PAIR.index("tie")) & (both.consistent >= 0)
    if not both.is_of_pairs or not untied.any() or (both.human != PAIR.index("tie")).all():
        return
    description, groups = "over the cases that people do not call a tie", both.group[untied]
    yield proportion_measure("both-orders accuracy without ties", both.both_orders_correct[untied], groups, description)
    yield proportion_measure("consistency without ties", both.consistent[untied] == 1, groups, description)


@register("agreement", "coverage")
def coverage(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """The proportion of cases with a verdict."""
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(run.unscored.items(), key=_most_first))
    description = "cases with a verdict"
    yield proportion_measure("coverage", run.case_scored, run.case_group, description, reasons)


@register("agreement", "kappa", "alpha", "MCC", "weighted kappa", "macro F1")
def chance_corrected_agreement(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Kappa, alpha, MCC and macro F1, resampled by whole groups."""
    both = by_answer(run).labelled
    if both.n:
        yield from of_cases(_of_tables(both, run.answers.shape[1], options.seed), run)


def _of_tables(both: RunArrays, answers: int, seed: int) -> Iterator[Measure]:
    """The measures of confusion tables, of so many answers a case."""

    def measured(name: str, statistic: Statistic, part: RunArrays, description: str, **other: Any) -> Measure:
        scale = np.argsort(A_TIE_B) if part.is_of_pairs and part.labels == PAIR else np.arange(len(part.labels))
        human, judge, k = scale[part.human], scale[part.judge], len(part.labels)
        estimate = bootstrap_table(statistic, human, judge, k, part.group, seed=seed, **other)
        return to_measure(name, estimate, description)

    yield measured("kappa", tables.kappa, both, "Cohen's kappa: agreement beyond chance; 0 is chance, 1 perfect")
    description = "Krippendorff's alpha, judge and people as two raters"
    yield measured("alpha", lambda table: tables.alpha(table / answers), both, description)
    yield measured("MCC", tables.mcc, both, "Matthews' correlation of judge and label")
    letters = replace(both.pairs, labels=PAIR)
    if both.is_of_pairs and both.labels in (PAIR, (*PAIR, NO_ANSWER)) and (letters.human == 2).any():
        description = "linear weights: a tie is half as wrong as the other side"
        weighted = measured("weighted kappa", lambda table: tables.kappa(table, "linear"), letters, description)
        note = "without verdicts that have no answer" if letters.n < both.n else ""
        yield weighted.model_copy(update={"note": weighted.note or note})
    description = "mean F1 of the labels that people give"
    yield measured("macro F1", tables.macro_f1_of_people, both, description, bounds=(0.0, 1.0))


@register("agreement", "cross-entropy")
def soft_agreement(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Cross-entropy of the judge's distribution against the proportions of the votes."""
    if not run.labelled.n:
        return
    votes = run.vote_proportions
    several = (run.votes >= 0).sum(axis=1) > 1
    known = several & ~np.isnan(run.distribution).any(axis=1) & ~np.isnan(votes).any(axis=1)
    if not known.any():
        return
    p, q, groups = run.distribution[known], votes[known], run.group[known]
    losses = tables.soft_cross_entropies(p, q, floor=LEAST_PROBABILITY)
    description = f"nats, against the proportions of the votes; {tables.vote_entropy(q):.3f} is the least possible"
    note = f"probabilities below {LEAST_PROBABILITY:g} count as that"
    yield to_measure("cross-entropy", clip_interval(mean(losses, groups), 0, math.inf), description, note)


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def confusion_table(run: RunArrays) -> ConfusionTable:
    """How often the judge says a label where people say another; half cases where a case has two answers."""
    both, m = by_answer(run).labelled, run.answers.shape[1]
    counts = tables.confusion(both.human, both.judge, len(run.labels))
    return ConfusionTable(labels=run.labels, counts=tuple(tuple(map(_whole, row)) for row in (counts / m).tolist()))


def label_rows(table: ConfusionTable) -> tuple[LabelRow, ...]:
    """Precision, recall and F1 of each label."""
    counts = np.array(table.counts)
    precision, recall, f1 = (statistic(counts) for statistic in (tables.precision, tables.recall, tables.f1))
    return tuple(
        LabelRow(
            label=label,
            precision=_number(precision[index]),
            recall=_number(recall[index]),
            f1=_number(f1[index]),
            support=_whole(counts[index].sum()),
            predicted=_whole(counts[:, index].sum()),
        )
        for index, label in enumerate(table.labels)
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _whole(count: float) -> int | float:
    return int(count) if count == int(count) else float(count)
