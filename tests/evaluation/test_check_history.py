"""Checks of one judge add up: windows of labels, levels of repeated checks, and what counts as the same check."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from dicast.data import Case, Judged, Verdict
from dicast.evaluation.check_history import CheckHistory, note_check, noted_checks
from dicast.evaluation.drift import Drift, repeated_checks
from dicast.stats.repeated_checks import ALPHA, levels_of_checks, share_of, spent
from dicast.stats.resampling import proportion


def cases(*numbers: int, group: str = "") -> list[Case]:
    texts = [{"text": "x"}, {"text": "y"}]
    return [
        Case(
            id=str(number),
            query=f"q{number}",
            candidates=texts,
            label={"value": "a"},
            group=group or f"group {number // 2}",
        )
        for number in numbers
    ]


def note(labelled: list[Case], right: int, judge: str = "judge") -> CheckHistory:
    verdicts = [
        Judged.of(case, Verdict(case_id=case.id, winner="a" if number < right else "b"))
        for number, case in enumerate(labelled)
    ]
    return note_check(judge, "tone.judge.json", labelled, verdicts)


def test_the_same_labels_with_the_same_verdicts_are_the_same_check() -> None:
    assert len(note(cases(0, 1, 2, 3), 3).checks) == 1
    assert len(note(cases(0, 1, 2, 3), 3).checks) == 1
    assert len(note(cases(0, 1, 2, 3), 2).checks) == 2  # the judge answers otherwise
    assert len(note(cases(4, 5), 2).checks) == 3
    assert len(note(cases(4, 5), 2, judge="another").checks) == 1
    assert [check["labels"] for check in noted_checks()] == [4, 4, 2, 2]


def test_labels_of_the_latest_checks_add_up_and_count_once() -> None:
    note(cases(*range(40)), 40)
    note(cases(*range(20, 60)), 0)
    history = note(cases(*range(50, 70)), 20)
    now, checks = history.latest(50)
    assert (now.n, checks) == (50, 2)  # 20 and 30 more of the check before
    assert now.value == pytest.approx(20 / 50)
    assert history.latest(10)[1] == 1
    assert history.latest(10_000)[0].n == 70


def test_accuracy_of_checks_respects_groups() -> None:
    labelled = cases(*range(40))
    history = note(labelled, 20)
    expected = proportion([number < 20 for number in range(40)], [case.group for case in labelled])
    now, _ = history.latest(40)
    assert (now.value, now.groups, now.effective_n) == (expected.value, 20, expected.effective_n)


def test_unscored_and_unlabelled_verdicts_are_not_noted() -> None:
    first, second, third = cases(0, 1, 2)
    verdicts = [
        Judged.of(first, Verdict(case_id="0", winner="a")),
        Judged.of(second, Verdict(case_id="1", status="unscored", reason="refusal")),
        Judged.of(third.model_copy(update={"label": None}), Verdict(case_id="2", winner="a")),
    ]
    assert len(note_check("j", "n", [first, second, third], verdicts).checks[0]) == 1


def test_a_damaged_line_of_checks_is_passed_over() -> None:
    note(cases(0, 1), 1)
    path = Path(os.environ["DICAST_HISTORY"]) / "checks.jsonl"
    path.write_text(path.read_text() + json.dumps({"judge": "judge", "cases": "cut:off"}) + "\n[]\n{")
    assert len(note(cases(2, 3), 1).checks) == 2


def test_no_text_is_noted() -> None:
    note(cases(1, group="a secret group"), 1)
    content = (Path(os.environ["DICAST_HISTORY"]) / "checks.jsonl").read_text()
    assert "secret" not in content
    assert "q1" not in content


def test_all_checks_together_spend_the_level() -> None:
    assert sum(share_of(check) for check in range(1, 10_000)) == pytest.approx(1, abs=1e-3)
    assert spent(1) == pytest.approx(0.01)
    assert spent(10**9) < ALPHA * (1 + 1e-9)


def test_levels_of_checks_hold_for_a_judge_that_does_not_change() -> None:
    """26 checks of 40 labels in turn, windows of 7: other draws than those that the levels come from."""
    record, size, window = 270.0, 40.0, 7
    starts = [max(0, check - window + 1) for check in range(26)]
    levels = levels_of_checks(record, [size] * 26, starts)
    assert levels[0] == pytest.approx(0.01)
    assert all(level >= ALPHA * share_of(check) * 0.8 for check, level in enumerate(levels, start=1))
    rng = np.random.default_rng(5)
    errors = rng.normal(size=(40_000, 26)) / np.sqrt(size)
    reference = rng.normal(size=40_000) / np.sqrt(record)
    alarm = np.zeros(40_000, dtype=bool)
    from scipy.stats import norm

    for check, start in enumerate(starts):
        mean = errors[:, start : check + 1].mean(axis=1)
        error = np.sqrt(1 / record + 1 / (size * (check + 1 - start)))
        alarm |= (reference + mean) / error > norm.isf(levels[check])
    assert alarm.mean() == pytest.approx(spent(26), abs=0.005)


def test_a_judge_that_gets_worse_is_found_by_checks_too_small_to_show_it() -> None:
    then, outcomes = proportion(np.arange(400) < 320), []
    for week in range(12):
        labelled = [case.model_copy(update={"group": case.id}) for case in cases(*range(60 * week, 60 * week + 60))]
        history, now = note(labelled, 43), proportion(np.arange(60) < 43)
        repeated = repeated_checks(history, then)
        outcomes.append((Drift(then, now).outcome, Drift(then, now, repeated=repeated).outcome))
    assert outcomes[0] == ("unknown", "unknown")
    assert outcomes[-1] == ("unknown", "worse")
