"""The chaos benchmark finds what it looks for: a lost case, a verdict too many, a key, an escape."""

import json
import time
from pathlib import Path

import pytest

from dicast.benchmarks import chaos
from dicast.benchmarks.chaos_processes import without_times
from dicast.benchmarks.chaos_scratch import KEY, Ended, Scratch


@pytest.fixture
def scratch(tmp_path: Path):
    return Scratch(tmp_path, cases=3, deadline=time.monotonic() + 60)


def write_run(scratch, *numbers, status="scored") -> None:
    path = scratch.folder / "runs" / "x" / "verdicts.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"case_id": f"x-{n}", "status": status}) + "\n" for n in numbers))


def test_a_run_is_complete_when_each_case_has_one_scored_verdict(scratch) -> None:
    for numbers, status, complete in (
        ((0, 1, 2), "scored", True),
        ((0, 1), "scored", False),
        ((0, 1, 2, 2), "scored", False),
        ((0, 1, 2), "unscored", False),
    ):
        write_run(scratch, *numbers, status=status)
        assert scratch.is_complete("x", 3) is complete


def test_a_key_or_an_escape_in_any_file_is_found(scratch) -> None:
    (scratch.folder / "quiet.txt").write_text("fine\n")
    assert chaos.search(scratch).survived
    (scratch.folder / "loud.txt").write_text("title\x1b]0;x\x07")
    assert not chaos.search(scratch).survived
    (scratch.folder / "loud.txt").write_bytes(b"\xff\0" + KEY.encode())
    row = chaos.search(scratch)
    assert not row.survived
    assert "with the key: ['loud.txt']" in row.remark


def test_an_unexpected_error_is_no_refusal() -> None:
    assert Ended(3, "dicast: runs/x: in use.").is_refusal
    assert not Ended(3, "dicast: unexpected error: KeyError").is_refusal
    assert not Ended(0, "fine").is_refusal


def test_times_do_not_tell_compilations_apart() -> None:
    first = {"head": [{"weight": 1.0, "seconds": 2.0}], "created": "today"}
    second = {"head": [{"weight": 1.0, "seconds": 3.0}], "created": "tomorrow"}
    assert without_times(first) == without_times(second) == {"head": [{"weight": 1.0}]}
