"""Files as spreadsheets, tools and databases write them: the same cases come of each."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dicast.data import Case, Rejects, Winner, read_cases
from dicast.data.layout import Layout
from dicast.data.readers import parsed_rows
from dicast.data.sheet_rows import sheet_names
from dicast.errors import DataError
from dicast.parsing import JsonError, find_encoding, json_elements

HEADER = ["query", "response_a", "response_b", "label"]
ROWS = [["Où est-ce?", "Là, devant; tout droit", 'Il dit "ici"', "a"], ["How?", "Like\nthis", "So", "tie"]]
DICTS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]


def cell(text: str, mark: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in (mark, '"', "\n")) else text


def table(mark: str) -> str:
    return "".join(mark.join(cell(text, mark) for text in row) + "\r\n" for row in [HEADER, *ROWS])


def texts(cases: list[Case]) -> list[Any]:
    return [(case.query, *(candidate.text for candidate in case.candidates), case.label) for case in cases]


WANTED = [(*row[:3], Winner.model_validate({"value": row[3]})) for row in ROWS]


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_the_header_says_what_parts_the_cells(name: str, mark: str, tmp_path: Path) -> None:
    assert texts(list(read_cases(written(tmp_path / name, table(mark))))) == WANTED


def test_a_line_that_excel_writes_names_the_separator(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", b"\xef\xbb\xbfsep=;\r\n" + table(";").encode())
    assert texts(list(read_cases(path))) == WANTED


def test_one_column_is_parted_by_nothing(tmp_path: Path) -> None:
    assert next(iter(parsed_rows(str(written(tmp_path / "x.csv", "text\nhello\n")))))[1] == {"text": "hello"}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "latin-1"])
def test_a_stated_encoding_is_read(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", table(";").encode(encoding))
    assert texts(list(read_cases(path, layout=Layout(encoding=encoding)))) == WANTED


def test_a_wrong_encoding_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", b"odd")
    with pytest.raises(DataError, match=r"rows.csv: is not utf-16-le .* Name another encoding, or save it as UTF-8."):
        list(read_cases(path, layout=Layout(encoding="utf-16-le")))
    with pytest.raises(DataError, match="no encoding is called 'klingon'"):
        list(read_cases(path, layout=Layout(encoding="klingon")))


@pytest.mark.parametrize(
    ("text", "encoding", "word"),
    [
        ("Wie ändere ich mein Passwort? Öffnen Sie die Einstellungen – fertig.", "cp1252", "ändere"),
        ("Où est ma commande ? Elle arrivera bientôt, c’est promis.", "cp1252", "Où"),
        ("¿Dónde está mi pedido? Llegará mañana.", "cp1252", "Dónde"),
        ("Gdzie jest moje zamówienie? Przyjdzie jutro, proszę. Źdźbło łąki.", "cp1250", "zamówienie"),
        ("Где мой заказ? Он прибудет завтра, не волнуйтесь.", "cp1251", "Где"),
        ("注文はどこですか。明日届きます。ご安心ください。", "shift_jis", "注文はどこですか"),
    ],
)
def test_an_encoding_is_recognised_with_a_word_that_shows_it(
    text: str, encoding: str, word: str, tmp_path: Path
) -> None:
    lines = "".join(f"{number},{text},The answer is here.\n" for number in range(20))
    assert find_encoding(written(tmp_path / "x.csv", lines.encode(encoding))) == (encoding, word)


def test_utf_8_has_no_other_encoding(tmp_path: Path) -> None:
    assert find_encoding(written(tmp_path / "x.csv", "Où,b\n".encode("utf-8-sig"))) == ("", "")
    assert find_encoding(written(tmp_path / "x.csv", ("é" * (1 << 20)).encode())) == ("", "")
    assert find_encoding(written(tmp_path / "x.csv", "é,b\n".encode("utf-16"))) == ("utf-16", "")


def test_a_nul_byte_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds a NUL byte, so it is no text"):
        find_encoding(written(tmp_path / "x.csv", b"a,b\n\0,c\n"))


# workbooks


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_holds_the_same_cases(tmp_path: Path) -> None:
    path = workbook(tmp_path / "rows.xlsx", {"labels": [[], HEADER, *ROWS, []], "notes": [["x"]]})
    assert texts(list(read_cases(path))) == WANTED
    assert sheet_names(path) == ["labels", "notes"]


def test_cells_are_texts_as_in_csv(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"s": [["a", "b", "c", "d"], [3.0, True, 2.5]]})
    assert list(parsed_rows(str(path))) == [(2, {"a": "3", "b": "true", "c": "2.5", "d": ""}, "")]


def test_another_sheet_is_read_by_its_name(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", {"notes": [["x"], ["y"]], "labels": [HEADER, *ROWS]})
    assert texts(list(read_cases(path, layout=Layout(sheet="labels")))) == WANTED
    with pytest.raises(DataError, match="has no sheet 'label'. Its sheets are notes, labels."):
        list(read_cases(path, layout=Layout(sheet="label")))


def broken_xlsx(path: Path) -> Path:
    whole = workbook(path, {"s": [HEADER, *ROWS]}).read_bytes()
    return written(path, whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"query,label\n", "is no Excel workbook"),
        (b"", "is no Excel workbook"),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "is a workbook of before 2007, or has a password"),
        (None, "is no Excel workbook"),
    ],
)
def test_what_is_no_workbook_is_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    if content is None:
        broken_xlsx(path)
    else:
        written(path, content)
    with pytest.raises(DataError, match=f"x.xlsx: {message}.*save it again"):
        list(read_cases(path))


def test_a_workbook_with_two_columns_of_one_name_or_cells_beside_them_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='2 columns are called "a"'):
        list(read_cases(workbook(tmp_path / "x.xlsx", {"s": [["a", "a"], ["x", "y"]]})))
    path = workbook(tmp_path / "y.xlsx", {"s": [["a", "b"], ["x", "y", "z"]]})
    ((_, _, problem),) = parsed_rows(str(path))
    assert problem == "field 'row' is [\"z\"]. It has no name above it."


# JSON


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.json.gz"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "arranged",
    [
        lambda rows: rows,
        lambda rows: {"data": rows, "meta": {"page": 1}},
        lambda rows: {"columns": HEADER, "data": [list(row.values()) for row in rows]},
        lambda rows: {name: [row[name] for row in rows] for name in HEADER},
    ],
    ids=["array", "wrapped", "split", "by column"],
)
def test_json_may_be_one_array_or_one_object(name: str, indent: int | None, arranged: Any, tmp_path: Path) -> None:
    content = json.dumps(arranged(DICTS), indent=indent).encode()
    path = written(tmp_path / name, gzip.compress(content) if name.endswith(".gz") else content)
    assert texts(list(read_cases(path))) == WANTED


def test_one_row_with_lists_stays_one_row(tmp_path: Path) -> None:
    row = {"query": "q", "options": ["x", "y"], "label": 1}
    assert len(list(read_cases(written(tmp_path / "x.json", json.dumps(row, indent=1))))) == 1


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_elements_of_an_array_do_not_depend_on_the_parts(size: int) -> None:
    values = [{"a": [1, "]},"]}, 12345, -1.5e3, "ü\n", None, [], {}, True]
    text = json.dumps(values, indent=1, ensure_ascii=False)
    assert list(json_elements(text[start : start + size] for start in range(0, len(text), size))) == values
    assert list(json_elements([" [ ] "])) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is not a JSON array"),
        ('[{"a": 1}, {"b": ', "element 2"),
        ('[{"a": 1} {"b": 2}]', "a comma is missing after element 1"),
        ("[1, nope]", "in element 2"),
        ('[{"a": 1, "a": 2}]', 'the key "a" is there twice'),
        ("[1, 2", "it ends in element"),
    ],
)
def test_a_broken_array_names_the_element(text: str, message: str) -> None:
    with pytest.raises(JsonError, match=message):
        list(json_elements([text]))


def test_an_array_that_breaks_off_is_named_with_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", json.dumps(DICTS)[:-20])
    with pytest.raises(DataError, match=r"x.json: .*element 2.* Export it again"):
        list(read_cases(path))


# layouts


def test_several_columns_are_votes_and_their_words_are_mapped(tmp_path: Path) -> None:
    rows = [
        "q,x,y,anna,ben,chloe",
        "how,1,2,answer_A,Answer_a,both good",
        "who,1,2,answer_B,,skip",
        "why,1,2,answer_B,answer_A,",
    ]
    path = written(tmp_path / "x.csv", "\n".join(rows) + "\n")
    fields = {"query": "q", "response_a": "x", "response_b": "y", "votes": "anna+ben+chloe"}
    values = {"answer_a": "a", "answer_B": "b", "both good": "tie", "skip": ""}
    cases = list(read_cases(path, fields=fields, layout=Layout(values=values)))
    assert [[vote.answer for vote in case.votes] for case in cases] == [["a", "a", "tie"], ["b"], ["b", "a"]]
    assert [case.label and case.label.answer for case in cases] == ["a", "b", None]


def test_a_column_with_a_plus_in_its_name_is_one_column(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", "a+b,query,label\nyes,q,pass\nno,q,fail\n")
    assert [case.candidates[0].text for case in read_cases(path, fields={"response": "a+b"})] == ["yes", "no"]


def test_rows_of_annotators_are_joined(tmp_path: Path) -> None:
    rows = [
        f"{item},{who},q{item},x,y,{label}" for who, label in zip("pqr", ["A", "B", "A"], strict=True) for item in "12"
    ]
    path = written(tmp_path / "x.csv", "\n".join(["item,who,query,response_a,response_b,label", *rows]) + "\n")
    layout = Layout(join=("item",))
    cases = list(read_cases(path, fields={"id": "item"}, layout=layout))
    assert [(case.id, [vote.answer for vote in case.votes], case.label and case.label.answer) for case in cases] == [
        ("1", ["a", "b", "a"], "a"),
        ("2", ["a", "b", "a"], "a"),
    ]


def test_a_value_inside_an_object_is_a_column(tmp_path: Path) -> None:
    row = {"inputs": {"question": "q"}, "outputs": json.dumps({"answer": {"text": "x"}}), "label": "pass"}
    path = written(tmp_path / "x.jsonl", json.dumps(row) + "\n" + json.dumps(row | {"label": "fail"}) + "\n")
    fields = {"query": "inputs.question", "response": "outputs.answer.text"}
    assert [(case.query, case.candidates[0].text) for case in read_cases(path, fields=fields)] == [("q", "x")] * 2


def test_a_field_of_no_column_is_an_empty_text(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", "response,label\nx,pass\ny,fail\n")
    assert [case.query for case in read_cases(path, fields={"query": ""})] == ["", ""]


def test_a_chosen_text_becomes_either_side(tmp_path: Path) -> None:
    rows = "".join(f"q,good {number},bad {number}\n" for number in range(200))
    cases = list(read_cases(written(tmp_path / "x.csv", "query,chosen,rejected\n" + rows)))
    winners = [case.label.answer for case in cases if case.label]
    assert 70 < winners.count("a") < 130  # 200 coins: .5 +- 4 standard errors
    assert all(case.candidates["ab".index(str(winner))].text.startswith("good") for case, winner in zip(cases, winners))  # noqa: B905


def test_a_misspelt_column_is_every_rows_error(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", table(","))
    with pytest.raises(DataError, match="field 'fields' is \"prompt\". The rows have no such column"):
        list(read_cases(path, fields={"query": "prompt"}))
    with Rejects(tmp_path / "rejects") as rejects:
        assert list(read_cases(path, fields={"query": "prompt"}, rejects=rejects)) == []
        assert rejects.count == 2
