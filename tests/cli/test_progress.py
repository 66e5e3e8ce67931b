"""The bar of a run: what is left is computed from all cases so far."""

import io
import time

import pytest
from rich.console import Console

from dicast.cli.render import progress as module
from dicast.cli.render.progress import RunProgress
from dicast.data import Judged


def test_the_time_left_is_by_all_cases_so_far_not_by_two_that_ended_together(monkeypatch: pytest.MonkeyPatch) -> None:
    written, clock = io.StringIO(), [0.0]
    monkeypatch.setattr(module, "errors", Console(file=written, force_terminal=True, width=160))
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with RunProgress(quiet=False) as bar:
        bar.start(20, 0)
        for case, seconds in enumerate((140.0, 140.0, 280.0, 280.0)):
            clock[0] = seconds
            bar.verdict(Judged(case_id=str(case), status="unscored", reason="refusal"))
    assert "4/20" in written.getvalue()
    assert "19 min left" in written.getvalue()  # 16 cases of 70 s
    assert "0.9/min" in written.getvalue()
