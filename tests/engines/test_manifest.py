"""Damaged run folders: one line that names file and field, and no advice to delete what was paid for."""

import json
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.engines.batch import read_manifest, read_verdicts
from dicast.errors import RunError
from dicast.workflows.case_source import CaseSource
from dicast.workflows.run_results import Run

PAIR = {"query": "q", "response_a": "long answer", "response_b": "short", "label": "a"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_text(json.dumps(PAIR) + "\n")
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out"]) == 0
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[]", "a JSON list, not an object"),
        ("5", "a JSON number, not an object"),
        ("", "is not JSON (Expecting value, column 1)"),
        ('{"format": 1}', "is not a manifest: field 'identity': Field required"),
        (
            '{"format": 1, "identity": [1]}',
            "is not a manifest: field 'identity' is [1]: Input should be an object. What",
        ),
        ('{"format": 1, "identity": {"judge": 5}}', "is not a manifest: field 'identity.judge' is 5"),
        ('{"format": 1, "identity": {}, "scale": [1]}', "is not a manifest: field 'scale"),
        ('{"format": 1, "identity": {}, "source": "x"}', "is not a manifest: field 'source' is \"x\""),
        ("[" * 100_000, "lists and objects are nested more than 100 deep"),
        (b"\xff\xfe", "is UTF-16, not UTF-8"),
    ],
)
def test_a_damaged_manifest_is_one_line_and_the_verdicts_are_not_to_be_deleted(
    content: str | bytes, problem: str, folder: Path
) -> None:
    path = folder / "manifest.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RunError) as error:
        read_manifest(folder)
    message = str(error.value)
    assert message.startswith(f"{path}: {problem}")
    assert "What verdicts.jsonl holds is not lost: restore manifest.json from a copy" in message
    assert "elete" not in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["judge", "settings", "lm", "data"])
def test_what_a_run_needs_of_its_identity_is_named(name: str, folder: Path) -> None:
    content = json.loads((folder / "manifest.json").read_text())
    del content["identity"][name]
    (folder / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match=f"the identity in its manifest has no '{name}'"):
        Run(folder).evaluate()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ({"source": "pairs.jsonl"}, "it has no field 'root'."),
        ({"source": "pairs.jsonl", "root": [1]}, "field 'root' is [1]: Input should be a path."),
        ({"source": "pairs.jsonl", "root": None, "fields": 5}, "field 'fields' is 5: Input should be an object."),
        ({"root": None}, "field 'source': Field required."),
    ],
)
def test_what_is_wrong_with_a_source_is_said_in_words(source: dict[str, object], problem: str) -> None:
    with pytest.raises(RunError) as error:
        CaseSource.from_json(source)
    assert str(error.value) == f"manifest: its field 'source' says no cases to read: {problem} Give --cases."


@pytest.mark.parametrize("source", [{"source": 5}, {"root": [1]}, {"scale": "x"}, {"fields": [1]}])
def test_an_odd_source_of_cases_is_one_line(source: dict[str, object], folder: Path) -> None:
    content = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(content | {"source": content["source"] | source}))
    with pytest.raises(RunError, match="its field 'source' says no cases to read"):
        _ = Run(folder).source


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"case_id": "1", "winner": "c"}', 'field .winner.* is "c"'),
        (b'{"case_id": 1}', "field 'case_id' is 1: Input should be a valid string"),
        (b'{"case_id": "\xff"}', "Invalid JSON"),
        (b'{"case_id": "\\ud83d"}', "Invalid JSON"),
        (b"[" * 100_000, "Invalid JSON: recursion limit exceeded"),
        (b'{"case_id": "1", "certainty": 1e999}', "field 'certainty' is Infinity"),
        (b"", "Invalid JSON: EOF"),
    ],
)
def test_a_damaged_verdict_names_line_field_and_value(line: bytes, problem: str, folder: Path) -> None:
    path = folder / "verdicts.jsonl"
    path.write_bytes(path.read_bytes() + line + b"\n" + path.read_bytes())
    with pytest.raises(RunError, match=f"verdicts.jsonl line 2: not a verdict: {problem}") as error:
        list(read_verdicts(folder))
    assert str(error.value).endswith("Delete the line; the case is judged again.")
    assert "\n" not in str(error.value)
