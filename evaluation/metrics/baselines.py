"""Baselines without a model: a judge that is not above them has shown nothing.

Where people's labels are only places (the side of a pair, the place of an answer) chance is a baseline. The most
frequent label says there how the rows were laid out, nothing of the texts; it stays a baseline of verdicts from one
order, as a judge that always names one place reaches it. Asked in both orders, such a judge is at chance.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...stats import paired
from ...stats.association import pair_codes
from ..answers import of_answers
from ..measure_factories import difference_measure, proportion_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import RunArrays

Hits = NDArray[np.bool_]  # (n, m): of m answers of each case
OF_ORDERS = "mean of orders"


@register("baselines", "majority", "above majority", "longer", "above longer", "chance", "above chance")
@of_answers
def baselines(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """The most frequent label or chance, the longer text, and the judge's accuracy above each."""
    both = run.labelled
    if both.n:
        yield from _baselines(both, (both.judge == both.human)[:, None])


@register("baselines", *(f"{OF_ORDERS} above {whom}" for whom in ("majority", "longer", "chance")))
def baselines_of_orders(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """The mean of both orders above each baseline, where it is the run's main measure."""
    if not leads_by_orders(run):
        return
    both = run.labelled
    both = both.rows(both.in_both_orders)
    for measure in _baselines(both, both.by_order == both.human[:, None]):
        if measure.null_value == 0:
            description = measure.description.replace("accuracy", OF_ORDERS)
            yield measure.model_copy(update={"name": f"{OF_ORDERS} {measure.name}", "description": description})


def leads_by_orders(run: RunArrays) -> bool:
    """Whether the mean of both orders says more than the accuracy: the merged verdict has ties, people's labels have
    none, and half of the cases or more have an answer in both orders.

    A judge that guesses names two different winners in half of the pairs, and would be wrong there by the merge alone.
    """
    both = run.labelled
    if both.answers.shape[1] > 1 or not _has_both_orders(both) or not has_positions(both):
        return False
    return bool((both.judge[both.in_both_orders] == both.labels.index("tie")).any())


def _has_both_orders(both: RunArrays) -> bool:
    """Whether half of the verdicts or more have an answer in both orders."""
    return both.n > 0 and bool(both.in_both_orders.mean() >= 0.5)


def has_positions(both: RunArrays) -> bool:
    """Whether the labels of these labelled verdicts are only places: no categories, no tie among them, and the sides of
    the pairs are not two systems, each always on its side."""
    if both.of_categories or "tie" in {both.labels[code] for code in set(both.human.tolist())}:
        return False
    sides = {tuple(pair) for pair in both.system.tolist()}
    side = next(iter(sides), ())
    return not (len(sides) == 1 and len(side) == 2 and min(side) >= 0 and side[0] != side[1])


def _baselines(both: RunArrays, hits: Hits) -> Iterator[Measure]:
    """Each baseline, and the lead over it of a judge with these (n, m) hits, m answers a case."""
    credit = hits.mean(axis=1)
    has_chance = has_positions(both) and not np.isnan(both.options).any()
    if has_chance:
        yield from _chance(both, hits)
    if not has_chance or not _has_both_orders(both):
        most = int(np.bincount(both.human).argmax())
        always = both.human == most
        description = f"always {both.labels[most]!r}, the most frequent human label of these cases"
        yield proportion_measure("majority", always, both.group, description)
        lead = paired.difference(credit, always, both.group)
        yield difference_measure("above majority", lead, "accuracy less that of majority")
    if (known := ~np.isnan(both.length_difference)).any():
        longer = pair_codes(both.length_difference[known]) == both.human[known]
        yield proportion_measure("longer", longer, both.group[known], "the longer text wins, equal lengths tie")
        lead = paired.difference(credit[known], longer, both.group[known])
        yield difference_measure("above longer", lead, "accuracy less that of longer")


def _chance(both: RunArrays, hits: Hits) -> Iterator[Measure]:
    chance = 1 / both.options
    description = "one of the two texts at random" if (chance == 0.5).all() else "one of a case's answers at random"
    note = "people's labels are places, without ties"
    yield Measure(
        name="chance", value=float(chance.mean()), n=both.n, description=description, note=note, kind="proportion"
    )
    description = "accuracy less that of chance"
    if (chance != chance[0]).any():
        yield difference_measure("above chance", paired.difference(hits.mean(axis=1), chance, both.group), description)
        return
    accuracy = proportion_measure("above chance", hits, both.group, description, null_value=0.0)
    ends = {"value": accuracy.value, "low": accuracy.low, "high": accuracy.high}
    yield accuracy.model_copy(update={name: None if end is None else end - chance[0] for name, end in ends.items()})
