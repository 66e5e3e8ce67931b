"""The parsing layer: what is refused, in one line that says where; what is read; and in bounded work."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from dicast.errors import DataError, DeclarationError, RunError
from dicast.parsing import (
    json_lines,
    parse_json,
    parse_object,
    parse_record,
    parse_yaml,
    read_object,
    read_text,
    read_yaml,
    shown,
)
from dicast.workflows.case_source import CaseSource

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


class Point(BaseModel):
    x: float = Field(description="a number")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"a": 1, "a": 2}', 'the key "a" is there twice; keep one of them'),
        (b'[{"deep": {"x": 1, "y": 2, "x": 3}}]', 'the key "x" is there twice'),
        (b'{"a": {"b": ["c", "\\ud83d"]}}', 'field "a.b.1": character 0 is half of a UTF-16 pair'),
        (b'{"a": "\\\\ud83d\\ude00"}', 'field "a": character 6 is half of a UTF-16 pair'),
        (b'{"\\ude00": 1}', 'the key "\\ude00": character 0 is half of a UTF-16 pair'),
        (b'"\xed\xa0\x80"', "byte 1 (0xed, 'í' in Latin-1) is not UTF-8"),
        (b"[" * 100_000, "lists and objects are nested more than 100 deep"),
        (b"[" * 200 + b"]" * 200, "lists and objects are nested more than 100 deep"),
        (b"1" * 5_000, "is not JSON that can be read (a whole number of thousands of digits)"),
        (b'{"n": ' + b"1" * 400 + b"}", 'field "n": a whole number of more than 300 digits'),
        (b'{"n": 1e999}', 'field "n": inf is not a finite number'),
        (b'{"n": NaN}', "is not JSON (NaN is no JSON number)"),
        (b'{"n":\n ]', "is not JSON (Expecting value, line 2, column 2)"),
        (b"", "is not JSON (Expecting value, column 1)"),
        ('{"a": 1}'.encode("utf-16"), "is UTF-16, not UTF-8"),
        ('{"a": 1}'.encode("utf-32"), "is UTF-32, not UTF-8"),
    ],
)  # fmt: skip
def test_json_that_cannot_be_used_is_refused_in_one_line(text: bytes, problem: str) -> None:
    with pytest.raises(RunError) as error:
        parse_json(text, "x/manifest.json", error=RunError, advice="Restore it.")
    assert str(error.value).startswith(f"x/manifest.json: {problem}")
    assert str(error.value).endswith("Restore it.")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "value",
    [{"a": "🙂" * 3}, {"é": ["\u2028", "\\ud83d", "\\\\"]}, [[[]]] * 200, "[" * 500, 10**100, -1.5e300, {"a": None}],
)
def test_json_that_others_write_is_read(value: Any) -> None:
    for ascii_only in (True, False):
        assert parse_json(json.dumps(value, ensure_ascii=ascii_only).encode(), "x") == value
    assert parse_json("\ufeff" + json.dumps(value), "x") == value


def test_an_object_is_not_a_list() -> None:
    with pytest.raises(DataError, match="x: a JSON list, not an object"):
        parse_object("[1]", "x")


def test_lines_are_numbered_and_blank_ones_passed_over() -> None:
    assert list(json_lines([b'{"a": 1}\n', b"\n", b'{"b": 2}'], "x")) == [(1, {"a": 1}), (3, {"b": 2})]
    with pytest.raises(DataError, match=r"rows.jsonl line 3: is not JSON \(Expecting value, column 7\)\. Fix it"):
        list(json_lines([b"{}", b"", b'{"a": }'], "rows.jsonl", advice="Fix it."))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB, "holds more than 20,000 values, aliases written out"),
        ("&a {instructions: *a}", "&a holds itself by an alias"),
        ("&a [1, [2, *a]]", "&a holds itself by an alias"),
        ("[" * 5_000, "lists and mappings are nested more than 50 deep"),
        ("- " * 5_000, "lists and mappings are nested more than 50 deep"),
        ("- x\n" * 30_000, "holds more than 20,000 values"),
        ("x" * 1_000_001, "has 1,000,001 characters; at most 1,000,000 are read"),
        ("a: 1\nb: 2\na: 3", 'line 3: the key "a" is there twice; keep one'),
        ("a: .inf", 'field "a": inf is not a finite number'),
        ("a: " + "1" * 5_000, "is not YAML (Exceeds the limit"),
        ("a: 0x" + "f" * 5_000, 'field "a": a whole number of more than 300 digits'),
        ('a: "\\ud83d"', "is not YAML ("),
        ("a: 2001-99-99", "is not YAML (month must be in 1..12)"),
        ("!!bool x", "is not YAML ("),
        ("!!int ''", "is not YAML ("),
        ("!!timestamp x", "is not YAML ("),
        ("!!python/object/apply:os.system [ls]", "is not YAML (could not determine a constructor"),
        ("? [a]\n: 1", "is not YAML (while constructing a mapping"),
        ("a: *b", "is not YAML (found undefined alias"),
        ("\0", "is not YAML (unacceptable character"),
        ("- a\n---\n- b", "is not YAML (expected a single document"),
    ],
)
def test_yaml_that_cannot_be_used_is_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(DeclarationError) as error:
        parse_yaml(text, "recipe my.yaml", error=DeclarationError)
    assert str(error.value).startswith(f"recipe my.yaml: {problem}")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def test_yaml_that_people_write_is_read() -> None:
    text = "# a comment\nbase: &base {weight: 2, tags: [a, b]}\nfirst: {<<: *base, name: x}\nlast: |\n  two\n  lines\n"
    assert parse_yaml(text, "x") == {
        "base": {"weight": 2, "tags": ["a", "b"]},
        "first": {"name": "x", "weight": 2, "tags": ["a", "b"]},
        "last": "two\nlines\n",
    }
    assert parse_yaml("n: 0.630", "x", strings=True) == {"n": "0.630"}


def test_a_record_names_the_field_and_a_short_value() -> None:
    with pytest.raises(RunError) as error:
        parse_record(Point, {"x": ["long"] * 10_000}, "x/spent.json", error=RunError, advice="Delete it.")
    assert str(error.value).startswith("x/spent.json: field 'x' is [\"long\", ")
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("é".encode("latin-1"), "byte 0 (0xe9, 'é' in Latin-1) is not UTF-8. Save it as UTF-8."),
        (b"a\nbc\x80", "line 2, byte 2 (0x80) is not UTF-8. Save it as UTF-8."),
        ("x".encode("utf-16"), "is UTF-16, not UTF-8. Save it as UTF-8."),
    ],
)
def test_a_file_that_is_not_utf8_is_named_with_line_and_byte(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_text(path)
    assert str(error.value) == f"{path}: {problem}"


def test_a_path_that_is_no_file_is_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file"), (Path("a\0b"), "null")):
        with pytest.raises(DataError, match=f"cannot be read .*{reason}"):
            read_text(path)


def test_any_value_is_shown_in_eighty_characters() -> None:
    endless: list[Any] = []
    endless.append(endless)
    shared: Any = "x" * 1_000
    for _ in range(30):
        shared = [shared] * 10  # 10^30 texts when written out
    values = [endless, shared, "\ud83d" * 9, 10**5_000, {(1, 2): 3}, object(), b"\xff" * 1_000, float("nan"), Path("x")]
    for value in values:
        text = shown(value)
        assert len(text) <= 83
        assert text.isprintable()
        text.encode()
    assert shown({"a": [1, None, "é"]}) == '{"a": [1, null, "é"]}'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("read", [read_text, read_yaml, read_object])
def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    arguments = ("a file",) if read is read_yaml else ()
    with pytest.raises(DataError, match="is a pipe, not a file"):
        read(tmp_path / "pipe", *arguments, error=DataError, advice="Give another.")
    with pytest.raises(DataError, match="is a device, not a file"):
        read(Path("/dev/zero"), *arguments, error=DataError, advice="Give another.")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_cases_that_are_no_file_are_called_by_their_kind(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    for place, kind in ((tmp_path, "a folder"), (Path("/dev/zero"), "a device"), (tmp_path / "pipe.jsonl", "a pipe")):
        with pytest.raises(DataError, match=f"^--cases {place}: is {kind}"):
            CaseSource(str(place)).path()
