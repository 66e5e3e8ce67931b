"""Correlation of scores with human scores, as papers define it; errors; pairs by difficulty; histograms."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...stats import association
from ...stats.agreement import confusion
from ...stats.proportions import FEWEST, correlation
from ...stats.resampling import Estimate, bootstrap, bootstrap_table, mean
from ..answers import by_answer, of_answers, of_cases
from ..aspects import Strata, aspect_name, mean_estimate, mean_of_means, strata_of
from ..measure_factories import clip_interval, proportion_measure, to_measure, with_few_groups_warning
from ..metric import MetricOptions, register
from ..results import Histogram, Measure, Stratum
from ..run_arrays import Codes, Floats, RunArrays

COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
BINS = 20  # of the histograms
SAMPLED_PAIRS = 200  # of texts, as in arXiv 2304.00723


@register("correlation")
def correlations(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Over all texts, within each input, and over pairs of texts; the mean over aspects first, then each aspect."""
    texts = run.rated
    strata = strata_of(texts)
    if texts.n >= FEWEST:
        yield from _of_texts(texts, strata, options.seed)
    for aspect in strata.names if strata.several else ():
        part = texts.rows(strata.codes == strata.names.index(aspect))
        if part.n >= FEWEST:
            yield from _of_texts(part, strata_of(part), options.seed, aspect)


@register("correlation")
def score_errors(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Error and leniency, where the judge and people use one scale; the mean over aspects first, then each aspect."""
    texts = run.rated
    if not texts.n or run.score_scale is None or run.score_scale != run.human_scale:
        return
    difference, strata = texts.score - texts.human_score, strata_of(texts)
    yield from _errors(difference, texts.group, strata)
    for aspect in strata.names if strata.several else ():
        rows = strata.rows(aspect)
        part = strata.only(aspect)
        yield from _errors(difference[rows], texts.group[rows], part, aspect)


@register("correlation")
@of_answers
def pair_correlation(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Kendall's tau-b of verdicts against the signs of human score differences."""
    yield from _of_pairs(_scored_pairs(run), options.seed)


def resampled_correlation(name: str, left: Floats, right: Floats, groups: Codes, seed: int) -> Estimate:
    """A correlation of (n,) points with its interval over groups."""
    return bootstrap(lambda rows: correlation(name, left[rows], right[rows]), len(left), groups, seed=seed)


def mean_correlation(
    name: str, left: Floats, right: Floats, groups: Codes, seed: int, strata: Strata
) -> tuple[Estimate, str]:
    """The mean over aspects of a correlation of (n,) points, with its interval over groups; words for its
    description."""
    return mean_estimate(strata, lambda rows: correlation(name, left[rows], right[rows]), groups, seed=seed)


def strata(run: RunArrays, seed: int) -> tuple[Stratum, ...]:
    """Pairs by how far the two human scores lie apart: the closer, the harder."""
    pairs = _scored_pairs(by_answer(run))
    rows = []
    for name, low, high, mask in association.strata(pairs.human_difference) if pairs.n else ():
        part = pairs.rows(mask)
        if part.n:
            hits = part.judge == association.pair_codes(part.human_difference)
            description = "the verdict names the text that people score higher"
            accuracy = proportion_measure("accuracy", hits, part.group, description)
            measures = tuple(of_cases((accuracy, *_of_pairs(part, seed)), run))
            rows.append(Stratum(name=name, low=low, high=high, measures=measures))
    return tuple(rows)


def histograms(run: RunArrays) -> tuple[Histogram, ...]:
    """Distributions of the judge's and the human scores, each on its scale."""
    texts = run.rated
    if not texts.n:
        return ()
    return tuple(_histogram(whose, side) for whose, side in (("judge", texts.score), ("people", texts.human_score)))


def _of_texts(texts: RunArrays, strata: Strata, seed: int, aspect: str = "") -> Iterator[Measure]:
    judge, human, groups = texts.score, texts.human_score, texts.group
    for name, title in COEFFICIENTS.items():
        estimate, words = mean_correlation(name, judge, human, groups, seed, strata)
        note = "" if not math.isnan(estimate.value) else "constant scores"
        description = f"{title} of the judge's and human scores, over all texts{words}"
        measure = to_measure(aspect_name(name, aspect), estimate, description, note)
        yield with_few_groups_warning(measure) if measure.name == "spearman" else measure
    yield from _within_inputs(texts, strata, aspect)
    yield from _of_sampled_pairs(texts, strata, seed, aspect)


def _within_inputs(texts: RunArrays, strata: Strata, aspect: str) -> Iterator[Measure]:
    """Correlations within each input and aspect, their mean over the inputs, and the mean of these over aspects."""
    parts = {name: strata.rows(name) for name in strata.names}
    levels = {
        name: association.sample_level(texts.score[rows], texts.human_score[rows], texts.group[rows])
        for name, rows in parts.items()
    }
    levels = {name: level for name, level in levels.items() if level.used > 1}
    if not levels:
        return
    used, left = sum(level.used for level in levels.values()), sum(level.left_out for level in levels.values())
    words = f"; {left:,} left out" if left else ""
    inputs = np.concatenate([level.groups for level in levels.values()])
    whose = Strata(tuple(levels), np.repeat(np.arange(len(levels)), [level.used for level in levels.values()]))
    over = strata.words(tuple(levels))
    for name, title in COEFFICIENTS.items():
        values = np.concatenate([level.per_group[name] for level in levels.values()])
        estimate = mean_of_means(whose, values, inputs) if whose.several else mean(values)
        description = f"{title} within each input, mean over {used:,}{words}{over}"
        yield to_measure(aspect_name(f"{name} by input", aspect), estimate, description)


def _of_sampled_pairs(texts: RunArrays, strata: Strata, seed: int, aspect: str) -> Iterator[Measure]:
    """Scores read as verdicts of pairs of texts that answer the same input and aspect."""
    drawn = []
    for name in strata.names:
        rows = strata.rows(name)
        pairs = association.sampled_pairs(texts.human_score[rows], texts.group[rows], SAMPLED_PAIRS, seed)
        if len(pairs) >= FEWEST:
            drawn.append((name, rows[pairs]))
    if not drawn:
        return
    whose = Strata(tuple(name for name, _ in drawn), np.repeat(np.arange(len(drawn)), [len(p) for _, p in drawn]))
    first, second = np.concatenate([pairs for _, pairs in drawn]).T
    human, judge = texts.human_score[first] - texts.human_score[second], texts.score[first] - texts.score[second]
    sides, groups = (association.pair_codes(human), association.pair_codes(judge)), texts.group[first]
    if whose.several:
        estimate, _ = mean_estimate(whose, lambda rows: _tau(sides[0][rows], sides[1][rows]), groups, seed=seed)
    else:
        estimate = bootstrap_table(association.tau_of_table, *sides, 3, groups, seed=seed)
    over = strata.words(whose.names)
    description = f"Kendall's tau-b over {len(first)} sampled pairs of one input{over}"
    yield to_measure(aspect_name("tau of pairs", aspect), estimate, description)


def _tau(human: Codes, judge: Codes) -> float:
    return float(association.tau_of_table(confusion(human, judge, 3)))


def _errors(difference: Floats, groups: Codes, strata: Strata, aspect: str = "") -> Iterator[Measure]:
    words = strata.words(strata.names)
    error = clip_interval(mean_of_means(strata, np.abs(difference), groups), 0, math.inf)
    description = f"mean distance of the judge's score and the human score{words}"
    yield to_measure(aspect_name("error", aspect), error, description)
    description = f"judge's score less human score; 0 is no bias{words}"
    estimate = mean_of_means(strata, difference, groups)
    yield to_measure(aspect_name("leniency", aspect), estimate, description, null_value=0.0)


def _scored_pairs(run: RunArrays) -> RunArrays:
    return run.rows(~np.isnan(run.human_difference) & np.isin(run.judge, (0, 1, 2)))


def _of_pairs(pairs: RunArrays, seed: int) -> Iterator[Measure]:
    if not pairs.n:
        return
    human = association.pair_codes(pairs.human_difference)
    estimate = bootstrap_table(association.tau_of_table, human, pairs.judge, 3, pairs.group, seed=seed)
    yield to_measure("tau of pairs", estimate, "Kendall's tau-b of the verdicts and the human score differences")


def _histogram(whose: str, scores: Floats) -> Histogram:
    levels = np.unique(scores)
    bins: int | Sequence[float] = BINS
    if len(levels) <= BINS and len(levels) > 1 and (step := np.diff(levels).min()) > 0:
        count = round((levels[-1] - levels[0]) / step) + 1
        if count <= 2 * BINS:
            bins = np.linspace(levels[0] - step / 2, levels[-1] + step / 2, count + 1).tolist()
    counts, edges = np.histogram(scores, bins=bins)
    return Histogram(whose=whose, edges=tuple(edges.tolist()), counts=tuple(counts.tolist()))
