"""dicast.toml: what is written is read again, and what is wrong in it is named."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dicast.data.layout import Layout
from dicast.errors import DataError, DeclarationError
from dicast.workflows import CaseSource
from dicast.workflows.piped_cases import piped_cases
from dicast.workflows.project import NAME, Project, read_project, to_toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
COLUMNS = st.one_of(TEXTS, st.lists(TEXTS, min_size=2, max_size=3).map(tuple))
PROJECTS = st.builds(
    Project,
    data=TEXTS,
    lm=TEXTS,
    encoding=TEXTS,
    join=st.lists(TEXTS, max_size=2).map(tuple),
    fields=st.dictionaries(TEXTS, COLUMNS, max_size=3),
    values=st.dictionaries(TEXTS, TEXTS, max_size=3),
)


@settings(max_examples=60, deadline=None)
@given(PROJECTS)
def test_a_project_is_read_as_it_was_written(project: Project) -> None:
    assert Project.model_validate(tomllib.loads(to_toml(project, ["a comment"]))) == project


def test_a_folder_without_the_file_is_no_project(tmp_path: Path) -> None:
    assert read_project(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data = ", "dicast.toml: is not TOML"),
        ("dat = 'x'", "dicast.toml: field 'data': Field required"),
        ("data = 'x'\nlabel = 'y'", "dicast.toml: field 'label' is \"y\": Extra inputs are not permitted"),
        ("data = 3", "field 'data' is 3"),
        ("data = 'x'\n[fields]\nvotes = [1]", "field 'fields.votes"),
    ],
)
def test_what_is_wrong_in_it_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(DeclarationError) as caught:
        read_project(tmp_path)
    assert message in str(caught.value)
    assert str(caught.value).endswith("dicast init FILE --force writes it anew.")


def test_a_scale_that_is_none_is_named() -> None:
    with pytest.raises(DeclarationError, match="dicast.toml: scale: '5' is no scale; write LO..HI"):
        Project(data="x", scale="5").source()


def test_its_source_reads_its_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("prompt;reply;mark\nq;r;yes\ns;t;no\n", encoding="cp1252")
    project = Project(
        data="x.csv",
        encoding="cp1252",
        fields={"query": "prompt", "response": "reply", "label": "mark"},
        values={"yes": "ok", "no": "bad"},
    )
    labels = [case.label and case.label.answer for case in project.source(tmp_path).cases()]
    assert labels == ["ok", "bad"]


def test_a_source_with_a_layout_survives_a_manifest(tmp_path: Path) -> None:
    layout = Layout({"x": "a"}, ("item",), "argilla", "cp1252", "s")
    source = CaseSource(str(tmp_path), fields={"votes": ("p", "q"), "query": "i"}, layout=layout)
    assert CaseSource.from_json(json.loads(json.dumps(source.to_json()))).layout == layout
    assert CaseSource.from_json(json.loads(json.dumps(source.to_json()))).fields == source.fields
    assert "layout" not in CaseSource("x").to_json()
    assert "layout" not in CaseSource("x").reading()
    assert source.reading()["layout"]["join"] == ["item"]


def test_new_cases_with_the_same_columns_are_read_in_the_same_way(tmp_path: Path) -> None:
    project = Project(
        data="old.csv", encoding="cp1252", fields={"query": "prompt", "response": "reply", "label": "mark"}
    )
    (tmp_path / "new.csv").write_text("prompt,reply\nwhere é,there\n")
    (tmp_path / "old.csv").write_bytes("prompt,reply,mark\nwhere é,there,ok\n".encode("cp1252"))
    (tmp_path / "other.csv").write_text("question,reply\nq,r\n")
    new = project.reading_of(str(tmp_path / "new.csv"))
    assert new is not None
    assert (new.fields, new.layout.encoding) == ({"query": "prompt", "response": "reply"}, "")
    assert next(new.cases()).query == "where é"
    old = project.reading_of(str(tmp_path / "old.csv"))
    assert old is not None
    assert (set(old.fields), old.layout.encoding) == ({"query", "response", "label"}, "cp1252")
    assert project.reading_of(str(tmp_path / "other.csv")) is None
    assert project.reading_of("pandalm") is None


@pytest.mark.parametrize(
    "content",
    [
        '{"query": "q", "response": "é", "label": "pass"}\n',
        '[{"query": "q", "response": "é", "label": "pass"}]',
        "query;response;label\nq;é;pass\n",
    ],
)
def test_a_pipe_gives_rows_of_any_text_format(content: str, tmp_path: Path) -> None:
    path = tmp_path / "piped"
    path.write_text(content, encoding="utf-8")
    with path.open("rb") as stream:
        rows = piped_cases(stream, {"scale": (1, 5)}, Layout())
    case = next(rows.store(tmp_path / "cases.jsonl").cases())
    assert (case.query, case.candidates[0].text, case.label and case.label.answer) == ("q", "é", "pass")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n", "standard input is empty"),
        (b'{"a": 1}\n{"a": \n', "--cases - line 2: is not JSON"),
        (b"a,b\nx\n", "--cases - line 2: the row has 1 cells"),
    ],
)
def test_a_pipe_without_rows_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "piped").write_bytes(content)
    with (tmp_path / "piped").open("rb") as stream, pytest.raises(DataError) as caught:
        piped_cases(stream, {}, Layout())
    assert message in str(caught.value)
