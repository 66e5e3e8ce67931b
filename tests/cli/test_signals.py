"""Signals: the first ends a command cleanly, the second at once, and the terminal has its cursor however it ends."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dicast.engines.batch import read_verdicts
from dicast.testing import MockServer

pytestmark = [pytest.mark.fault, pytest.mark.slow]
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def signals_as_in_a_shell() -> Iterator[None]:
    """Children inherit ignored signals, such as SIGHUP where `nohup` runs the tests."""
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(n), "query": f"q {n}", "response_a": "x", "response_b": "y"} for n in range(200)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


class Terminal:
    """A process in a terminal of its own, and all that it has printed."""

    def __init__(self, process: subprocess.Popen[bytes], number: int) -> None:
        self.process, self.number, self.printed = process, number, b""

    def read(self) -> bool:
        """Take what was printed; False at the end."""
        try:
            chunk = os.read(self.number, 65536)
        except OSError:
            return False
        self.printed += chunk
        return bool(chunk)

    def wait_for(self, text: bytes | Callable[[], bool]) -> None:
        """Read until the process has printed this, or until a condition holds."""
        deadline = time.monotonic() + 60
        while not (text in self.printed if isinstance(text, bytes) else text()):
            assert time.monotonic() < deadline, self.printed.decode()
            assert self.process.poll() is None, self.printed.decode()
            self.read()

    def end(self) -> int:
        """The exit code."""
        while self.read():
            pass
        return self.process.wait(60)


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "DICAST_ANSWERS": str(Path("cache").absolute())}
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def judging(server: MockServer, *options: str) -> list[str]:
    return ["-m", "dicast", "judge", "--cases", "pairs.jsonl", "--lm", server.model_string(), "--out", "out", *options]


def some_judged() -> bool:
    path = Path("out/verdicts.jsonl")
    return path.exists() and path.read_bytes().count(b"\n") >= 3


def has_cursor(printed: bytes) -> bool:
    """Whether the last word on the cursor is to show it."""
    assert HIDE in printed
    return printed.rfind(SHOW) > printed.rfind(HIDE)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_the_first_signal_writes_the_cases_in_flight(pairs: Path, number: signal.Signals) -> None:
    with MockServer(delay=0.2) as server, terminal(*judging(server, "--workers", "4")) as work:
        work.wait_for(some_judged)
        work.process.send_signal(number)
        assert work.end() == 130
    assert b"stopping after the cases in flight" in work.printed
    assert has_cursor(work.printed)
    judged = list(read_verdicts(Path("out")))
    assert 3 <= len(judged) < 200
    assert all(verdict.status == "scored" for verdict in judged)
    assert len(server.requests) == 4 * len(judged)  # no answer was given up


def test_a_second_signal_ends_at_once(pairs: Path) -> None:
    with MockServer(faults={"hang": 1.0}) as server, terminal(*judging(server)) as work:
        work.wait_for(lambda: server.fault_counts["hang"] > 3)
        work.process.send_signal(signal.SIGINT)
        work.wait_for(b"stopping after")
        started = time.monotonic()
        work.process.send_signal(signal.SIGINT)
        assert work.end() == 130
        assert time.monotonic() - started < 10
    assert has_cursor(work.printed)


def test_after_a_termination_the_cases_in_flight_have_so_long(pairs: Path) -> None:
    code = "import sys; from dicast.cli import interrupt, main; interrupt.DEADLINE = 0.5; main(sys.argv[1:])"
    with MockServer(faults={"hang": 1.0}) as server, terminal("-c", code, *judging(server)[2:]) as work:
        work.wait_for(lambda: server.fault_counts["hang"] > 3)
        work.process.send_signal(signal.SIGTERM)
        assert work.end() == 130
    assert has_cursor(work.printed)


def test_a_terminal_that_is_closed_ends_the_command_like_ctrl_c(pairs: Path) -> None:
    with MockServer(delay=0.2) as server, terminal(*judging(server, "--workers", "4")) as work:
        work.wait_for(some_judged)
        os.close(work.number)
        work.number = os.open(os.devnull, os.O_RDONLY)
        work.process.send_signal(signal.SIGHUP)
        assert work.process.wait(60) == 130
    assert len(server.requests) == 4 * len(list(read_verdicts(Path("out"))))


def test_an_explanation_ends_at_once(pairs: Path) -> None:
    with MockServer(faults={"hang": 1.0}) as server, terminal(*judging(server, "--explain", "3")) as work:
        work.wait_for(lambda: server.fault_counts["hang"] > 0)
        work.process.send_signal(signal.SIGINT)
        assert work.end() == 130
    assert has_cursor(work.printed)
    assert re.search(rb"stopped\.", work.printed)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_that_an_import_swallows_still_ends_the_command(pairs: Path, number: signal.Signals) -> None:
    """Python drops an exception that a finalizer raises, and goes on; so did the whole run."""
    code = f"""
import os, sys
from dicast.cli import main

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "dspy":
            sys.meta_path.remove(self)
            Dropped()
            print("the import goes on", file=sys.stderr)

sys.meta_path.insert(0, Finder())
main(sys.argv[1:])
"""
    with MockServer() as server:
        result = subprocess.run(
            [sys.executable, "-c", code, *judging(server)[2:]], capture_output=True, text=True, timeout=60
        )
    assert result.stderr == "the import goes on\nstopped.\n"
    assert result.returncode == 130
    assert len(server.requests) == 0


def test_an_ignored_hangup_stays_ignored(pairs: Path) -> None:
    with MockServer(delay=0.05) as server:
        process = subprocess.Popen(
            ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, *judging(server, "--limit", "30")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not some_judged():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 0
    assert len(list(read_verdicts(Path("out")))) == 30
