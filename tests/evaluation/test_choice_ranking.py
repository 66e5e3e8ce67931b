"""Rank, nDCG and squared error of a choice: figures of scikit-learn, and the sums written out."""

import math

import numpy as np
import pytest
from runs import choice, distinct, evaluated, measure, value

from dicast.data import Judged, Winner
from dicast.evaluation.metrics.choice import TEN
from dicast.stats.choice_ranking import ndcg, rank

ROUNDS = 200


# scikit-learn 1.9.1: ndcg_score([relevance], [scores]), relevance 1 for the right answer and 0 for the others
SCIKIT_LEARN = [
    ((9, 4, 2, 1), 0, 1.0),
    ((4, 9, 2, 1), 0, 0.6309297535714573),
    ((1, 4, 2, 9), 0, 0.4306765580733929),
    ((9, 9, 2, 1), 0, 0.8154648767857287),
    ((5, 5, 5, 5), 2, 0.6404015779112125),
    ((3, 7, 7, 7), 1, 0.7103099178571524),
    ((7, 3, 3, 1), 2, 0.5654648767857287),
    ((2.5, 2.5, 0, 9, 2.5), 4, 0.52053543721495),
]


@pytest.mark.parametrize(("scores", "right", "expected"), SCIKIT_LEARN)
def test_ndcg_is_that_of_scikit_learn(scores: tuple[float, ...], right: int, expected: float):
    assert ndcg(scores, {right}) == pytest.approx(expected, abs=1e-12)


def test_ndcg_of_one_list_is_that_of_scikit_learn():
    # the answers of three questions in one list, scikit-learn 1.9.1 as above
    questions = [choice(0, 9, 4, 2, 1), choice(0, 4, 9, 2, 1), choice(0, 9, 9, 2, 1)]
    pooled = value(evaluated(*distinct(questions)), "nDCG pooled")
    assert pooled == pytest.approx(0.7754047970020513, abs=1e-12)
    assert pooled == pytest.approx(ndcg([9, 4, 2, 1, 4, 9, 2, 1, 9, 9, 2, 1], {0, 4, 8}), abs=1e-12)


@pytest.mark.parametrize(("place", "gain"), [(1, 1.0), (2, 1 / math.log2(3)), (3, 0.5), (4, 1 / math.log2(5))])
def test_without_ties_the_gain_is_that_of_the_rank(place: int, gain: float):
    scores = [8.0, 6.0, 4.0, 2.0]
    assert rank(scores, place - 1) == place
    assert ndcg(scores, {place - 1}) == pytest.approx(gain, abs=1e-15)


def test_equal_scores_share_their_places():
    # places 1 and 2; 2, 3 and 4; all four
    assert [rank((7, 7, 1, 0), 0), rank((9, 7, 7, 7), 2), rank((5, 5, 5, 5), 3)] == [1.5, 3.0, 2.5]


def test_the_mean_squared_error_is_over_answers():
    found = evaluated(*distinct([choice(0, 9, 4, 0, 1), choice(2, 0, 0, 10)]), scale=TEN)
    assert value(found, "MSE") == pytest.approx(18 / 7)
    assert (measure(found, "MSE").n, measure(found, "nDCG").n) == (7, 2)


@pytest.mark.parametrize("scale", [None, (0.0, 1.0), (1.0, 10.0)])
def test_scores_of_another_scale_have_no_squared_error(scale: tuple[float, float] | None):
    section = evaluated(choice(0, 0.9, 0.1, 0.0), scale=scale).sections["choice"]
    assert [one.name for one in section] == ["rank", "nDCG", "nDCG pooled"]


def test_only_an_index_with_scores_is_counted():
    verdicts = (
        Judged(case_id="c", scores=(1, 2), label=Winner(value="a")),
        Judged(case_id="d", winner=0, label=Winner(value=0)),
        Judged(case_id="e", scores=(1, 2, 3)),
    )
    assert "choice" not in evaluated(*verdicts, scale=TEN).sections


@pytest.mark.parametrize("seed", range(3))
def test_the_measures_of_a_run_are_the_means_over_its_questions(seed: int):
    random = np.random.default_rng(seed)
    rows = [(int(random.integers(3)), random.integers(0, 5, size=random.integers(3, 6)).tolist()) for _ in range(40)]
    found = evaluated(*distinct(choice(right, *scores) for right, scores in rows))
    assert value(found, "rank") == pytest.approx(np.mean([rank(scores, right) for right, scores in rows]), abs=1e-12)
    assert value(found, "nDCG") == pytest.approx(np.mean([ndcg(scores, {right}) for right, scores in rows]), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_permuting_the_answers_changes_nothing(seed: int):
    random = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        scores = [float(score) for score in random.integers(0, 5, size=random.integers(3, 8))]
        right = int(random.integers(len(scores)))
        moved = [int(index) for index in random.permutation(len(scores))]
        after = [scores[index] for index in moved]
        assert rank(after, moved.index(right)) == rank(scores, right)
        assert ndcg(after, {moved.index(right)}) == ndcg(scores, {right})


def test_the_gain_is_above_nought_and_at_most_one():
    random = np.random.default_rng(10)
    for _ in range(ROUNDS):
        scores = [float(score) for score in random.integers(0, 4, size=random.integers(1, 12))]
        right = {int(index) for index in random.integers(0, len(scores), size=random.integers(1, 5))}
        assert 0 < ndcg(scores, right) <= 1


def test_a_better_score_of_the_right_answer_never_lowers_its_gain():
    random = np.random.default_rng(11)
    for _ in range(ROUNDS):
        scores = [float(score) for score in random.integers(0, 5, size=random.integers(2, 8))]
        right = int(random.integers(len(scores)))
        better = [*scores[:right], scores[right] + 1, *scores[right + 1 :]]
        assert ndcg(better, {right}) >= ndcg(scores, {right})
        assert rank(better, right) <= rank(scores, right)


def test_any_change_of_scale_that_keeps_the_order_keeps_rank_and_gain():
    random = np.random.default_rng(12)
    for _ in range(ROUNDS):
        scores = [float(score) for score in random.integers(0, 5, size=4)]
        assert ndcg([math.exp(score) for score in scores], {1}) == ndcg(scores, {1})
        assert rank([3 * score - 7 for score in scores], 1) == rank(scores, 1)


def test_ties_are_the_mean_over_the_orders_they_could_be_in():
    # breaking the tie at random many times comes to the same, here by hand: 1, 1/log2(3), 1/2 with equal chance
    broken = [ndcg(scores, {0}) for scores in ((9.2, 9.1, 9.0, 1), (9.1, 9.2, 9.0, 1), (9.0, 9.2, 9.1, 1))]
    assert ndcg((9, 9, 9, 1), {0}) == pytest.approx(sum(broken) / 3, abs=1e-15)
