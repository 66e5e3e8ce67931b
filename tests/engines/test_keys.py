"""API keys are stripped, refused by name where no header can carry them, and are in nothing that leaves."""

import json
import os
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.engines.keys import address_of, key_of, strip_environment
from dicast.engines.models import get_lm
from dicast.errors import ModelError
from dicast.testing import MockServer

KEY = "sk-REAL-DUMMY-777"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dicast.engines.models._lms", {})
    rows = [{"id": f"{n}", "query": f"q{n}", "response_a": "x", "response_b": "y"} for n in range(6)]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def check_no_key(folder, *printed):
    """Neither the output nor any file of the folder holds the key."""
    texts = [*printed, *(path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file())]
    assert len(texts) > 2
    assert not [text for text in texts if KEY in text or "REAL-DUMMY" in text]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "  ", "\t"])
def test_a_key_is_sent_without_the_line_end_that_its_source_gave_it(end, monkeypatch, capsys, folder):
    monkeypatch.setenv("OPENAI_API_KEY", KEY + end)
    with MockServer() as server:
        assert run(["judge", "--cases", "pairs.jsonl", "--out", "out", "--lm", f"openai/m@{server.url}"]) == 0
    assert set(server.authorizations) == {f"Bearer {KEY}"}
    printed = capsys.readouterr()
    check_no_key(folder, printed.out, printed.err)


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"])
@pytest.mark.parametrize("value", [f"{KEY}\r\nX-More: 1", f"{KEY}\x1b[2J", f"{KEY}ключ", f"{KEY}\udcff"])
def test_a_value_that_no_header_can_carry_is_refused_by_the_name_of_its_variable(
    variable, value, monkeypatch, capsys, folder
):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv(variable, value)
    lm = "openai/m" if variable != "OPENAI_API_KEY" else "openai/m@http://127.0.0.1:9/v1"
    with MockServer() as server:
        lm = lm.replace("http://127.0.0.1:9/v1", server.url)
        assert run(["judge", "--cases", "pairs.jsonl", "--out", "out", "--lm", lm]) == 3
    printed = capsys.readouterr()
    assert f"dicast: {variable}: holds a character that no HTTP header can carry" in printed.err
    assert printed.err.count("\n") == 1
    assert server.request_counts.total() == 0
    check_no_key(folder, printed.out, printed.err, "")


def test_a_server_that_repeats_the_headers_of_requests_gets_no_key_written(monkeypatch, capsys, folder):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\r")
    monkeypatch.setattr("dicast.engines.retries._pause", lambda seconds: True)
    with MockServer(faults={"echoed_headers": 1.0}) as server:
        run(["judge", "--cases", "pairs.jsonl", "--out", "out", "--lm", f"openai/m@{server.url}"])
    printed = capsys.readouterr()
    assert set(server.authorizations) == {f"Bearer {KEY}"}
    verdicts = [json.loads(line) for line in Path("out/verdicts.jsonl").read_text().splitlines()]
    assert {verdict["reason"] for verdict in verdicts} == {"infrastructure"}
    assert "Bearer [key removed]" in verdicts[0]["detail"]
    check_no_key(folder, printed.out, printed.err)


def test_keys_and_addresses_are_read_without_surrounding_space(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " k \n")
    monkeypatch.setenv("OPENAI_API_BASE", "\n")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://h/v1/\r")
    monkeypatch.setenv("NO_SUCH_THING_API_KEY", "  ")
    assert (key_of("openai"), address_of("openai"), key_of("no-such.thing")) == ("k", "http://h/v1", None)


def test_libraries_that_read_the_environment_find_stripped_keys_there(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"{KEY}\r\n")
    monkeypatch.setenv("UNRELATED_API_KEY", "two\nlines")
    get_lm("anthropic/claude-3-5-haiku-20241022")
    assert os.environ["ANTHROPIC_API_KEY"] == KEY
    with pytest.raises(ModelError, match="UNRELATED_API_KEY: holds a character"):
        strip_environment("unrelated")
