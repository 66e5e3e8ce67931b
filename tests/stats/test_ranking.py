"""Systems ranked: statsmodels and scipy for the strengths, closed forms, coverage of the intervals, scipy for ranks."""

import math
import time

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import brentq, minimize
from scipy.stats import rankdata, spearmanr, ttest_1samp

from dicast.errors import DataError, DeclarationError
from dicast.stats.ranking import PRIOR, bootstrap_strengths, bradley_terry, mean_scores, win_matrix

SEEDS = range(5)
A, B, TIE, NONE = 0, 1, 2, -1
OTHER_LETTER = np.array([B, A, TIE, NONE])  # the last one is that of -1

Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]


def battles(seed: int, k: int = 6, n: int = 600, ties: float = 0.15) -> tuple[Pairs, np.ndarray]:
    """Pairs among k systems, some missing, some of a system with itself; and the strengths that they come from."""
    random = np.random.default_rng(seed)
    strengths = random.normal(size=k)
    first, second = random.integers(k, size=(2, n))
    wins = random.random(n) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcome = np.where(random.random(n) < ties, TIE, np.where(wins, A, B))
    outcome[random.random(n) < 0.05] = NONE
    return (first, second, outcome), strengths - strengths.mean()


def results(*rows: tuple[int, int, int]) -> Pairs:
    """Rows of (winner, loser, how often)."""
    winner, loser, often = np.array(rows).T
    return np.repeat(winner, often), np.repeat(loser, often), np.zeros(often.sum(), dtype=np.int64)


def by_statsmodels(pairs: Pairs, k: int) -> np.ndarray:
    """Unpenalised: a binomial GLM on +1 for a's system, -1 for b's, a tie being half a success; system 0 at 0."""
    first, second, outcome = pairs
    kept = (outcome >= 0) & (first != second)
    first, second, outcome = first[kept], second[kept], outcome[kept]
    design = np.eye(k)[first] - np.eye(k)[second]
    success = np.array([1.0, 0.0, 0.5])[outcome]
    fit = sm.GLM(success, design[:, 1:], family=sm.families.Binomial()).fit(tol=1e-12)
    strengths = np.concatenate([[0.0], np.asarray(fit.params, dtype=float)])
    centred: np.ndarray = strengths - strengths.mean()
    return centred


# win matrix


def test_the_win_matrix_by_hand() -> None:
    # 0 beats 1; 1 beats 0; 0 and 2 tie; then missing, not known, and a system against itself
    first, second = np.array([0, 0, 2, 1, -1, 1]), np.array([1, 1, 0, 2, 0, 1])
    wins = win_matrix(first, second, np.array([A, B, TIE, NONE, A, A]), 3)
    assert wins.tolist() == [[0, 1, 0.5], [1, 0, 0], [0.5, 0, 0]]


@pytest.mark.parametrize("seed", SEEDS)
def test_who_is_first_changes_nothing(seed: int) -> None:
    (first, second, outcome), _ = battles(seed)
    wins = win_matrix(first, second, outcome, 6)
    assert np.array_equal(win_matrix(second, first, OTHER_LETTER[outcome], 6), wins)
    assert np.array_equal(win_matrix(first, second, OTHER_LETTER[outcome], 6), wins.T)
    assert wins.sum() == ((outcome >= 0) & (first != second)).sum()


# strengths


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("k", "n"), [(2, 50), (6, 600), (12, 2_000)])
def test_maximum_likelihood_is_that_of_statsmodels(seed: int, k: int, n: int) -> None:
    pairs, _ = battles(seed, k, n)
    strengths = bradley_terry(*pairs, k, prior=0)
    assert strengths == pytest.approx(by_statsmodels(pairs, k), abs=1e-9)
    assert strengths.mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("prior", [PRIOR, 1.0, 25.0])
def test_a_prior_is_what_scipy_finds_too(seed: int, prior: float) -> None:
    (first, second, outcome), _ = battles(seed, 5, 80)
    wins = win_matrix(first, second, outcome, 5)

    def cost(strengths: np.ndarray) -> float:
        apart = strengths[:, None] - strengths[None, :]
        return float((wins * np.logaddexp(0, -apart)).sum() + prior / 2 * (strengths**2).sum())

    found = minimize(cost, np.zeros(5), method="BFGS", options={"gtol": 1e-6}).x
    # the minimum of a sum near 50 is flat within rounding: BFGS by differences finds it to 1e-6
    assert bradley_terry(first, second, outcome, 5, prior=prior) == pytest.approx(found, abs=1e-5)


@pytest.mark.parametrize(("wins", "losses"), [(1, 1), (3, 1), (70, 30), (1_000_000, 1)])
def test_two_systems_have_the_log_odds_of_their_wins(wins: int, losses: int) -> None:
    ahead, behind = bradley_terry(*results((0, 1, wins), (1, 0, losses)), 2, prior=0)
    assert ahead - behind == pytest.approx(math.log(wins / losses), abs=1e-9)


@pytest.mark.parametrize("wins", [1, 10, 100_000])
def test_a_system_that_always_wins_has_a_finite_strength(wins: int) -> None:
    # two systems at s and -s: wins / (1 + exp(2 s)) = prior x s
    strengths = bradley_terry(*results((0, 1, wins)), 2)
    expected = brentq(lambda s: wins / (1 + math.exp(2 * s)) - PRIOR * s, 0, 100, xtol=1e-12)
    assert strengths == pytest.approx([expected, -expected], abs=1e-9)


def test_a_chain_of_systems_that_always_win_is_in_order() -> None:
    strengths = bradley_terry(*results(*((i, i + 1, 1_000) for i in range(29))), 30)
    assert (np.diff(strengths) < 0).all()
    # the slope of the log posterior is 0: the wins missed on either side weigh as much as the prior
    missed = 1_000 / (1 + np.exp(strengths[:-1] - strengths[1:]))
    slope = np.append(missed, 0) - np.append(0, missed) - PRIOR * strengths
    assert np.abs(slope).max() < 1e-9


def test_newtons_method_finds_the_top_where_its_full_steps_miss_it() -> None:
    # full steps end with a slope of 1.3 here, and of 210,010 among five such systems
    pairs = results((0, 1, 1), (0, 3, 1_000), (1, 2, 10_000), (2, 3, 100_000), (3, 1, 10), (3, 2, 10))
    strengths = bradley_terry(*pairs, 4)
    wins = win_matrix(*pairs, 4)
    chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    slope = (wins * chance.T - wins.T * chance).sum(axis=1) - PRIOR * strengths
    assert np.abs(slope).max() < 1e-6


def test_equal_records_share_a_rank_whatever_the_rounding() -> None:
    # 1 and 2 have the same record; their strengths differ by 1e-17
    pairs = results((0, 1, 1), (0, 2, 1), (1, 0, 2), (2, 0, 2), (0, 3, 1), (3, 0, 1), (1, 2, 2), (2, 1, 2), (1, 3, 1),
                    (2, 3, 1), (3, 1, 3), (3, 2, 3))  # fmt: skip
    standings = bootstrap_strengths(*pairs, 4)
    assert standings[1].rank == standings[2].rank
    assert len({one.rank for one in standings}) == 3


def test_the_weak_prior_hardly_moves_what_was_compared_often() -> None:
    pairs, _ = battles(0)
    assert bradley_terry(*pairs, 6) == pytest.approx(bradley_terry(*pairs, 6, prior=0), abs=2e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_names_and_letters_of_systems_change_nothing(seed: int) -> None:
    (first, second, outcome), _ = battles(seed)
    strengths = bradley_terry(first, second, outcome, 6)
    assert bradley_terry(second, first, OTHER_LETTER[outcome], 6) == pytest.approx(strengths, abs=1e-12)
    assert bradley_terry(first, second, OTHER_LETTER[outcome], 6) == pytest.approx(-strengths, abs=1e-9)
    renamed = np.random.default_rng(seed).permutation(6)
    assert bradley_terry(renamed[first], renamed[second], outcome, 6)[renamed] == pytest.approx(strengths, abs=1e-9)


def test_ties_alone_leave_all_systems_equal() -> None:
    first, second = np.array([0, 1, 2]), np.array([1, 2, 0])
    assert bradley_terry(first, second, np.full(3, TIE), 3).tolist() == [0, 0, 0]
    standings = bootstrap_strengths(first, second, np.full(3, TIE), 3)
    assert [(one.rank, one.rank_low, one.rank_high) for one in standings] == [(1, 1, 1)] * 3


def test_systems_that_were_never_compared_are_refused() -> None:
    pairs = results((0, 1, 5), (1, 2, 5), (3, 4, 5))
    with pytest.raises(DeclarationError, match="systems 0 and 3 were never compared, neither directly nor through"):
        bradley_terry(*pairs, 5)
    with pytest.raises(DeclarationError, match="systems 0 and 3 were never compared"):
        bootstrap_strengths(*pairs, 5)
    with pytest.raises(DeclarationError, match="systems 0 and 2 were never compared"):
        bradley_terry(*results((0, 1, 5)), 3)


def test_without_a_prior_an_infinite_distance_is_refused() -> None:
    pairs = results((0, 1, 5), (1, 0, 2), (1, 2, 3))
    with pytest.raises(DeclarationError, match="system 0 never lost to 2, directly or through others"):
        bradley_terry(*pairs, 3, prior=0)
    for prior in (-1.0, math.nan):
        with pytest.raises(DeclarationError, match=f"prior={prior}"):
            bradley_terry(*pairs, 3, prior=prior)


def test_one_system_alone_has_strength_nought() -> None:
    nothing = np.array([], dtype=np.int64)
    assert bradley_terry(nothing, nothing, nothing, 1).tolist() == [0.0]
    (only,) = bootstrap_strengths(nothing, nothing, nothing, 1)
    assert (only.rank, only.rank_low, only.rank_high, only.strength.n) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    ("first", "outcome", "message"),
    [([0, 3], [0, 0], "system codes 0..3 of k=3"), ([0, 1], [0, 3], "winners 0..3"), ([0], [0, 0], r"shape \(1,\)")],
)
def test_unknown_codes_are_refused(first: list[int], outcome: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        win_matrix(np.array(first), np.array([1, 2]), np.array(outcome), 3)


# intervals


def test_standings_say_where_each_system_is() -> None:
    pairs, _ = battles(1)
    first, second, outcome = pairs
    standings = bootstrap_strengths(*pairs, 6, seed=3)
    strengths = bradley_terry(*pairs, 6)
    assert [one.strength.value for one in standings] == strengths.tolist()
    assert [one.rank for one in standings] == rankdata(-strengths).tolist()
    for system, one in enumerate(standings):
        assert one.strength.low < one.strength.value < one.strength.high
        assert 1 <= one.rank_low <= one.rank <= one.rank_high <= 6
        part = ((first == system) ^ (second == system)) & (outcome >= 0)
        assert (one.strength.n, one.strength.groups) == (part.sum(), part.sum())
    assert bootstrap_strengths(*pairs, 6, seed=3) == standings
    assert bootstrap_strengths(*pairs, 6, seed=4) != standings


def test_the_interval_is_about_that_of_the_inverse_information() -> None:
    # two systems: the log-odds have standard error sqrt(1 / wins + 1 / losses), each strength half of it
    ahead, _ = bootstrap_strengths(*results((0, 1, 1_200), (1, 0, 800)), 2, resamples=2_000)
    half = 1.96 * math.sqrt(1 / 1_200 + 1 / 800) / 2
    assert (ahead.strength.high - ahead.strength.low) / 2 == pytest.approx(half, rel=0.05)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = []
    for seed in range(40):
        pairs, truth = battles(seed, 5, 400, ties=0)
        standings = bootstrap_strengths(*pairs, 5, resamples=200)
        covered += [one.strength.low <= true <= one.strength.high for one, true in zip(standings, truth, strict=True)]
    assert 0.9 < np.mean(covered) < 0.99


def test_copies_of_a_pair_in_one_group_are_no_more_certain() -> None:
    first, second, outcome = (np.repeat(column, 4) for column in battles(2, 4, 200)[0])
    copies = bootstrap_strengths(first, second, outcome, 4, np.repeat(np.arange(200), 4), prior=4 * PRIOR)
    alone = bootstrap_strengths(first[::4], second[::4], outcome[::4], 4, np.arange(200))
    for one, other in zip(copies, alone, strict=True):
        assert one.strength.value == pytest.approx(other.strength.value, abs=1e-9)
        assert (one.strength.low, one.strength.high) == pytest.approx((other.strength.low, other.strength.high))
        assert (one.strength.n, one.strength.groups) == (4 * other.strength.n, other.strength.groups)


def test_groups_of_missing_pairs_play_no_part() -> None:
    (first, second, outcome), _ = battles(3)
    groups = np.arange(len(outcome)) // 3
    kept = (outcome >= 0) & (first != second)
    whole = bootstrap_strengths(first, second, outcome, 6, groups)
    assert bootstrap_strengths(first[kept], second[kept], outcome[kept], 6, groups[kept]) == whole


def test_resamples_that_do_not_connect_the_systems_are_not_counted() -> None:
    # 2 hangs on one pair of 9, which a third of the resamples lack: (8/9)^9 = .35
    pairs = results((0, 1, 5), (1, 0, 3), (1, 2, 1))
    third = bootstrap_strengths(*pairs, 3)[2]
    assert third.strength.low < third.strength.value < third.strength.high < 0
    # each of three on one group: 2 of 9 resamples have all
    alone = bootstrap_strengths(*results((0, 1, 1), (1, 2, 1), (2, 3, 1)), 4)
    assert all(math.isnan(one.strength.low) and (one.rank_low, one.rank_high) == (1, 4) for one in alone)


def test_many_pairs_are_ranked_in_seconds() -> None:
    pairs, truth = battles(0, 30, 100_000)
    start = time.perf_counter()
    standings = bootstrap_strengths(*pairs, 30)
    assert time.perf_counter() - start < 15  # about 1 to 2.5 on two cores that others use too
    assert spearmanr([one.strength.value for one in standings], truth).statistic > 0.99


# means and agreement


@pytest.mark.parametrize("seed", SEEDS)
def test_mean_scores_have_students_interval(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, systems = random.normal(size=90), random.integers(-1, 3, size=90)
    scores[::7] = math.nan
    for system, found in enumerate(mean_scores(scores, systems, 3)):
        own = scores[(systems == system) & ~np.isnan(scores)]
        interval = ttest_1samp(own, 0).confidence_interval(0.95)
        assert (found.value, found.low, found.high) == pytest.approx((own.mean(), *interval), abs=1e-9)
        assert found.n == len(own)


def test_a_system_without_a_score_has_no_mean() -> None:
    found = mean_scores(np.array([1.0, 3.0, math.nan]), np.array([0, 0, 1]), 3)
    assert [one.n for one in found] == [2, 0, 0]
    assert [math.isnan(one.value) for one in found] == [False, True, True]


def test_texts_of_one_prompt_are_one_group() -> None:
    (found,) = mean_scores(np.array([1.0, 3.0, 2.0, 4.0]), np.zeros(4, dtype=np.int64), 1, ["p", "p", "q", "q"])
    assert (found.value, found.n, found.groups) == (2.5, 4, 2)
