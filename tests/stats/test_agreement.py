"""Agreement from confusion tables, against scikit-learn, the krippendorff package and textbook examples."""

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import krippendorff
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import metrics

from dicast.errors import DataError, DeclarationError
from dicast.stats.agreement import (
    accuracy,
    alpha,
    confusion,
    f1,
    kappa,
    krippendorff_alpha,
    macro_f1,
    mcc,
    precision,
    ratio,
    recall,
    soft_cross_entropy,
    vote_entropy,
)

SCALARS: tuple[Callable[[NDArray[Any]], Any], ...] = (accuracy, kappa, mcc, macro_f1, alpha)
EACH: tuple[Callable[[NDArray[Any]], Any], ...] = (precision, recall, f1)


def labellings() -> Iterator[tuple[NDArray[Any], NDArray[Any], int]]:
    """People's labels and a judge's: balanced and skewed, 2 to 5 labels, also with labels that one side never uses."""
    for seed, (k, n) in enumerate(itertools.product((2, 3, 5), (7, 50, 400))):
        random = np.random.default_rng(seed)
        human = random.choice(k, n, p=random.dirichlet(np.ones(k)))
        judge = np.where(random.random(n) < 0.6, human, random.choice(k, n, p=random.dirichlet(np.ones(k))))
        if len(set(human)) > 1 and len(set(judge)) > 1:
            yield human, judge, k


LABELLINGS = list(labellings())
ONE_LABEL = np.array([[4, 0], [0, 0]])
EMPTY = np.zeros((3, 3))


def test_the_random_labellings_are_enough_to_check_by() -> None:
    assert len(LABELLINGS) >= 7


# the table


def test_the_table_has_people_in_rows_and_the_judge_in_columns() -> None:
    table = confusion(np.array([0, 0, 1, 2]), np.array([0, 2, 2, 2]), 3)
    assert table.tolist() == [[1, 0, 1], [0, 0, 1], [0, 0, 1]]


@pytest.mark.parametrize(("human", "judge", "k"), LABELLINGS)
def test_the_table_is_that_of_scikit_learn(human: NDArray[Any], judge: NDArray[Any], k: int) -> None:
    np.testing.assert_array_equal(confusion(human, judge, k), metrics.confusion_matrix(human, judge, labels=range(k)))


def test_no_cases_are_a_table_of_zeros() -> None:
    assert confusion(np.array([]), np.array([]), 2).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(("human", "judge"), [([0, 1], [0]), ([-1, 0], [0, 0]), ([0, 0], [0, 2]), ([[0]], [[0]])])
def test_codes_that_are_no_labels_are_refused(human: list[int], judge: list[int]) -> None:
    with pytest.raises(DataError, match="confusion: "):
        confusion(np.array(human), np.array(judge), 2)


@pytest.mark.parametrize("figure", [*SCALARS, *EACH])
def test_a_table_that_is_not_square_is_refused(figure: Callable[[NDArray[Any]], Any]) -> None:
    with pytest.raises(DataError, match=r"\(2, 3\)"):
        figure(np.zeros((2, 3)))


# against scikit-learn


@pytest.mark.parametrize(("human", "judge", "k"), LABELLINGS)
def test_figures_of_a_table_are_those_of_scikit_learn(human: NDArray[Any], judge: NDArray[Any], k: int) -> None:
    table = confusion(human, judge, k)
    assert accuracy(table) == pytest.approx(metrics.accuracy_score(human, judge), abs=1e-9)
    assert kappa(table) == pytest.approx(metrics.cohen_kappa_score(human, judge), abs=1e-9)
    assert mcc(table) == pytest.approx(metrics.matthews_corrcoef(human, judge), abs=1e-9)
    assert macro_f1(table) == pytest.approx(metrics.f1_score(human, judge, average="macro"), abs=1e-9)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
@pytest.mark.parametrize(("human", "judge", "k"), LABELLINGS)
def test_weighted_kappa_is_that_of_scikit_learn(human: Any, judge: Any, k: int, weights: Any) -> None:
    theirs = metrics.cohen_kappa_score(human, judge, weights=weights, labels=range(k))
    assert kappa(confusion(human, judge, k), weights) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("human", "judge", "k"), LABELLINGS)
def test_figures_of_each_label_are_those_of_scikit_learn(human: NDArray[Any], judge: NDArray[Any], k: int) -> None:
    theirs = metrics.precision_recall_fscore_support(human, judge, labels=range(k), zero_division=np.nan)[:3]
    table = confusion(human, judge, k)
    for ours, their in zip((precision(table), recall(table), f1(table)), theirs, strict=True):
        np.testing.assert_allclose(ours, their, atol=1e-9)


def test_kappa_of_a_worked_example() -> None:
    # Landis and Koch's kind of table, worked by hand: observed (20 + 15) / 50, by chance .5 * .6 + .5 * .4
    assert kappa(np.array([[20, 5], [10, 15]])) == pytest.approx((0.7 - 0.5) / 0.5)


def test_weighted_kappa_of_a_worked_example() -> None:
    # people's margins are 1/2, 1/3, 1/6, the judge's a third each; one case of six is two steps away
    table = np.array([[2, 0, 1], [0, 2, 0], [0, 0, 1]])
    observed = 2 / 6
    by_chance = (1 / 2 * (1 + 2) + 1 / 3 * (1 + 1) + 1 / 6 * (2 + 1)) / 3
    assert kappa(table, "linear") == pytest.approx(1 - observed / by_chance)


@pytest.mark.parametrize(
    ("table", "published"),
    [([[388, 23, 16], [29, 435, 11], [0, 8, 89]], 0.85), ([[391, 21, 15], [18, 448, 9], [2, 6, 89]], 0.88),
     ([[379, 28, 10], [19, 441, 6], [13, 6, 97]], 0.86)],
    ids=["1 and 2", "1 and 3", "2 and 3"],
)  # fmt: skip
def test_kappas_of_pandalms_annotators_are_the_published_ones(table: list[list[int]], published: float) -> None:
    # counts of a, b, tie over the 999 pairs of testset-v1.json; kappas of the repository's README (arXiv 2306.05087)
    assert round(float(kappa(np.array(table))), 2) == published


# many tables at once, weights


@pytest.mark.parametrize("figure", [*SCALARS, *EACH, lambda table: kappa(table, "quadratic")])
def test_a_stack_of_tables_has_the_figure_of_each(figure: Callable[[NDArray[Any]], Any]) -> None:
    stack = np.random.default_rng(0).poisson(1.5, size=(4, 25, 3, 3))
    stack[0, 0], stack[1, 1, 1:], stack[1, 1, :, 1:] = 0, 0, 0
    one_by_one = np.array([[figure(table) for table in row] for row in stack])
    np.testing.assert_allclose(figure(stack), one_by_one, atol=1e-12)


@pytest.mark.parametrize("figure", [*SCALARS, *EACH])
def test_two_thousand_tables_are_quick(figure: Callable[[NDArray[Any]], Any]) -> None:
    stack = np.random.default_rng(0).poisson(50, size=(2_000, 4, 4))
    began = time.perf_counter()
    assert len(figure(stack)) == 2_000
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize("figure", [accuracy, kappa, mcc, macro_f1, precision, recall, f1])
def test_weights_that_sum_to_one_change_nothing(figure: Callable[[NDArray[Any]], Any]) -> None:
    table = np.array([[8, 1, 2], [0, 5, 3], [1, 1, 9]])
    np.testing.assert_allclose(figure(table / table.sum()), figure(table), atol=1e-12)


@pytest.mark.parametrize("figure", SCALARS)
def test_the_order_of_labels_changes_nothing(figure: Callable[[NDArray[Any]], Any]) -> None:
    table, order = np.random.default_rng(1).poisson(9, size=(4, 4)), np.array([2, 0, 3, 1])
    assert figure(table[np.ix_(order, order)]) == pytest.approx(figure(table))


@pytest.mark.parametrize("figure", [*SCALARS, lambda table: kappa(table, "linear")])
def test_people_and_judge_may_change_places(figure: Callable[[NDArray[Any]], Any]) -> None:
    table = np.random.default_rng(2).poisson(9, size=(4, 4))
    assert figure(table.T) == pytest.approx(figure(table))


@pytest.mark.parametrize("figure", [*SCALARS, *EACH, lambda table: kappa(table, "linear")])
def test_a_judge_that_is_always_right_has_one(figure: Callable[[NDArray[Any]], Any]) -> None:
    np.testing.assert_allclose(figure(np.diag([3, 4, 5])), 1.0)


# where a figure is not defined


@pytest.mark.parametrize("figure", [*SCALARS, *EACH])
def test_an_empty_table_has_no_figure(figure: Callable[[NDArray[Any]], Any]) -> None:
    assert np.isnan(figure(EMPTY)).all()


@pytest.mark.parametrize("figure", [kappa, mcc, alpha])
def test_one_label_alone_leaves_nothing_to_agree_on(figure: Callable[[NDArray[Any]], Any]) -> None:
    assert np.isnan(figure(ONE_LABEL))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(metrics.cohen_kappa_score([0] * 4, [0] * 4, labels=[0, 1]))


def test_one_label_is_one_label_also_by_weights() -> None:
    table = np.zeros((3, 3))
    table[1, 1] = 0.1 + 0.2
    assert np.isnan(kappa(table))
    assert np.isnan(mcc(table))


def test_a_judge_with_one_answer_has_no_mcc_and_kappa_zero() -> None:
    table = np.array([[6, 0], [4, 0]])
    assert np.isnan(mcc(table))
    assert kappa(table) == pytest.approx(0)
    assert metrics.matthews_corrcoef([0] * 6 + [1] * 4, [0] * 10) == 0  # the other convention


def test_a_label_that_is_never_given_has_recall_and_f1_zero_but_no_precision() -> None:
    table = np.array([[6, 0, 0], [4, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(precision(table), [0.6, math.nan, math.nan])
    np.testing.assert_array_equal(recall(table), [1, 0, math.nan])
    np.testing.assert_array_equal(f1(table), [0.75, 0, math.nan])
    assert macro_f1(table) == pytest.approx(0.375)  # of the two labels that occur


def test_other_weights_are_refused() -> None:
    with pytest.raises(DeclarationError, match="'cubic'"):
        kappa(ONE_LABEL, "cubic")  # type: ignore[arg-type]


def test_a_ratio_to_nothing_is_not_a_number() -> None:
    np.testing.assert_array_equal(ratio(np.array([1.0, 1, 0]), np.array([2.0, 0, 0])), [0.5, math.nan, math.nan])


# Krippendorff's alpha


def ratings(seed: int, raters: int, items: int, missing: float, decimals: int = 0) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    shared = random.normal(3, 1.2, size=items)
    table = np.round(shared + random.normal(0, 0.7, size=(raters, items)), decimals)
    table[random.random(table.shape) < missing] = math.nan
    return table


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("missing", [0, 0.2, 0.6])
@pytest.mark.parametrize(("raters", "items"), [(2, 30), (3, 8), (5, 200)])
def test_alpha_is_that_of_the_krippendorff_package(raters: int, items: int, missing: float, level: Any) -> None:
    for seed in range(3):
        table = ratings(seed, raters, items, missing, decimals=seed % 2)
        theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
        assert krippendorff_alpha(table, level) == pytest.approx(theirs, abs=1e-9)


def test_alpha_of_the_authors_own_example() -> None:
    # Krippendorff 2011, section C: four observers, twelve units, missing ratings
    gap = math.nan
    table = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, gap, gap, gap],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, gap, 3],
            [gap, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, gap],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, gap],
        ]
    )
    assert round(krippendorff_alpha(table, "nominal"), 3) == 0.743
    assert round(krippendorff_alpha(table, "ordinal"), 3) == 0.815
    assert round(krippendorff_alpha(table, "interval"), 3) == 0.849


@pytest.mark.parametrize(("human", "judge", "k"), LABELLINGS)
def test_alpha_of_a_table_is_alpha_of_its_two_raters(human: NDArray[Any], judge: NDArray[Any], k: int) -> None:
    both = np.stack([human, judge]).astype(float)
    assert alpha(confusion(human, judge, k)) == pytest.approx(krippendorff_alpha(both), abs=1e-9)
    theirs = krippendorff.alpha(reliability_data=both, level_of_measurement="nominal")
    assert alpha(confusion(human, judge, k)) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_does_not_depend_on_who_rated_or_on_the_order_of_items(level: Any) -> None:
    table, random = ratings(5, 4, 40, 0.3), np.random.default_rng(0)
    shuffled = random.permuted(table[:, random.permutation(40)], axis=0)
    assert krippendorff_alpha(shuffled, level) == pytest.approx(krippendorff_alpha(table, level), abs=1e-12)


def test_ordinal_alpha_sees_only_the_order_and_interval_alpha_no_unit() -> None:
    table = ratings(6, 3, 40, 0.2)
    assert krippendorff_alpha(np.exp(table), "ordinal") == pytest.approx(krippendorff_alpha(table, "ordinal"))
    assert krippendorff_alpha(7 - 3 * table, "interval") == pytest.approx(krippendorff_alpha(table, "interval"))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize(
    "table",
    [np.zeros((3, 0)), np.full((2, 4), math.nan), np.array([[1, math.nan], [math.nan, 2]]), np.full((3, 7), 0.1)],
    ids=["no items", "no ratings", "one rating an item", "all equal"],
)
def test_alpha_without_disagreement_or_pairs_is_not_defined(table: NDArray[Any], level: Any) -> None:
    assert math.isnan(krippendorff_alpha(table, level))


def test_a_level_that_is_not_known_is_refused() -> None:
    with pytest.raises(DeclarationError, match="'ratio'"):
        krippendorff_alpha(np.ones((2, 2)), "ratio")  # type: ignore[arg-type]


# soft cross-entropy


def distributions(seed: int, n: int = 60, k: int = 3) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    return random.dirichlet(np.ones(k), n), random.multinomial(5, np.ones(k) / k, n) / 5


@pytest.mark.parametrize("seed", range(5))
def test_soft_cross_entropy_is_the_log_loss_of_cases_split_by_votes(seed: int) -> None:
    judge, votes = distributions(seed)
    labels = np.tile(np.arange(3), len(votes))
    theirs = metrics.log_loss(labels, np.repeat(judge, 3, axis=0), sample_weight=votes.ravel())
    assert soft_cross_entropy(judge, votes) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_what_it_has_above_the_entropy_of_votes_is_the_divergence(seed: int) -> None:
    from scipy import stats

    judge, votes = distributions(seed)
    assert vote_entropy(votes) == pytest.approx(stats.entropy(votes, axis=1).mean(), abs=1e-9)
    excess = soft_cross_entropy(judge, votes) - vote_entropy(votes)
    assert excess == pytest.approx(stats.entropy(votes, judge, axis=1).mean(), abs=1e-9)
    assert excess >= 0


def test_a_judge_that_knows_nothing_has_the_entropy_of_a_fair_die() -> None:
    _, votes = distributions(0)
    assert soft_cross_entropy(np.full((60, 3), 1 / 3), votes) == pytest.approx(math.log(3))


def test_people_of_one_mind_have_no_entropy() -> None:
    assert vote_entropy(np.eye(4)) == 0


def test_what_the_judge_calls_impossible_and_people_say_is_infinite_unless_floored() -> None:
    judge, votes = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.75, 0.25], [1.0, 0.0]])
    assert soft_cross_entropy(judge, votes) == math.inf
    assert soft_cross_entropy(judge, votes, floor=1e-12) == pytest.approx((0.25 * 12 * math.log(10) + math.log(2)) / 2)


def test_what_the_judge_calls_impossible_and_nobody_says_costs_nothing() -> None:
    assert soft_cross_entropy(np.eye(3), np.eye(3)) == 0


def test_no_case_has_no_cross_entropy() -> None:
    assert math.isnan(soft_cross_entropy(np.zeros((0, 3)), np.zeros((0, 3))))


@pytest.mark.parametrize(
    ("judge", "votes"),
    [([[0.5, 0.5]], [[2, 1]]), ([[0.9, 0.2]], [[1, 0]]), ([[1.5, -0.5]], [[1, 0]]), ([[math.nan, 1]], [[1, 0]]),
     ([[1.0]], [[1.0, 0.0]]), ([1.0], [1.0])],
)  # fmt: skip
def test_rows_that_are_no_distribution_are_refused(judge: Any, votes: Any) -> None:
    with pytest.raises(DataError, match="soft_cross_entropy: "):
        soft_cross_entropy(np.array(judge), np.array(votes))
