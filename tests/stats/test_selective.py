"""Risk and coverage: permutations counted out, scikit-learn, published counts of verbal certainty."""

import json
import math
import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dicast.errors import DataError
from dicast.stats.proportions import Proportion
from dicast.stats.selective import ThresholdSplit, aurc, auroc, excess_aurc, risk_coverage, split_at_threshold

SEEDS = range(6)
NONE = np.array([]), np.array([], dtype=bool)


def verdicts(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Certainties in tenths on every other seed."""
    random = np.random.default_rng(seed)
    certainty = random.random(n)
    correct = random.random(n) < 0.3 + 0.6 * certainty
    return np.round(certainty, 1) if seed % 2 else certainty, correct


def areas_in_turn(correct: np.ndarray) -> float:
    """The area when the verdicts enter one by one in their order."""
    return float(np.mean([1 - correct[:kept].mean() for kept in range(1, len(correct) + 1)]))


# the curve


def test_the_curve_by_hand() -> None:
    curve = risk_coverage(np.array([0.5, 0.9, 0.5, 0.7]), np.array([False, True, True, False]))
    assert curve.threshold.tolist() == [0.9, 0.7, 0.5]
    assert curve.coverage.tolist() == [0.25, 0.5, 1.0]
    assert curve.n.tolist() == [1, 2, 4]
    assert curve.hits.tolist() == [1, 1, 2]
    assert curve.accuracy.tolist() == [1.0, 0.5, 0.5]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_point_keeps_what_is_at_or_above_its_threshold(seed: int) -> None:
    certainty, correct = verdicts(seed)
    curve = risk_coverage(certainty, correct)
    assert set(curve.threshold.tolist()) == set(certainty.tolist())
    for at, threshold in enumerate(curve.threshold):
        kept = certainty >= threshold
        assert (curve.n[at], curve.hits[at]) == (kept.sum(), correct[kept].sum())
        assert (curve.coverage[at], curve.accuracy[at]) == (kept.mean(), correct[kept].mean())
    assert (curve.coverage[-1], curve.accuracy[-1]) == (1.0, correct.mean())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_verdicts_changes_nothing(seed: int) -> None:
    certainty, correct = verdicts(seed)
    order = np.random.default_rng(seed).permutation(len(certainty))
    here, there = risk_coverage(certainty, correct), risk_coverage(certainty[order], correct[order])
    assert all(np.array_equal(vars(here)[name], vars(there)[name]) for name in vars(here))
    for measure in (aurc, excess_aurc, auroc):
        assert measure(certainty[order], correct[order]) == measure(certainty, correct)


# areas


@pytest.mark.parametrize("seed", SEEDS)
def test_the_area_without_ties_is_the_mean_over_prefixes(seed: int) -> None:
    random = np.random.default_rng(seed)
    certainty, correct = random.permutation(50) / 50, random.random(50) < 0.6
    assert aurc(certainty, correct) == pytest.approx(areas_in_turn(correct[np.argsort(-certainty)]), abs=1e-12)


@pytest.mark.parametrize(
    ("certainty", "correct"),
    [
        ([0.9, 0.9, 0.9, 0.2, 0.2], [True, False, True, False, True]),
        ([0.5] * 6, [True, False, False, True, True, False]),
        ([0.1, 0.7, 0.7, 0.7, 0.7, 0.9], [True, True, False, False, True, False]),
    ],
)
def test_the_area_of_ties_is_the_mean_over_all_of_their_orders(certainty: list[float], correct: list[bool]) -> None:
    sure, right = np.array(certainty), np.array(correct)
    orders = [list(order) for order in permutations(range(len(sure))) if (np.diff(sure[list(order)]) <= 0).all()]
    expected = np.mean([areas_in_turn(right[order]) for order in orders])
    assert aurc(sure, right) == pytest.approx(expected, abs=1e-12)


def test_equal_certainty_of_everything_has_the_share_of_errors() -> None:
    correct = np.array([True] * 7 + [False] * 3)
    assert aurc(np.full(10, 0.8), correct) == pytest.approx(0.3, abs=1e-12)
    assert auroc(np.full(10, 0.8), correct) == 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_order_has_no_excess_and_the_worst_has_the_most(seed: int) -> None:
    certainty, correct = verdicts(seed)
    assert excess_aurc(correct * 0.5, correct) == 0
    best = areas_in_turn(np.sort(correct)[::-1])
    assert excess_aurc(certainty, correct) == pytest.approx(aurc(certainty, correct) - best, abs=1e-12)
    assert 0 < excess_aurc(certainty, correct) < excess_aurc(1.0 - correct, correct)


def test_the_best_area_of_many_verdicts_is_near_the_papers_approximation() -> None:
    # Geifman, Uziel and El-Yaniv 2019: r + (1 - r) ln(1 - r), at r = .3
    correct = np.arange(20_000) >= 6_000
    assert aurc(correct.astype(np.float64), correct) == pytest.approx(0.3 + 0.7 * math.log(0.7), abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_area_under_the_roc_is_that_of_scikit_learn(seed: int) -> None:
    certainty, correct = verdicts(seed)
    assert auroc(certainty, correct) == pytest.approx(roc_auc_score(correct, certainty), abs=1e-9)
    assert auroc(1 - certainty, correct) == pytest.approx(1 - auroc(certainty, correct), abs=1e-9)


def test_one_class_has_areas_but_no_roc() -> None:
    certainty = np.array([0.2, 0.9])
    for right, area in ((np.array([True, True]), 0.0), (np.array([False, False]), 1.0)):
        assert (aurc(certainty, right), excess_aurc(certainty, right)) == (area, 0.0)
        assert math.isnan(auroc(certainty, right))


def test_without_verdicts_there_is_no_figure() -> None:
    assert risk_coverage(*NONE).n.tolist() == []
    assert all(math.isnan(measure(*NONE)) for measure in (aurc, excess_aurc, auroc))
    assert split_at_threshold(*NONE) == ThresholdSplit(0.8, Proportion(0, 0), Proportion(0, 0))


@pytest.mark.parametrize("measure", [risk_coverage, aurc, excess_aurc, auroc, split_at_threshold])
def test_a_missing_certainty_is_refused(measure) -> None:
    with pytest.raises(DataError, match="certainty nan"):
        measure(np.array([0.5, math.nan]), np.array([True, False]))


# high and low certainty


@pytest.mark.parametrize(
    ("high", "low", "shares"),
    [
        # arXiv 2406.11657, table 2, GPT-4o on PRISM and OpinionQA, which prints 108/120 and 385/480 beside .908 and
        # .804: its counts are int(n x rounded share), here one too low
        ((109, 120), (612, 871), (0.908, 0.703)),
        ((386, 480), (1526, 2535), (0.804, 0.602)),
    ],
)
def test_published_shares_come_out_of_their_counts(
    high: tuple[int, int], low: tuple[int, int], shares: tuple[float, float]
) -> None:
    certainty = np.repeat([0.8, 1.0, 0.79, 0.01], [1, high[1] - 1, 1, low[1] - 1])
    correct = np.concatenate([np.arange(n) < hits for hits, n in (high, low)])
    found = split_at_threshold(certainty, correct)
    assert (found.accepted, found.rejected) == (Proportion(*high), Proportion(*low))
    assert (round(found.accepted.value, 3), round(found.rejected.value, 3)) == shares


def recorded(judge: str, setting: str) -> list[dict[str, object]]:
    """PRISM verdicts of arXiv 2406.11657; a user's clone has none."""
    data = os.environ.get("DICAST_DATA")
    folder = os.environ.get("DICAST_RECORDED") or (Path(data).parent / "recorded" if data else None)
    path = folder and Path(folder) / "personalized_judge" / "judgments.jsonl"
    if not path or not path.is_file():
        pytest.skip("set DICAST_RECORDED to the folder of recorded judgments")
    wanted = {"dataset_id": "personalized_prism", "judge": judge, "setting": setting}
    with path.open() as lines:
        return [row for row in map(json.loads, lines) if wanted.items() <= row.items()]


def test_recorded_certainties_give_the_published_table() -> None:
    # Table 2, PRISM, Command R+: .893 (133/149) and .690 (587/852). The paper counts all 1,001 records, and int(852 x
    # .690) = 587 where 588 are right; one record is flagged since (both responses are the same text), and leaves 851.
    rows = recorded("command-r-plus", "all_features")
    everything = split_at_threshold(*certainties(rows))
    assert (everything.accepted, everything.rejected) == (Proportion(133, 149), Proportion(588, 852))
    assert (round(everything.accepted.value, 3), round(everything.rejected.value, 3)) == (0.893, 0.690)
    assert (int(149 * 0.893), int(852 * 0.690)) == (133, 587)
    sound = split_at_threshold(*certainties([row for row in rows if not row.get("quality_flag")]))
    assert (sound.accepted, sound.rejected) == (Proportion(133, 149), Proportion(588, 851))


def certainties(rows: list[dict[str, object]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row["certainty"] for row in rows]) / 100, np.array([row["correct"] for row in rows], dtype=bool)
