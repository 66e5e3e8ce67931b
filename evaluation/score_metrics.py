"""The figures of scores: correlations as papers define them, errors, pairs by difficulty, systems ranked."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..stats import association, human_agreement, ranking
from ..stats.proportions import FEWEST, correlation
from ..stats.resampling import Estimate, bootstrap, bootstrap_table, mean
from .measure_factories import plain, rate, told, within
from .results import Histogram, Measure, Stratum, SystemRow
from .run_arrays import Codes, Columns, Floats

TITLES = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
BINS = 20  # of the histograms
SAMPLED = 200  # pairs of texts, as in arXiv 2304.00723


def scored(run: Columns) -> Columns:
    """The single texts with a score of the judge's and of people's."""
    return run.rows(~np.isnan(run.score) & ~np.isnan(run.human_score))


def correlated(run: Columns, seed: int, *, same_scale: bool) -> Iterator[Measure]:
    """Over all texts, and within each input; by aspect where there are several."""
    texts = scored(run)
    for code, aspect in enumerate(texts.aspects):
        one = texts.rows(texts.aspect == code)
        if one.n >= FEWEST:
            yield from _correlation(one, seed, f" ({aspect})" if len(texts.aspects) > 1 else "")
    if texts.n and same_scale:
        gap = texts.score - texts.human_score
        yield told(
            "error",
            within(mean(np.abs(gap), texts.group), 0, math.inf),
            "mean distance of the judge's score and people's",
        )
        yield told("leniency", mean(gap, texts.group), "judge's score less people's; 0 is no bias", neutral=0.0)


def _correlation(texts: Columns, seed: int, suffix: str) -> Iterator[Measure]:
    judge, human, groups = texts.score, texts.human_score, texts.group
    for name, title in TITLES.items():
        figure = resampled(name, judge, human, groups, seed)
        note = "" if not math.isnan(figure.value) else "constant scores"
        yield told(f"{name}{suffix}", figure, f"{title} of the judge's and people's scores, over all texts", note)
    within = association.sample_level(judge, human, groups)
    if within.used > 1:
        left = f"; {within.left_out:,} left out" if within.left_out else ""
        for name, title in TITLES.items():
            what = f"{title} within each input, mean over {within.used:,}{left}"
            yield told(f"{name} by input{suffix}", mean(within.per_group[name]), what)
    yield from _pairs(texts, seed, suffix)


def resampled(name: str, left: Floats, right: Floats, groups: Codes, seed: int) -> Estimate:
    """A correlation with its interval over groups."""
    return bootstrap(lambda rows: correlation(name, left[rows], right[rows]), len(left), groups, seed=seed)


def _pairs(texts: Columns, seed: int, suffix: str) -> Iterator[Measure]:
    """Scores read as verdicts of pairs of texts that answer the same input."""
    pairs = association.sampled_pairs(texts.human_score, texts.group, SAMPLED, seed)
    if len(pairs) < FEWEST:
        return
    first, second = pairs.T
    human, judge = texts.human_score[first] - texts.human_score[second], texts.score[first] - texts.score[second]
    figure = bootstrap_table(
        association.tau_of_table,
        association.pair_codes(human),
        association.pair_codes(judge),
        3,
        texts.group[first],
        seed=seed,
    )
    yield told(f"tau of pairs{suffix}", figure, f"Kendall's tau-b over {len(pairs)} sampled pairs of one input")


def person(run: Columns, seed: int) -> Iterator[Measure]:
    """One annotator's scores against the mean of the others, and the judge's against the same means."""
    texts = scored(run)
    left = human_agreement.leave_one_out_scores(texts.ratings)
    if len(left.item) < FEWEST:
        return
    groups = texts.group[left.item]
    sides = {
        "one person": (left.rating, "one annotator's score against the mean of the others', Spearman's rho"),
        "judge as a person": (texts.score[left.item], "the judge's score against the same means, Spearman's rho"),
    }
    for name, (side, what) in sides.items():
        yield told(name, resampled("spearman", side, left.others, groups, seed), what)


def pair_correlation(run: Columns, seed: int) -> Iterator[Measure]:
    """Kendall's tau-b of verdicts against the signs of people's score differences."""
    pairs = _gaps(run)
    if not pairs.n:
        return
    human = association.pair_codes(pairs.human_gap)
    figure = bootstrap_table(association.tau_of_table, human, pairs.judge, 3, pairs.group, seed=seed)
    yield told("tau of pairs", figure, "Kendall's tau-b of the verdicts and people's score differences")


def strata(run: Columns, seed: int) -> tuple[Stratum, ...]:
    """Pairs by how far people's two scores lie apart: the closer, the harder."""
    pairs = _gaps(run)
    found = []
    for name, low, high, mask in association.strata(pairs.human_gap) if pairs.n else ():
        part = pairs.rows(mask)
        if part.n:
            measures = tuple(pair_correlation(part, seed))
            hits = part.judge == association.pair_codes(part.human_gap)
            found.append(Stratum(name=name, low=low, high=high, measures=(_accuracy(hits, part.group), *measures)))
    return tuple(found)


def _accuracy(hits: Any, groups: Codes) -> Measure:
    return rate("accuracy", hits, groups, "the verdict names the text that people score higher")


def _gaps(run: Columns) -> Columns:
    return run.rows(~np.isnan(run.human_gap) & np.isin(run.judge, (0, 1, 2)))


def histograms(run: Columns) -> tuple[Histogram, ...]:
    """How the judge's and people's scores are spread, each on its own scale."""
    texts = scored(run)
    if not texts.n:
        return ()
    return tuple(_histogram(whose, side) for whose, side in (("judge", texts.score), ("people", texts.human_score)))


def _histogram(whose: str, scores: Floats) -> Histogram:
    levels = np.unique(scores)
    bins: int | Sequence[float] = BINS
    if len(levels) <= BINS and len(levels) > 1 and (step := np.diff(levels).min()) > 0:
        count = round((levels[-1] - levels[0]) / step) + 1
        bins = (
            np.linspace(levels[0] - step / 2, levels[-1] + step / 2, count + 1).tolist() if count <= 2 * BINS else BINS
        )
    counts, edges = np.histogram(scores, bins=bins)
    return Histogram(whose=whose, edges=tuple(edges.tolist()), counts=tuple(counts.tolist()))


def systems(run: Columns, seed: int) -> tuple[SystemRow, ...]:
    """Systems by mean score of their texts, or by strength in pairs; the best by the judge first."""
    k = len(run.systems)
    if not k:
        return ()
    alone = run.system.shape[1] == 1 or (run.judge < 0).all()
    rows = _by_score(run, k) if alone else _by_strength(run, k, seed)
    return tuple(
        sorted(rows, key=lambda row: (-(row.judge.value if row.judge.value is not None else -math.inf), row.system))
    )


def _by_score(run: Columns, k: int) -> list[SystemRow]:
    wrote = run.system[:, 0]
    judge = ranking.mean_scores(run.score, wrote, k, run.group)
    human = ranking.mean_scores(run.human_score, wrote, k, run.group)
    what = "mean score of its texts"
    return [
        SystemRow(
            system=name, judge=told("score", ours, what), people=told("score", theirs, what) if theirs.n else None
        )
        for name, ours, theirs in zip(run.systems, judge, human, strict=True)
        if ours.n
    ]


def _by_strength(run: Columns, k: int, seed: int) -> list[SystemRow]:
    from ..errors import DeclarationError

    first, second = run.system.T
    what = "strength in pairs (Bradley-Terry, log-odds)"
    try:
        judge = ranking.bootstrap_strengths(first, second, run.judge, k, run.group, seed=seed)
        human = ranking.bootstrap_strengths(first, second, run.human, k, run.group, seed=seed)
    except DeclarationError:  # some systems were never compared: there is no one scale for them
        return []
    return [
        SystemRow(system=name, judge=told("strength", a.strength, what), people=told("strength", b.strength, what))
        for name, a, b in zip(run.systems, judge, human, strict=True)
    ]


def system_agreement(rows: Sequence[SystemRow]) -> Iterator[Measure]:
    """How alike judge and people rank the systems."""
    both = [(row.judge.value, row.people.value) for row in rows if row.people]
    sides = [(a, b) for a, b in both if a is not None and b is not None]
    if len(sides) < FEWEST:
        return
    found = ranking.rank_agreement(*np.array(sides).T)
    for name in ("spearman", "kendall"):
        what = f"{TITLES[name]} of the judge's and people's ranking of {found.n} systems"
        yield plain(f"systems {name}", getattr(found, name), found.n, what)
