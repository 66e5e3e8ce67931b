"""Agreement of verdicts with human labels, and the confusion table."""

import math
from collections.abc import Iterator

import numpy as np

from ...stats import agreement as tables
from ...stats.resampling import bootstrap_table, mean
from ..aspects import aspect_name, strata_of
from ..measure_factories import clip_interval, proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import ConfusionTable, LabelRow, Measure
from ..run_arrays import PAIR, RunArrays

LEAST_PROBABILITY = 1e-6  # in the cross-entropy
A_TIE_B = (0, 2, 1)  # a pair's labels as a scale: a tie lies between


@register("agreement")
def accuracy(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Accuracy, over all labelled verdicts, over those that people do not call a tie, and of each aspect."""
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


@register("agreement")
def order_agreement(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Agreement and consistency of both orders of a pair (Fennec, arXiv 2405.12163, section 4.1)."""
    both = run.labelled
    if (answered := both.consistent >= 0).any():
        description = "both orders, each by itself, name the human winner"
        yield proportion_measure("agreement", both.both_orders_correct[answered], both.group[answered], description)
    if (answered := run.consistent >= 0).any():
        description = "both orders, each by itself, name the same winner"
        yield proportion_measure("consistency", run.consistent[answered] == 1, run.group[answered], description)
    for order, winners in (("a, b", both.by_order[:, 0]), ("b, a", both.by_order[:, 1])):
        if (answered := winners >= 0).any():
            description = f"accuracy of the order {order} by itself"
            yield proportion_measure(
                f"order {order}", (winners == both.human)[answered], both.group[answered], description
            )


@register("agreement")
def coverage(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """The proportion of cases with a verdict."""
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(run.unscored.items(), key=_most_first))
    description = "cases with a verdict; every other measure is of these"
    yield proportion_measure("coverage", run.case_scored, run.case_group, description, reasons)


@register("agreement")
def chance_corrected_agreement(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Kappa, alpha, MCC and macro F1, resampled by whole groups."""
    both = run.labelled
    if not both.n:
        return
    k = len(both.labels)
    statistics = [
        ("kappa", tables.kappa, "Cohen's kappa: agreement beyond chance; 0 is chance, 1 perfect"),
        ("alpha", tables.alpha, "Krippendorff's alpha, judge and people as two raters"),
        ("MCC", tables.mcc, "Matthews' correlation of judge and label"),
    ]
    for name, statistic, description in statistics:
        estimate = bootstrap_table(statistic, both.human, both.judge, k, both.group, seed=options.seed)
        yield to_measure(name, estimate, description)
    if both.labels == PAIR and (both.human == 2).any():
        scale = np.argsort(A_TIE_B)
        estimate = bootstrap_table(
            lambda table: tables.kappa(table, "linear"),
            scale[both.human],
            scale[both.judge],
            k,
            both.group,
            seed=options.seed,
        )
        yield to_measure("weighted kappa", estimate, "linear weights: a tie is half as wrong as the other side")
    f1 = bootstrap_table(
        tables.macro_f1, both.human, both.judge, k, both.group, seed=options.seed, bounds=(0.0, 1.0)
    )  # fmt: skip
    yield to_measure("macro F1", f1, "mean F1 of the labels in use")


@register("agreement")
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
    """How often the judge says a label where people say another."""
    both = run.labelled
    counts = tables.confusion(both.human, both.judge, len(run.labels))
    return ConfusionTable(labels=run.labels, counts=tuple(tuple(row) for row in counts.tolist()))


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
            support=int(counts[index].sum()),
            predicted=int(counts[:, index].sum()),
        )
        for index, label in enumerate(table.labels)
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
