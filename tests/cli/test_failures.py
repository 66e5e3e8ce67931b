"""How a command ends that something unexpected ends: one line, 3, and a crash file without what is private."""

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest

from dicast import cli
from dicast.cli import exit_codes, output, run

KEY = "sk-PRIVATE-0123456789abcdef"
TEXT = "a text of a case that nobody else may read, in a message"


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A command `broken` that raises what the test puts into its list."""
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(sys, "argv", ["dicast", "broken", "--token", KEY])
    failures: list[BaseException] = []

    @click.command("broken")
    def command() -> None:
        secret_local = TEXT
        assert secret_local
        raise failures[0]

    get = cli.LazyGroup.get_command
    monkeypatch.setattr(
        cli.LazyGroup, "get_command", lambda group, ctx, name: command if name == "broken" else get(group, ctx, name)
    )
    return failures


@pytest.mark.parametrize(
    "failure",
    [
        RuntimeError(f"server said {KEY} \x1b]0;PWNED\x07"),
        RecursionError("maximum recursion depth exceeded"),
        MemoryError(),
        UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "surrogates not allowed"),
        KeyError(TEXT),
        SystemExit(1),
        EOFError("Compressed file ended before the end-of-stream marker was reached"),
        BrokenPipeError("a server's pipe"),
        OSError("no errno"),
    ],
    ids=lambda failure: type(failure).__name__,
)  # fmt: skip
def test_any_exception_is_one_line_and_three_and_a_private_crash_file(broken, capsys, tmp_path, failure):
    broken.append(failure)
    assert run(["broken"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith(f"dicast: unexpected error: {type(failure).__name__}")
    (path,) = (tmp_path / "home" / "crashes").iterdir()
    assert str(path) in err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    written = path.read_text()
    assert "Traceback" not in err
    assert "in command" in written  # the step
    assert "command: dicast broken --token [key removed]" in written
    assert not [part for part in (KEY, TEXT, "\x1b", "\x07") if part in written]
    assert not [part for part in (KEY, "\x1b", "\x07") if part in err]


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (OSError(28, "No space left on device"), "dicast: No space left on device. Make room, and run"),
        (OSError(28, "No space left on device", "runs/x"), "dicast: runs/x: No space left on device. Give another"),
        (OSError(24, "Too many open files", "x"), "dicast: x: Too many open files. Raise the limit (ulimit -n)"),
        (__import__("sqlite3").OperationalError("unable to open database file"), "dicast: a database of answers: unab"),
    ],
)  # fmt: skip
def test_errors_of_the_system_are_one_line_with_advice_and_no_crash_file(broken, capsys, tmp_path, failure, line):
    broken.append(failure)
    assert run(["broken"]) == 3
    assert capsys.readouterr().err.startswith(line)
    assert not (tmp_path / "home").exists()


def test_an_interrupt_is_130(broken, capsys):
    broken.append(KeyboardInterrupt())
    assert run(["broken"]) == 130
    assert capsys.readouterr().err.strip() == "stopped."


def test_debug_prints_the_traceback_without_keys(broken, capsys, monkeypatch):
    monkeypatch.setenv("DICAST_DEBUG", "1")
    broken.append(RuntimeError(KEY))
    assert run(["broken"]) == 3
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert KEY not in err


def test_a_crash_file_goes_elsewhere_when_the_store_cannot_be_written(broken, capsys, tmp_path, monkeypatch):
    blocker = tmp_path / "blocker"
    blocker.write_text("")
    monkeypatch.setenv("DICAST_HOME", str(blocker / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    broken.append(RuntimeError("x"))
    assert run(["broken"]) == 3
    assert len(list(tmp_path.glob("dicast-crash-*.txt"))) == 1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert run(["broken"]) == 3
    assert "DICAST_DEBUG=1 prints the traceback; please report it." in capsys.readouterr().err.splitlines()[-1]


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line in bash, where `dicast` is this package; fails where any part of a pipe does."""
    script = f'set -o pipefail; dicast() {{ "{sys.executable}" -m dicast "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--help", "list", "list --json", "judge --help"])
def test_a_reader_that_goes_is_no_error(tmp_path, command):
    done = shell(f"dicast {command} | true", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_run_goes_on_when_nobody_reads_what_it_prints(tmp_path):
    row = '{"query": "q", "response_a": "longer", "response_b": "x", "label": "a"}\n'
    (tmp_path / "pairs.jsonl").write_text(row)
    done = shell("dicast judge --judge longer --cases pairs.jsonl --out out 2>&1 | true", tmp_path)
    assert done.returncode == 0
    assert len((tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["--help", "list", "list --json"])
def test_a_full_standard_output_is_one_line_and_three(tmp_path, command):
    done = shell(f"dicast {command} >/dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (
        3,
        "dicast: standard output: No space left on device. Make room, or send it elsewhere.\n",
    )


def test_a_closed_standard_output_is_one_line_and_three(tmp_path):
    done = shell("dicast list >&-", tmp_path)
    assert (done.returncode, done.stderr) == (
        3,
        "dicast: standard output is closed. Send it to a file, or to /dev/null.\n",
    )


@pytest.mark.slow
def test_other_closed_streams_are_no_error(tmp_path):
    done = shell("dicast list --json <&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert '"judges"' in done.stdout


def test_help_has_the_table_of_exit_codes(capsys):
    assert run(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for code, meaning in exit_codes.EXIT_CODES.items():
        assert f"{code} {meaning}" in shown
        assert meaning in " ".join((cli.__doc__ or "").split())


def test_a_failing_thread_is_one_line(tmp_path):
    code = (
        "import sys, threading\nfrom dicast.cli import failures\nfailures.hide_tracebacks()\n"
        "def work():\n    raise RuntimeError(sys.argv[1])\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
        "class Odd:\n    def __del__(self):\n        raise RuntimeError(sys.argv[1])\n"
        "Odd()\n"
    )
    environment = {**os.environ, "DICAST_HOME": str(tmp_path), "OPENAI_API_KEY": KEY}
    done = subprocess.run(
        [sys.executable, "-c", code, f"\x1b]0;{KEY}"], env=environment, capture_output=True, text=True, timeout=60
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("dicast: unexpected error: RuntimeError: ␛]0;[key removed], at cli of dicast. The traceback")


def test_a_terminal_breaks_no_word_of_an_error_and_a_pipe_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        def __init__(self, is_terminal: bool) -> None:
            super().__init__()
            self.is_terminal = is_terminal

        def isatty(self) -> bool:
            return self.is_terminal

    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "24")
    text = "dicast: a long-winded message about a-very-long-file-name-in-full.csv\n  indented"
    assert output.wrapped(text, Stream(False)) == text
    assert output.wrapped(text, Stream(True)).splitlines() == [
        "dicast: a", "long-winded message", "about", "a-very-long-file-name-in-full.csv", "  indented",
    ]  # fmt: skip
