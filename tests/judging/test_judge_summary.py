"""The summary of a judge file: only what differs from the program, as data."""

from pathlib import Path

import pytest

from dicast.errors import DeclarationError
from dicast.judging import Cascade, build
from dicast.judging.judge_file import save
from dicast.judging.judge_record import to_record
from dicast.judging.judge_summary import summarize_file, summarize_judge


def test_only_changed_settings_are_listed_with_their_default() -> None:
    summary = summarize_judge(to_record(build("direct", readout="generate")))
    changes = {name: (change.value, change.default) for name, change in summary.settings.items()}
    assert changes == {"readout": ("generate", "probability")}
    assert not summary.is_unchanged
    assert summarize_judge(to_record(build("direct"))).is_unchanged


def test_the_members_of_a_cascade_have_its_thresholds_and_the_cascade_lists_none() -> None:
    summary = summarize_judge(to_record(Cascade([build("longer"), build("direct")], thresholds=[0.8, 0.0])))
    assert summary.settings == {}
    assert [member.decision_threshold for member in summary.members] == [0.8, 0.0]
    assert [member.program for member in summary.members] == ["longer", "direct"]


def test_the_recorded_interval_replaces_that_of_independent_cases(tmp_path: Path) -> None:
    path = tmp_path / "x.judge.json"
    training = {
        "before": {"hits": 5, "n": 10},
        "after": {"hits": 8, "n": 10, "low": 0.25, "high": 0.875},
        "seed": 3,
    }
    save(build("longer"), path, training=training)
    summary = summarize_file(path)
    assert (summary.accuracy["after"]["low"], summary.accuracy["after"]["high"]) == (0.25, 0.875)
    assert 0.2 < summary.accuracy["before"]["low"] < 0.25  # Wilson's interval of 5 of 10: 0.237
    assert summary.training == {"seed": 3}
    assert summary.versions == summary.installed


@pytest.mark.parametrize("value", ["text", None, True, [0.5]])
def test_a_threshold_of_a_cascade_that_is_no_number_is_named(value):
    record = to_record(Cascade([build("longer"), build("direct")], thresholds=[0.8, 0.0]))
    odd = record.model_copy(update={"settings": record.settings | {"thresholds[0]": value}})
    with pytest.raises(DeclarationError, match=r"setting 'thresholds\[0\]' is .*\. Give a number"):
        summarize_judge(odd)
