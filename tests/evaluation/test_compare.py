"""Two runs on the same cases: only what both scored counts, and the tests are those of other libraries."""

import re
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from dicast.data import Judged, Scores, Winner
from dicast.evaluation.compare import compare
from dicast.evaluation.results import PairedTest, RunComparison
from dicast.evaluation.run_arrays import run_arrays


def pair(name: str, winner: str | None, label: str, **more: Any) -> Judged:
    verdict: dict[str, Any] = {"winner": winner} if winner else {"status": "unscored", "reason": "refusal"}
    return Judged(case_id=name, label=Winner(value=label), **verdict, **{"group": name} | more)


def test(comparison: RunComparison, name: str) -> PairedTest:
    return next(one for one in comparison.tests if one.name == name)


test.__test__ = False  # type: ignore[attr-defined]


def against(first: list[Judged], *others: list[Judged]) -> tuple[RunComparison, ...]:
    named = [(f"run {number}", run_arrays(run)) for number, run in enumerate((first, *others))]
    return compare(named)


def drawn(n: int, skill: float, seed: int, **more: Any) -> list[Judged]:
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        label, other = "ab"[i % 2], "ba"[i % 2]
        winner = label if rng.random() < skill else other
        found.append(pair(str(i), winner, label, certainty=float(rng.random()), **more))
    return found


def test_accuracies_are_tested_by_mcnemar_on_independent_cases() -> None:
    first, second = drawn(80, 0.8, 1), drawn(80, 0.6, 2)
    right = [[one.winner == one.human_winner for one in run] for run in (first, second)]
    table = [
        [sum(a == x and b == y for a, b in zip(*right, strict=True)) for y in (True, False)] for x in (True, False)
    ]
    (found,) = against(first, second)
    accuracy = test(found, "accuracy")
    assert accuracy.p == pytest.approx(mcnemar(table, exact=True).pvalue, abs=1e-12)
    assert accuracy.difference.value == pytest.approx((table[0][1] - table[1][0]) / 80)
    assert f"{table[0][1]} right only by the first, {table[1][0]} only by the second" in accuracy.difference.description


def test_groups_are_tested_whole() -> None:
    first, second = (
        [one.model_copy(update={"group": str(n // 8)}) for n, one in enumerate(drawn(80, skill, seed))]
        for skill, seed in ((0.8, 1), (0.6, 2))
    )
    (found,) = against(first, second)
    assert test(found, "accuracy").note == "permutation of whole groups"
    assert test(found, "accuracy").difference.groups == 10


def test_p_values_are_adjusted_over_all_runs_together() -> None:
    found = against(drawn(60, 0.9, 1), drawn(60, 0.6, 2), drawn(60, 0.7, 3))
    tests = [one for comparison in found for one in comparison.tests if one.p is not None]
    expected = multipletests([one.p for one in tests], method="holm")[1]
    assert [one.p_holm for one in tests] == pytest.approx(expected)
    assert len(tests) == 4


def test_a_difference_that_is_not_shown_says_what_these_labels_could_show() -> None:
    (found,) = against(drawn(40, 0.7, 1), drawn(40, 0.6, 5))
    accuracy = test(found, "accuracy")
    assert accuracy.p is not None
    assert accuracy.p > 0.05
    assert re.search(r"; these labels show a difference of 0\.\d+ or more, with 80 % power$", accuracy.note)


def test_only_cases_that_both_scored_count() -> None:
    first = [pair("1", "a", "a"), pair("2", "a", "a"), pair("3", None, "a"), pair("only here", "b", "a")]
    second = [pair("2", "b", "a"), pair("1", "a", "a"), pair("3", "a", "a"), pair("only there", "a", "a")]
    (found,) = against(first, second)
    assert (found.cases, found.only_first, found.only_second) == (2, 1, 2)
    assert test(found, "accuracy").difference.value == 0.5


def test_a_run_against_itself_never_differs() -> None:
    run = drawn(30, 0.7, 1, order_winners={"ab": "a", "ba": "a"}, consistent=True)
    (found,) = against(run, run)
    for name in ("accuracy", "both-orders accuracy", "Brier"):
        assert (test(found, name).difference.value, test(found, name).p) == (0.0, 1.0)
    assert test(found, "same verdict").difference.value == 1.0
    assert "kappa 1.000" in test(found, "same verdict").difference.description


def test_exchanging_the_runs_turns_the_differences_over() -> None:
    first, second = drawn(50, 0.8, 1), drawn(50, 0.6, 2)
    (one,), (other,) = against(first, second), against(second, first)
    for name in ("accuracy", "Brier"):
        a, b = test(one, name), test(other, name)
        assert bounds(a) == pytest.approx([-value for value in reversed(bounds(b))])
        assert a.p == pytest.approx(b.p)


def bounds(found: PairedTest) -> list[float]:
    """Low, value, high."""
    figure = found.difference
    return [value for value in (figure.low, figure.value, figure.high) if value is not None]


def test_correlations_of_scores_are_compared() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, 60)
    runs = [
        [
            Judged(
                case_id=str(n), scores=(float(h + noise * rng.normal()),), label=Scores(values=(h,), lo=1, hi=5),
                group=str(n),
            )
            for n, h in enumerate(human.tolist())
        ]
        for noise in (0.3, 5.0)
    ]  # fmt: skip
    (found,) = against(*runs)
    spearman = test(found, "spearman")
    assert spearman.difference.value is not None
    assert spearman.difference.value > 0.4
    assert spearman.p is not None
    assert spearman.p < 0.01
    (same,) = against(runs[0], runs[0])
    assert (test(same, "pearson").difference.value, test(same, "pearson").p) == (0.0, 1.0)


def test_labels_in_another_order_are_the_same_labels() -> None:
    first = [
        Judged(case_id=str(n), winner=n % 3, scores=(1, 2, 3), label=Winner(value=2), group=str(n)) for n in range(9)
    ]
    second = [one.model_copy(update={"winner": "tie" if one.winner == 0 else one.winner}) for one in first]
    (found,) = against(first, second)
    assert test(found, "accuracy").difference.value == 0.0
    assert test(found, "same verdict").difference.value == pytest.approx(6 / 9)


def test_one_run_alone_has_nothing_to_be_compared_with() -> None:
    assert against(drawn(5, 0.5, 0)) == ()
