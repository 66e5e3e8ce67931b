"""A data set of another package: the example of docs/extending.md, installed, fetched, listed and judged."""

import json
import shlex

import pytest
from extending import blocks, entry_points

from dicast.catalog import DATA_SETS, PublicSet, read
from dicast.cli import run
from dicast.errors import DeclarationError

(CODE,) = blocks("A data set", "python")
COMMANDS = blocks("A data set", "sh")[0].splitlines()
ITEMS = [
    {"question": "How do I log in?", "first": "Use the form.", "second": "No.", "choice": "first", "product": "web"},
    {"question": "Where is it?", "first": "x", "second": "In the menu.", "choice": "equal", "product": "app"},
]


@pytest.fixture
def user(tmp_path, monkeypatch, install):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DICAST_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.json").write_text(json.dumps(ITEMS))
    install("helpdesk", CODE, entry_points("A data set"))
    return tmp_path


def test_the_commands_of_the_page_run(user, capsys):
    for command in COMMANDS:
        assert run(shlex.split(command.replace("~", str(user)))[1:]) == 0
    assert "helpdesk  Answers of a help desk: 2 pairwise rows" in capsys.readouterr().out
    verdicts = [json.loads(line) for line in (user / "runs/helpdesk/verdicts.jsonl").read_text().splitlines()]
    assert {verdict["case_id"]: verdict["label"]["value"] for verdict in verdicts} == {
        "helpdesk/0": "a",
        "helpdesk/1": "tie",
    }


def test_the_list_as_json_says_where_a_set_is_stored(user, capsys):
    assert run(["data", "list", "--json"]) == 0
    (before,) = [entry for entry in json.loads(capsys.readouterr().out) if entry["name"] == "helpdesk"]
    assert (before["path"], before["kind"], before["files"][0]["repo"]) == (None, "pairwise", "example/helpdesk")
    assert run(["data", "get", "helpdesk", "--from", "pairs.json"]) == 0
    path = capsys.readouterr().out.strip()
    assert run(["data", "list", "--json"]) == 0
    (after,) = [entry for entry in json.loads(capsys.readouterr().out) if entry["name"] == "helpdesk"]
    assert after == before | {"path": path}


def test_a_set_can_bring_its_rows(install, tmp_path):
    rows = tmp_path / "rows.jsonl"
    row = {"id": "mine/1", "kind": "pointwise", "group": None, "context": "q", "text": "t", "system": None}
    row |= {"scores": {"tone": 2}, "annotators": {}, "scale": {"tone": [1, 3]}, "meta": {}}
    rows.write_text(json.dumps(row) + "\n")
    fields = "title='t', kind='pointwise', size=1, labels='l', licence='MIT', citation='c', aspects=('tone',)"
    code = "from pathlib import Path\nfrom dicast.catalog import PublicSet\n"
    code += f"mine = PublicSet(name='mine', {fields}, packaged=Path({str(rows)!r}))"
    install("my_sets", code, "[dicast.data_sets]\nmine = my_sets:mine\n")
    assert [case.id for case in read("mine", aspect="tone")] == ["mine/1#tone"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("helpdesk = helpdesk:read_helpdesk", "not a PublicSet called 'helpdesk'"),
        ("desk = helpdesk:helpdesk", "not a PublicSet called 'desk'"),
        ("authored = helpdesk:helpdesk", "has the name of a built-in data set"),
    ],
)
def test_an_entry_point_of_something_else_is_refused(install, entry, problem):
    install("helpdesk", CODE, f"[dicast.data_sets]\n{entry}\n")
    error = DATA_SETS.plugins()[entry.partition(" ")[0]]
    assert problem in str(error)
    assert "authored" in {data_set.name for data_set in DATA_SETS}


def test_a_set_without_files_and_rows_is_refused():
    with pytest.raises(DeclarationError, match="data set 'x': it has no files"):
        PublicSet(name="x", title="", kind="pairwise", size=0, labels="", licence="", citation="")
