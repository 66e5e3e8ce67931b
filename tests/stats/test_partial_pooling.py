"""Partial pooling: its limits, its symmetries, and what it finds where the truth is known."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dicast.stats.partial_pooling import (
    NOBODY,
    deviation_of_one,
    deviations,
    dual_coefficients,
    folds_within,
    pooled_kernel,
    row_losses,
    shared_weights,
)

WIDTH, PEOPLE, EACH = 4, 5, 12


def world(seed=0, spread=1.0, width=WIDTH, people=PEOPLE, each=EACH):
    """Rows of people whose weights are (1, .., 1) plus a deviation of this spread."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((people * each, width)) / np.sqrt(width)
    code = np.repeat(np.arange(people), each)
    weights = 2 + spread * random.standard_normal((people, width))
    share = 1 / (1 + np.exp(-np.einsum("nd,nd->n", x, weights[code])))
    return x, code, (random.random(len(x)) < share).astype(float)


def fitted(x, code, y, penalty, ratio, loss="logistic"):
    a = dual_coefficients(pooled_kernel(x, code, ratio), y, np.ones(len(y)), penalty, loss)
    return shared_weights(x, a), deviations(x, a, code, ratio)


@pytest.mark.parametrize("loss", ["logistic", "squares"])
def test_the_dual_finds_the_minimum_that_a_general_optimiser_finds(loss):
    """The objective of the module's first lines, minimised by scipy's BFGS over w and all d_p."""
    x, code, y = world()
    counts, penalty, ratio = np.linspace(0.5, 2, len(y)), 0.7, 0.6

    def objective(flat):
        w, d = flat[:WIDTH], flat[WIDTH:].reshape(PEOPLE, WIDTH)
        f = np.einsum("nd,nd->n", x, w + d[code])
        return counts @ row_losses(f, y, loss) + penalty / 2 * (w @ w + (d * d).sum() / ratio)

    found = minimize(objective, np.zeros(WIDTH * (PEOPLE + 1)), method="BFGS", options={"gtol": 1e-8}).x
    a = dual_coefficients(pooled_kernel(x, code, ratio), y, counts, penalty, loss)
    assert shared_weights(x, a) == pytest.approx(found[:WIDTH], abs=1e-4)
    ours = deviations(x, a, code, ratio)
    assert np.stack([ours[p] for p in range(PEOPLE)]) == pytest.approx(found[WIDTH:].reshape(PEOPLE, WIDTH), abs=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squares"])
def test_without_a_ratio_all_have_the_shared_weights(loss):
    x, code, y = world()
    alone, none = fitted(x, code, y, 1.0, 0.0, loss)
    nearly, small = fitted(x, code, y, 1.0, 1e-9, loss)
    assert all((d == 0).all() for d in none.values())
    assert nearly == pytest.approx(alone, abs=1e-6)
    assert max(abs(d).max() for d in small.values()) < 1e-6


@pytest.mark.parametrize("loss", ["logistic", "squares"])
def test_with_a_large_ratio_each_person_is_fitted_alone(loss):
    x, code, y = world()
    shared, own = fitted(x, code, y, 1e7 * 0.5, 1e7, loss)
    for person in range(PEOPLE):
        rows = code == person
        alone, _ = fitted(x[rows], code[rows], y[rows], 0.5, 0.0, loss)
        assert shared + own[person] == pytest.approx(alone, abs=1e-4)


def test_exchanged_pairs_change_no_weight():
    x, code, y = world()
    turned = np.random.default_rng(1).random(len(y)) < 0.5
    shared, own = fitted(x, code, y, 1.0, 0.5)
    other, theirs = fitted(np.where(turned[:, None], -x, x), code, np.where(turned, 1 - y, y), 1.0, 0.5)
    assert other == pytest.approx(shared, abs=1e-6)
    assert all(theirs[p] == pytest.approx(own[p], abs=1e-6) for p in own)


def test_the_order_and_the_names_of_people_do_not_matter():
    x, code, y = world()
    order = np.random.default_rng(2).permutation(len(y))
    shared, own = fitted(x, code, y, 1.0, 0.5)
    other, theirs = fitted(x[order], 10 - code[order], y[order], 1.0, 0.5)
    assert other == pytest.approx(shared, abs=1e-6)
    assert all(theirs[10 - p] == pytest.approx(own[p], abs=1e-6) for p in own)


def test_rows_of_nobody_have_no_deviation():
    x, _, y = world()
    nobody = np.full(len(y), NOBODY)
    shared, own = fitted(x, nobody, y, 1.0, 5.0)
    assert own == {}
    assert shared == pytest.approx(fitted(x, nobody, y, 1.0, 0.0)[0], abs=1e-9)


def test_a_person_who_comes_later_gets_the_deviation_that_the_joint_fit_gives_with_the_same_shared_weights():
    x, code, y = world()
    shared, own = fitted(x, code, y, 1.0, 0.5)
    rows = code == 3
    late = deviation_of_one(x[rows], y[rows], np.ones(rows.sum()), shared, 1.0, 0.5, "logistic")
    assert late == pytest.approx(own[3], abs=1e-5)
    assert (deviation_of_one(x[:0], y[:0], y[:0], shared, 1.0, 0.5, "logistic") == 0).all()
    assert (deviation_of_one(x[rows], y[rows], np.ones(rows.sum()), shared, 1.0, 0.0, "logistic") == 0).all()


def test_a_certain_answer_stays_finite():
    """Rows that separate, with hardly any penalty: Newton's plain steps would overflow."""
    x = np.array([[1.0], [2.0], [-1.0]])
    y = np.array([1.0, 1.0, 0.0])
    a = dual_coefficients(x @ x.T, y, np.ones(3), 1e-6, "logistic")
    f = x @ shared_weights(x, a)
    assert np.isfinite(a).all()
    assert (f * np.array([1, 1, -1]) > 5).all()


def test_known_deviations_are_found_and_help_on_new_rows():
    x, code, y = world(spread=4.0, people=20, each=60)
    learn = np.tile(np.arange(60) < 30, 20)
    (pooled, own), (same, _) = (fitted(x[learn], code[learn], y[learn], 0.3, ratio) for ratio in (1.0, 0.0))
    personal = np.einsum("nd,nd->n", x, pooled + np.stack([own[p] for p in range(20)])[code])
    losses = [row_losses(f[~learn], y[~learn], "logistic").mean() for f in (personal, x @ same)]
    assert losses[0] < losses[1] - 0.05


def test_folds_keep_questions_whole_and_spread_each_person():
    people = [f"p{n % 3}" for n in range(60)]
    questions = [f"p{n % 3} q{n // 6}" for n in range(60)]
    fold = folds_within(people, questions, 5, 0)
    by_question = {}
    for question, k in zip(questions, fold, strict=True):
        assert by_question.setdefault(question, k) == k
    for person in set(people):
        rows = [k for p, k in zip(people, fold, strict=True) if p == person]
        assert min(np.bincount(rows, minlength=5)) >= 1
    assert (folds_within(people, questions, 5, 0) == fold).all()
