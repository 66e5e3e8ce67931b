"""What a case, a model, a server or a file says reaches the terminal without control characters and without keys."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.cli.output import print_json
from dicast.cli.render.console import CleanConsole
from dicast.redaction import CONTROLS
from dicast.testing import MockServer
from dicast.testing.faults import Fault, Reply, error_text, http
from dicast.testing.schema import smallest_value

KEY = "sk-REAL-0123456789abcdefghij"
HOSTILE = f"\x1b]0;PWNED\x07\x1b[2J\x9b31m\x9d0;PWNED\x9c\u202egnp\u2066\x7f\x08 [/x] [bold] {KEY}"
FILE = f"\x1b]0;PWNED\x07\x9b31m\u202e[x] {KEY}"
SAMPLES = 48


def hostile_answer(body):
    """Every text that a model writes; None where token probabilities are read."""
    if body.get("logprobs"):
        return None
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return json.dumps(smallest_value(schema)).replace("some text", json.dumps(HOSTILE)[1:-1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    rows = [
        {
            "id": f"{n}{HOSTILE}", "query": HOSTILE, "response_a": f"{n} {HOSTILE}", "response_b": f"{n} b {HOSTILE}",
            "label": "ab"[n % 2], "aspect": f"{HOSTILE}", "group": f"{n}{HOSTILE}", "system_a": HOSTILE,
            "system_b": f"b {HOSTILE}", "history": [{"role": "user", "text": HOSTILE}], "meta": {HOSTILE: HOSTILE},
        }
        for n in range(SAMPLES)
    ]  # fmt: skip
    name = f"{FILE}.jsonl"
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def assert_clean(text: str) -> None:
    assert text
    assert CONTROLS.findall(text) == []
    assert KEY not in text


@pytest.mark.slow
def test_no_verb_prints_a_control_character_or_a_key(folder, capsys):
    def verb(*arguments: str, code: int = 0) -> None:
        result = run(arguments)
        out, err = capsys.readouterr()
        assert (result, arguments[0]) == (code, arguments[0]), err
        assert_clean(out + err)
        if "--json" in arguments:
            json.loads(out)

    Path("bad.csv").write_text(f"query,{HOSTILE},{HOSTILE}\n1,2,3\n")
    Path("hostile.yaml").write_text(json.dumps({"name": HOSTILE, "instructions": HOSTILE, HOSTILE: HOSTILE}))
    out = f"runs/{FILE}"
    with MockServer(answer=hostile_answer) as server:
        lm = ["--lm", f"openai/m@{server.url}"]
        fennec = ["--judge", "fennec", "--branches", "1", "--cases", folder]
        for extra in ((), ("--json",)):
            verb("judge", *fennec, "--limit", "3", "--out", out, *lm, *extra)
            verb("judge", "--cases", folder, "--out", "runs/[x]", *lm, *extra)
            verb("judge", "--cases", folder, "--explain", f"1{HOSTILE}", "--set", "grading=pairwise", *lm, *extra)
            verb("evaluate", out, "--against", "runs/[x]", *extra)
            verb("report", out, "--out", f"{FILE}.html", *extra)
            verb("check", "--cases", folder, *lm, *extra, code=3)
            verb("check", "--cases", "bad.csv", *extra, code=3)
            summarise = ["--with", "summarise", "--cases", folder, "--limit", "2"]
            verb("prepare", *summarise, "--out", f"{FILE}-p.jsonl", *lm, *extra)
            verb("list", *extra)
        verb("compile", "direct", "--cases", folder, "--trials", "0", "--out", f"compiled/{FILE}", *lm, code=1)
        (judge,) = Path(f"compiled/{FILE}").glob("*.judge.json")
        verb("show", str(judge))
        verb("show", str(judge), "--json")
        verb("judge", "--judge", str(judge), "--cases", folder, "--out", "runs/compiled", *lm)
    verb("judge", "--judge", "hostile.yaml", "--cases", folder, code=3)
    verb("judge", "--judge", HOSTILE, "--cases", folder, code=3)
    verb("judge", f"--{HOSTILE}", code=3)
    verb("judge", "--cases", "bad.csv", code=3)
    verb("judge", "--cases", f"{FILE}-missing.jsonl", code=3)
    verb("data", "path", HOSTILE, code=3)
    verb("models", "path", HOSTILE, code=3)


def test_errors_of_a_server_are_clean_in_every_output_and_file(folder, capsys):
    fault = Fault("hostile", "500", "attack", lambda _: Reply(http(error_text(HOSTILE), 400)))
    with MockServer(faults={fault: 1.0}) as server:
        assert run(["judge", "--cases", folder, "--limit", "3", "--out", "out", "--lm", f"openai/m@{server.url}"]) == 3
        assert run(["check", "--lm", f"openai/m@{server.url}"]) == 3
    out, err = capsys.readouterr()
    assert_clean(out)
    assert_clean(err)
    for line in (Path("out") / "verdicts.jsonl").read_text().splitlines():
        assert_clean(json.loads(line)["detail"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")
def test_a_terminal_gets_only_the_sequences_of_our_own_styles(folder):
    """On a pseudo-terminal, with bars and colours; a title or a cleared screen would be of a case."""
    import pty

    with MockServer(answer=hostile_answer) as server:
        arguments = ["judge", "--judge", "fennec", "--branches", "1", "--cases", folder, "--limit", "2"]
        arguments += ["--out", "o[/x]", "--lm", f"openai/m@{server.url}"]
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "dicast", *arguments],
            stdout=follower, stderr=follower, env={**os.environ, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(follower)
        chunks = []
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
        assert process.wait(60) == 0
        os.close(leader)
    shown = b"".join(chunks).decode()
    assert "\x1b[" in shown  # colours, a bar
    styles = re.compile(r"\x1b\[[\d;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[\d*A|\r")
    assert_clean(styles.sub("", shown))


def test_json_stays_json(capsys):
    value = {HOSTILE: [HOSTILE, 1, None, 0.5, True, {"api_key": 123456789, "x": "\ud83d half"}]}
    print_json(value)
    out = capsys.readouterr().out
    assert_clean(out)
    hidden = HOSTILE.replace(KEY, "[key removed]")
    assert json.loads(out) == {hidden: [hidden, 1, None, 0.5, True, {"api_key": 123456789, "x": "\ud83d half"}]}
    out.encode()  # the half of an emoji is escaped


def test_a_key_is_not_printed_when_a_table_would_break_it_over_lines(capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    from dicast.cli import render

    CleanConsole(width=12).print(render.table(["name"], [[KEY]]), render.heading(KEY, KEY))
    out = capsys.readouterr().out
    assert "key" in out
    assert not any(KEY[i : i + 8] in out.replace("\n", "") for i in range(len(KEY) - 8))


def test_logs_and_warnings_of_libraries_are_cleaned():
    code = (
        "import logging, sys, warnings\n"
        "from dicast.cli import output\n"
        "assert output.prepare_streams()\n"
        "hostile = sys.argv[1]\n"
        "logging.warning('server: %s', hostile)\n"
        "logging.warning('two arguments: %s %s', hostile)\n"
        "warnings.warn(hostile)\n"
        "try:\n    raise ValueError(hostile)\n"
        "except ValueError:\n    logging.exception('failed')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", code, HOSTILE],
        env={**os.environ, "OPENAI_API_KEY": KEY}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(part in done.stderr for part in ("WARNING:root:server:", "UserWarning:", "ValueError:", "ERROR:root:"))
    assert_clean(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_terminal_takes_every_text(tmp_path, encoding):
    row = {"query": "q", "response_a": "naïve → \U0001f600", "response_b": "x", "label": "a", "system_a": "模型"}
    (tmp_path / "é→.jsonl").write_text(json.dumps(row) + "\n")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "DICAST_HOME": str(tmp_path / "home")}
    for extra in ([], ["--json"]):
        arguments = ["judge", "--judge", "longer", "--cases", "é→.jsonl", "--out", "模", *extra]
        done = subprocess.run(
            [sys.executable, "-m", "dicast", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode(encoding))["out"] == "模"
