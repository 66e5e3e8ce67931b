"""Judge files and YAML judges with odd values: one line, at once, and nothing built."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.judging.judge_file import load, read

OLD = Path(__file__).parent / "old_files"
YAML = "judges: texts\ninstructions: Judge.\nscale: 1..5\ncriteria: [good]\n"


def nested(record: dict[str, Any], depth: int) -> dict[str, Any]:
    for _ in range(depth):
        record = {"program": "panel", "settings": {"pool": "mean", "samples": 1}, "members": [record]}
    return record


def weighed(file: dict[str, Any], weight: Any) -> dict[str, Any]:
    head = {"kind": "pair", "n": 9, "weights": {"log_odds": weight, "length": weight}}
    return file | {"judge": file["judge"] | {"head": head}}


def with_judge(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda file: file | {"judge": file["judge"] | fields}


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("tone", with_judge(settings={"tie_threshold": 10**400}), "a whole number of more than 300 digits"),
        ("tone", with_judge(settings={"tie_threshold": 10**200}), "must be a number between"),
        ("tone", with_judge(settings={"tie_threshold": float("inf")}), "Infinity is no JSON number"),
        ("tone", with_judge(settings={"tie_threshold": [1]}), "must be a number, got"),
        ("panel", with_judge(settings={"pool": "mean", "samples": 2.5}), "must be one of 1 to 100, got 2.5"),
        ("panel", with_judge(settings=[1]), "field 'judge.settings'"),
        ("panel", lambda file: file | {"judge": nested(file["judge"], 200)}, "nested more than 100 deep"),
        ("panel", with_judge(members=[{"program": "longer"}] * 5_000), "field 'judge.members' names 5,001 judges"),
        ("direct", lambda file: weighed(file, 1e308), "less than or equal to"),
        ("direct", lambda file: weighed(file, "\ud83d"), "half of a UTF-16 pair"),
        ("direct", with_judge(head={"kind": "pair", "knots": [[2, 1], [1, 2]]}), "the knots' x must rise"),
        ("direct", with_judge(stages={"prefer": 5}), "field 'judge.stages.prefer'"),
        ("direct", lambda file: file | {"format": True}, "format true was written by"),
        ("direct", lambda file: file | {"format": [2]}, r"format [2] was written by"),
        ("direct", lambda file: [file], "field 'format' is missing"),
    ],
)
def test_an_odd_judge_file_is_refused_in_one_line(
    name: str, change: Callable[[dict[str, Any]], Any], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.judge.json"
    path.write_text(json.dumps(change(json.loads((OLD / f"{name}.judge.json").read_text()))))
    with pytest.raises(DeclarationError) as error:
        load(path)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def test_a_key_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.judge.json"
    path.write_text((OLD / "tone.judge.json").read_text().replace('"format": 1', '"format": 1, "format": 2', 1))
    with pytest.raises(DeclarationError, match='the key "format" is there twice'):
        read(path)


def test_a_whole_number_that_was_written_as_a_float_is_the_whole_number(tmp_path: Path) -> None:
    content = json.loads((OLD / "panel.judge.json").read_text())
    content["judge"]["settings"]["samples"] = 3.0
    path = tmp_path / "odd.judge.json"
    path.write_text(json.dumps(content))
    samples = load(path).hparams()["samples"].value
    assert (samples, type(samples)) == (3, int)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (YAML + "tie_threshold: " + "9" * 400, "a whole number of more than 300 digits"),
        (YAML + "tie_threshold: 1.0e+999", "is not a finite number"),
        (YAML + 'name: "\\ud83d"', "is not YAML ("),
        ("&a {instructions: *a}", "&a holds itself by an alias"),
        ("criteria: " + "[" * 5_000, "nested more than 50 deep"),
        (YAML.replace("[good]", "[{name: x, weight: 1.0e+308}, {name: y, weight: 1.0e+308}]"), "less than or equal"),
        (YAML.replace("[good]", f"[{', '.join(f'c{n}' for n in range(5_000))}]"), "at most 1000 items"),
        (YAML + "scale: 1..9", 'the key "scale" is there twice'),
    ],
)
def test_an_odd_yaml_judge_is_refused_in_one_line(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(text)
    with pytest.raises(DeclarationError) as error:
        build(str(tmp_path / "odd.yaml"))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 700
