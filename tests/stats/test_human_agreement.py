"""How well people agree: leave-one-out figures against plain loops, kappa against statsmodels, and examples by hand."""

import math
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from dicast.errors import DataError
from dicast.stats.agreement import krippendorff_alpha
from dicast.stats.human_agreement import (
    against_others,
    drawn_accuracy,
    drawn_agreement,
    fleiss_kappa,
    leave_one_out,
    leave_one_out_scores,
    majority,
    majority_certainty,
    pairwise_agreement,
    single_accuracy,
)

NAN = math.nan


def votes_of_people(seed: int, n: int = 200, raters: int = 4, k: int = 3, missing: float = 0.3) -> NDArray[np.int64]:
    """Annotators who are right two times of three, some of them absent."""
    random = np.random.default_rng(seed)
    truth = random.integers(k, size=(n, 1))
    votes = np.where(random.random((n, raters)) < 2 / 3, truth, random.integers(k, size=(n, raters)))
    return np.where(random.random((n, raters)) < missing, -1, votes)


SEVERAL = [(seed, raters, k) for seed, (raters, k) in enumerate([(2, 2), (3, 2), (3, 3), (4, 3), (5, 4), (9, 3)])]


def credit(label: int, others: list[int]) -> float:
    """What a label earns against the majority of others, in plain Python."""
    counts = Counter(others)
    leading = [one for one, n in counts.items() if n == max(counts.values())]
    return (label in leading) / len(leading)


def left_out(row: NDArray[Any], label: int | None) -> float:
    """The mean credit over who is left out; None: of the left-out annotator's own vote."""
    present = [int(vote) for vote in row if vote >= 0]
    if len(present) < 2:
        return NAN
    earned = [
        credit(own if label is None else label, present[:place] + present[place + 1 :])
        for place, own in enumerate(present)
    ]
    return sum(earned) / len(earned)


# leave one out


@pytest.mark.parametrize(("seed", "raters", "k"), SEVERAL)
def test_leave_one_out_is_a_plain_loop_over_annotators(seed: int, raters: int, k: int) -> None:
    votes = votes_of_people(seed, raters=raters, k=k)
    np.testing.assert_allclose(leave_one_out(votes), [left_out(row, None) for row in votes], atol=1e-9)


@pytest.mark.parametrize(("seed", "raters", "k"), SEVERAL)
def test_a_judge_against_the_others_is_a_plain_loop_over_annotators(seed: int, raters: int, k: int) -> None:
    votes, judge = votes_of_people(seed, raters=raters, k=k), np.random.default_rng(seed).integers(-1, k + 1, size=200)
    plain = [left_out(row, int(label)) if label >= 0 else NAN for row, label in zip(votes, judge, strict=True)]
    np.testing.assert_allclose(against_others(judge, votes), plain, atol=1e-9)


def test_leave_one_out_of_items_by_hand() -> None:
    rows: dict[tuple[int, ...], float] = {
        (0, 0, 0): 1,
        (0, 0, 1): (1 / 2 + 1 / 2 + 0) / 3,  # a left-out 0 faces one 0 and one 1: half
        (0, 1, 2): 0,
        (0, 0, -1): 1,  # two votes: the other is one person
        (0, -1, 1): 0,
        (-1, 2, -1): NAN,
        (-1, -1, -1): NAN,
    }
    np.testing.assert_allclose(leave_one_out(np.array(list(rows))), list(rows.values()))


def test_a_judge_against_the_others_by_hand() -> None:
    # of 0, 0, 1 the others are (0, 1), (0, 1) and (0, 0)
    votes = np.array([[0, 0, 1]] * 5)
    result = against_others(np.array([0, 1, 2, 3, -1]), votes)
    np.testing.assert_allclose(result, [(1 / 2 + 1 / 2 + 1) / 3, (1 / 2 + 1 / 2 + 0) / 3, 0, 0, NAN])


def test_a_judge_that_is_one_more_annotator_has_the_human_figure() -> None:
    # the judge's skill is people's: the like-for-like figures meet, and the full majority flatters the judge
    random = np.random.default_rng(0)
    truth = random.integers(3, size=(40_000, 1))
    everyone = np.where(random.random((40_000, 4)) < 0.7, truth, random.integers(3, size=(40_000, 4)))
    judge, votes = everyone[:, 0], everyone[:, 1:]
    people = leave_one_out(votes).mean()
    assert against_others(judge, votes).mean() == pytest.approx(people, abs=0.01)
    winners = majority(votes, 3)
    assert (judge == winners)[winners >= 0].mean() > people + 0.05


@pytest.mark.parametrize("figure", [leave_one_out, pairwise_agreement, lambda votes: majority(votes, 3)])
def test_the_order_of_votes_changes_nothing(figure: Any) -> None:
    votes = votes_of_people(3)
    shuffled = np.random.default_rng(0).permuted(votes, axis=1)
    np.testing.assert_array_equal(figure(shuffled), figure(votes))


@pytest.mark.parametrize("figure", [leave_one_out, pairwise_agreement])
def test_names_of_labels_change_nothing(figure: Any) -> None:
    votes = votes_of_people(4)
    renamed = np.where(votes < 0, -1, np.array([2, 0, 1])[votes])
    np.testing.assert_allclose(figure(renamed), figure(votes))


def test_no_items_have_no_figures() -> None:
    none = np.zeros((0, 3), dtype=int)
    assert (
        leave_one_out(none).shape == against_others(np.array([]), none).shape == pairwise_agreement(none).shape == (0,)
    )
    assert majority(none, 2).shape == majority_certainty(none, none).shape == (0,)
    assert math.isnan(fleiss_kappa(none))


def test_one_slot_an_item_is_nobody_to_agree_with() -> None:
    assert np.isnan(leave_one_out(np.array([[0], [1]]))).all()
    assert np.isnan(leave_one_out(np.zeros((2, 0)))).all()


def test_a_verdict_is_asked_for_each_item() -> None:
    with pytest.raises(DataError, match=r"against_others: \(1,\) verdicts for 2 items"):
        against_others(np.array([0]), np.zeros((2, 3)))


def test_votes_in_one_row_are_refused() -> None:
    with pytest.raises(DataError, match=r"\(3,\).*n_raters"):
        leave_one_out(np.array([0, 1, 0]))


def test_a_hundred_thousand_items_are_quick() -> None:
    votes = votes_of_people(0, n=100_000)
    began = time.perf_counter()
    leave_one_out(votes)
    against_others(votes[:, 0], votes)
    assert time.perf_counter() - began < 2


# pairs of annotators, kappa


@pytest.mark.parametrize(("seed", "raters", "k"), SEVERAL)
def test_pairwise_agreement_is_a_plain_loop_over_pairs(seed: int, raters: int, k: int) -> None:
    votes = votes_of_people(seed, raters=raters, k=k)
    for row, agreement in zip(votes, pairwise_agreement(votes), strict=True):
        present = row[row >= 0]
        pairs = [present[i] == present[j] for i in range(len(present)) for j in range(i)]
        assert agreement == pytest.approx(np.mean(pairs)) if pairs else math.isnan(agreement)


@pytest.mark.parametrize(("seed", "raters", "k"), SEVERAL)
def test_kappa_is_that_of_statsmodels(seed: int, raters: int, k: int) -> None:
    votes = votes_of_people(seed, raters=raters, k=k, missing=0)
    table = np.stack([(votes == label).sum(1) for label in range(k)], axis=1)
    assert fleiss_kappa(votes) == pytest.approx(fleiss_of_statsmodels(table), abs=1e-9)


def test_kappa_of_a_textbook_table() -> None:
    # Fleiss 1971's method on the table of Wikipedia's article: 10 subjects, 14 raters, 5 labels, kappa .210
    table = np.array(
        [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0],
         [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
    )  # fmt: skip
    assert round(fleiss_kappa(np.stack([np.repeat(range(5), row) for row in table])), 3) == 0.210


@pytest.mark.parametrize(("seed", "raters", "k"), SEVERAL)
def test_kappa_and_alpha_differ_by_the_size_of_the_sample_alone(seed: int, raters: int, k: int) -> None:
    # Krippendorff's expected disagreement is drawn without replacement: 1 - alpha = (1 - kappa)(N - 1) / N of N votes
    votes = votes_of_people(seed, raters=raters, k=k, missing=0)
    shrunk = (1 - fleiss_kappa(votes)) * (votes.size - 1) / votes.size
    assert krippendorff_alpha(votes.T) == pytest.approx(1 - shrunk, abs=1e-9)


def test_kappa_of_unequal_numbers_of_votes_by_hand() -> None:
    # pairs agree 1, 1/3 and 0; shares of the labels (1 + 2/3 + 1/2) / 3 and the rest; the lone vote has no part
    votes = np.array([[0, 0, -1], [0, 0, 1], [0, 1, -1], [1, -1, -1]])
    share = (1 + 2 / 3 + 1 / 2) / 3
    by_chance = share**2 + (1 - share) ** 2
    assert fleiss_kappa(votes) == pytest.approx(((1 + 1 / 3) / 3 - by_chance) / (1 - by_chance))


@pytest.mark.parametrize("votes", [[[1, 1], [1, 1]], [[0, -1], [-1, 1]], [[-1, -1]]])
def test_kappa_without_labels_to_tell_apart_is_not_defined(votes: list[list[int]]) -> None:
    assert math.isnan(fleiss_kappa(np.array(votes)))


def test_three_votes_of_two_against_one_earn_a_third() -> None:
    # PandaLM's 999 pairs are 879 unanimous ones and 120 of two against one: a third of an item's pairs of annotators
    # agree then, and left out, each of the two faces a tie and the one faces two others: (1/2 + 1/2 + 0) / 3
    votes = np.array([[1, 1, 1]] * 879 + [[0, 1, 1]] * 120)
    assert leave_one_out(votes).mean() == pytest.approx((879 + 120 / 3) / 999)
    assert pairwise_agreement(votes).mean() == pytest.approx((879 + 120 / 3) / 999)


# majority


def test_the_majority_of_items_by_hand() -> None:
    rows = {(0, 1, 1): 1, (2, 2, -1): 2, (0, 1, -1): -1, (0, 1, 2): -1, (-1, -1, 0): 0, (-1, -1, -1): -1}
    assert majority(np.array(list(rows)), 3).tolist() == list(rows.values())


def test_nobody_is_no_majority_also_of_one_label() -> None:
    assert majority(np.array([[-1, -1], [0, -1]]), 1).tolist() == [-1, 0]


@pytest.mark.parametrize(("seed", "raters", "k"), SEVERAL)
def test_the_majority_is_the_only_mode(seed: int, raters: int, k: int) -> None:
    votes = votes_of_people(seed, raters=raters, k=k)
    for row, winner in zip(votes, majority(votes, k), strict=True):
        counts = Counter(row[row >= 0].tolist())
        modes = [label for label, n in counts.items() if n == max(counts.values())]
        assert [winner] == modes if len(modes) == 1 else winner == -1


def test_a_code_beyond_the_labels_is_refused() -> None:
    with pytest.raises(DataError, match=r"the code 3 is not in 0\.\.2"):
        majority(np.array([[0, 3]]), 3)


def test_the_certainty_of_a_majority_is_that_of_its_members() -> None:
    votes = np.array([[0, 0, 1], [0, 1, 2], [1, 1, 1], [2, 2, 0], [-1, -1, -1]])
    certainties = np.array([[0.6, 0.8, 1], [1, 1, 1], [0.5, NAN, 0.7], [NAN, NAN, 0.9], [NAN, NAN, NAN]])
    np.testing.assert_allclose(majority_certainty(votes, certainties), [0.7, NAN, 0.6, NAN, NAN])


def test_a_certainty_is_asked_for_each_vote() -> None:
    with pytest.raises(DataError, match="majority_certainty: "):
        majority_certainty(np.zeros((2, 3)), np.zeros((2, 2)))


# scores


def test_each_rating_is_paired_with_the_mean_of_the_others() -> None:
    table = np.array([[1, 2, 6], [4, NAN, 5], [NAN, 3, NAN], [NAN, NAN, NAN]])
    pairs = leave_one_out_scores(table)
    assert pairs.item.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_allclose(pairs.rating, [1, 2, 6, 4, 5])
    np.testing.assert_allclose(pairs.others, [4, 3.5, 1.5, 5, 4])


@pytest.mark.parametrize("seed", range(4))
def test_the_others_are_the_mean_without_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    table = random.integers(1, 6, size=(60, 5)).astype(float)
    table[random.random(table.shape) < 0.4] = NAN
    plain = []
    for row in table:
        present = row[~np.isnan(row)]
        if len(present) > 1:
            plain += [(one, np.delete(present, place).mean()) for place, one in enumerate(present)]
    pairs = leave_one_out_scores(table)
    np.testing.assert_allclose(np.stack([pairs.rating, pairs.others], axis=1), plain, atol=1e-9)


def test_a_judge_like_one_more_rater_reaches_the_ceiling() -> None:
    random = np.random.default_rng(1)
    everyone = np.clip(np.round(random.normal(3, 1, (20_000, 1)) + random.normal(0, 1, (20_000, 5))), 1, 5)
    judge, pairs = everyone[:, 0], leave_one_out_scores(everyone[:, 1:])
    ceiling = stats.spearmanr(pairs.rating, pairs.others).statistic
    assert stats.spearmanr(judge[pairs.item], pairs.others).statistic == pytest.approx(ceiling, abs=0.01)
    assert stats.spearmanr(judge, everyone[:, 1:].mean(1)).statistic > ceiling + 0.01  # the full mean is a truer target


def test_nobody_rated_and_nothing_is_paired() -> None:
    pairs = leave_one_out_scores(np.full((3, 2), NAN))
    assert pairs.item.shape == pairs.rating.shape == pairs.others.shape == (0,)


# annotators drawn


def pairs_that_agree(agreeing: int, n: int) -> NDArray[np.int64]:
    """Two annotators of n items, who agree on the first ones."""
    return np.array([[0, 0] if item < agreeing else [0, 1] for item in range(n)])


@pytest.mark.parametrize(("agreeing", "n"), [(12, 60), (60, 100), (597, 1000)])
def test_drawn_agreement_is_a_share_of_items_drawn_without_replacement(agreeing: int, n: int) -> None:
    mean, deviation = drawn_agreement(pairs_that_agree(agreeing, n), samples=20_000)
    p = agreeing / n
    assert mean == pytest.approx(p, abs=0.003)  # four standard errors
    assert deviation == pytest.approx(math.sqrt(p * (1 - p) / 30 * (n - 30) / (n - 1)), rel=0.03)  # hypergeometric


def test_all_of_few_items_are_drawn_each_time() -> None:
    assert drawn_agreement(pairs_that_agree(18, 30)) == pytest.approx((0.6, 0.0))
    assert drawn_agreement(pairs_that_agree(3, 12)) == pytest.approx((0.25, 0.0))


def test_the_published_agreement_of_annotators_is_that_of_two_of_them() -> None:
    # arXiv 2406.11657: 1,000 draws of 30 have a mean of .597 and a deviation of .087; three annotators an item. Whether
    # their majority names the label, 190 of 300 items, would give .633.
    random = np.random.default_rng(1)
    votes = (random.random((300, 3)) < 0.28).astype(int)  # two of three agree with probability .28^2 + .72^2 = .597
    mean, deviation = drawn_agreement(votes)
    assert mean == pytest.approx(pairwise_agreement(votes).mean(), abs=0.012)
    assert mean == pytest.approx(0.597, abs=0.04)
    assert deviation == pytest.approx(0.087, abs=0.006)


def test_drawn_agreement_does_not_depend_on_the_order_of_annotators_or_the_names_of_labels() -> None:
    votes = votes_of_people(3)
    renamed = np.where(votes < 0, -1, 2 - votes)
    assert drawn_agreement(votes[:, ::-1]) == drawn_agreement(votes) == drawn_agreement(renamed)


def test_items_with_one_vote_are_not_drawn() -> None:
    votes = np.array([[0, 0], [1, 1], [0, -1], [-1, -1]])
    assert drawn_agreement(votes) == (1.0, 0.0)
    assert all(map(math.isnan, drawn_agreement(votes[2:])))


def test_a_single_annotator_is_right_as_often_as_the_votes_are() -> None:
    votes = np.array([[0, 0, 1], [1, -1, -1], [0, 1, -1], [-1, -1, -1]])
    rates = single_accuracy(votes, np.array([0, 0, -1, 0]))
    assert rates[:2].tolist() == [pytest.approx(2 / 3), 0.0]
    assert np.isnan(rates[2:]).all()


def test_not_one_label_an_item_is_refused() -> None:
    with pytest.raises(DataError, match="single_accuracy: .* labels for 2 items"):
        single_accuracy(np.zeros((2, 3)), np.zeros(3))


@pytest.mark.parametrize("p", [0.2, 0.597, 0.9])
def test_drawn_accuracy_is_a_binomial_share(p: float) -> None:
    correct = np.arange(1000) < 1000 * p
    mean, deviation = drawn_accuracy(correct, samples=20_000)
    assert mean == pytest.approx(p, abs=0.003)  # four standard errors
    assert deviation == pytest.approx(math.sqrt(p * (1 - p) / 30), rel=0.03)


def test_a_seed_gives_the_same_draws() -> None:
    correct = np.arange(50) % 3 == 0
    assert drawn_accuracy(correct, seed=4) == drawn_accuracy(correct, seed=4) != drawn_accuracy(correct, seed=5)
    votes = votes_of_people(1)
    assert drawn_agreement(votes, seed=4) == drawn_agreement(votes, seed=4) != drawn_agreement(votes, seed=5)


def test_annotators_that_are_always_right_have_no_spread() -> None:
    assert drawn_accuracy(np.ones(7)) == (1.0, 0.0)


def test_nobody_drawn_from_has_no_accuracy() -> None:
    assert all(map(math.isnan, drawn_accuracy(np.array([]))))
