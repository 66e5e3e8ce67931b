"""A student is accepted, rejected or left undecided by what the paired intervals on people's labels say."""

import numpy as np
import pytest

from dicast.data import Case, Finding, Judged
from dicast.distillation.acceptance import BASE, Acceptance, accept, widened
from dicast.evaluation.results import Measure
from dicast.judging.judge import verdict_of
from dicast.optimizers.objective import OBJECTIVES
from dicast.stats import paired

N = 300


def labelled(n: int = N, groups: int | None = None) -> list[Case]:
    return [
        Case(
            id=f"{number:04}", query=f"q{number}", candidates=[{"text": "x"}, {"text": "yy"}],
            label={"value": "ab"[number * 7 % 5 % 2]}, group=f"g{number % (groups or n)}",
        )
        for number in range(n)
    ]  # fmt: skip


def verdicts(cases: list[Case], accuracy: float, seed: int, certainty: float = 0.8) -> list[Judged]:
    """Right on this proportion of the cases, drawn."""
    right = np.random.default_rng(seed).permutation(len(cases)) < accuracy * len(cases)
    judged = []
    for case, hit in zip(cases, right, strict=True):
        assert case.label is not None
        side = str(case.label.winner) if hit else "ba"["ab".index(str(case.label.winner))]
        odds = {side: certainty, "ba"["ab".index(side)]: 1 - certainty}
        judged.append(Judged.of(case, verdict_of(case, [Finding(criterion="x", distribution=odds)])))
    return judged


def always(cases: list[Case], side: str) -> list[Judged]:
    finding = Finding(criterion="x", distribution={side: 1.0, "ba"["ab".index(side)]: 0.0})
    return [Judged.of(case, verdict_of(case, [finding])) for case in cases]


def accepted(
    student: float, teacher: float, base: float = 0.5, n: int = N, *, objective: str = "accuracy", looks: int = 1,
    same: bool = True, groups: int | None = None,
) -> Acceptance:  # fmt: skip
    """`same`: student and teacher err on the same cases as far as they can."""
    cases = labelled(n, groups)
    runs = {
        "student": verdicts(cases, student, 1),
        "teacher": verdicts(cases, teacher, 1 if same else 2),
        BASE: verdicts(cases, base, 3),
    }
    identity = {"judge": "direct", "settings": {}, "lm": "m", "data": "0" * 64}
    baselines = {"majority": always(cases, "a")}
    chosen = OBJECTIVES.find(objective)
    return accept(runs, chosen, baselines=baselines, identity=identity, margin=0.05, looks=looks)


def test_a_student_like_its_teacher_is_accepted() -> None:
    result = accepted(0.84, 0.85)
    assert result.outcome == "accepted"
    assert [check.holds for check in result.checks] == [True, True, True]
    assert result.n == N


def test_the_interval_against_the_teacher_is_that_of_the_paired_difference() -> None:
    result = accepted(0.8, 0.85, same=False)
    cases = labelled()
    sides = [
        [judged.winner == judged.label.winner for judged in verdicts(cases, accuracy, seed) if judged.label]
        for accuracy, seed in ((0.8, 1), (0.85, 2))
    ]
    expected = paired.difference(sides[0], sides[1], [case.split_key for case in cases])
    check = result.checks[0]
    assert (check.gain, check.low, check.high) == pytest.approx((expected.value, expected.low, expected.high))


def test_a_student_that_is_worse_by_more_than_the_margin_is_rejected() -> None:
    result = accepted(0.6, 0.9)
    assert result.outcome == "rejected"
    assert result.checks[0].holds is False
    assert result.summary.startswith("rejected by accuracy: not worse than teacher by 0.05: contradicted (-0.300 [")


def test_few_labels_decide_nothing() -> None:
    result = accepted(0.75, 0.8, n=40, same=False)
    assert result.outcome == "undecided"
    assert "not worse than teacher by 0.05: open" in result.summary


@pytest.mark.slow
def test_whole_groups_widen_the_interval() -> None:
    ends = [accepted(0.8, 0.85, same=False, groups=groups).checks[0] for groups in (None, 30)]
    assert all(check.low is not None for check in ends)
    assert ends[0].low != ends[1].low


def test_a_student_below_the_model_it_was_trained_from_is_rejected() -> None:
    result = accepted(0.7, 0.7, base=0.9)
    assert result.outcome == "rejected"
    assert [check.other for check in result.checks if check.holds is False] == [BASE]


def test_two_judges_that_know_nothing_are_not_accepted() -> None:
    """The majority label is right on 60 % of these cases."""
    result = accepted(0.6, 0.6, base=0.55)
    assert result.checks[0].holds is True
    assert result.outcome != "accepted"
    assert "majority" in result.summary


def test_it_is_reported_that_training_is_not_shown_to_help() -> None:
    assert accepted(0.84, 0.85, base=0.84).summary.endswith(f"not shown to be better than {BASE}")


def test_a_lower_log_loss_is_a_gain() -> None:
    better = accepted(0.9, 0.6, objective="log-loss")
    assert better.checks[0].gain is not None
    assert better.checks[0].gain > 0
    assert better.checks[0].holds is True
    worse = accepted(0.6, 0.9, objective="log-loss")
    assert worse.checks[0].holds is False


@pytest.mark.slow
def test_every_further_look_at_the_same_cases_asks_for_more() -> None:
    lows = [accepted(0.84, 0.85, looks=looks).checks[0].low for looks in (1, 2, 3)]
    first, second, third = [low for low in lows if low is not None]
    assert first > second > third


def test_a_widened_student_interval_is_the_interval_of_that_level() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.2, 1, 80), rng.normal(0, 1, 80)
    at_95, at_level = (paired.difference(first, second, level=level) for level in (0.95, 1 - 0.05 / 6))
    measure = Measure(name="x", value=at_95.value, low=at_95.low, high=at_95.high, n=80)
    assert widened(measure, 3) == pytest.approx((at_level.low, at_level.high))
    assert widened(measure, 1) == pytest.approx((at_95.low, at_95.high))


def test_what_a_verdict_takes_is_beside_each_judge() -> None:
    result = accepted(0.84, 0.85)
    assert [cost.name for cost in result.costs] == ["student", "teacher", BASE]
    assert result.cost("student").memory is None
