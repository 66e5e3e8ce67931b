"""Measured evidence is weighed where it predicts the labels by itself, and left out in words that say why."""

import numpy as np
import pytest
from made_evidence import pairs, texts

from dicast.data import Case, Verdict
from dicast.evidence.source_spec import SourceSpec
from dicast.optimizers.head.fit import fit
from dicast.optimizers.head.screening import LossGain, by_left_out, standard_error
from dicast.optimizers.head.worth import EvidenceWorth

WIDTH = 30
SOURCES = {"state": SourceSpec(kind="state", model="local/small", width=WIDTH)}
Vectors = list[dict[str, np.ndarray]]


def noise(cases: list[Case], seed: int) -> Vectors:
    random = np.random.default_rng(seed)
    return [{"state": random.normal(size=(len(case.candidates), WIDTH)).astype(np.float32)} for case in cases]


def test_the_standard_error_is_by_whole_groups() -> None:
    """By hand: the sums of the two groups lie 2 on either side, so sqrt(2 / 1 x (4 + 4)) / 4."""
    assert standard_error(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1])) == pytest.approx(1.0)
    assert standard_error(np.array([1.0, 2.0]), np.array([0, 0])) == float("inf")


def test_the_standard_error_of_cases_apart_is_the_one_of_a_mean() -> None:
    values = np.random.default_rng(1).normal(size=50)
    assert standard_error(values, np.arange(50)) == pytest.approx(values.std(ddof=1) / np.sqrt(50))


@pytest.mark.parametrize(
    ("value", "error", "there", "reversed_"),
    [(0.02, 0.03, True, False), (0.01, 0.03, False, False), (-0.02, 0.03, False, True), (0.0, 0.0, False, False)],
)
def test_half_a_standard_error_decides_either_way(value: float, error: float, there: bool, reversed_: bool) -> None:
    assert (LossGain(value, error).is_there, LossGain(value, error).is_reversed) == (there, reversed_)


def test_every_case_has_the_value_of_a_head_without_its_fold_and_the_rows() -> None:
    fold = np.array([0, 1, 2, 1])
    by_folds = {frozenset({j, k}): np.full(4, 10.0 * max(j, k) + min(j, k)) for j in range(3) for k in range(3)}
    assert by_left_out(by_folds, fold).tolist() == [[0, 10, 20, 10], [10, 11, 21, 11], [20, 21, 22, 21]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cases", "verdicts"), [pairs(100, 1, threshold=0.4), texts(80, 3, noise=1.0)], ids=["pairs", "texts"]
)
def test_numbers_that_say_nothing_are_mostly_left_out_and_the_head_is_what_it_is_without(
    cases: list[Case], verdicts: list[Verdict]
) -> None:
    plain, left_out = fit(cases, verdicts), 0
    for seed in range(5):
        fitted = fit(cases, verdicts, sources=SOURCES, vectors=noise(cases, seed))
        (worth,) = fitted.worth
        assert worth.used is bool(fitted.head.blocks)
        if not worth.used:
            left_out += 1
            assert fitted.head == plain.head
            assert "; left out, as " in worth.sentence
    assert left_out >= 4


def worth_of(*, used: bool, low: float, by_itself: float | None) -> EvidenceWorth:
    error = None if by_itself is None else 0.02
    return EvidenceWorth(
        name="state",
        loss=0.5,
        without=0.53,
        gain=0.03,
        low=low,
        high=0.07,
        by_itself=by_itself,
        by_itself_error=error,
        used=used,
    )


@pytest.mark.parametrize(
    ("worth", "decision"),
    [
        (worth_of(used=True, low=0.01, by_itself=0.08), "weighed"),
        (
            worth_of(used=True, low=-0.01, by_itself=0.08),
            "weighed, as by itself it predicts the labels (+0.080 against their base rate, standard error 0.020); "
            "what it adds is within chance",
        ),
        (
            worth_of(used=False, low=0.01, by_itself=-0.01),
            "left out, as by itself it does not predict the labels (-0.010 against their base rate, standard error "
            "0.020)",
        ),
        (
            worth_of(used=False, low=-0.01, by_itself=0.08),
            "left out, as the best head does without it, though by itself it predicts the labels (+0.080 against their "
            "base rate, standard error 0.020)",
        ),
        (worth_of(used=True, low=-0.01, by_itself=None), "weighed; what it adds is within chance"),
        (worth_of(used=False, low=-0.01, by_itself=None), "left out"),
    ],
)
def test_the_decision_is_in_words_that_agree_with_the_figures(worth: EvidenceWorth, decision: str) -> None:
    assert worth.decision == decision
    assert worth.sentence == (
        f"state: loss 0.500 with it, 0.530 without, gain +0.030 [{worth.low:.3f}, 0.070]; {decision}"
    )


def test_a_gain_is_shown_only_of_evidence_that_is_weighed() -> None:
    assert worth_of(used=True, low=0.01, by_itself=0.08).is_shown
    assert not worth_of(used=False, low=0.01, by_itself=-0.01).is_shown
    assert not worth_of(used=True, low=-0.01, by_itself=0.08).is_shown
