"""Correlation of scores with human scores, as papers define it; errors; pairs by difficulty; histograms."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...stats import association
from ...stats.proportions import FEWEST, correlation
from ...stats.resampling import Estimate, bootstrap, bootstrap_table, mean
from ..answers import by_answer, of_answers, of_cases
from ..aspects import Strata, aspect_name, mean_estimate, mean_of_means, strata_of
from ..measure_factories import clip_interval, proportion_measure, to_measure, with_few_groups_warning
from ..metric import MetricOptions, register
from ..results import Histogram, Measure, Stratum
from ..run_arrays import Codes, Floats, RunArrays
from ..text_pairs import TextPairs, share_of_hits, text_pairs, usual_pairs

COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
BINS = 20  # of the histograms


@register(
    "correlation",
    *COEFFICIENTS,
    *(f"{name} by input" for name in COEFFICIENTS),
    "tau of pairs",
    "tau of pairs of the set",
)
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


@register("correlation", "error", "leniency")
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


@register("correlation", "tau of pairs")
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
    """Pairs by how far the two human scores lie apart: the closer, the harder. Single texts are paired first."""
    return (*_strata_of_pairs(run, seed), *_strata_of_texts(run.rated, seed))


def _strata_of_pairs(run: RunArrays, seed: int) -> Iterator[Stratum]:
    pairs = _scored_pairs(by_answer(run))
    for name, low, high, mask in association.strata(pairs.human_difference) if pairs.n else ():
        part = pairs.rows(mask)
        if part.n:
            hits = part.judge == association.pair_codes(part.human_difference)
            description = "the verdict names the text that people score higher"
            accuracy = proportion_measure("accuracy", hits, part.group, description)
            measures = tuple(of_cases((accuracy, *_of_pairs(part, seed)), run))
            yield Stratum(name=name, low=low, high=high, measures=measures)


def _strata_of_texts(texts: RunArrays, seed: int) -> Iterator[Stratum]:
    """Sampled pairs of texts, those of each aspect apart: aspects have different scales."""
    aspects = strata_of(texts)
    pairs = usual_pairs(texts, aspects, seed) if texts.n >= FEWEST else None
    if pairs is None:
        return
    for aspect in pairs.aspects.names:
        of_aspect = pairs.part(pairs.aspects.rows(aspect))
        for name, low, high, mask in association.strata(of_aspect.difference):
            if mask.any():
                measures = tuple(_of_stratum(of_aspect.part(mask), seed))
                shown = aspect_name(name, aspect if aspects.several else "")
                yield Stratum(name=shown, low=low, high=high, measures=measures)


def _of_stratum(pairs: TextPairs, seed: int) -> Iterator[Measure]:
    estimate, _ = pairs.figure(share_of_hits, bounds=(0, 1), seed=seed)
    description = f"the judge's scores order a sampled pair of {pairs.where} as people's do"
    yield to_measure("accuracy", estimate, description, is_proportion=True)
    estimate, _ = pairs.figure(association.tau_of_table, bounds=(-1, 1), seed=seed)
    yield to_measure("tau of pairs", estimate, f"Kendall's tau-b over sampled pairs of {pairs.where}")


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
        yield to_measure(aspect_name(f"{name} by input", aspect), clip_interval(estimate, -1, 1), description)


def _of_sampled_pairs(texts: RunArrays, strata: Strata, seed: int, aspect: str) -> Iterator[Measure]:
    """Scores read as verdicts of pairs of texts of one aspect: of one input, and of the whole set."""
    for name, of_set in (("tau of pairs", False), ("tau of pairs of the set", True)):
        if pairs := text_pairs(texts, strata, seed, of_set=of_set):
            estimate, over = pairs.figure(association.tau_of_table, bounds=(-1, 1), seed=seed)
            description = f"Kendall's tau-b over {len(pairs.human)} sampled pairs of {pairs.where}{over}"
            yield to_measure(aspect_name(name, aspect), estimate, description)


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
