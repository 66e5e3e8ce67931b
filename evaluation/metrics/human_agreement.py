"""How far annotators agree with each other: the human ceiling, and the judge on the same terms."""

from collections.abc import Iterator

import numpy as np

from ...stats import human_agreement as annotators
from ...stats.proportions import FEWEST
from ...stats.resampling import bootstrap, mean, proportion
from ..answers import of_answers
from ..aspects import Strata, aspect_name, strata_of
from ..measure_factories import clip_interval, difference_measure, mean_proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import Codes, Floats, RunArrays
from .correlation import mean_correlation


@register(
    "people",
    "human ceiling",
    "judge as annotator",
    "judge above ceiling",
    "annotator pairs",
    "Fleiss' kappa",
    "third-person agreement",
    "third-person annotator",
    "third-person majority",
)
@of_answers
def human_ceiling(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """One annotator against the majority of the others, and the judge against the same majorities."""
    several = run.rows(((run.votes >= 0).sum(axis=1) > 1) & (run.judge >= 0))
    if not several.n:
        return
    groups = several.group
    human, judge = annotators.leave_one_out(several.votes), annotators.against_others(several.judge, several.votes)
    description = "one annotator against the majority of the others"
    yield mean_proportion_measure("human ceiling", human, groups, description)
    yield mean_proportion_measure("judge as annotator", judge, groups, "the judge against the same majorities")
    description = "judge less human ceiling; above 0 it agrees with annotators better than they do with each other"
    yield difference_measure("judge above ceiling", clip_interval(mean(judge - human, groups), -1, 1), description)
    pairs = annotators.pairwise_agreement(several.votes)
    yield mean_proportion_measure("annotator pairs", pairs, groups, "two annotators agree")
    fleiss = bootstrap(
        lambda rows: annotators.fleiss_kappa(several.votes[rows]),
        several.n,
        groups,
        seed=options.seed,
        bounds=(-1.0, 1.0),
    )
    yield to_measure("Fleiss' kappa", fleiss, "agreement of annotators beyond chance")
    yield from _third_person(several)


def _third_person(run: RunArrays) -> Iterator[Measure]:
    """Annotators who judge for somebody else (arXiv 2406.11657), where the label is not just their majority: how often
    two of them agree, and how often one of them, and their majority, names the label of the person."""
    voted = annotators.majority(run.votes, len(run.labels))
    known = (run.human >= 0) & (voted >= 0)
    correct = voted[known] == run.human[known]
    if not known.any() or correct.all():
        return
    pairs = annotators.pairwise_agreement(run.votes)
    drawn = min(annotators.DRAWN, int((~np.isnan(pairs)).sum()))
    note = f"1,000 draws of {drawn} cases: {_spread(annotators.drawn_agreement(run.votes))}"
    description = "two annotators who judge for somebody else agree"
    yield mean_proportion_measure("third-person agreement", pairs, run.group, description, note)
    singles = annotators.single_accuracy(run.votes, run.human)
    description = "one annotator who judges for somebody else names the label"
    yield mean_proportion_measure("third-person annotator", singles, run.group, description)
    note = f"1,000 samples of 30 cases, with replacement: {_spread(annotators.drawn_accuracy(correct))}"
    if not np.isnan(run.vote_certainty).all():
        certainty = annotators.majority_certainty(run.votes[known], run.vote_certainty[known])
        note += f"; mean certainty of the majority {np.nanmean(certainty):.2f}"
    estimate = proportion(correct, run.group[known])
    description = "the majority of annotators who judge for somebody else equals the label"
    yield to_measure("third-person majority", estimate, description, note, is_proportion=True)


def _spread(drawn: tuple[float, float]) -> str:
    return "mean {:.3f}, sd {:.3f}".format(*drawn)


@register("people", "human ceiling", "judge as annotator")
def human_ceiling_of_scores(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """One annotator's scores against the mean of the others, and the judge's against the same means; the mean over
    aspects first, then each aspect."""
    texts = run.rated
    left = annotators.leave_one_out_scores(texts.ratings)
    if len(left.item) < FEWEST:
        return
    item, strata = left.item, strata_of(texts).part(left.item)
    sides = {
        "human ceiling": (left.rating, "one annotator's score against the mean of the others', Spearman's rho"),
        "judge as annotator": (texts.score[item], "the judge's score against the same means, Spearman's rho"),
    }
    for name, (side, description) in sides.items():
        yield _ceiling(name, description, side, left.others, texts.group[item], strata, options.seed)
    for aspect in strata.names if strata.several else ():
        rows = strata.rows(aspect)
        part_strata = strata.only(aspect)
        for name, (side, description) in sides.items():
            part = side[rows], left.others[rows], texts.group[item][rows]
            yield _ceiling(aspect_name(name, aspect), description, *part, part_strata, options.seed)


def _ceiling(
    name: str, description: str, side: Floats, others: Floats, groups: Codes, strata: Strata, seed: int
) -> Measure:
    estimate, words = mean_correlation("spearman", side, others, groups, seed, strata)
    return to_measure(name, estimate, description + words)
