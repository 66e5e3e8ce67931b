"""Certificates of groups: the averaged exact test against enumeration, its limits, and what it does not depend on."""

import itertools
import json
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dicast.errors import DataError
from dicast.optimizers.certificates.averaged_binomial_test import drawn_errors, limits, p_value, upper_limit
from dicast.optimizers.certificates.certainty_table import certainty_table
from dicast.optimizers.certificates.certificate import Certificate
from dicast.optimizers.certificates.certify import certify, check

Floats = NDArray[np.float64]


def grouped(seed: int, count: int = 120, error: float = 0.04) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
    """Groups of 1 to 10 cases, of a judge whose surest third errs with probability `error`, the others with 0.3."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(count), rng.integers(1, 11, count))
    sure = rng.random(len(groups)) < 0.35
    certainty = np.where(sure, 0.95 + 0.04 * rng.random(len(groups)), 0.5 + 0.3 * rng.random(len(groups)))
    return certainty, rng.random(len(groups)) >= np.where(sure, error, 0.3), groups


# against independent computations


@pytest.mark.parametrize("seed", range(5))
def test_drawn_errors_are_those_of_all_draws(seed: int) -> None:
    """Every way of drawing one verdict of each of six groups, listed."""
    rng = np.random.default_rng(seed)
    verdicts = [rng.random(rng.integers(1, 4)) < 0.4 for _ in range(6)]
    draws = [sum(draw) for draw in itertools.product(*(list(map(int, group)) for group in verdicts))]
    expected = [np.mean(np.array(draws) <= most) for most in range(7)]
    assert drawn_errors(np.array([group.mean() for group in verdicts]), 6) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "wrong"), [(29, 0), (28, 0), (60, 1), (100, 5), (100, 4), (40, 40)])
def test_one_verdict_a_group_is_the_exact_binomial_test(n: int, wrong: int) -> None:
    errors = np.repeat([1.0, 0.0], [wrong, n - wrong])
    assert p_value(errors, 0.1, 0.05) == pytest.approx(stats.binomtest(wrong, n, 0.1, alternative="less").pvalue)
    exact = stats.binomtest(wrong, n)
    assert limits(errors, 0.05, single=True) == pytest.approx(tuple(exact.proportion_ci(0.95, method="exact")))
    one_sided = stats.binomtest(wrong, n, alternative="less").proportion_ci(0.95, method="exact").high
    assert upper_limit(errors, 0.1, 0.05, single=True) == pytest.approx(one_sided)


def test_a_p_value_by_hand() -> None:
    """46 groups without an error and one with an error in half of its verdicts: c = 1, F(1) = .0440, P(K <= 1) = 1."""
    assert stats.binom.cdf([1, 2], 47, 0.1) == pytest.approx([0.0440, 0.1383], abs=5e-5)
    errors = np.array([0.5, *[0.0] * 46])
    # the least level of those at which it is rejected: c = 0, F(0) / P(K = 0)
    assert p_value(errors, 0.1, 0.05) == pytest.approx(0.9**47 / 0.5)
    # two such groups and one without a right verdict: P(K <= 1) = 1 / 4, so .0440 / .25 is above delta
    assert p_value(np.array([1.0, 0.5, 0.5, *[0.0] * 44]), 0.1, 0.05) > 0.05


@pytest.mark.parametrize("seed", range(4))
def test_the_limits_of_groups_are_those_of_bentkus(seed: int) -> None:
    """At the limit the bound, minimised over a fine grid of u, is half of delta."""
    rng = np.random.default_rng(seed)
    errors = rng.random(40) * (rng.random(40) < 0.3)
    total = errors.sum()
    low, high = limits(errors, 0.05, single=False)
    k, u = np.arange(41), np.arange(total + 1e-4, 40, 1e-3)

    def bound(mean: float, most: float, grid: Floats) -> float:
        hinge = np.maximum(grid[:, None] - k, 0) @ stats.binom.pmf(k, 40, mean)
        return float((hinge / (grid - most)).min())

    assert bound(high, total, u) == pytest.approx(0.025, abs=1e-4)
    assert bound(1 - low, 40 - total, np.arange(40 - total + 1e-4, 40, 1e-3)) == pytest.approx(0.025, abs=1e-4)
    assert low <= total / 40 <= high


# properties


@pytest.mark.parametrize("seed", range(4))
def test_neither_the_order_of_rows_nor_the_names_of_groups_matter(seed: int) -> None:
    certainty, right, groups = grouped(seed)
    first = certify(certainty, right, groups=groups)
    order = np.random.default_rng(seed).permutation(len(groups))
    names = [f"prompt {(7919 * group) % 1009}" for group in groups[order]]
    assert certify(certainty[order], right[order], groups=groups[order]) == first
    assert certify(certainty[order], right[order], groups=names) == first


@pytest.mark.parametrize("seed", range(4))
def test_more_errors_never_certify_more(seed: int) -> None:
    certainty, right, groups = grouped(seed, error=0.01)
    rng, accepted = np.random.default_rng(seed), []
    for case in [None, *rng.permutation(np.flatnonzero(right & (certainty > 0.9)))[:12]]:
        if case is not None:
            right[case] = False
        accepted.append(certify(certainty, right, groups=groups).accepted_of_all or 0)
    assert accepted == sorted(accepted, reverse=True)
    assert accepted[0] > 0


@pytest.mark.parametrize("times", [2, 3])
def test_repeated_cases_of_a_group_are_no_new_evidence(times: int) -> None:
    certainty, right, groups = grouped(0)
    repeated = [np.repeat(side, times) for side in (certainty, right, groups)]
    few, many = certify(certainty, right, groups=groups), certify(*repeated[:2], groups=repeated[2])
    fields = ("threshold", "accepted", "errors", "coverage", "bound", "n")
    assert [getattr(many, name) for name in fields] == pytest.approx([getattr(few, name) for name in fields])


def test_all_cases_certify_where_one_of_each_group_cannot() -> None:
    """60 groups of three cases, of which a third is accepted: of one case of each group about 20 are, and 29 needed."""
    rng, certified = np.random.default_rng(3), []
    for _ in range(10):
        sure = rng.random(180) < 0.33
        certainty, right = np.where(sure, 0.97, 0.6), rng.random(180) >= np.where(sure, 0.005, 0.4)
        assert certify(certainty[::3], right[::3]).threshold is None
        certified.append(certify(certainty, right, groups=np.arange(180) // 3).threshold is not None)
    assert sum(certified) >= 6


# certificates of earlier versions

EARLIER = {
    "risk": 0.1, "delta": 0.05, "cases": 450, "n": 150, "kept": 100, "errors": 2, "kept_of_all": 300,
    "errors_of_all": 6, "coverage": 0.6667, "coverage_low": 0.588, "coverage_high": 0.737, "bound": 0.0616,
    "needed": None, "seed": 3, "threshold": 0.61, "stopped": None,
    "curve": [{"threshold": 0.61, "kept": 100, "errors": 2, "p": 0.002}],
}  # fmt: skip


def test_an_earlier_certificate_of_drawn_cases_says_so() -> None:
    earlier = Certificate.model_validate_json(json.dumps(EARLIER))
    assert earlier.summary() == (
        "Verdicts of certainty 0.61 or more disagree with people in at most 10 % of cases, each group (a prompt, a "
        "person) with equal weight, with 95 % confidence: of 150 groups, one labelled case sampled from each, 100 are "
        "accepted (66.7 % [58.8 %, 73.7 %]), and 2 of these disagree. Of all 450 cases 300 are accepted, and 6 of "
        "these disagree (2 %)."
    )


def test_an_earlier_certificate_is_checked_on_the_case_of_each_group_that_its_id_names() -> None:
    earlier = Certificate.model_validate_json(json.dumps(EARLIER))
    certainty, right, groups = grouped(0)
    ids = [f"case {number}" for number in range(len(groups))]
    first = check(earlier, certainty, right, groups=groups, ids=ids)
    assert (first.n, first.cases) == (120, len(groups))
    assert first.errors == round(first.errors)
    order = np.random.default_rng(1).permutation(len(groups))
    shuffled = [ids[case] for case in order]
    assert check(earlier, certainty[order], right[order], groups=groups[order], ids=shuffled) == first
    with pytest.raises(DataError, match="Give the ids of the cases"):
        check(earlier, certainty, right, groups=groups)


def test_every_case_of_a_group_is_drawn_equally_often() -> None:
    drawn = np.zeros(3)
    for world in range(40):
        ids = [f"{world}/{number}" for number in range(300)]
        table = certainty_table([(np.arange(300) / 300, np.ones(300))], np.arange(300) // 3, one_of_each=ids)
        cases = (table.certainty[0] * 300).round().astype(int)
        assert sorted(cases // 3) == list(range(100))
        drawn += np.bincount(cases % 3, minlength=3)
    assert drawn / drawn.sum() == pytest.approx(1 / 3, abs=3 * math.sqrt(2 / 9 / 4000))
