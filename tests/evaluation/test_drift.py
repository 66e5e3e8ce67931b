"""Drift: the test of then and now by groups, its false alarms in simulated worlds, and what a record must hold."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runs import evaluated, pair
from scipy.stats import binom

from dicast.errors import DeclarationError
from dicast.evaluation import drift
from dicast.evaluation.drift import (
    NOTHING,
    Drift,
    RecordedAccuracy,
    accuracy_estimate,
    accuracy_record,
    estimate_as_dict,
    read_accuracy,
)
from dicast.stats.resampling import Estimate, proportion
from dicast.stats.two_samples import effective_n_of_interval

PAIRS = 6  # of a prompt, as PandaLM has them
CORRELATION = 0.33  # within a prompt


def independent(hits: int, n: int) -> Estimate:
    return proportion(np.arange(n) < hits)


def recorded(record: object) -> RecordedAccuracy:
    accuracy = read_accuracy(record)
    assert accuracy is not None
    return accuracy


@pytest.mark.parametrize(
    ("now", "then", "low", "high"),
    [  # Newcombe 1998, Statistics in Medicine 17:873-890, table II, method 10
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
    ],
)
def test_the_interval_of_independent_cases_is_newcombe_s(
    now: tuple[int, int], then: tuple[int, int], low: float, high: float, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(drift, "LEVEL", 0.95)
    assert Drift(independent(*then), independent(*now)).interval == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize(("n_then", "n_now"), [(20, 20), (60, 20), (20, 60)])
@pytest.mark.parametrize("p", [0.5, 0.8, 0.95])
def test_a_judge_that_did_not_change_is_called_worse_in_at_most_6_4_percent(n_then: int, n_now: int, p: float):
    worse = [
        binom.pmf(then, n_then, p) * binom.pmf(now, n_now, p)
        for then in range(n_then + 1)
        for now in range(n_now + 1)
        if now / n_now < then / n_then and Drift(independent(then, n_then), independent(now, n_now)).interval[1] < 0
    ]
    assert sum(worse) <= 0.064


# worlds of prompts, in which nothing changed


def grouped(hits: np.ndarray[Any, Any]) -> Estimate:
    """The accuracy of prompts of which so many pairs are right, as an evaluation estimates it."""
    right = (np.arange(PAIRS) < hits[:, None]).ravel()
    return proportion(right, np.repeat(np.arange(len(hits)), PAIRS))


def ungrouped(hits: np.ndarray[Any, Any]) -> Estimate:
    return independent(int(hits.sum()), PAIRS * len(hits))


def false_alarms(
    then: int, now: int, accuracy: float, worlds: int, estimate: Callable[[np.ndarray[Any, Any]], Estimate] = grouped
) -> float:
    """How often a judge that did not change is called worse, on so many prompts then and now."""
    random, spread = np.random.default_rng([then, now]), 1 / CORRELATION - 1
    p = random.beta(accuracy * spread, (1 - accuracy) * spread, size=(worlds, then + now))
    hits = random.binomial(PAIRS, p)
    outcomes = [Drift(estimate(world[:then]), estimate(world[then:])).outcome for world in hits]
    return outcomes.count("worse") / worlds


@pytest.mark.parametrize(("then", "now"), [(10, 10), (60, 10), (40, 20)])
def test_prompts_without_drift_raise_a_false_alarm_in_5_percent(then: int, now: int):
    assert 0.03 <= false_alarms(then, now, 0.8, 1000) <= 0.065


def test_taking_the_pairs_of_a_prompt_for_independent_would_raise_far_more():
    assert false_alarms(40, 20, 0.8, 500, ungrouped) > 0.1


@pytest.mark.simulation
@pytest.mark.parametrize("accuracy", [0.6, 0.7, 0.8, 0.9])
@pytest.mark.parametrize(("then", "now"), [(10, 10), (30, 10), (10, 50), (20, 20), (100, 20), (40, 40), (100, 100)])
def test_prompts_without_drift_raise_a_false_alarm_in_5_percent_at_any_size(then: int, now: int, accuracy: float):
    found = false_alarms(then, now, accuracy, 8000)
    assert found <= 0.07
    assert found >= (0.035 if min(then, now) >= 20 else 0.01)  # few prompts of a good judge are too careful


@pytest.mark.parametrize(("size", "icc"), [(1, 0.0), (6, 0.0), (6, 0.15), (6, 0.3), (10, 0.0), (10, 0.15), (10, 0.3)])
def test_270_labels_of_then_and_now_raise_a_false_alarm_in_5_percent(size: int, icc: float):
    worlds, random = 600, np.random.default_rng([size, round(100 * icc)])
    groups = np.arange(270) // size
    worse = 0
    for _ in range(worlds):
        p = random.beta(0.8 * (1 / icc - 1), 0.2 * (1 / icc - 1), (2, 270 // size)) if icc else np.full((2, 270), 0.8)
        then, now = (proportion(random.random(270) < side[groups], groups) for side in p)
        worse += Drift(then, now).outcome == "worse"
    assert binom.ppf(0.001, worlds, 0.035) <= worse <= binom.ppf(0.999, worlds, 0.065)


@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_a_true_loss_of_the_margin_is_rarely_taken_for_agreement(margin: float):
    random, spread, worlds = np.random.default_rng(3), 1 / CORRELATION - 1, 1000
    agrees = 0
    for _ in range(worlds):
        sides = [
            grouped(random.binomial(PAIRS, random.beta(p * spread, (1 - p) * spread, size=count)))
            for p, count in ((0.8, 60), (0.8 - margin, 40))
        ]
        agrees += Drift(sides[0], sides[1], margin).outcome == "agrees"
    assert agrees / worlds <= 0.07


# outcomes and labels needed


def test_outcomes_follow_the_interval_and_the_margin():
    then = independent(800, 1000)
    assert Drift(then, independent(800, 1000)).outcome == "agrees"
    assert Drift(then, independent(700, 1000)).outcome == "worse"
    assert Drift(then, independent(16, 20)).outcome == "unknown"
    assert Drift(then, independent(700, 1000), margin=0.2).outcome == "agrees"
    assert Drift(then, NOTHING).outcome == "unknown"
    assert Drift(NOTHING, then).labels_needed() is None
    with pytest.raises(DeclarationError, match="margin 1.0 is not in"):
        Drift(then, then, margin=1.0)


def test_labels_of_one_prompt_show_nothing():
    lone = proportion([False] * 50, ["one prompt"] * 50)
    found = Drift(independent(800, 1000), lone)
    assert (found.outcome, found.interval) == ("unknown", (-1.0, 1.0))
    assert json.loads(json.dumps(found.as_dict()))["now"]["effective_n"] is None


def test_the_labels_needed_have_a_range():
    """At the ends of the recorded interval: the figure is of the recorded accuracy, which is an estimate too."""
    then = independent(900, 1000)
    fewest, most = Drift(then, NOTHING).labels_needed_range()
    needed = Drift(then, NOTHING).labels_needed()
    assert fewest is not None
    assert needed is not None
    assert fewest < needed
    assert (fewest, most) == (
        Drift(then, NOTHING).labels_needed(then.high),
        Drift(then, NOTHING).labels_needed(then.low),
    )
    assert Drift(then, NOTHING, 0.02).labels_needed_range()[1] is None  # a loss already, by the record
    assert Drift(then, NOTHING, 0.1).labels_needed_range()[1] is not None


@pytest.mark.parametrize(("hits", "n", "margin"), [(170, 200, 0.1), (85, 100, 0.1), (40, 40, 0.1)])
def test_the_labels_needed_show_agreement_with_80_percent_power(hits: int, n: int, margin: float):
    then = independent(hits, n)
    needed = Drift(then, NOTHING, margin).labels_needed()

    def power(count: int) -> float:
        shown = [k for k in range(count + 1) if Drift(then, independent(k, count), margin).outcome == "agrees"]
        return sum(float(binom.pmf(k, count, then.value)) for k in shown)

    assert needed is not None
    assert power(needed) >= 0.8 > power(needed - 1)


def test_labels_in_groups_are_needed_in_larger_numbers():
    then, hits = independent(1600, 2000), np.tile([6, 6, 6, 3, 3], 4)
    grouped_need, independent_need = (
        Drift(then, now).labels_needed() for now in (grouped(hits), independent(int(hits.sum()), PAIRS * len(hits)))
    )
    assert grouped_need is not None
    assert independent_need is not None
    effect = PAIRS * len(hits) / (grouped(hits).effective_n or math.nan)
    assert grouped_need / independent_need == pytest.approx(effect, rel=0.1)


def test_a_record_of_few_labels_can_never_show_a_small_loss():
    assert Drift(independent(16, 20), NOTHING, 0.05).labels_needed() is None


# what a record holds


def test_a_record_of_groups_is_read_as_it_was_estimated():
    run = [pair("a", "ab"[n // 6 % 4 == 0], case_id=str(n), group=str(n // 6)) for n in range(60)]
    evaluation = evaluated(*run)
    record = json.loads(json.dumps(accuracy_record(evaluation)))
    found = recorded(record)
    assert (found.basis, found.estimate) == ("groups", accuracy_estimate(evaluation))
    assert (record["hits"], record["n"], record["groups"]) == (42, 60, 10)
    assert record["effective_n"] < 60


def test_a_run_without_labels_has_no_record():
    assert accuracy_record(evaluated(pair(None, "a"))) is None


@pytest.mark.parametrize(("hits", "n"), [(160, 200), (200, 200), (0, 50), (7, 9)])
def test_an_older_record_with_an_interval_counts_for_what_its_interval_says(hits: int, n: int):
    low, high = (estimate_as_dict(independent(hits, n))[end] for end in ("low", "high"))
    found = recorded({"hits": hits, "n": n, "low": low, "high": high})
    assert found.basis == "interval"
    assert found.estimate.effective_n == pytest.approx(n)


def test_an_older_record_whose_interval_was_by_groups_counts_for_fewer_cases():
    estimate = grouped(np.tile([6, 6, 6, 3, 3], 4))
    record = {"hits": 96, "n": 120, "low": estimate.low, "high": estimate.high}
    assert estimate.effective_n is not None
    effective_n = effective_n_of_interval(estimate.low, estimate.high, 0.8)
    assert recorded(record).estimate.effective_n == effective_n
    assert 0.7 * estimate.effective_n < effective_n < estimate.effective_n  # Student's quantile is in the width


def test_an_older_record_without_an_interval_counts_as_independent_cases():
    found = recorded({"hits": 80, "n": 100})
    assert (found.basis, found.estimate) == ("cases", independent(80, 100))


@pytest.mark.parametrize("record", [None, "no", {}, {"hits": 3, "n": 2}, {"hits": 0, "n": 0}, {"hits": 1.5, "n": 2}])
def test_what_is_no_accuracy_is_none(record: object):
    assert read_accuracy(record) is None
