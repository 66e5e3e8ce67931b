"""Correlation of scores with human scores, as papers define it; errors; pairs by difficulty; histograms."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...stats import association
from ...stats.proportions import FEWEST, correlation
from ...stats.resampling import Estimate, bootstrap, bootstrap_table, mean
from ..measure_factories import clip_interval, proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Histogram, Measure, Stratum
from ..run_arrays import Codes, Floats, RunArrays

COEFFICIENTS = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
BINS = 20  # of the histograms
SAMPLED_PAIRS = 200  # of texts, as in arXiv 2304.00723


@register("correlation")
def correlations(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Over all texts, within each input, and over pairs of texts; by aspect where there are several."""
    texts = run.rated
    for code, aspect in enumerate(texts.aspects):
        part = texts.rows(texts.aspect == code)
        if part.n >= FEWEST:
            yield from _of_texts(part, options.seed, f" ({aspect})" if len(texts.aspects) > 1 else "")


@register("correlation")
def score_errors(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Error and leniency, where the judge and people use one scale."""
    texts = run.rated
    if texts.n and run.score_scale is not None and run.score_scale == run.human_scale:
        difference = texts.score - texts.human_score
        error = clip_interval(mean(np.abs(difference), texts.group), 0, math.inf)
        yield to_measure("error", error, "mean distance of the judge's score and the human score")
        description = "judge's score less human score; 0 is no bias"
        yield to_measure("leniency", mean(difference, texts.group), description, null_value=0.0)


@register("correlation")
def pair_correlation(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Kendall's tau-b of verdicts against the signs of human score differences."""
    yield from _of_pairs(_scored_pairs(run), options.seed)


def resampled_correlation(name: str, left: Floats, right: Floats, groups: Codes, seed: int) -> Estimate:
    """A correlation of (n,) points with its interval over groups."""
    return bootstrap(lambda rows: correlation(name, left[rows], right[rows]), len(left), groups, seed=seed)


def strata(run: RunArrays, seed: int) -> tuple[Stratum, ...]:
    """Pairs by how far the two human scores lie apart: the closer, the harder."""
    pairs = _scored_pairs(run)
    rows = []
    for name, low, high, mask in association.strata(pairs.human_difference) if pairs.n else ():
        part = pairs.rows(mask)
        if part.n:
            hits = part.judge == association.pair_codes(part.human_difference)
            description = "the verdict names the text that people score higher"
            accuracy = proportion_measure("accuracy", hits, part.group, description)
            rows.append(Stratum(name=name, low=low, high=high, measures=(accuracy, *_of_pairs(part, seed))))
    return tuple(rows)


def histograms(run: RunArrays) -> tuple[Histogram, ...]:
    """Distributions of the judge's and the human scores, each on its scale."""
    texts = run.rated
    if not texts.n:
        return ()
    return tuple(_histogram(whose, side) for whose, side in (("judge", texts.score), ("people", texts.human_score)))


def _of_texts(texts: RunArrays, seed: int, suffix: str) -> Iterator[Measure]:
    judge, human, groups = texts.score, texts.human_score, texts.group
    for name, title in COEFFICIENTS.items():
        estimate = resampled_correlation(name, judge, human, groups, seed)
        note = "" if not math.isnan(estimate.value) else "constant scores"
        yield to_measure(f"{name}{suffix}", estimate, f"{title} of the judge's and human scores, over all texts", note)
    inputs = association.sample_level(judge, human, groups)
    if inputs.used > 1:
        left = f"; {inputs.left_out:,} left out" if inputs.left_out else ""
        for name, title in COEFFICIENTS.items():
            description = f"{title} within each input, mean over {inputs.used:,}{left}"
            yield to_measure(f"{name} by input{suffix}", mean(inputs.per_group[name]), description)
    yield from _of_sampled_pairs(texts, seed, suffix)


def _of_sampled_pairs(texts: RunArrays, seed: int, suffix: str) -> Iterator[Measure]:
    """Scores read as verdicts of pairs of texts that answer the same input."""
    pairs = association.sampled_pairs(texts.human_score, texts.group, SAMPLED_PAIRS, seed)
    if len(pairs) < FEWEST:
        return
    first, second = pairs.T
    human, judge = texts.human_score[first] - texts.human_score[second], texts.score[first] - texts.score[second]
    estimate = bootstrap_table(
        association.tau_of_table,
        association.pair_codes(human),
        association.pair_codes(judge),
        3,
        texts.group[first],
        seed=seed,
    )
    yield to_measure(f"tau of pairs{suffix}", estimate, f"Kendall's tau-b over {len(pairs)} sampled pairs of one input")


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
