"""Certificates: by hand, against the theorems they rest on, and by simulation: they fail no more often than delta."""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dicast.errors import DataError, DeclarationError
from dicast.optimizers.certificates.certainty_table import certainty_table
from dicast.optimizers.certificates.certificate import CascadeCertificate, Certificate
from dicast.optimizers.certificates.certificate_check import read_certificate
from dicast.optimizers.certificates.certify import GRID, certify, certify_cascade, check, check_cascade
from dicast.optimizers.certificates.fixed_sequence_test import accepted_needed, run_sequence

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# 60 sure verdicts without an error, 40 less sure with two, 50 that say nothing.
SURE = [0.95] * 60 + [0.8] * 40 + [0.6] * 50
RIGHT = [True] * 60 + [True] * 38 + [False] * 2 + [True, False] * 25


# by hand


def test_the_loosest_threshold_of_an_unbroken_run_is_certified() -> None:
    found = certify(SURE, RIGHT)
    assert (found.threshold, found.accepted, found.errors, found.n) == (0.61, 100, 2, 150)
    assert found.stopped is not None
    assert (found.stopped.threshold, found.stopped.accepted, found.stopped.errors) == (0.6, 150, 27)
    assert [(point.threshold, point.accepted, point.errors) for point in found.curve] == [
        (0.81, 60, 0),
        (0.61, 100, 2),
        (0.0, 150, 27),
    ]
    assert found.coverage == pytest.approx(100 / 150)


def test_certificates_of_earlier_judge_files_are_read() -> None:
    """A judge file of before holds `kept`, `kept_of_all` and `asked`, and its check `rate`."""
    cascade = certify_cascade([(SURE, RIGHT)], costs=[1.0])
    for now in (certify(SURE, RIGHT), cascade):
        text = now.model_dump_json()
        for name, earlier in (("accepted_of_all", "kept_of_all"), ("accepted", "kept"), ("reached", "asked")):
            text = text.replace(f'"{name}":', f'"{earlier}":')
        assert '"kept":' in text
        assert read_certificate(json.loads(text)) == now
    assert '"asked":' in text


def test_p_values_are_those_of_the_exact_binomial() -> None:
    found = certify(SURE, RIGHT)
    assert [point.p for point in found.curve] == pytest.approx(
        [stats.binomtest(e, n, 0.1, alternative="less").pvalue for e, n in ((0, 60), (2, 100), (27, 150))]
    )


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    exact = stats.binomtest(2, 100, alternative="less").proportion_ci(0.95, method="exact").high
    assert certify(SURE, RIGHT).bound == pytest.approx(exact, abs=1e-12)
    assert certify([0.9] * 40, [True] * 40).bound == pytest.approx(1 - 0.05 ** (1 / 40), abs=1e-12)


@pytest.mark.parametrize(("n", "certified"), [(28, False), (29, True)])
def test_29_verdicts_without_an_error_certify_10_percent(n: int, certified: bool) -> None:
    # 0.9 ** 28 = .0523, 0.9 ** 29 = .0471
    assert (certify([0.9] * n, [True] * n).threshold is not None) is certified


def test_a_stricter_threshold_that_fails_ends_the_sequence() -> None:
    """A judge that is wrong where it is surest gets no certificate, though all verdicts together would have one."""
    sure, right = [0.99] * 60 + [0.8] * 600, [True] * 52 + [False] * 8 + [True] * 600
    found = certify(sure, right)
    assert found.curve[-1].p < 0.001
    assert (found.threshold, found.accepted, found.coverage, found.bound) == (None, 0, 0.0, None)


@pytest.mark.parametrize(
    ("rate", "risk", "needed"), [(0.0, 0.1, 29), (0.0, 0.05, 59), (0.05, 0.1, 179), (0.1, 0.1, None), (0.3, 0.1, None)]
)
def test_how_many_kept_verdicts_are_needed(rate: float, risk: float, needed: int | None) -> None:
    assert accepted_needed(rate, risk=risk) == needed
    if needed and rate:
        most = int(stats.binom.ppf(0.05, needed, risk)) - 1
        assert 0.8 <= stats.binom.cdf(most, needed, rate) < 0.83


# what users read


def test_a_certificate_is_summarised_in_one_sentence() -> None:
    assert certify(SURE, RIGHT).summary() == (
        "Verdicts of certainty 0.61 or more disagree with people in at most 10 % of cases, with 95 % confidence: of "
        "150 labelled cases 100 are accepted (66.7 % [58.8 %, 73.7 %]), and 2 of these disagree."
    )


def test_a_refusal_tells_how_many_labels_would_be_needed() -> None:
    assert certify([0.9] * 20 + [math.nan] * 20, [True] * 40).summary() == (
        "No threshold can be certified to disagree with people in at most 10 % of cases, with 95 % confidence: of 40 "
        "labelled cases 20 are accepted where the test starts, and 0 of these disagree: a disagreement of 0 % [0 %, "
        "16.8 %]. These labels are too few to tell. At 0 % an 80 % chance of a certificate takes 58 labelled cases."
    )


def test_a_refusal_tells_when_no_labels_would_help() -> None:
    found = certify([0.9] * 60, [True] * 45 + [False] * 15)
    assert found.needed is None
    assert found.summary().endswith(
        "15 of these disagree: a disagreement of 25 % [14.7 %, 37.9 %]. That is above 10 %, so more labels of the same "
        "kind would not help."
    )


def test_one_error_in_eleven_is_not_called_too_often() -> None:
    """1 of 11 is 9.1 %, below the risk of 10 %; these labels cannot tell."""
    found = certify([0.9] * 11, [True] * 10 + [False])
    assert (found.needed, found.needed_low) == (None, 29)
    assert found.summary().endswith(
        "11 are accepted where the test starts, and 1 of these disagree: a disagreement of 9.09 % [0.23 %, 41.3 %]. "
        "These labels are too few to tell. At 9.09 % no number of labelled cases gives an 80 % chance of a "
        "certificate; at 0.23 %, the least that these allow, 29."
    )


@pytest.mark.parametrize("errors", range(12))
def test_more_labels_are_called_useless_only_where_the_lower_limit_is_above_the_risk(errors: int) -> None:
    low = stats.binomtest(errors, 11).proportion_ci(0.95, method="exact").low
    found = certify([0.9] * 11, [True] * (11 - errors) + [False] * errors)
    assert ("would not help" in found.summary()) == (low > 0.1)


@pytest.mark.parametrize("certificate", [certify(SURE, RIGHT), certify([0.9] * 9, [True] * 9)])
def test_a_certificate_survives_json(certificate: Certificate) -> None:
    assert Certificate.model_validate_json(certificate.model_dump_json()) == certificate


# properties


@pytest.mark.parametrize("seed", range(5))
def test_labels_decide_nothing_but_where_the_sequence_stops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sure = 0.5 + rng.random(200) / 2
    path = [(threshold,) for threshold in GRID]
    one, other = (run_sequence(certainty_table([(sure, rng.random(200) < p)], None), path, 0.1, 0.05) for p in (1, 0.5))
    assert one.first == other.first
    assert [step.groups for step in one.steps] == [step.groups for step in other.steps]
    assert (one.stop is None, other.stop) == (True, other.first)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_cases_does_not_matter(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(SURE))
    assert certify(np.array(SURE)[order], np.array(RIGHT)[order]) == certify(SURE, RIGHT)


def test_a_case_without_a_verdict_is_never_kept_and_counts() -> None:
    found = certify([*SURE, *[math.nan] * 50], [*RIGHT, *[False] * 50])
    assert (found.threshold, found.accepted, found.n, found.coverage) == (0.61, 100, 200, 0.5)
    everything = certify([0.0] * 40 + [math.nan] * 5, [True] * 45)
    assert (everything.threshold, everything.accepted, everything.stopped) == (0.0, 40, None)


def test_a_certificate_of_groups_says_that_they_count_alike() -> None:
    """Of the groups every tenth has 20 cases, which are harder: of cases 28 % disagree, of groups 6.7 %."""
    sizes = np.where(np.arange(600) % 10 == 0, 20, 1)
    groups = np.repeat(np.arange(600), sizes)
    right = np.random.default_rng(1).random(len(groups)) >= np.where(sizes[groups] == 20, 0.4, 0.03)
    sure = np.full(len(groups), 0.93)
    found = certify(sure, right, groups=groups)
    wrong = int((~right).sum())
    assert (found.accepted, found.cases, found.accepted_of_all, found.errors_of_all) == (600, 1740, 1740, wrong)
    assert found.of_all_low is not None
    assert found.of_all_high is not None
    assert found.summary() == (
        "Verdicts of certainty 0 or more disagree with people in at most 10 % of cases, each group (a prompt, a "
        "person) with accepted verdicts weighted equally, with 95 % confidence: of 600 groups (1,740 labelled cases) "
        f"600 have accepted verdicts, of which {100 * found.errors / 600:.3g} % disagree; 100 % [99.4 %, 100 %] of a "
        f"group's cases are accepted. Of all 1,740 cases 1,740 are accepted, and {wrong} of these disagree (28 % "
        f"[{100 * found.of_all_low:.3g} %, {100 * found.of_all_high:.3g} %], every case weighted equally)."
    )
    other = check(found, sure, right, groups=groups)
    assert other.summary().startswith(
        "Of 600 other groups (1,740 labelled cases) 600 have accepted verdicts, of which "
    )
    assert other.summary().endswith(f"Of all 1,740 cases 1,740 are accepted, and {wrong} of these disagree (28 %).")
    assert (
        "each group (a prompt, a person) with accepted verdicts weighted equally"
        in certify_cascade([(sure, right)], groups=groups).summary()
    )


def test_a_refusal_of_groups_counts_groups() -> None:
    result = certify([0.9] * 40, [True] * 40, groups=np.arange(40) // 2).summary()
    assert "of 20 groups (40 labelled cases) 20 have accepted verdicts where the test starts" in result
    assert result.endswith("At 0 % an 80 % chance of a certificate takes 29 groups of labelled cases.")


@pytest.mark.parametrize(
    ("sure", "right", "message"),
    [
        ([], [], "none of 0 cases has a certainty"),
        ([math.nan] * 3, [True] * 3, "none of 3 cases has a certainty"),
        ([0.5, 1.2], [True, True], "certainty 1.2 is not in"),
        ([0.5, -0.1], [True, True], "certainty -0.1 is not in"),
        ([0.5], [True, True], "sides of shapes"),
        ([0.5, 0.6], [0.5, 1.0], "neither right nor wrong"),
        ([0.5, 0.6], [math.nan, 1.0], "neither right nor wrong"),
    ],
)
def test_what_cannot_be_tested_is_refused(sure: list[float], right: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        certify(sure, right)


@pytest.mark.parametrize(("risk", "delta"), [(0.0, 0.05), (0.6, 0.05), (0.1, 0.0), (0.1, 0.3)])
def test_levels_for_which_the_test_is_not_exact_are_refused(risk: float, delta: float) -> None:
    with pytest.raises(DeclarationError, match="Give a risk in"):
        certify(SURE, RIGHT, risk=risk, delta=delta)


# the theorems


@pytest.mark.parametrize("risk", [0.01, 0.05, 0.1, 0.2, 0.5])
def test_what_is_rejected_is_at_least_1_below_the_mean(risk: float) -> None:
    """Hoeffding's condition, for every n to 600, up to the largest delta that is taken."""
    n = np.arange(1, 601)
    most = stats.binom.ppf(0.25, n, risk)
    critical = np.where(stats.binom.cdf(most, n, risk) <= 0.25, most, most - 1)
    possible = critical >= 0
    assert possible.any()
    assert (critical <= n * risk - 1 + 1e-9)[possible].all()


@pytest.mark.parametrize("seed", range(20))
def test_unequal_disagreements_are_rejected_no_more_often_than_equal_ones(seed: int) -> None:
    """Exactly: the distribution of a sum of Bernoulli variables, by convolution; their mean is the risk."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(29, 120))
    shares = rng.beta(0.2, 1, n)
    shares = np.clip(shares * 0.1 * n / shares.sum(), 0, 1)
    shares += (0.1 - shares.mean()) * (1 - shares) / (1 - shares).mean()
    mass = np.ones(1)
    for share in shares:
        mass = np.convolve(mass, [1 - share, share])
    critical = int(np.flatnonzero(stats.binom.cdf(np.arange(n), n, 0.1) <= 0.05)[-1])
    assert shares.mean() == pytest.approx(0.1)
    assert mass[: critical + 1].sum() <= stats.binom.cdf(critical, n, 0.1) + 1e-12


# other cases


def test_a_certificate_that_holds_on_other_cases() -> None:
    found = check(certify(SURE, RIGHT), SURE, RIGHT)
    interval = stats.binomtest(2, 100).proportion_ci(0.95, method="exact")
    assert (found.accepted, found.errors, found.disagreement, found.holds) == (100, 2, 0.02, True)
    assert [found.low, found.high] == pytest.approx([interval.low, interval.high])
    assert found.summary() == (
        "Of 150 other labelled cases 100 are accepted, and 2 of these disagree with people: 2 % [0.243 %, 7.04 %], "
        "which is compatible with the certified 10 %."
    )


def test_a_certificate_that_other_cases_contradict() -> None:
    found = check(certify(SURE, RIGHT), [0.7] * 50 + [0.2] * 50, [True] * 35 + [False] * 65)
    assert (found.n, found.accepted, found.errors, found.holds) == (100, 50, 15, False)
    assert "which contradicts the certified 10 %" in found.summary()


def test_cases_of_which_none_is_kept_say_nothing() -> None:
    nothing = check(certify([0.9] * 9, [True] * 9), SURE, RIGHT)
    assert (nothing.accepted, nothing.disagreement, nothing.holds) == (0, None, None)
    assert nothing.summary() == "Of 150 other labelled cases none is accepted, so the certificate is not checked."


# cascades


def two_judges(seed: int, n: int) -> list[tuple[Floats, Flags]]:
    """A cheap judge that is often unsure, and a dear judge that seldom is; both know how sure they may be."""
    rng = np.random.default_rng(seed)
    cheap, dear = 0.5 + rng.beta(1, 1, n) / 2, 0.5 + rng.beta(5, 1, n) / 2
    return [(cheap, rng.random(n) < cheap), (dear, rng.random(n) < dear)]


def test_a_cascade_of_one_judge_is_that_judge() -> None:
    one, cascade = certify(SURE, RIGHT), certify_cascade([(SURE, RIGHT)], costs=[3])
    assert (cascade.thresholds, cascade.accepted, cascade.errors, cascade.bound) == ((0.61,), 100, 2, one.bound)
    assert [*cascade.decided, *cascade.reached, cascade.cost] == pytest.approx([2 / 3, 1.0, 3.0])
    assert [point.p for point in cascade.curve] == [point.p for point in one.curve]


def test_a_cascade_tells_what_each_judge_decides_and_what_a_case_costs() -> None:
    stages = two_judges(0, 1000)
    found = certify_cascade(stages, costs=[1, 10])
    first, last = found.thresholds
    assert first is not None
    assert last is not None
    (cheap, cheap_right), (dear, dear_right) = stages
    early = cheap >= first
    late = ~early & (dear >= last)
    assert found.accepted == (early | late).sum()
    assert found.errors == (early & ~cheap_right).sum() + (late & ~dear_right).sum()
    assert list(found.decided) == pytest.approx([early.mean(), late.mean()])
    assert list(found.reached) == pytest.approx([1.0, 1 - early.mean()])
    assert found.cost == pytest.approx(1 + 10 * (1 - early.mean()))
    assert found.coverage > 0.8
    assert "a case costs" in found.summary()
    assert CascadeCertificate.model_validate_json(found.model_dump_json()) == found
    assert check_cascade(found, stages).errors == found.errors


def test_each_step_of_a_cascade_keeps_all_that_the_one_before_it_kept() -> None:
    found = certify_cascade([*two_judges(1, 300), two_judges(2, 300)[1]])
    kept = [point.accepted for point in found.curve]
    assert kept == sorted(kept)
    for before, after in zip(found.curve, found.curve[1:], strict=False):
        pairs = zip(before.thresholds, after.thresholds, strict=True)
        assert all((math.inf if b is None else b) >= (math.inf if a is None else a) for b, a in pairs)


def test_a_cheap_judge_that_is_never_right_decides_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    dear = 0.5 + rng.beta(5, 1, 1000) / 2
    found = certify_cascade([(rng.random(1000), np.zeros(1000)), (dear, rng.random(1000) < dear)])
    assert found.decided[0] < 0.1
    assert found.decided[1] > 0.5


def test_a_cheap_judge_that_is_always_right_decides_what_it_is_sure_of() -> None:
    (_, _), dear = two_judges(0, 1000)
    cheap = np.repeat([1.0, 0.2], 500)
    found = certify_cascade([(cheap, np.ones(1000)), dear], costs=[0, 1])
    assert found.decided[0] >= 0.5
    assert found.cost is not None
    assert found.cost <= 0.5


def test_a_cascade_that_cannot_be_certified_has_no_thresholds() -> None:
    useless = ([0.9] * 100, [True, False] * 50)
    found = certify_cascade([useless, useless], costs=[1, 1])
    assert (found.thresholds, found.decided, found.reached, found.cost, found.accepted) == ((), (), (), None, 0)
    assert found.summary().startswith("No threshold can be certified")
    assert check_cascade(found, [useless, useless]).accepted == 0


def test_a_judge_that_is_left_out_is_named() -> None:
    rng = np.random.default_rng(0)
    wrong = (np.ones(200), np.zeros(200))
    found = certify_cascade([wrong, ([0.95] * 200, rng.random(200) < 0.98)])
    assert found.thresholds[0] is None
    assert "(left out, " in found.summary()
    assert found.reached == (0.0, 1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stages": []}, "0 stages"),
        ({"stages": [(SURE, RIGHT)], "costs": [1, 2]}, "1 stages, 2 costs"),
    ],
)
def test_a_cascade_takes_a_cost_for_each_judge(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        certify_cascade(**given)


def test_a_judge_that_never_has_a_certainty_is_refused() -> None:
    good, silent = ([0.9] * 60, [True] * 60), ([math.nan] * 60, [True] * 60)
    with pytest.raises(DataError, match="judge 2 of 2 has a certainty in none of the 60 cases"):
        certify_cascade([good, silent])
    assert check_cascade(certify_cascade([good, good]), [good, silent]).accepted == 60


def test_a_cascade_is_checked_on_the_same_judges() -> None:
    with pytest.raises(DeclarationError, match="1 thresholds, 2 stages"):
        check_cascade(certify_cascade([(SURE, RIGHT)]), [(SURE, RIGHT)] * 2)


# simulation: worlds of cases, each with a certainty and a probability that the verdict is people's

World = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def levels(sure: Sequence[float], shares: Sequence[float], right: Sequence[float]) -> World:
    """A judge with few certainties, all tied."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        which = rng.choice(len(sure), n, p=shares)
        return np.array(sure)[which], np.array(right)[which]

    return draw


def calibrated(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    sure = 0.5 + rng.beta(3, 1, n) / 2
    return sure, sure


def overconfident(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    right = 0.5 + rng.beta(1.5, 1, n) / 2
    return right**3 / (right**3 + (1 - right) ** 3), right


def useless(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    return 0.5 + rng.random(n) / 2, np.full(n, 0.898)


WORLDS: dict[str, World] = {
    "calibrated": calibrated,
    "overconfident": overconfident,
    "useless, 10.2 % wrong": useless,
    "tied": levels([0.95, 0.9, 0.8, 0.6], [0.2, 0.3, 0.2, 0.3], [0.97, 0.9, 0.85, 0.6]),
    "surest is worst": levels([0.99, 0.9, 0.7], [0.3, 0.4, 0.3], [0.88, 0.91, 0.905]),
    "risk falls again": levels([0.95, 0.9, 0.8, 0.7], [0.17, 0.1, 0.3, 0.43], [0.91, 0.86, 0.96, 0.8]),
}
POPULATION = 200_000
ROUNDING = 1e-3  # of a risk that is counted on that many cases


def how_often_it_fails(world: World, n: int, repetitions: int) -> tuple[float, float]:
    """The share of repetitions whose certificate does not hold in the population, and the mean coverage."""
    sure, right = world(np.random.default_rng(99), POPULATION)
    order = np.argsort(-sure)
    strict, wrong = -sure[order], np.cumsum(1 - right[order])
    rng = np.random.default_rng(n)
    failed, coverage = 0, 0.0
    for _ in range(repetitions):
        seen, probability = world(rng, n)
        threshold = certify(seen, rng.random(n) < probability).threshold
        if threshold is not None and (kept := int(np.searchsorted(strict, -threshold, side="right"))):
            failed += bool(wrong[kept - 1] / kept > 0.1 + ROUNDING)
            coverage += kept / POPULATION
    return failed / repetitions, coverage / repetitions


def how_often_a_cascade_fails(worlds: Sequence[World], n: int, repetitions: int) -> tuple[float, float]:
    rng = np.random.default_rng(n)
    population = [world(rng, POPULATION // 10) for world in worlds]
    failed, coverage = 0, 0.0
    for _ in range(repetitions):
        drawn = [world(rng, n) for world in worlds]
        thresholds = certify_cascade([(sure, rng.random(n) < right) for sure, right in drawn]).thresholds
        if thresholds:
            reached = np.array(
                [sure >= (math.inf if t is None else t) for (sure, _), t in zip(population, thresholds, strict=True)]
            )
            kept = reached.any(axis=0)
            wrong = 1 - np.array([right for _, right in population])[reached.argmax(axis=0), np.arange(kept.size)]
            failed += bool(wrong[kept].mean() > 0.1 + 3 * ROUNDING)
            coverage += kept.mean()
    return failed / repetitions, coverage / repetitions


def most(repetitions: int) -> float:
    """5 % and three standard errors of the simulation."""
    return 0.05 + 3 * math.sqrt(0.05 * 0.95 / repetitions)


def unsure(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    sure = 0.5 + rng.random(n) / 2
    return sure, sure


CASCADES: dict[str, tuple[World, ...]] = {
    "both calibrated": (unsure, calibrated),
    "the cheap one is too sure": (overconfident, calibrated),
    "three judges": (overconfident, WORLDS["tied"], calibrated),
    "the last one is too sure": (calibrated, overconfident),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_a_certificate_fails_no_more_often_than_delta(name: str) -> None:
    failed, _ = how_often_it_fails(WORLDS[name], 200, 200)
    assert failed <= most(200)


@pytest.mark.parametrize("name", CASCADES)
def test_a_cascade_fails_no_more_often_than_delta(name: str) -> None:
    failed, _ = how_often_a_cascade_fails(CASCADES[name], 200, 100)
    assert failed <= most(100)


def test_useless_certainty_over_bad_verdicts_is_refused() -> None:
    bad = levels([0.99, 0.9, 0.8, 0.7], [0.25] * 4, [0.8] * 4)
    _, coverage = how_often_it_fails(bad, 200, 100)
    assert coverage < 0.02


def test_a_calibrated_judge_is_kept_where_it_can_be() -> None:
    """The population allows 88.6 % of the cases at 10 %; 1,000 labels certify most of that."""
    _, coverage = how_often_it_fails(calibrated, 1000, 40)
    assert coverage > 0.5


def uneven_groups(rng: np.random.Generator, count: int) -> tuple[Flags, NDArray[np.int64]]:
    """Whether right, and the group, of groups of 1 to 8 cases, all right or all wrong; small ones are wrong more often,
    and a random group in 10.2 %."""
    sizes = rng.integers(1, 9, count)
    right = rng.random(count) >= np.where(sizes > 4, 0.034, 0.17)
    return np.repeat(right, sizes), np.repeat(np.arange(count), sizes)


def how_often_groups_fail(repetitions: int, *, grouped: bool) -> float:
    """The share of certificates, none of which holds, with the groups given or not."""
    rng, failed = np.random.default_rng(5), 0
    for _ in range(repetitions):
        right, groups = uneven_groups(rng, 200)
        given = groups if grouped else None
        failed += certify(np.full(len(right), 0.95), right, groups=given).threshold is not None
    return failed / repetitions


@pytest.mark.slow
def test_a_certificate_of_groups_fails_no_more_often_than_delta() -> None:
    assert how_often_groups_fail(300, grouped=True) <= most(300)
    assert how_often_groups_fail(100, grouped=False) > 0.1  # as if all cases were alone


@pytest.mark.simulation
def test_a_certificate_of_groups_fails_no_more_often_than_delta_in_2000_repetitions() -> None:
    assert how_often_groups_fail(2000, grouped=True) <= most(2000)


@pytest.mark.simulation
@pytest.mark.parametrize("n", [60, 200, 1000])
@pytest.mark.parametrize("name", WORLDS)
def test_a_certificate_fails_no_more_often_than_delta_in_1000_repetitions(name: str, n: int) -> None:
    failed, _ = how_often_it_fails(WORLDS[name], n, 1000)
    assert failed <= most(1000)


@pytest.mark.simulation
@pytest.mark.parametrize("n", [60, 200, 1000])
@pytest.mark.parametrize("name", CASCADES)
def test_a_cascade_fails_no_more_often_than_delta_in_1000_repetitions(name: str, n: int) -> None:
    failed, _ = how_often_a_cascade_fails(CASCADES[name], n, 1000)
    assert failed <= most(1000)


def test_a_certificate_of_cases_that_were_tested_before_says_what_several_promise() -> None:
    certificate = certify([0.9] * 60, [True] * 60)
    assert "test of these cases" not in certificate.summary()
    assert (
        certificate.model_copy(update={"looks": 3})
        .summary()
        .endswith(
            " This is the third test of these cases: of 3 such certificates one or more fails with a probability of up "
            "to 15 %, so do not choose the loosest."
        )
    )
