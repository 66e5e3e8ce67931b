"""No row is lost in silence: strict CSV, keys and columns that occur twice, texts that no server could receive."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dicast.data import Case, Rejects, read_cases
from dicast.errors import DataError

HEADER = "id,query,response_a,response_b,label\n"
PAIR = {"query": "q", "response_a": "x", "response_b": "y", "label": "a"}


def csv_rows(count: int) -> list[str]:
    return [f"{number},question {number},first,second,a\n" for number in range(count)]


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        list(read_cases(path))
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def with_rejects(path: Path) -> tuple[list[Case], list[dict[str, Any]]]:
    rejects = Rejects(path.parent / "rejects.jsonl")
    with rejects:
        cases = list(read_cases(path, rejects=rejects))
    return cases, [json.loads(line) for line in rejects.path.read_text().splitlines()] if rejects.count else []


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        ('0,question 0,"first,second,a\n', "unexpected end of data"),
        ('0,"question" 0,first,second,a\n', "expected after"),
    ],
)
def test_a_quote_that_is_not_closed_costs_its_own_row_only(first: str, problem: str, tmp_path: Path) -> None:
    path = written(tmp_path, "rows.csv", HEADER + first + "".join(csv_rows(50)[1:]))
    assert problem in refusal(path)
    cases, rejected = with_rejects(path)
    assert [case.id for case in cases] == [str(number) for number in range(1, 50)]
    assert [line["line"] for line in rejected] == [2]


def test_two_stray_quotes_do_not_make_one_cell_of_the_rows_between(tmp_path: Path) -> None:
    rows = csv_rows(50)
    rows[0], rows[-1] = '0,question 0,"first,second,a\n', '49,question 49,first",second,a\n'
    path = written(tmp_path, "rows.csv", HEADER + "".join(rows))
    assert 'the cell of "response_a" holds lines that look like rows' in refusal(path)
    cases, rejected = with_rejects(path)
    assert len(cases) + len(rejected) == 50
    assert len(cases) >= 48


def test_paragraphs_code_and_tables_are_cells(tmp_path: Path) -> None:
    texts = [
        "A paragraph, with commas, and more.\n\nAnother, with commas, too.\nAnd a third, you see, and more, still.",
        'def f(a, b):\n    return g(a,\n             b)\n\nprint("x")',
        "one\r\ntwo\r\n\r\nthree, four",
        "name,value\nx,1\ny,2\nz,3",
        "x" * 10_000_000,
        "\n".join(["a line of a long document, with words"] * 5_000),
        "𝒳 🙂 שלום 中文\u2028",
    ]
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    rows = [f"{number},q,{text},second,a\n" for number, text in enumerate(quoted)]
    cases = list(read_cases(written(tmp_path, "rows.csv", HEADER + "".join(rows))))
    assert [case.candidates[0].text for case in cases] == texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query,response,query\nq,x,z\n", 'rows.csv line 1: 2 columns are called "query". Rename all but one of them.'),
        ("query,,response\nq,x,z\n", "rows.csv line 1: column 2 has no name. Name every column in the header."),
        (HEADER + "1,q,x,y\n", "rows.csv line 2: the row has 4 cells, the header 5. Write a cell for each"),
        ("query,response\nq,a\0b\n", "rows.csv line 2: holds a NUL byte, as UTF-16 does. Save it as CSV in UTF-8."),
        ("query,response\nq,x\n".encode("utf-16"), "rows.csv line 1: is UTF-16, not UTF-8. Save it as CSV in UTF-8."),
        ("query,response\nq,x\n".encode("utf-16-le"), "rows.csv line 1: holds a NUL byte, as UTF-16 does."),
        ("query,response\nq,x\nq,naïve\n".encode("latin-1"), "rows.csv line 3: byte 4 (0xef, 'ï' in Latin-1) is not"),
        (b"query,response\nq,\xed\xa0\x80\n", "rows.csv line 2: byte 2 (0xed, 'í' in Latin-1) is not UTF-8."),
    ],
)  # fmt: skip
def test_a_csv_file_that_is_not_what_it_seems_is_refused(content: str | bytes, message: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "rows.csv", content)).startswith(message)


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffquery,response\nq,x\nq,y\n",
        "query,response\rq,x\rq,y\r",
        "query,response\r\nq,x\r\nq,y",
        ",query,response\n0,q,x\n1,q,y\n",
        "query,response\n\nq,x\n\n\nq,y\n\n",
    ],
)
def test_what_spreadsheets_and_data_frames_write_is_read(content: str, tmp_path: Path) -> None:
    cases = list(read_cases(written(tmp_path, "rows.csv", content)))
    assert [(case.query, case.candidates[0].text) for case in cases] == [("q", "x"), ("q", "y")]


def test_a_key_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "rows.jsonl", json.dumps(PAIR) + '\n{"query": "q", "label": "a", "label": "b"}\n')
    assert refusal(path) == (
        'rows.jsonl line 2: the key "label" is there twice; keep one of them. Write one JSON object a line.'
    )


FIELDS = {
    "query": "\ud83d", "response_a": "\ud83d", "response_b": "\ud83d", "system_a": "\ud83d", "id": "\ud83d",
    "aspect": "\ud83d", "group": "\ud83d", "label": "\ud83d", "meta": {"deep": [1, {"x": "\ude00"}]}, "other": "\ud83d",
    "persona": {"\ud83d": "x"}, "votes": ["a", "\ud83d"],
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_half_a_character_is_refused_in_every_field_by_its_name(field: str, tmp_path: Path) -> None:
    content = json.dumps(PAIR | {field: FIELDS[field]}) + "\n" + json.dumps(PAIR | {"query": "🙂"}) + "\n"
    path = written(tmp_path, "rows.jsonl", content)
    message = refusal(path)
    assert "half of a UTF-16 pair" in message
    assert field in message or "the key" in message
    cases, (rejected,) = with_rejects(path)
    assert [case.query for case in cases] == ["🙂"]
    assert "\\ud" in rejected["row"]


@pytest.mark.parametrize("text", ["[" * 100_000, "[" + "1" * 5_000, '{"a": ' * 3_000, '[{"role": "user"'])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_a_text_that_begins_like_json_is_a_text(text: str, name: str, tmp_path: Path) -> None:
    cell = '"' + text.replace('"', '""') + '"'
    content = (
        json.dumps({"query": text, "response": text}) if name == "rows.jsonl" else f"query,response\n{cell},{cell}"
    )
    (case,) = read_cases(written(tmp_path, name, content + "\n"))
    assert (case.query, case.candidates[0].text) == (text, text)


def test_a_query_that_is_json_stays_a_text_in_a_row_that_dicast_wrote(tmp_path: Path) -> None:
    case = Case(id="1", query='{"a": 1}', candidates=[{"text": "[1, 2]"}])
    assert list(read_cases(written(tmp_path, "rows.jsonl", case.model_dump_json() + "\n"))) == [case]


def test_rejects_are_private_and_follow_no_link(tmp_path: Path) -> None:
    path = written(tmp_path, "rows.jsonl", "broken\n" + json.dumps(PAIR) + "\n")
    with_rejects(path)
    assert os.stat(tmp_path / "rejects.jsonl").st_mode & 0o777 == 0o600
    (tmp_path / "rejects.jsonl").unlink()
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "rejects.jsonl").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(DataError, match=r"cannot take the bad rows \(it is a link\)"):
        with_rejects(path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table([["q"], ["x"], ["y"]], names=["query", "response", "response"])
    parquet.write_table(table, tmp_path / "rows.parquet")
    assert refusal(tmp_path / "rows.parquet").startswith('rows.parquet: 2 columns are called "response".')


def test_a_damaged_page_of_parquet_names_the_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [PAIR | {"query": f"a question {number * 7919}"} for number in range(2_000)]
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, use_dictionary=False, compression="zstd")
    content = bytearray(path.read_bytes())
    content[100:400] = bytes(byte ^ 0x55 for byte in content[100:400])
    path.write_bytes(content)
    assert refusal(path).startswith("rows.parquet: ")


def test_nested_values_of_parquet_are_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = PAIR | {"votes": ["a", "b"], "persona": {"age": "30"}, "meta": {"x": [{"y": "z"}]}}
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "rows.parquet")
    (case,) = read_cases(tmp_path / "rows.parquet")
    assert (len(case.votes), case.meta) == (2, {"x": [{"y": "z"}]})


def test_a_hub_name_that_is_empty_is_named() -> None:
    with pytest.raises(DataError, match=r"hf: no data set is named\. Write hf:NAME"):
        list(read_cases("hf:"))
