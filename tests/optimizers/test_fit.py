"""Fits of heads: what was planted is found, probabilities mean what they say, and nothing is found where nothing is."""

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from made_evidence import choices, judged, lettered, pair, pairs, scored, texts
from pydantic import TypeAdapter

from dicast.data import Candidate, Case, Scores, Verdict, Winner
from dicast.errors import DeclarationError
from dicast.judging.calibration_features import pair_features
from dicast.judging.heads import ChoiceHead, Head, PairHead, ScoreHead
from dicast.optimizers.head.fit import TASKS, HeadFit, fit
from dicast.optimizers.head.fit import _folds as fold_of
from dicast.optimizers.head.isotonic import odd_rising, rising
from dicast.optimizers.head.likelihood import (
    EVEN_PENALTY,
    LEAST,
    fit_choices,
    fit_ordered,
    fit_rescaling,
    minimised,
    ordered,
    outcomes,
)
from dicast.optimizers.head.likelihood import choices as choice_losses
from dicast.optimizers.head.model_spec import HeadSpec, informative_features, soft_labels_of
from dicast.optimizers.head.ordered_logit import PairEvidence
from dicast.stats import calibration

LETTERS = ("a", "b", "tie")
LABELS = ("a", "b", "tie")


def forecasts(verdicts: Sequence[Verdict], cases: Sequence[Case]) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) probabilities, and the (n,) columns of the labels."""
    given = np.array([[(verdict.distribution or {})[letter] for letter in LETTERS] for verdict in verdicts])
    return given, np.array([LETTERS.index(case.label.winner) for case in cases if case.label])


def log_loss(verdicts: Sequence[Verdict], cases: Sequence[Case]) -> float:
    given, labels = forecasts(verdicts, cases)
    return -float(np.log(np.maximum(given[np.arange(len(labels)), labels], 1e-6)).mean())


def accuracy(verdicts: Sequence[Verdict], cases: Sequence[Case]) -> float:
    return float(np.mean([v.winner == c.label.winner for v, c in zip(verdicts, cases, strict=True) if c.label]))


def applied(head: Head, world: tuple[list[Case], list[Verdict]]) -> list[Verdict]:
    return [head(case, verdict) for case, verdict in zip(*world, strict=True)]


# the likelihoods


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, 2) odd features, (n, 1) even ones and the (n, 3) labels of known weights (0.8, 0.3), (-0.2, 0.5)."""
    random = np.random.default_rng(seed)
    x, z = random.normal(size=(n, 2)), random.normal(size=(n, 1))
    m, t = x @ [0.8, 0.3] + random.logistic(size=n), np.exp(-0.2 + 0.5 * z[:, 0])
    return x, z, np.stack([m > t, m < -t, np.abs(m) <= t], axis=1).astype(float)


def weights(
    x: np.ndarray, z: np.ndarray | None, shares: np.ndarray, penalty: float, bounded: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The weights of odd features and those of even ones, of one fit to all cases."""
    held = np.full(x.shape[1], bounded)
    w, v = fit_ordered(x, z, shares, np.ones((1, len(x)), dtype=bool), penalty=penalty, bounded=held)
    return w[0], v[0]


def standardised(x: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = x / np.sqrt(np.square(x).mean(axis=0))
    return scaled


@pytest.mark.parametrize("seed", range(3))
def test_planted_weights_are_found_within_three_standard_errors(seed: int) -> None:
    x, z, shares = drawn(2000, seed)
    w, v = weights(x, z, shares, 1e-6, bounded=True)
    found, step = np.r_[w, v], 1e-4

    def gradient(both: np.ndarray) -> Any:
        t = np.exp(both[2] + both[3] * z[:, 0])
        _, by_m, by_t = (np.einsum("nk,kn->n", shares, each) for each in outcomes(x @ both[:2], t))
        return np.r_[by_m @ x, (by_t * t).sum(), by_t * t @ z[:, 0]]

    information = [(gradient(found + step * one) - gradient(found - step * one)) / (2 * step) for one in np.eye(4)]
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    prior = np.array([0, 0, 0, EVEN_PENALTY * z.var()]) * found
    assert gradient(found) + prior == pytest.approx(np.zeros(4), abs=0.1)
    assert np.all(errors < 0.12)
    assert np.all(np.abs(found - [0.8, 0.3, -0.2, 0.5]) < 3 * errors)


def test_symmetric_thresholds_are_those_of_statsmodels_on_pairs_and_their_mirror_images() -> None:
    """statsmodels' ordered logit of every pair both ways round (b < tie < a) has cuts -t and t."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    x, _, shares = drawn(400, 3)
    w, v = weights(x, np.empty((400, 0)), shares, 1e-9)
    place = shares @ [1, -1, 0]
    model = OrderedModel(np.r_[place, -place], np.r_[x, -x], distr="logit").fit(method="bfgs", disp=False)
    cuts = model.model.transform_threshold_params(model.params)[1:-1]
    assert w == pytest.approx(model.params[:2], abs=1e-3)
    assert math.exp(v[0]) == pytest.approx(cuts[1], abs=2e-3)
    assert cuts[0] == pytest.approx(-cuts[1], abs=1e-3)


def test_without_ties_it_is_the_ridge_regression_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    x, _, shares = drawn(300, 4)
    decided = shares[:, 2] == 0
    x, shares = standardised(x[decided]), shares[decided]
    w, v = weights(x, None, shares, 2.0)
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8).fit(x, shares[:, 0]).coef_[0]
    assert w == pytest.approx(theirs, abs=1e-3)
    assert len(v) == 0


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_finite_differences(seed: int) -> None:
    random, step = np.random.default_rng(seed), 1e-6
    m, t = random.normal(0, 3, 50), random.uniform(0.01, 3, 50)
    _, by_m, by_t = outcomes(m, t)
    rise = (outcomes(m + step, t)[0] - outcomes(m - step, t)[0]) / (2 * step)
    assert by_m == pytest.approx(rise, abs=1e-6)
    rise = (outcomes(m, t + step)[0] - outcomes(m, t - step)[0]) / (2 * step)
    assert by_t == pytest.approx(rise, rel=1e-4, abs=1e-5)
    utility, options = random.normal(size=(50, 4)), random.dirichlet([1.0] * 4, 50)
    utility[:, 3] = -np.inf
    options = np.c_[random.dirichlet([1.0] * 3, 50), np.zeros(50)]
    slope = choice_losses(utility, options)[1] - options
    one = np.array([step, 0, 0, 0])
    rise = (choice_losses(utility + one, options)[0] - choice_losses(utility - one, options)[0]) / (2 * step)
    assert slope[:, 0] == pytest.approx(rise, abs=1e-6)


def test_losses_are_cross_entropies_of_the_distribution_that_the_head_gives() -> None:
    head = PairHead(weights={"letters": 0.7}, intercept=-0.3)
    verdict = head(pair(), judged([lettered(0.8)]))
    m, t = np.full(3, 0.7 * math.log(4)), np.full(3, math.exp(-0.3))
    given = [(verdict.distribution or {})[letter] for letter in LETTERS]
    assert np.exp(-ordered(m, t, np.eye(3))) == pytest.approx(given)


def test_weights_of_evidence_do_not_turn_the_judge_round() -> None:
    x, _, shares = drawn(200, 5)
    x, shares = x[shares[:, 2] == 0], shares[shares[:, 2] == 0]
    everyone = np.ones((1, len(x)), dtype=bool)
    ((first, second),), _ = fit_ordered(-x, None, shares, everyone, penalty=1.0, bounded=np.array([True, False]))
    assert first == pytest.approx(LEAST / np.sqrt(np.square(x[:, 0]).mean()))
    assert second < 0


def test_a_fit_does_not_depend_on_those_beside_it_nor_on_what_it_leaves_out() -> None:
    x, z, shares = drawn(120, 7)
    random = np.random.default_rng(0)
    chosen = random.random((8, 120)) < 0.7
    bounded = np.array([True, False])
    together = np.column_stack(fit_ordered(x, z, shares, chosen, penalty=1.0, bounded=bounded))
    changed = np.where(chosen[3][:, None], shares, np.eye(3)[random.integers(3, size=120)])
    beside = np.column_stack(fit_ordered(x, z, changed, chosen, penalty=1.0, bounded=bounded))
    assert (beside[3] == together[3]).all()
    assert (beside != together).any()
    rows, everyone = chosen[3], np.ones((1, chosen[3].sum()), dtype=bool)
    alone = np.column_stack(fit_ordered(x[rows], z[rows], shares[rows], everyone, penalty=1.0, bounded=bounded))
    assert alone[0] == pytest.approx(together[3], abs=1e-6)


def test_a_minimum_is_that_of_scipy_within_the_bounds() -> None:
    from scipy.optimize import minimize

    x, z, shares = drawn(150, 8)
    x = standardised(np.c_[x, -x[:, 0] + np.random.default_rng(0).normal(size=150)])
    z = (z - z.mean()) / z.std()
    w, v = weights(x, z, shares, 10.0, bounded=True)
    rate = (shares[:, 2].sum() + 0.5) / 151
    centre = np.r_[0, 0, 0, np.log(2 * np.arctanh(rate)), 0]
    precision = np.array([10.0, 10.0, 10.0, 0.1, 10.0])

    def loss(both: np.ndarray) -> float:
        pull = precision * np.square(both - centre)
        return float(ordered(x @ both[:3], np.exp(both[3] + z[:, 0] * both[4]), shares).sum() + pull.sum() / 2)

    bounds = [(LEAST, None)] * 3 + [(None, None)] * 2
    theirs = minimize(loss, centre + np.r_[[LEAST] * 3, 0, 0], method="L-BFGS-B", bounds=bounds, tol=1e-12)
    assert w[2] == pytest.approx(LEAST)
    assert np.r_[w, v] == pytest.approx(theirs.x, abs=1e-3)
    assert loss(np.r_[w, v]) <= theirs.fun + 1e-6


def test_steps_that_would_rise_are_halved() -> None:
    """sqrt(1 + w^2) with its true curvature: undamped Newton steps from 2 go to -8, 512, ..."""

    def objective(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        root = np.sqrt(1 + w[:, 0] ** 2)
        return root, w / root[:, None], (1 / root**3)[:, None, None]

    found = minimised(objective, np.array([[2.0], [0.5]]), np.full(1, -np.inf))
    assert found == pytest.approx(np.zeros((2, 1)), abs=1e-3)


def test_margins_of_half_their_worth_are_doubled_and_thresholds_moved() -> None:
    x, z, shares = drawn(4000, 9)
    m, log_t = x @ [0.8, 0.3] / 2, -0.2 + 0.5 * z[:, 0] - 0.7
    ((factor, shift),) = fit_rescaling(m[None], log_t[None], shares, np.ones((1, 4000), dtype=bool), penalty=1.0)
    assert (factor, shift) == pytest.approx((2.0, 0.7), abs=0.15)


# isotonic regression


def test_knots_are_the_blocks_of_the_isotonic_regression_of_scikit_learn() -> None:
    from sklearn.isotonic import IsotonicRegression

    random = np.random.default_rng(0)
    for _ in range(20):
        x = np.round(random.normal(size=60), 1)
        y = x / 2 + random.normal(size=60)
        fitted = IsotonicRegression().fit_transform(x, y)
        values = np.unique(np.round(fitted, 12))
        places, ours = zip(*rising(x, y), strict=True)
        assert ours == pytest.approx(values)
        assert places == pytest.approx([x[np.isclose(fitted, value)].mean() for value in values])


def test_rising_knots_rise_and_keep_the_mean() -> None:
    random = np.random.default_rng(1)
    x = np.round(random.normal(size=200), 1)
    knots = rising(x, x**3 + random.normal(size=200))
    places, values = zip(*knots, strict=True)
    assert list(places) == sorted(places)
    assert list(values) == sorted(values)


def test_the_bend_of_margins_begins_at_zero_and_is_finite() -> None:
    m = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    knots = odd_rising(m, np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]))
    assert knots[0] == (0.0, 0.0)
    assert all(0 <= value < 3 for _, value in knots)
    wrong = odd_rising(m, np.where(m > 0, 0.0, 1.0))
    assert all(0 < bend < 0.002 for _, bend in wrong[1:]), "worth nothing when always wrong, and keeps its side"


# heads of pairs


@pytest.mark.parametrize("threshold", [0.0, 0.8])
def test_probabilities_are_calibrated_on_fresh_cases(threshold: float) -> None:
    fitted = fit(*pairs(2000, 1, threshold=threshold), folds=3)
    fresh = pairs(5000, 2, threshold=threshold)
    verdicts = applied(fitted.head, fresh)
    right = np.array([v.winner == c.label.winner for v, c in zip(verdicts, fresh[0], strict=True) if c.label])
    sure = np.array([verdict.certainty for verdict in verdicts])
    assert calibration.ece(sure, right) < 0.03
    given, labels = forecasts(verdicts, fresh[0])
    assert given.mean(axis=0) == pytest.approx(np.bincount(labels, minlength=3) / len(labels), abs=0.03)
    assert (given[:, 2] == 0).all() == (threshold == 0)


def test_evidence_is_weighed_as_it_was_planted() -> None:
    head = fit(*pairs(2000, 3, letters=0.5, scores=1.0), folds=3).head
    assert isinstance(head, PairHead)
    margins = [
        head(pair(), judged([lettered(0.5, "ab"), lettered(0.5, "ba"), scored(3.5, 2.5)])),
        head(pair(), judged([lettered(1 / (1 + math.exp(-1)), "ab"), lettered(1 / (1 + math.exp(-1)), "ba")])),
    ]
    a = [(verdict.distribution or {})["a"] for verdict in margins]
    assert np.log(a) - np.log1p(-np.array(a)) == pytest.approx([1.0, 0.5], abs=0.25)


def test_a_head_of_sixty_labels_is_no_worse_than_the_verdict_as_it_was() -> None:
    fresh = pairs(300, 0, threshold=0.5)
    before = log_loss(fresh[1], fresh[0])
    after = [
        log_loss(applied(fit(*pairs(60, seed, threshold=0.5), folds=3).head, fresh), fresh[0]) for seed in range(1, 5)
    ]
    assert np.mean(after) < before


@pytest.mark.simulation
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_a_head_of_sixty_labels_is_no_worse_on_average(threshold: float) -> None:
    """Also where the verdict as it was is right: letters and scores are added with weight 1, as planted."""
    fresh = pairs(1000, 0, letters=1.0, scores=1.0, threshold=threshold)
    before = log_loss(fresh[1], fresh[0])
    worlds = [pairs(60, seed, letters=1.0, scores=1.0, threshold=threshold) for seed in range(1, 41)]
    after = [log_loss(applied(fit(*world).head, fresh), fresh[0]) for world in worlds]
    assert np.mean(after) < before + 0.03


def gains(repetitions: int, folds: int) -> list[float]:
    """Out-of-fold accuracy less one half where labels are drawn at random."""
    found = []
    for seed in range(repetitions):
        cases, verdicts = pairs(100, seed, letters=0.0, scores=0.0)
        found.append(accuracy(fit(cases, verdicts, folds=folds).crossfitted, cases) - 0.5)
    return found


def test_the_verdicts_own_margin_names_the_winner_where_the_heads_features_say_nothing() -> None:
    task = PairEvidence(*pairs(60, 24), length=False)
    plan = next(plan for plan in task.plans() if plan.features == ("agreed letters",))
    (head,) = task.fits(plan, np.ones((1, 60), dtype=bool))
    torn = judged([lettered(0.8, "ab"), lettered(0.3, "ba"), scored(3, 3)])
    assert pair_features(pair(), torn).odd["agreed letters"] == 0
    verdict = head(pair(), torn)
    assert verdict.winner == "a"
    assert verdict.certainty == pytest.approx(0.5, abs=0.001)


def test_nothing_is_found_where_labels_are_random() -> None:
    found = gains(12, folds=3)
    assert abs(np.mean(found)) < 4 * 0.05 / math.sqrt(12)  # an accuracy of 100 fair coins has a deviation of 0.05


@pytest.mark.simulation
def test_nothing_is_found_where_labels_are_random_in_two_hundred_worlds() -> None:
    found = gains(200, folds=5)
    assert abs(np.mean(found)) < 1.96 * np.std(found) / math.sqrt(len(found))


def test_a_choice_among_many_candidates_does_not_flatter_itself() -> None:
    """Labels at random, and ten members to choose by: out of fold nobody is better than a coin, ln 2 nats."""
    found = []
    for seed in range(6):
        random, cases, verdicts = np.random.default_rng(seed), [], []
        for number in range(40):
            leads = enumerate(random.normal(0, 0.5, 10))
            members = [scored(3 + float(lead), 3 - float(lead), member=f"m{name}") for name, lead in leads]
            case = labelled(pair(), "ab"[int(random.integers(2))])
            cases.append(case.model_copy(update={"id": f"{number:02}", "query": str(number)}))
            verdicts.append(judged(members, case_id=cases[-1].id))
        fitted = fit(cases, verdicts, folds=4)
        assert len(fitted.candidates) > 15
        found.append(log_loss(fitted.crossfitted, cases))
    assert np.mean(found) > math.log(2) + 0.03


class Watched(PairEvidence):
    """Pairs that look at what each head was fitted to when it is calibrated, and mark that it was."""

    seen: dict[int, Any]

    def fits(self, plan: HeadSpec, chosen: Any) -> list[PairHead]:
        heads = super().fits(plan, chosen)
        self.seen = getattr(self, "seen", {}) | {id(head): rows for head, rows in zip(heads, chosen, strict=True)}
        self.kept = [*getattr(self, "kept", []), *heads]  # so that no id comes twice
        return heads

    def calibrated(self, head: PairHead, others: Sequence[PairHead], rows: Any) -> PairHead:
        assert not any((self.seen[id(other)] & row).any() for other, row in zip(others, rows, strict=True))
        assert (rows.any(axis=0) == self.seen[id(head)]).all()
        return super().calibrated(head, others, rows).model_copy(update={"fitted": "calibrated"})


def test_heads_are_calibrated_on_all_that_they_may_see_by_heads_that_have_not_seen_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TASKS, "pair", Watched)
    assert fit(*pairs(60, 28, threshold=0.5), folds=4).head.fitted == "calibrated"


def test_the_standard_error_counts_groups() -> None:
    """Each case four times is as much evidence as once."""
    cases, verdicts = pairs(80, 29)
    named = [case.model_copy(update={"group": case.id}) for case in cases]
    again = [
        (
            case.model_copy(update={"id": name}),
            verdict.model_copy(update={"case_id": name}),
        )
        for case, verdict in zip(named, verdicts, strict=True)
        for name in (f"{case.id} {copy}" for copy in range(4))
    ]
    once, fourfold = fit(named, verdicts, folds=3).candidates, fit(*zip(*again, strict=True), folds=3).candidates
    errors = [np.mean([one.standard_error for one in table]) for table in (once, fourfold)]
    assert errors[1] == pytest.approx(errors[0], rel=0.25)


def test_the_crossfitted_loss_is_that_of_fresh_cases() -> None:
    world, fresh = pairs(400, 6, threshold=0.5), pairs(2000, 7, threshold=0.5)
    fitted = fit(*world, folds=3)
    inside, outside = log_loss(fitted.crossfitted, world[0]), log_loss(applied(fitted.head, fresh), fresh[0])
    assert inside == pytest.approx(outside, abs=0.08)
    (chosen,) = (one for one in fitted.candidates if one.chosen)
    assert chosen == fitted.candidates[0]
    assert chosen.name == fitted.head.fitted
    assert inside == pytest.approx(chosen.loss, abs=0.01)
    assert 0.01 < chosen.standard_error < 0.1
    assert fitted.head.n == 400


def test_what_the_penalty_shrank_is_as_sure_as_it_should_be() -> None:
    """A head of penalty 100 is too unsure; calibrated on the rows that each other head has not seen, it is not."""
    task, fresh = PairEvidence(*pairs(300, 25, threshold=0.5), length=False), pairs(1000, 26, threshold=0.5)
    rows = np.arange(300) % 3 == np.arange(3)[:, None]
    *others, raw = task.fits(HeadSpec("all", tuple(task.names), 100.0), np.r_[~rows, np.ones((1, 300), dtype=bool)])
    head = task.calibrated(raw, others, rows)

    def gap(one: PairHead) -> float:
        verdicts = applied(one, fresh)
        return accuracy(verdicts, fresh[0]) - float(np.mean([verdict.certainty for verdict in verdicts]))

    assert gap(raw) > 0.05
    assert abs(gap(head)) < gap(raw) / 2
    assert log_loss(applied(head, fresh), fresh[0]) < log_loss(applied(raw, fresh), fresh[0])


def test_a_bend_is_calibrated_by_its_knots_alone() -> None:
    task = PairEvidence(*pairs(90, 27, threshold=0.5), length=False)
    rows = np.arange(90) % 3 == np.arange(3)[:, None]
    plan = HeadSpec("letters", ("letters",), 1.0, isotonic=True)
    *others, raw = task.fits(plan, np.r_[~rows, np.ones((1, 90), dtype=bool)])
    head = task.calibrated(raw, others, rows)
    assert head.weights == raw.weights
    (factor,) = {
        round(after / before, 9) for (_, before), (_, after) in zip(raw.knots[1:], head.knots[1:], strict=True)
    }
    assert factor != 1


def test_votes_are_soft_labels_where_the_label_does_not_contradict_them() -> None:
    def targets(*cases: Case) -> list[list[float]]:
        rows: list[list[float]] = soft_labels_of(cases, LABELS).proportions.tolist()
        return rows

    votes = tuple(Winner(value=value) for value in ("a", "a", "tie"))
    majority = pair().model_copy(update={"votes": votes, "label": Winner(value="a")})
    soft = [pytest.approx(2 / 3), 0, pytest.approx(1 / 3)]
    assert targets(majority) == [soft]
    only_votes = majority.model_copy(update={"label": None})
    assert targets(only_votes) == [soft]
    adjudicated = majority.model_copy(update={"label": Winner(value="b")})
    assert targets(majority, adjudicated) == [soft, [0, 1, 0]]
    counted = soft_labels_of([majority, adjudicated, only_votes, pair()], LABELS)
    assert (counted.soft, counted.against) == (2, 1)
    graded = pair().model_copy(update={"label": Scores(values=(1, 3), lo=1, hi=5)})
    assert targets(graded) == [[0, 1, 0]]


def test_a_majority_is_surer_than_its_voters() -> None:
    """Three voters who each agree with the judge in 7 of 10 cases: their majority does in 0.784 of all cases."""
    random, cases, verdicts = np.random.default_rng(0), [], []
    for number in range(1500):
        said = "ab"[number % 2]
        votes = [said if random.random() < 0.7 else "ba"[number % 2] for _ in range(3)]
        case = labelled(pair(), max("ab", key=votes.count))
        given = tuple(Winner.model_validate({"value": vote}) for vote in votes)
        cases.append(case.model_copy(update={"id": f"{number:04}", "query": str(number), "votes": given}))
        verdicts.append(judged([lettered(float(said == "a"))], case_id=cases[-1].id))
    fitted = fit(cases, verdicts, folds=3)
    assert fitted.head(cases[0], verdicts[0]).certainty == pytest.approx(0.784, abs=0.03)
    entropy = -0.784 * math.log(0.784) - 0.216 * math.log(0.216)  # of the labels; of the single votes it is 0.611
    assert fitted.candidates[0].loss == pytest.approx(entropy, abs=0.03)


def test_a_written_answer_alone_gets_its_base_rate() -> None:
    """A judge that writes a letter and is right in 8 of 10 cases is 80 % sure."""
    cases, verdicts = [], []
    for number in range(100):
        case = pair().model_copy(update={"id": f"{number:03}", "query": str(number)})
        said, right = "ab"[number % 2], number % 10 < 8
        truth = said if right else "ba"[number % 2]
        cases.append(case.model_copy(update={"label": Winner(value=truth)}))
        verdicts.append(judged([lettered(float(said == "a"))], case_id=case.id))
    verdict = fit(cases, verdicts).head(cases[0], verdicts[0])
    assert verdict.winner == "a"
    assert verdict.certainty == pytest.approx(0.8, abs=0.02)


def test_length_is_a_feature_only_when_asked() -> None:
    world = pairs(100, 8)
    assert "length" not in str(fit(*world, folds=3).candidates)
    assert "length" in str(fit(*world, folds=3, length=True).candidates)


# what must not matter


def same(one: HeadFit, other: HeadFit) -> bool:
    return (one.head, one.candidates) == (other.head, other.candidates)


def test_the_order_of_the_cases_does_not_matter() -> None:
    cases, verdicts = pairs(80, 9, threshold=0.5)
    fitted = fit(cases, verdicts, seed=3, folds=3)
    order = np.random.default_rng(0).permutation(80)
    shuffled = fit([cases[i] for i in order], [verdicts[i] for i in order], seed=3, folds=3)
    assert same(fitted, shuffled)
    assert shuffled.crossfitted == tuple(fitted.crossfitted[i] for i in order)
    assert fit(cases, verdicts, seed=4, folds=3).crossfitted != fitted.crossfitted


def test_exchanging_all_pairs_changes_nothing_but_the_verdicts() -> None:
    cases, verdicts = pairs(80, 10, threshold=0.5)
    fitted = fit(cases, verdicts, folds=3)
    swapped = fit([case.swapped() for case in cases], [verdict.swapped() for verdict in verdicts], folds=3)
    assert same(fitted, swapped)
    assert swapped.crossfitted == tuple(verdict.swapped() for verdict in fitted.crossfitted)


def test_a_crossfitted_verdict_does_not_depend_on_the_labels_of_its_group() -> None:
    cases, verdicts = texts(60, 11)
    cases = [case.model_copy(update={"group": str(index // 2)}) for index, case in enumerate(cases)]
    before = fit(cases, verdicts).crossfitted

    def moved(case: Case) -> Case:
        assert isinstance(case.label, Scores)
        inwards = 0.1 if case.label.values[0] < 3 else -0.1
        return case.model_copy(update={"label": Scores(values=(case.label.values[0] + inwards,), lo=1, hi=5)})

    after = fit([*map(moved, cases[:2]), *cases[2:]], verdicts).crossfitted
    assert after[:2] == before[:2]
    assert after[2:] != before[2:]


@pytest.mark.parametrize("world", [pairs(40, 12, threshold=0.5), texts(40, 12), choices(40, 12)])
def test_a_fitted_head_comes_back_from_json(world: tuple[list[Case], list[Verdict]]) -> None:
    head = fit(*world, folds=3).head
    again = TypeAdapter(Head).validate_json(head.model_dump_json())
    assert again == head
    assert applied(again, world) == applied(head, world)


# scores and choices


def test_scores_are_moved_to_peoples_scale() -> None:
    world, fresh = texts(200, 13), texts(500, 14)
    fitted = fit(*world)
    assert isinstance(fitted.head, ScoreHead)
    errors = [
        (verdict.scores or (math.nan,))[0] - (case.label.values[0] if isinstance(case.label, Scores) else math.nan)
        for case, verdict in zip(fresh[0], applied(fitted.head, fresh), strict=True)
    ]
    assert np.sqrt(np.mean(np.square(errors))) < 0.35  # of which 0.3 is people's own
    assert fitted.candidates[0].loss == pytest.approx(0.09, abs=0.03)
    assert (fitted.head.lo, fitted.head.hi) == (1, 5)


def test_members_that_fail_now_and_then_teach_a_head_of_texts_nothing() -> None:
    """A text whose best member failed is scored from the others, not as if that member had given it 0."""
    random, cases, verdicts, people = np.random.default_rng(0), [], [], []
    for number in range(400):
        quality = float(random.normal())
        given = {
            name: 5.5 + 2 * quality + 2 * float(random.normal(0, sd))
            for name, sd in zip("xyz", (1, 0.3, 1), strict=True)
        }
        if number % 40 == 0:
            del given["y"]
        people.append(min(max(3 + quality, 1.0), 5.0))
        label = Scores(values=(people[-1],), lo=1, hi=5)
        cases.append(Case(id=f"{number:03}", query=str(number), candidates=(Candidate(text="x"),), label=label))
        verdicts.append(judged([scored(s, member=name) for name, s in given.items()], 1, case_id=cases[-1].id))
    fitted = fit(cases, verdicts, folds=3)
    errors = np.array([(one.scores or (math.nan,))[0] for one in fitted.crossfitted]) - people
    whole = np.array([len(verdict.findings) == 3 for verdict in verdicts])
    assert any(name.startswith("member") for name in fitted.head.weights)
    assert np.sqrt(np.mean(errors[whole] ** 2)) < 0.4
    assert np.sqrt(np.mean(errors[~whole] ** 2)) < 0.8


def test_isotonic_regression_is_chosen_where_people_bend_the_scale() -> None:
    head = fit(*texts(200, 15, bend=True)).head
    assert isinstance(head, ScoreHead)
    assert head.knots
    fresh = texts(2, 0)
    low, high = (head(case, judged([scored(s)], 1)) for case, s in zip(fresh[0], (20.0, 80.0), strict=True))
    assert [*(low.scores or ()), *(high.scores or ())] == pytest.approx([1.5, 4.5], abs=0.2)


def test_choices_find_what_a_point_of_score_is_worth() -> None:
    fitted = fit(*choices(1500, 16, worth=1.0), folds=3)
    assert isinstance(fitted.head, ChoiceHead)
    verdict = fitted.head(pair("", "", ""), judged([scored(2, 1, 1)], 3))
    shares = verdict.distribution or {}
    assert math.log(shares["0"] / shares["1"]) == pytest.approx(1.0, abs=0.2)
    fresh = choices(1000, 17)
    verdicts = applied(fitted.head, fresh)
    right = np.array([v.winner == c.label.winner for v, c in zip(verdicts, fresh[0], strict=True) if c.label])
    assert calibration.ece(np.array([v.certainty for v in verdicts]), right) < 0.05


def test_conditional_logit_of_two_options_is_logistic_regression() -> None:
    x, _, shares = drawn(300, 6)
    decided = shares[:, 2] == 0
    x, shares = standardised(x[decided]), shares[decided]
    sides, there, everyone = (
        np.stack([x, -x], axis=1),
        np.ones((len(x), 2), dtype=bool),
        np.ones((1, len(x)), dtype=bool),
    )
    (ours,) = fit_choices(sides, there, shares[:, :2], everyone, penalty=1.0, bounded=np.zeros(2, dtype=bool))
    assert ours == pytest.approx(weights(2 * x, None, shares, 1.0 / 4)[0], abs=1e-3)


# little to learn from


def labelled(case: Case, label: str) -> Case:
    return case.model_copy(update={"label": Winner.model_validate({"value": label})})


def test_too_few_labels_are_said_to_be() -> None:
    cases, verdicts = pairs(30, 18)
    unlabelled = [case.model_copy(update={"label": None}) for case in cases[:11]]
    with pytest.raises(DeclarationError, match=r"19 labelled verdicts of 30 cases\. Label 20 at least"):
        fit([*unlabelled, *cases[11:]], verdicts)


def test_one_group_cannot_be_crossfitted() -> None:
    cases, verdicts = pairs(30, 18)
    with pytest.raises(DeclarationError, match="1 groups"):
        fit([case.model_copy(update={"group": "all"}) for case in cases], verdicts)


@pytest.mark.parametrize("world", [pairs(80, 18), choices(80, 18)])
def test_there_may_be_as_many_folds_as_groups(world: tuple[list[Case], list[Verdict]]) -> None:
    cases = [case.model_copy(update={"group": str(number % 40)}) for number, case in enumerate(world[0])]
    assert len(fit(cases, world[1], folds=40).crossfitted) == 80


def test_a_case_that_is_given_twice_is_in_one_fold() -> None:
    cases, _ = pairs(60, 18)
    fold = fold_of([*cases, *cases], 5, 0)
    assert (fold[:60] == fold[60:]).all()


def test_choices_that_people_scored_are_learnt_from_their_votes() -> None:
    cases, verdicts = choices(40, 18)
    graded = [
        case.model_copy(update={
            "votes": (case.label,),
            "label": Scores(values=tuple(1.0 + n for n in range(len(case.candidates))), lo=1, hi=5),
        })
        for case in cases
    ]  # fmt: skip
    learnt, result = fit(graded, verdicts, folds=3).head, fit(cases, verdicts, folds=3).head
    assert learnt.weights["score"] == pytest.approx(result.weights["score"], rel=0.2)


def test_verdicts_of_other_cases_and_mixed_kinds_are_refused() -> None:
    cases, verdicts = pairs(30, 18)
    with pytest.raises(DeclarationError, match="not of these cases"):
        fit(cases, verdicts[::-1])
    more = [case.model_copy(update={"id": f"t{case.id}"}) for case in texts(30, 18)[0]]
    said = [Verdict(case_id=case.id, scores=(1.0,)) for case in more]
    with pytest.raises(DeclarationError, match="several kinds, pair, score"):
        fit([*cases, *more], [*verdicts, *said])


def test_scores_on_several_scales_are_refused() -> None:
    cases, verdicts = texts(30, 19)
    other = cases[0].model_copy(update={"label": Scores(values=(3,), lo=0, hi=10)})
    with pytest.raises(DeclarationError, match="on 2 scales"):
        fit([other, *cases[1:]], verdicts)


def test_unscored_verdicts_and_unlabelled_cases_teach_nothing() -> None:
    cases, verdicts = pairs(60, 20)
    failed = Verdict(case_id=cases[0].id, status="unscored", reason="refusal")
    unlabelled = cases[1].model_copy(update={"label": None})
    fitted = fit([cases[0], unlabelled, *cases[2:]], [failed, *verdicts[1:]], folds=3)
    assert same(fitted, fit(cases[2:], verdicts[2:], folds=3))
    assert fitted.crossfitted[0] is failed
    assert fitted.crossfitted[1] == fitted.head(unlabelled, verdicts[1])


@pytest.mark.parametrize("label", LETTERS)
def test_labels_of_one_class_are_learnt_without_infinities(label: str) -> None:
    cases, verdicts = pairs(60, 21)
    fitted = fit([labelled(case, label) for case in cases], verdicts, folds=3)
    shares = [verdict.distribution or {} for verdict in fitted.crossfitted]
    assert all(0 <= p <= 1 for one in shares for p in one.values())
    if label == "tie":
        assert {verdict.winner for verdict in fitted.crossfitted} == {"tie"}
        assert np.mean([one["tie"] for one in shares]) > 0.95


def test_evidence_that_says_nothing_gives_the_base_rates() -> None:
    cases, _ = pairs(80, 22, threshold=1.0)
    verdicts = [judged([scored(3, 3)], case_id=case.id) for case in cases]
    fitted = fit(cases, verdicts)
    ties = Counter(case.label.winner for case in cases if case.label)["tie"] / len(cases)
    shares = fitted.head(cases[0], verdicts[0]).distribution or {}
    assert shares["a"] == shares["b"]
    assert shares["tie"] == pytest.approx(ties, abs=0.02)
    mute = [Verdict(case_id=case.id, scores=(3.0,)) for case in texts(40, 22)[0]]
    score = fit(texts(40, 22)[0], mute).head
    assert isinstance(score, ScoreHead)
    assert score.weights == {}


def test_columns_that_say_the_same_are_one() -> None:
    x = np.random.default_rng(0).normal(size=(50, 1))
    values = np.c_[x, 2 * x, np.zeros(50), np.ones(50), -x]
    assert informative_features(list("abcde"), values)[0] == ["a", "d"]
    assert informative_features(list("abcde"), values, centred=True)[0] == ["a"]


@pytest.mark.simulation
def test_ten_thousand_pairs_take_less_than_a_minute() -> None:
    world = pairs(10_000, 23, threshold=0.5)
    start = time.process_time()
    fit(*world)
    assert time.process_time() - start < 60
