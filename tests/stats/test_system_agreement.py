"""Systems ranked by two scorings: correlations against scipy, and how often their intervals hold the truth."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr, spearmanr

from dicast.errors import DataError
from dicast.stats.ranking import A, B, bradley_terry, mean_scores
from dicast.stats.resampling import Estimate
from dicast.stats.system_agreement import (
    BLOCKS,
    draw_groups,
    mean_score_draws,
    strength_draws,
    system_agreement,
)

Floats = NDArray[np.float64]
SEEDS = range(4)


def agreement_of_scores(judge: Floats, people: Floats, seed: int = 0) -> dict[str, Estimate]:
    """Of (prompts, systems) scores."""
    prompts, k = judge.shape
    wrote, groups = np.tile(np.arange(k), prompts), np.repeat(np.arange(prompts), k)
    resampled = draw_groups(groups, prompts * k, seed=seed)
    return system_agreement(
        judge.mean(axis=0),
        people.mean(axis=0),
        mean_score_draws(judge.ravel(), wrote, k, resampled),
        mean_score_draws(people.ravel(), wrote, k, resampled),
        seed=seed,
    )


def world(rng: np.random.Generator, k: int, prompts: int, rho: float) -> tuple[float, Floats, Floats]:
    """Spearman of the systems' true qualities, and scores (prompts, systems) of both sides."""
    people = rng.normal(size=k)
    judge = rho * people + math.sqrt(1 - rho**2) * rng.normal(size=k)
    common = rng.normal(size=(prompts, 1)) + 0.7 * rng.normal(size=(prompts, k))
    judged, labelled = (side + common + rng.normal(size=(prompts, k)) for side in (judge, people))
    return float(spearmanr(judge, people).statistic), judged, labelled


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("decimals", [0, 6])
def test_agreement_is_that_of_scipy(seed: int, decimals: int) -> None:
    random = np.random.default_rng(seed)
    ours = random.normal(size=12)
    theirs = np.round(ours + random.normal(size=12), decimals)
    ours[3] = theirs[7] = math.nan
    kept = ~np.isnan(ours + theirs)
    nothing = np.full((10, 12), math.nan)
    found = system_agreement(ours, theirs, nothing, nothing)
    for name, scipys in (("pearson", pearsonr), ("spearman", spearmanr), ("kendall", kendalltau)):
        assert found[name].value == pytest.approx(scipys(ours[kept], theirs[kept]).statistic, abs=1e-9)
        assert found[name].n == 10
        assert math.isnan(found[name].low)


@pytest.mark.parametrize("scores", [[1.0, 2.0], [1.0, 1.0, 1.0], [1.0, 2.0, math.nan], []])
def test_few_or_constant_scores_rank_nothing(scores: list[float]) -> None:
    ours, theirs = np.array(scores), np.arange(len(scores), dtype=float)
    found = system_agreement(ours, theirs, np.tile(ours, (20, 1)), np.tile(theirs, (20, 1)))["spearman"]
    assert found.n == np.isfinite(scores).sum()
    assert math.isnan(found.value)
    assert math.isnan(found.low)


def test_scores_of_other_systems_are_refused() -> None:
    with pytest.raises(DataError, match=r"system_agreement: scores of \(2,\) and \(3,\)"):
        system_agreement(np.zeros(2), np.zeros(3), np.zeros((5, 2)), np.zeros((5, 3)))


def test_each_draw_weighs_whole_groups_as_often_as_it_drew_them() -> None:
    rng = np.random.default_rng(2)
    groups, wrote = rng.integers(9, size=80), rng.integers(-1, 4, size=80)
    scores = np.where(rng.random(80) < 0.1, math.nan, rng.normal(size=80))
    resampled = draw_groups(groups, 80, seed=5, resamples=30)
    assert (resampled.weights.sum(axis=1) == 9).all()
    found = mean_score_draws(scores, wrote, 4, resampled)
    for weights, means in zip(resampled.weights, found, strict=True):
        rows = np.repeat(np.arange(80), weights[resampled.block].astype(int))
        expected = [one.value for one in mean_scores(scores[rows], wrote[rows], 4)]
        assert means == pytest.approx(expected, nan_ok=True)
    first, second, outcome = (rng.integers(4, size=80) for _ in range(3))
    outcome = np.where(outcome > 1, -1, np.where(outcome == 0, A, B))
    second = np.where(second == first, (first + 1) % 4, second)
    strengths = strength_draws(first, second, outcome, 4, resampled)
    for weights, found_strengths in zip(resampled.weights, strengths, strict=True):
        rows = np.repeat(np.arange(80), weights[resampled.block].astype(int))
        assert found_strengths == pytest.approx(bradley_terry(first[rows], second[rows], outcome[rows], 4), abs=1e-8)


def test_many_groups_are_drawn_in_blocks() -> None:
    resampled = draw_groups(None, 2_500, resamples=20)
    assert resampled.weights.shape == (20, BLOCKS)
    assert np.bincount(resampled.block).tolist() == [3] * 500 + [2] * 500


def test_an_interval_holds_its_value_and_stays_on_the_scale() -> None:
    _, judged, labelled = world(np.random.default_rng(1), 6, 30, 0.9)
    for found in agreement_of_scores(judged, labelled).values():
        assert -1 <= found.low <= found.value <= found.high <= 1
    again = agreement_of_scores(judged, labelled)
    assert again == agreement_of_scores(judged, labelled)
    assert again != agreement_of_scores(judged, labelled, seed=1)


@pytest.mark.parametrize(("k", "prompts", "rho"), [(6, 20, 0.6), (16, 60, 0.9)])
def test_the_interval_holds_the_correlation_of_these_systems_and_of_all(k: int, prompts: int, rho: float) -> None:
    rng = np.random.default_rng(0)
    of_all = 6 / math.pi * math.asin(rho / 2)
    held = []
    for _ in range(100):
        truth, judged, labelled = world(rng, k, prompts, rho)
        found = agreement_of_scores(judged, labelled, seed=int(rng.integers(1000)))["spearman"]
        held.append((found.low <= truth <= found.high, found.low <= of_all <= found.high))
    assert (np.mean(held, axis=0) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)).all()


@pytest.mark.parametrize(("k", "lows"), [(3, (-1.0, -1.0)), (4, (-0.5, -1.0)), (5, (0.38, 0.17)), (8, (0.93, 0.88))])
def test_few_systems_in_one_order_have_the_interval_of_so_few_pairs(k: int, lows: tuple[float, float]) -> None:
    scores = np.arange(k) + np.zeros((20, 1))  # equal on every prompt, so that every draw has the same order
    found, turned = agreement_of_scores(scores, scores), agreement_of_scores(scores, -scores)
    for name, low in zip(("spearman", "kendall"), lows, strict=True):
        assert found[name].low == pytest.approx(low, abs=0.01)
        assert turned[name].high == pytest.approx(-found[name].low, abs=1e-9)
        assert (found[name].value, found[name].high) == pytest.approx((1, 1), abs=1e-9)
