"""Correlations at each level, and tau over pairs, against scipy and the figures of recorded judgments."""

import json
import math
import os
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dicast.errors import DataError, DeclarationError
from dicast.stats.agreement import confusion
from dicast.stats.association import (
    PAIRWISE,
    data_set_level,
    pair_codes,
    pairwise_tau,
    sample_level,
    sampled_pairs,
    strata,
    tau_of_table,
)

UNDEFINED = {"pearson": math.nan, "spearman": math.nan, "kendall": math.nan}
OF_SCIPY: dict[str, Callable[..., Any]] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def scores(seed: int, n: int, levels: int = 5) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A judge and people with many ties; `levels` of 0 none."""
    random = np.random.default_rng(seed)
    human = random.normal(size=n)
    judge = human + random.normal(size=n)
    return (np.floor(judge * levels / 2), np.floor(human * levels / 2)) if levels else (judge, human)


@pytest.fixture
def stars() -> tuple[NDArray[Any], NDArray[Any], list[str]]:
    """ChatGPT's stars for the stories of OpenMEVA-ROC, people's mean ratings and the prompt of each."""
    folder = os.environ.get("DICAST_RECORDED") or Path(os.environ.get("DICAST_DATA", "")).parent / "recorded"
    file = Path(folder) / "openmeva_chatgpt" / "judgments.jsonl"
    if not file.is_file():
        pytest.skip("set DICAST_RECORDED to the folder of recorded judgments")
    rows = [row for row in map(json.loads, file.read_bytes().splitlines()) if row["judge"] == "chatgpt"]
    judge, human = (np.array([row[side] for row in rows], dtype=float) for side in ("prediction", "label"))
    return judge, human, [row["item_id"].split("/")[1] for row in rows]


# data-set level


@pytest.mark.parametrize("levels", [0, 2, 9])
@pytest.mark.parametrize("seed", range(3))
def test_the_data_set_level_is_scipys(seed: int, levels: int) -> None:
    judge, human = scores(seed, 150, levels)
    result = data_set_level(judge, human)
    assert list(result) == list(OF_SCIPY)
    for name, coefficient in OF_SCIPY.items():
        assert result[name] == pytest.approx(coefficient(judge, human).statistic, abs=1e-9)


@pytest.mark.parametrize(
    ("judge", "human"), [([], []), ([1, 2], [1, 2]), ([3, 3, 3], [1, 2, 3]), ([1, 2, 3], [0.1 + 0.2, 0.3, 0.3])]
)
def test_too_few_or_constant_scores_have_no_correlation(judge: list[float], human: list[float]) -> None:
    assert data_set_level(np.array(judge), np.array(human)) == pytest.approx(UNDEFINED, nan_ok=True)


@pytest.mark.parametrize(
    ("judge", "human"), [([1, 2, 3], [1, 2]), ([1, math.nan, 3], [1, 2, 3]), ([1, 2, 3], [1, 2, math.inf])]
)
def test_scores_that_are_not_known_are_refused(judge: list[float], human: list[float]) -> None:
    with pytest.raises(DataError, match="correlations: "):
        data_set_level(np.array(judge), np.array(human))
    with pytest.raises(DataError, match="correlations: "):
        sample_level(np.array(judge), np.array(human), np.zeros(3))


def test_chatgpts_stars_have_the_recorded_correlations(stars: tuple[Any, ...]) -> None:
    # recorded with the judgments of krystalan/chatgpt_as_nlg_evaluator: .415 and .439 over all 1,000 stories,
    # .472 and .490 over the 172 of 200 prompts whose ratings are not constant
    judge, human, prompts = stars
    over_all, within = data_set_level(judge, human), sample_level(judge, human, prompts)
    assert (round(over_all["spearman"], 3), round(over_all["pearson"], 3)) == (0.415, 0.439)
    assert (round(within.values["spearman"], 3), round(within.values["pearson"], 3)) == (0.472, 0.490)
    assert (within.used, within.left_out) == (172, 28)


@pytest.mark.slow
def test_a_hundred_thousand_scores_are_quick() -> None:
    judge, human = scores(0, 100_000, 10)
    data_set_level(judge[:10], human[:10])  # scipy is imported
    began = time.perf_counter()
    data_set_level(judge, human)
    assert time.perf_counter() - began < 1


# sample level


def plain(judge: NDArray[Any], human: NDArray[Any], groups: NDArray[Any]) -> tuple[dict[str, list[float]], int]:
    """The correlations of each group by scipy, and how many groups have none."""
    coefficients: dict[str, list[float]] = {name: [] for name in OF_SCIPY}
    left_out = 0
    for group in sorted(set(groups.tolist())):
        sides = judge[groups == group], human[groups == group]
        if len(sides[0]) < 3 or min(map(np.ptp, sides)) == 0:
            left_out += 1
            continue
        for name, coefficient in OF_SCIPY.items():
            coefficients[name].append(coefficient(*sides).statistic)
    return coefficients, left_out


@pytest.mark.parametrize(("n", "groups"), [(400, 60), (300, 1), (PAIRWISE * 3, 2), (40, 30)])
@pytest.mark.parametrize("levels", [0, 1, 6])
def test_the_sample_level_is_the_mean_of_scipys_over_groups(n: int, groups: int, levels: int) -> None:
    judge, human = scores(n, n, levels)
    group = np.random.default_rng(n).integers(groups, size=n)
    result, left_out = plain(judge, human, group)
    ours = sample_level(judge, human, group)
    assert (ours.used, ours.left_out) == (len(result["kendall"]), left_out)
    for name in OF_SCIPY:
        np.testing.assert_allclose(ours.per_group[name], result[name], atol=1e-9)
        assert ours.values[name] == pytest.approx(np.mean(result[name]), abs=1e-9)


def test_large_groups_are_measured_as_small_ones_are() -> None:
    judge, human = scores(8, PAIRWISE + 1)
    result = sample_level(judge, human, ["one"] * len(judge))
    assert result.values == pytest.approx(data_set_level(judge, human), abs=1e-9)
    shorter = sample_level(judge[1:], human[1:], ["one"] * PAIRWISE)
    assert shorter.values == pytest.approx(data_set_level(judge[1:], human[1:]), abs=1e-9)


def test_groups_without_a_correlation_are_left_out_and_counted() -> None:
    judge = np.array([1, 2, 3, 5, 5, 5, 1, 2, 3, 1, 2, 3, 2, 1], dtype=float)
    human = np.array([1, 2, 3, 1, 2, 3, 4, 4, 4, 3, 2, 1, 1, 2], dtype=float)
    result = sample_level(judge, human, list("aaabbbcccdddee"))
    assert (result.used, result.left_out, result.groups.tolist()) == (2, 3, ["a", "d"])
    np.testing.assert_allclose(result.per_group["kendall"], [1, -1])
    assert result.values == pytest.approx(dict.fromkeys(UNDEFINED, 0.0), abs=1e-12)


def test_a_group_that_differs_by_rounding_alone_is_constant() -> None:
    result = sample_level(np.array([1.0, 2, 3]), np.array([0.1 + 0.2, 0.3, 0.3]), [7, 7, 7])
    assert (result.used, result.left_out) == (0, 1)


@pytest.mark.parametrize("groups", [[], [1, 1, 2, 2]])
def test_no_group_at_all_has_no_mean(groups: list[int]) -> None:
    result = sample_level(np.arange(len(groups)), np.arange(len(groups)), groups)
    assert result.values == pytest.approx(UNDEFINED, nan_ok=True)
    assert (result.used, result.left_out, result.per_group["spearman"].shape) == (0, len(set(groups)), (0,))


def test_inputs_of_unequal_difficulty_raise_the_data_set_level_alone() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(100), 8)
    difficulty = random.normal(0, 5, size=100)[group]
    judge, human = difficulty + random.normal(size=800), difficulty + random.normal(size=800)
    assert data_set_level(judge, human)["spearman"] > 0.9
    assert abs(sample_level(judge, human, group).values["spearman"]) < 0.1


def test_the_order_of_texts_and_the_names_of_groups_change_nothing() -> None:
    judge, human = scores(4, 120)
    group = np.arange(120) % 17
    order = np.random.default_rng(1).permutation(120)
    named = np.array([f"prompt {code:02}" for code in group])
    result, shuffled = sample_level(judge, human, group), sample_level(judge[order], human[order], named[order])
    assert shuffled.values == pytest.approx(result.values, abs=1e-12)
    assert shuffled.groups[3] == "prompt 03"


def test_a_name_is_asked_for_each_text() -> None:
    with pytest.raises(DataError, match="groups: .* for 3 scores"):
        sample_level(np.arange(3), np.arange(3), [1, 2])


@pytest.mark.slow
def test_ten_thousand_groups_are_quick() -> None:
    judge, human = scores(0, 100_000, 10)
    began = time.perf_counter()
    sample_level(judge, human, np.arange(100_000) // 10)
    assert time.perf_counter() - began < 3


# pairs


def test_pairs_are_ordered_by_who_is_better() -> None:
    assert pair_codes(np.array([0.5, -2, 0, 1])).tolist() == [0, 1, 2, 0]


def test_a_difference_that_is_not_known_is_no_tie() -> None:
    with pytest.raises(DataError, match="pair_codes: "):
        pairwise_tau(np.array([1, math.nan]), np.array([1, 1]))


@pytest.mark.parametrize("levels", [0, 1, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_tau_over_all_pairs_is_scipys_tau_b_of_the_scores(seed: int, levels: int) -> None:
    judge, human = scores(seed, 40, levels)
    first, second = map(np.array, zip(*combinations(range(40), 2), strict=True))
    result = pairwise_tau(human[first] - human[second], judge[first] - judge[second])
    assert result == pytest.approx(stats.kendalltau(judge, human).statistic, abs=1e-9)


def test_tau_of_pairs_by_hand() -> None:
    # in order: P, P, Q, T (people tie), U (the judge ties), both tie: (2 - 1) / sqrt((3 + 1)(3 + 1))
    assert pairwise_tau(np.array([1, -2, 3, 0, 1, 0]), np.array([1, -1, -1, 1, 0, 0])) == pytest.approx(1 / 4)


def test_tables_have_the_tau_of_their_pairs_also_many_at_once() -> None:
    random = np.random.default_rng(3)
    human, judge = random.integers(-1, 2, size=(2, 500, 30))
    tables = np.array([confusion(pair_codes(h), pair_codes(j), 3) for h, j in zip(human, judge, strict=True)])
    expected = [pairwise_tau(h, j) for h, j in zip(human, judge, strict=True)]
    np.testing.assert_allclose(tau_of_table(tables), expected, atol=1e-12)
    assert tau_of_table(tables.reshape(50, 10, 3, 3)).shape == (50, 10)
    np.testing.assert_allclose(tau_of_table(tables / 30), expected, atol=1e-12)


def test_exchanging_the_texts_of_a_pair_changes_nothing() -> None:
    random = np.random.default_rng(4)
    human, judge, exchanged = random.integers(-1, 2, size=(3, 60))
    sign = np.where(exchanged > 0, -1, 1)
    assert pairwise_tau(human * sign, judge * sign) == pytest.approx(pairwise_tau(human, judge))
    assert pairwise_tau(judge, human) == pytest.approx(pairwise_tau(human, judge))
    assert pairwise_tau(human, -judge) == pytest.approx(-pairwise_tau(human, judge))


@pytest.mark.parametrize(("human", "judge"), [([], []), ([0, 0, 0], [1, -1, 1]), ([1, -1, 1], [0, 0, 0]), ([0], [0])])
def test_nothing_but_ties_has_no_tau(human: list[int], judge: list[int]) -> None:
    assert math.isnan(pairwise_tau(np.array(human), np.array(judge)))


def test_a_judge_that_always_names_the_first_has_a_tau_all_the_same() -> None:
    # no tie on either side, so tau is the share of hits less that of misses
    assert pairwise_tau(np.array([1, 1, 1, -1]), np.array([1, 1, 1, 1])) == pytest.approx(1 / 2)


@pytest.mark.parametrize("shape", [(2, 2), (3,), (5, 3, 2)])
def test_tables_of_other_labels_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="tau_of_table: "):
        tau_of_table(np.zeros(shape))


# sampled pairs


def test_few_pairs_are_all_taken() -> None:
    groups = np.array(["x", "y", "x", "y", "x", "z"])
    assert sampled_pairs(np.zeros(6), groups, n=200).tolist() == [[0, 2], [0, 4], [1, 3], [2, 4]]


def test_sampled_pairs_are_within_groups_and_never_the_same() -> None:
    groups = np.random.default_rng(0).integers(40, size=500)
    pairs = sampled_pairs(np.zeros(500), groups, n=200, seed=1)
    assert pairs.shape == (200, 2)
    assert (groups[pairs[:, 0]] == groups[pairs[:, 1]]).all()
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len({tuple(pair) for pair in pairs.tolist()}) == 200


def test_every_pair_is_drawn_alike() -> None:
    groups = np.array([0, 1, 0, 1, 1, 0, 0])  # 6 + 3 pairs, 4 drawn
    drawn = np.concatenate([sampled_pairs(np.zeros(7), groups, n=4, seed=seed) for seed in range(10_000)])
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 9
    np.testing.assert_allclose(counts / 10_000, 4 / 9, atol=0.025)  # five standard errors


def test_texts_without_a_human_score_are_in_no_pair() -> None:
    human = np.array([1, math.nan, 3, 4, math.nan])
    assert sampled_pairs(human, ["g"] * 5).tolist() == [[0, 2], [0, 3], [2, 3]]


def test_a_seed_draws_the_same_pairs() -> None:
    groups = np.zeros(60)
    first, again, other = (sampled_pairs(groups, groups, n=50, seed=seed) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


@pytest.mark.parametrize("groups", [[], [1, 2, 3]])
def test_groups_of_one_text_have_no_pairs(groups: list[int]) -> None:
    assert sampled_pairs(np.zeros(len(groups)), groups).shape == (0, 2)


# difficulty


def sizes(parts: list[tuple[str, float, float, NDArray[np.bool_]]]) -> dict[str, int]:
    return {name: int(mask.sum()) for name, _, _, mask in parts}


def test_terciles_are_of_equal_size_and_in_order() -> None:
    differences = np.random.default_rng(0).normal(size=300)
    result = strata(differences)
    assert sizes(result) == {"hard": 100, "medium": 100, "easy": 100}
    (_, zero, first, hard), (_, low, second, medium), (_, high, most, easy) = result
    assert (zero, first, second) == (0, low, high)
    assert np.abs(differences[hard]).max() <= first + 1e-9 < np.abs(differences[medium]).min() + 2e-9
    assert np.abs(differences[medium]).max() <= second + 1e-9 < np.abs(differences[easy]).min() + 2e-9
    assert most == pytest.approx(np.abs(differences).max())


def test_terciles_end_at_differences_that_occur() -> None:
    assert [high for _, _, high, _ in strata(np.array([1, -4, 0, 10, 2, 3]))] == [1, 3, 10]


def test_given_thresholds_part_the_pairs_and_ties_are_the_hardest() -> None:
    differences = np.array([0, -1, 1, 2, -3, 4, 0])
    result = strata(differences, thresholds=(1, 3))
    assert [mask.tolist() for *_, mask in result] == [
        [True, True, True, False, False, False, True],
        [False, False, False, True, True, False, False],
        [False, False, False, False, False, True, False],
    ]
    assert [(name, low, high) for name, low, high, _ in result] == [("hard", 0, 1), ("medium", 1, 3), ("easy", 3, 4)]


def test_ties_alone_can_be_a_stratum() -> None:
    assert sizes(strata(np.array([0, 0, 1, 2]), ("tie", "clear"), (0,))) == {"tie": 2, "clear": 2}


def test_every_pair_is_in_one_stratum() -> None:
    for seed, names in enumerate([("all",), ("hard", "easy"), ("hard", "medium", "easy"), tuple("abcde")]):
        result = strata(np.random.default_rng(seed).integers(-4, 5, size=90), names)
        assert [name for name, *_ in result] == list(names)
        assert (np.sum([mask for *_, mask in result], axis=0) == 1).all()


def test_equal_differences_stay_together() -> None:
    # 3.4 - 3.2, 2.2 - 2.0 and 1.0 - 1.2 differ by rounding
    assert sizes(strata(np.array([3.4 - 3.2, 2.2 - 2.0, 1.0 - 1.2]))) == {"hard": 3, "medium": 0, "easy": 0}
    assert sizes(strata(np.array([3.4 - 3.2, 2.2 - 2.0, 1.0 - 1.2]), thresholds=(0.2, 1)))["hard"] == 3


def test_nothing_but_ties_is_hard() -> None:
    assert sizes(strata(np.zeros(9))) == {"hard": 9, "medium": 0, "easy": 0}


def test_no_pairs_are_empty_strata() -> None:
    assert [(low, high, mask.shape) for _, low, high, mask in strata(np.array([]))] == [(0, 0, (0,))] * 3


@pytest.mark.parametrize("thresholds", [(1,), (2, 1), (-1, 1), (1, 2, 3), (math.nan, 1)])
def test_thresholds_that_do_not_fit_are_refused(thresholds: tuple[float, ...]) -> None:
    with pytest.raises(DeclarationError, match="strata: thresholds"):
        strata(np.arange(5), thresholds=thresholds)


def test_a_difference_that_is_not_known_has_no_stratum() -> None:
    with pytest.raises(DataError, match="strata: "):
        strata(np.array([1, math.nan]))
