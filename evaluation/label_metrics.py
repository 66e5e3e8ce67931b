"""The figures of verdicts that name a winner: agreement with people, people's own agreement, baselines, bias."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stats import agreement as tables
from ..stats import bias, human_agreement, paired
from ..stats.association import pair_codes
from ..stats.resampling import bootstrap, bootstrap_table, mean, share
from .measure_factories import gap, mean_rate, rate, told, within
from .results import ConfusionTable, LabelRow, Measure
from .run_arrays import PAIR, Codes, Columns, Floats

FAIR: dict[str, Any] = {"neutral": 0.5, "is_share": True}
LEAST = 1e-6  # probability, in the cross-entropy
A_TIE_B = (0, 2, 1)  # a pair's labels as a scale: a tie lies between


def labelled(run: Columns) -> Columns:
    """The verdicts with a winner and a human one."""
    return run.rows((run.judge >= 0) & (run.human >= 0))


def both_orders_right(run: Columns) -> NDArray[np.bool_]:
    """(n,) whether both orders, each taken alone, name the human winner, whatever a head makes of them; the verdict
    itself where no order was shown."""
    alone = (run.by_order < 0).all(axis=1)
    each = (run.by_order == run.human[:, None]).all(axis=1)
    found: NDArray[np.bool_] = np.where(alone, run.judge == run.human, each) & (run.consistent == 1) & (run.human >= 0)
    return found


def agreement(run: Columns, seed: int) -> Iterator[Measure]:
    """How far the verdicts are people's."""
    both = labelled(run)
    hits = both.judge == both.human
    yield rate("accuracy", hits, both.group, "the verdict equals the human label")
    yield from _both_orders(run, both)
    if run.labels[:3] == PAIR and (untied := both.human != 2).any() and not untied.all():
        what = "of the cases that people do not call a tie"
        yield rate("accuracy without ties", hits[untied], both.group[untied], what)
    yield from _beyond_chance(both, seed)
    yield from _soft(run)


def _both_orders(run: Columns, both: Columns) -> Iterator[Measure]:
    if (asked := both.consistent >= 0).any():
        right = both_orders_right(both)
        what = "both orders, each taken alone, name the human winner; inconsistent is wrong"
        yield rate("agreement", right[asked], both.group[asked], what)
    for order, verdicts in (("a, b", both.by_order[:, 0]), ("b, a", both.by_order[:, 1])):
        if (asked := verdicts >= 0).any():
            what = f"accuracy of the order {order} alone"
            yield rate(f"order {order}", (verdicts == both.human)[asked], both.group[asked], what)
    if (asked := run.consistent >= 0).any():
        what = "both orders, each taken alone, name the same winner"
        yield rate("consistency", run.consistent[asked] == 1, run.group[asked], what)


def _beyond_chance(both: Columns, seed: int) -> Iterator[Measure]:
    k = len(both.labels)
    figures = [
        ("kappa", tables.kappa, "Cohen's kappa: agreement beyond chance; 0 is chance, 1 perfect"),
        ("alpha", tables.alpha, "Krippendorff's alpha, judge and people as two raters"),
        ("MCC", tables.mcc, "Matthews' correlation of judge and label"),
    ]
    for name, statistic, what in figures:
        yield told(name, bootstrap_table(statistic, both.human, both.judge, k, both.group, seed=seed), what)
    if both.labels == PAIR and (both.human == 2).any():
        scale = np.argsort(A_TIE_B)
        figure = bootstrap_table(
            lambda table: tables.kappa(table, "linear"),
            scale[both.human],
            scale[both.judge],
            k,
            both.group,
            seed=seed,
        )
        yield told("weighted kappa", figure, "linear weights: a tie is half as wrong as the other side")
    f1 = bootstrap_table(tables.macro_f1, both.human, both.judge, k, both.group, seed=seed, bounds=(0.0, 1.0))
    yield told("macro F1", f1, "mean F1 of the labels in use")


def _soft(run: Columns) -> Iterator[Measure]:
    """Against the shares of the votes, where the judge gives a distribution."""
    votes = vote_shares(run)
    several = (run.votes >= 0).sum(axis=1) > 1
    kept = several & ~np.isnan(run.distribution).any(axis=1) & ~np.isnan(votes).any(axis=1)
    if not kept.any():
        return
    p, q, groups = run.distribution[kept], votes[kept], run.group[kept]
    losses = tables.soft_cross_entropies(p, q, floor=LEAST)
    what = f"nats, against the shares of the votes; {tables.vote_entropy(q):.3f} is the least possible"
    yield told(
        "cross-entropy", within(mean(losses, groups), 0, math.inf), what, f"probabilities below {LEAST:g} count as it"
    )


def vote_shares(run: Columns) -> Floats:
    """(n, labels): the share of the votes that each label has; NaN without votes."""
    counts = np.stack([(run.votes == label).sum(axis=1) for label in range(len(run.labels))], axis=1).astype(np.float64)
    total = counts.sum(axis=1, keepdims=True)
    return tables.ratio(counts, total)


def ceiling(run: Columns, seed: int) -> Iterator[Measure]:
    """How far people agree with each other, and the judge with them on the same terms."""
    several = run.rows(((run.votes >= 0).sum(axis=1) > 1) & (run.judge >= 0))
    if not several.n:
        return
    groups = several.group
    person, judge = (
        human_agreement.leave_one_out(several.votes),
        human_agreement.against_others(several.judge, several.votes),
    )
    what = "the human ceiling: one annotator against the majority of the others"
    yield mean_rate("one person", person, groups, what)
    yield mean_rate("judge as a person", judge, groups, "the judge against the same majorities")
    what = "judge less one person; above 0 it agrees with people better than they do among themselves"
    yield gap("judge above person", within(mean(judge - person, groups), -1, 1), what)
    yield mean_rate(
        "pairs of people", human_agreement.pairwise_agreement(several.votes), groups, "two annotators agree"
    )
    fleiss = bootstrap(
        lambda rows: human_agreement.fleiss_kappa(several.votes[rows]), several.n, groups, seed=seed, bounds=(-1.0, 1.0)
    )
    yield told("Fleiss' kappa", fleiss, "agreement of annotators beyond chance")
    yield from _third_person(several)


def _third_person(run: Columns) -> Iterator[Measure]:
    """People who judge for somebody else; told where the label is not just their majority."""
    voted = human_agreement.majority(run.votes, len(run.labels))
    kept = (run.human >= 0) & (voted >= 0)
    right = voted[kept] == run.human[kept]
    if not kept.any() or right.all():
        return
    average, deviation = human_agreement.drawn_agreement(right)
    note = f"1,000 draws of 30: mean {average:.3f}, sd {deviation:.3f}"
    if not np.isnan(run.vote_certainty).all():
        sure = human_agreement.majority_certainty(run.votes[kept], run.vote_certainty[kept])
        note += f"; mean certainty of the majority {np.nanmean(sure):.2f}"
    figure = share(right, run.group[kept])
    yield told("third persons", figure, "the majority of the annotators equals the label", note, is_share=True)


def baselines(run: Columns) -> Iterator[Measure]:
    """What a judge that reads nothing would have: below it nothing is shown."""
    both = labelled(run)
    hits = both.judge == both.human
    most = int(np.bincount(both.human).argmax())
    always = both.human == most
    what = f"always {both.labels[most]!r}, people's most frequent label here"
    yield rate("majority", always, both.group, what)
    yield gap("above majority", paired.difference(hits, always, both.group), "accuracy less that of majority")
    if (known := ~np.isnan(both.length_gap)).any():
        longer = pair_codes(both.length_gap[known]) == both.human[known]
        yield rate("longer", longer, both.group[known], "the longer text wins, equal lengths tie")
        lead = paired.difference(hits[known], longer, both.group[known])
        yield gap("above longer", lead, "accuracy less that of longer")


def biases(run: Columns, seed: int, own: frozenset[str] = frozenset()) -> Iterator[Measure]:
    """What sways a judge of pairs besides the texts: the order, their length, a liking for ties, for its own style."""
    yield from _position(run)
    if (run.human >= 0).any():
        yield from _length(run, seed)
        yield from _ties(run)
    codes = [index for index, name in enumerate(run.systems) if name in own]
    if codes and run.system.shape[1] == 2:
        yield from _own_texts(run, codes)


def _length(run: Columns, seed: int) -> Iterator[Measure]:
    length = bias.length(run.human, run.judge, run.length_gap, run.group)
    if not length.judge.n:
        return
    what = f"names the longer text, of the non-tie verdicts; people {length.people.value:.3f} on the same cases"
    yield told("longer preferred", length.judge, what, is_share=True)
    yield gap("longer above people", length.difference, "judge less people; 0 is no bias")
    errors = bias.length_errors(run.human, run.judge, run.length_gap, run.group, seed=seed)
    yield gap("length errors", errors, "errors for the longer text less errors for the shorter; 0 is no bias")


def _ties(run: Columns) -> Iterator[Measure]:
    ties = bias.tie_rate(run.human, run.judge, run.group)
    if ties.judge.value or ties.people.value:
        yield told("ties", ties.judge, f"verdicts that are ties; people {ties.people.value:.3f}", is_share=True)
        yield gap("ties above people", ties.difference, "judge less people; 0 is no bias")


def _own_texts(run: Columns, codes: Sequence[int]) -> Iterator[Measure]:
    texts = bias.self_preference(run.human, run.judge, run.system, codes, run.group)
    if texts.judge.n:
        what = f"its own texts win; people {texts.people.value:.3f} on the same pairs"
        yield told("own texts", texts.judge, what, is_share=True)
        yield gap("own texts above people", texts.difference, "judge less people; 0 is no bias")


def _position(run: Columns) -> Iterator[Measure]:
    first, second = run.by_order.T
    if ((first >= 0) & (second >= 0)).any():
        order = bias.position(first, second, run.group)
        yield told("first place", order.first_slot, "non-tie answers that name the text shown first", **FAIR)
        yield told("primacy", order.primacy, "both orders name the text shown first", is_share=True)
        yield told("recency", order.recency, "both orders name the text shown second", is_share=True)
    elif (asked := (run.by_order >= 0).any(axis=1)).any():
        shown_first = np.where(first[asked] >= 0, first[asked] == 0, second[asked] == 1)
        untied = run.by_order[asked].max(axis=1) != 2
        figure = share(shown_first[untied], run.group[asked][untied])
        yield told("first place", figure, "non-tie answers that name the text shown first; orders were drawn", **FAIR)


def confusion_table(run: Columns) -> ConfusionTable:
    both = labelled(run)
    counts = tables.confusion(both.human, both.judge, len(run.labels))
    return ConfusionTable(labels=run.labels, counts=tuple(tuple(row) for row in counts.tolist()))


def label_rows(table: ConfusionTable) -> tuple[LabelRow, ...]:
    counts = np.array(table.counts)
    precision, recall, f1 = (figure(counts) for figure in (tables.precision, tables.recall, tables.f1))
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


def correct(run: Columns) -> tuple[Columns, NDArray[np.bool_], Codes]:
    """The labelled verdicts that have a certainty, whether each is correct, and their groups."""
    both = labelled(run)
    both = both.rows(~np.isnan(both.certainty))
    return both, both.judge == both.human, both.group
