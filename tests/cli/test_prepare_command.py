"""`dicast prepare`: rows out, resume, rejects, one clear line for what is wrong."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

from dicast.cli import run
from dicast.data import read_cases
from dicast.testing import MockServer


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty working folder and store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DICAST_DATA", raising=False)
    return tmp_path


def stories(folder, count=6, place="stories"):
    rows = [
        {"id": f"s{n}", "query": "Judge.", "response": f"In {place} {n} lives Ava Marshall, and Ava loves the sea.",
         "score": 3, "year": 1990 + n}
        for n in range(count)
    ]  # fmt: skip
    (folder / "stories.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "stories.jsonl"


def good(body):
    """Ava Marshall is Lily Brown, and a summary is short."""
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    if "names" in fields:
        return {"names": [{"name": "Ava Marshall", "kind": "person", "replacement": "Lily Brown"}]}
    return {"summary": "Lily swims."} if "summary" in fields else {"answers": []}


def prepare(server, *more, out="prepared.jsonl", names="anonymise"):
    arguments = ["prepare", "--with", names, "--cases", "stories.jsonl", "--out", out]
    return run([*arguments, "--lm", f"openai/mock@{server.url}", *more])


def ids(path):
    return Counter(json.loads(line)["id"] for line in path.read_text().splitlines())


def test_prepared_cases_are_cases_again(elsewhere, capsys):
    stories(elsewhere, place="readers")
    with MockServer(answer=good) as server:
        assert prepare(server, "--set", "words=5", names="anonymise,summarise") == 0
        cases = sorted(read_cases("prepared.jsonl"), key=lambda case: case.id)
        assert server.request_counts.total() == 12
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "prepared 6 cases; prepared.jsonl holds 6"
    assert out[1].startswith("usage: 12 calls (0 more from the cache), 600 prompt + 60 generated tokens")
    assert [line.split(":")[0].strip() for line in out[2:]] == ["names", "summary"]
    assert [case.candidates[0].text for case in cases] == ["Lily swims."] * 6
    assert cases[0].meta["year"] == 1990
    assert cases[0].meta["anonymised"] == {"replaced": {"person": 1}, "suspects": []}
    assert cases[0].label.values == (3,)
    assert "Marshall" not in (elsewhere / "prepared.jsonl").read_text()
    assert run(["judge", "--judge", "longer", "--cases", "prepared.jsonl", "--out", "out", "--json"]) == 0


def test_json_is_one_object_and_nothing_else(elsewhere, capsys):
    stories(elsewhere, place="json")
    with MockServer(answer=good) as server:
        assert prepare(server, "--json", "--limit", "3", "--seed", "1") == 0
    record = json.loads(capsys.readouterr().out)
    assert {name: record[name] for name in ("out", "prepared", "cases", "failed", "bad_rows")} == {
        "out": "prepared.jsonl", "prepared": 3, "cases": 3, "failed": 0, "bad_rows": 0,
    }  # fmt: skip
    assert record["usage"]["calls"] == record["stages"]["names"]["calls"] == 3


def test_a_second_run_prepares_what_is_missing(elsewhere, capsys):
    stories(elsewhere, 6, place="resuming")
    with MockServer(answer=good) as server:
        assert prepare(server, "--limit", "4") == 0
        path = elsewhere / "prepared.jsonl"
        path.write_bytes(path.read_bytes()[:-20])  # as a kill leaves it
        assert prepare(server, "--json") == 0
        assert max(server.request_counts.values()) == 1  # what was cut off comes from the cache
    assert ids(path) == Counter(f"s{n}" for n in range(6))
    assert json.loads(capsys.readouterr().out.split("\n", 3)[3])["prepared"] == 3


def test_other_settings_need_another_file(elsewhere, capsys):
    stories(elsewhere)
    with MockServer(answer=good) as server:
        assert prepare(server) == 0
        assert prepare(server, "--set", "rounds=1") == 3
        assert "prepared.jsonl: holds prepared cases with settings.rounds = 2, now it is 1." in (
            capsys.readouterr().err
        )
        (elsewhere / "prepared.manifest.json").unlink()
        assert prepare(server) == 3
        assert "has no manifest prepared.manifest.json" in capsys.readouterr().err


def test_the_cases_are_never_written_over(elsewhere, capsys):
    stories(elsewhere)
    before = (elsewhere / "stories.jsonl").read_text()
    with MockServer(answer=good) as server:
        assert prepare(server, out="stories.jsonl") == 3
    assert (elsewhere / "stories.jsonl").read_text() == before


def test_failed_cases_are_kept_aside_with_the_reason_and_tried_anew(elsewhere, capsys):
    stories(elsewhere, 4, place="failures")
    broken = lambda body: {"no": "names"} if "failures 2 lives" in json.dumps(body) else good(body)  # noqa: E731
    with MockServer(answer=broken) as server:
        assert prepare(server, "--workers", "1") == 3
        assert "1 case failed: see prepared.rejects.jsonl" in capsys.readouterr().out
        (failure,) = [json.loads(line) for line in (elsewhere / "prepared.rejects.jsonl").read_text().splitlines()]
        assert (failure["id"], failure["reason"]) == ("s2", "parse_failure")
        assert failure["error"].startswith("stage 'names': the model answered")
        assert ids(elsewhere / "prepared.jsonl") == Counter(["s0", "s1", "s3"])
        assert prepare(server, "--min-coverage", "0.75") == 0
        assert prepare(server, "--min-coverage", "0.76") == 3
        error = capsys.readouterr().err
        assert "prepared.jsonl: 3 of 4 cases are prepared, a coverage of 0.750, and 0.76 is required (1 p" in error
    (elsewhere / "prepared.jsonl").rename(elsewhere / "other.jsonl")
    (elsewhere / "prepared.manifest.json").rename(elsewhere / "other.manifest.json")
    with MockServer(answer=good) as server:
        assert prepare(server) == 0
    assert not (elsewhere / "prepared.rejects.jsonl").exists()


def test_bad_rows_can_be_skipped(elsewhere, capsys):
    stories(elsewhere, 2, place="bad rows")
    with (elsewhere / "stories.jsonl").open("a") as file:
        file.write("not json\n")
    with MockServer(answer=good) as server:
        assert prepare(server) == 3
        assert prepare(server, "--skip-bad") == 0
    assert "1 bad rows are in prepared.bad_rows.jsonl" in capsys.readouterr().out


def test_a_spent_budget_is_reported_and_more_finishes(elsewhere, capsys):
    stories(elsewhere, place="budgets")
    with MockServer(answer=good) as server:
        assert prepare(server, "--budget", "calls=3", "--workers", "1") == 2
        assert "3 of 3 calls are used" in capsys.readouterr().err
        assert len(ids(elsewhere / "prepared.jsonl")) == 3
        assert prepare(server) == 0
    assert ids(elsewhere / "prepared.jsonl") == Counter(f"s{n}" for n in range(6))


@pytest.mark.fault
@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done(elsewhere):
    stories(elsewhere, 40, place="ctrl-c")
    path = elsewhere / "prepared.jsonl"
    with MockServer(answer=good, delay=0.1) as server:
        command = [sys.executable, "-m", "dicast", "prepare", "--with", "anonymise", "--cases", "stories.jsonl"]
        command += ["--out", "prepared.jsonl", "--lm", f"openai/mock@{server.url}", "--workers", "2"]
        environment = os.environ | {"DICAST_ANSWERS": str(elsewhere / "cache")}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        watch = threading.Event()
        while not (path.exists() and path.read_bytes().count(b"\n") >= 3) and process.poll() is None:
            watch.wait(0.02)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert "stopping after the cases in flight" in errors
        assert f"prepared {len(ids(path))} cases" in out
        assert 3 <= len(ids(path)) < 40
        assert prepare(server) == 0
    assert ids(path) == Counter(f"s{n}" for n in range(40))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--with", "anonymize"],
            "dicast: preparation 'anonymize': there is no such preparation. Did you mean 'anonymise",
        ),
        (
            ["--with", "summarise", "--set", "rounds=1"],
            "preparation 'summarise' has no parameter 'rounds'. It has: words",
        ),
        (["--with", "summarise", "--set", "words"], "--set 'words': write NAME=VALUE."),
        (["--with", "summarise", "--cases", "nowhere.jsonl"], "dicast: --cases nowhere.jsonl: there is no such file."),
        (["--with", "summarise", "--out", "x.csv"], "dicast: x.csv: the cases are written as JSON lines."),
        (["--with", "summarise", "--lm", "names=openai/x"], "preparation 'summarise' has no role 'names'."),
        (["--with", "summarise", "--lm", "openai/x@http://127.0.0.1:9/v1"], "nothing answers at http://127"),
        (["--with", "summarise", "--budget", "euros=3"], "write calls=, tokens=, cost= or minutes="),
        ([], "Missing option '--with'"),
    ],
)
def test_what_is_wrong_is_one_clear_line_and_exit_code_three(elsewhere, capsys, arguments, message):
    stories(elsewhere)
    with MockServer(answer=good) as server:
        given = {"--cases": "stories.jsonl", "--out": "x.jsonl", "--lm": f"openai/mock@{server.url}"}
        given |= dict(zip(arguments[::2], arguments[1::2], strict=True))
        assert run(["prepare", *(part for pair in given.items() for part in pair)]) == 3
    errors = capsys.readouterr().err
    assert message in errors
    assert len([line for line in errors.splitlines() if line.startswith(("dicast:", "Error:"))]) == 1
    assert not list(elsewhere.glob("x.*"))


def test_the_help_has_an_example(capsys):
    assert run(["prepare", "--help"]) == 0
    assert "dicast prepare --with anonymise,summarise" in capsys.readouterr().out
