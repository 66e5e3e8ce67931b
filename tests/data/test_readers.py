"""Reading files and data sets: every format, ids, mappings, and errors that name file, line, field and value."""

import csv
import gzip
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dicast.data import Case, Persona, Rejects, Reviewer, Scores, Winner, read_cases
from dicast.data.readers import ENDINGS, file_digest
from dicast.errors import DataError

MEANS = "which it means, as in --values {}."
PAIR: dict[str, Any] = {"query": "Say hello.", "response_a": "Hello.", "response_b": "Good day.", "label": "b"}
TEXT: dict[str, Any] = {"query": "Say hello.", "response": "Hello.", "score": 3}
CHOICE: dict[str, Any] = {"query": "Where?", "options": ["a grill", "a bean bar", "a pub"], "preference": "no meat"}
REVIEW: dict[str, Any] = TEXT | {"reviewer": "r1", "reviews": [{"text": "A heist.", "comment": "Dull.", "score": 3}]}
TAKEN = Case(id="made/1", query="q", candidates=[{"text": "x"}], label={"values": [2], "lo": 1, "hi": 5})
SHAPES: list[dict[str, Any]] = [PAIR, TEXT, CHOICE, REVIEW, TAKEN.model_dump(mode="json")]


def written(path: Path, *rows: object) -> Path:
    """A file of lines: objects as JSON, text and bytes as they are; gzipped when the name says so."""
    lines = [
        row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode() for row in rows
    ]
    content = b"".join(line + b"\n" for line in lines)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def csv_file(path: Path, *rows: dict[str, Any]) -> Path:
    """A CSV file as spreadsheets write it: a byte order mark, CRLF, lists and objects as JSON in their cells."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        for row in rows:
            writer.writerow({k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()})
    return path


def parquet_file(path: Path, *rows: dict[str, Any]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = dict.fromkeys(name for row in rows for name in row)
    whole = [{name: row.get(name) for name in names} for row in rows]  # every column in the first row, which names them
    parquet.write_table(pyarrow.Table.from_pylist(whole), path, row_group_size=1000)
    return path


def read(path: object, **options: Any) -> list[Case]:
    return list(read_cases(str(path), **options))


def refusal(path: object, **options: Any) -> str:
    """What is said of a file that cannot be read; the path is cut to the file's name."""
    with pytest.raises(DataError) as caught:
        read(path, **options)
    return str(caught.value).replace(f"{Path(str(path)).parent}/", "")


# formats


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.json", "rows.ndjson", "rows.json.gz"])
def test_lines_of_json_are_cases_of_all_shapes(name: str, tmp_path: Path) -> None:
    pair, text, choice, review, taken = read(written(tmp_path / name, *SHAPES))
    assert (pair.is_pair, pair.label) == (True, Winner(value="b"))
    assert text.label == Scores(values=(3,), lo=1, hi=5)
    assert [candidate.text for candidate in choice.candidates] == CHOICE["options"]
    assert isinstance(review.profile, Reviewer)
    assert taken == TAKEN


@pytest.mark.parametrize("row", [PAIR | {"votes": ["a", "b"]}, TEXT | {"scale": [0, 9]}, CHOICE | {"label": 1}, REVIEW])
def test_csv_and_parquet_hold_the_same_cases_as_jsonl(row: dict[str, Any], tmp_path: Path) -> None:
    row = row | {"id": "same", "group": "g"}
    (expected,) = read(written(tmp_path / "rows.jsonl", row))
    assert read(csv_file(tmp_path / "rows.csv", row)) == [expected]
    assert read(parquet_file(tmp_path / "rows.parquet", row)) == [expected]


def test_a_gzipped_csv_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(csv_file(tmp_path / "rows.csv", PAIR).read_bytes()))
    assert read(path) == read(tmp_path / "rows.csv")


def test_a_persona_may_be_json_in_a_cell(tmp_path: Path) -> None:
    (case,) = read(csv_file(tmp_path / "rows.csv", PAIR | {"persona": {"age": "30"}}))
    assert case.profile == Persona(features={"age": "30"})


def test_a_cell_may_hold_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    text = 'He said "one, two",\nand left.\n\n  ünï  '
    (case,) = read(csv_file(tmp_path / "rows.csv", TEXT | {"response": text}))
    assert case.candidates[0].text == text


def test_a_cell_may_be_longer_than_the_csv_default(tmp_path: Path) -> None:
    (case,) = read(csv_file(tmp_path / "rows.csv", TEXT | {"response": "x" * 200_000}))
    assert len(case.candidates[0].text) == 200_000


def test_a_json_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert len(read(written(tmp_path / "rows.jsonl", b"\xef\xbb\xbf" + json.dumps(TEXT).encode(), TEXT))) == 2


def test_a_line_separator_in_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    odd = "a\u2028b\x85c\x0bd"
    path = written(tmp_path / "rows.jsonl", json.dumps(TEXT | {"response": odd}, ensure_ascii=False))
    assert [case.candidates[0].text for case in read(path)] == [odd]


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", "", TEXT, "  \t", TEXT)
    assert [case.id for case in read(path)] == ["rows:2", "rows:4"]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv"])
def test_an_empty_file_has_no_cases(name: str, tmp_path: Path) -> None:
    assert read(written(tmp_path / name)) == []


def test_parquet_rows_are_read_across_batches(tmp_path: Path) -> None:
    rows = [TEXT | {"response": str(number)} for number in range(2500)]
    cases = read(parquet_file(tmp_path / "rows.parquet", *rows))
    assert [case.candidates[0].text for case in cases] == [str(number) for number in range(2500)]
    assert cases[-1].id == "rows:2500"


def test_rows_are_read_only_as_they_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", TEXT, TEXT, "broken")
    assert len(list(itertools.islice(read_cases(path), 2))) == 2


# a data set of the Hugging Face library, from a folder


@pytest.fixture
def hub_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("datasets", reason="needs the extra 'data'")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "some-set"
    folder.mkdir()
    written(folder / "train.jsonl", PAIR, PAIR | {"label": "tie"})
    written(folder / "test.jsonl", PAIR | {"label": "a"})
    return folder


def from_hub(name: str) -> list[Case]:
    try:
        return read(f"hf:{name}")
    except DataError as error:
        if re.search(r"Connection|offline|Timeout", str(error)):
            pytest.skip(f"the datasets library wants the network even for a folder: {error}")
        raise


def test_a_folder_of_the_hub_library_is_read(hub_folder: Path) -> None:
    cases = from_hub(str(hub_folder))
    assert [case.label for case in cases] == [Winner(value="b"), Winner(value="tie")]
    assert [case.id for case in cases] == [f"{hub_folder}:1", f"{hub_folder}:2"]


def test_a_split_of_the_hub_library_is_named_after_a_colon(hub_folder: Path) -> None:
    (case,) = from_hub(f"{hub_folder}:test")
    assert (case.id, case.label) == (f"{hub_folder}:test:1", Winner(value="a"))


def test_a_split_that_is_not_there_is_named(hub_folder: Path) -> None:
    with pytest.raises(DataError, match=r"hf:.*:valid after row 0: the data set cannot be read \(.*valid"):
        from_hub(f"{hub_folder}:valid")


def test_a_bad_row_of_the_hub_library_is_named(hub_folder: Path) -> None:
    written(hub_folder / "train.jsonl", PAIR, PAIR | {"label": "best"})
    with pytest.raises(DataError, match=r'some-set line 2: field \'label\' is "best"\. Use a, b or tie, or say'):
        from_hub(str(hub_folder))


# ids


def test_a_row_without_an_id_is_named_by_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.jsonl.gz", PAIR, PAIR | {"id": "mine"}, PAIR)
    assert [case.id for case in read(path)] == ["pairs:1", "mine", "pairs:3"]


def test_a_csv_row_without_an_id_is_named_by_its_last_line(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "rows.csv", TEXT | {"response": "one\ntwo"}, TEXT)
    assert [case.id for case in read(path)] == ["rows:3", "rows:4"]


def test_an_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", PAIR | {"id": "x"}, PAIR | {"id": "y"}, PAIR | {"id": "x"})
    assert refusal(path) == (
        "rows.jsonl line 3: field 'id' is \"x\". An earlier row has the same id; ids must be unique."
    )


def test_an_id_given_is_not_taken_again_by_a_row_without_one(tmp_path: Path) -> None:
    assert "line 2: field 'id' is \"rows:2\"" in refusal(
        written(tmp_path / "rows.jsonl", PAIR | {"id": "rows:2"}, PAIR)
    )


# mapping and scale


def test_columns_are_renamed(tmp_path: Path) -> None:
    row = {"prompt": "Say hello.", "chosen": "Hello.", "rejected": "No.", "verdict": "a", "uid": 9}
    names = {"query": "prompt", "response_a": "chosen", "response_b": "rejected", "label": "verdict", "id": "uid"}
    (case,) = read(written(tmp_path / "rows.jsonl", row), fields=names)
    assert (case.id, case.query, case.label) == ("9", "Say hello.", Winner(value="a"))
    assert [candidate.text for candidate in case.candidates] == ["Hello.", "No."]


def test_a_renamed_column_goes_before_one_of_our_name(tmp_path: Path) -> None:
    (case,) = read(written(tmp_path / "rows.jsonl", TEXT | {"gold": 5}), fields={"score": "gold"})
    assert case.label == Scores(values=(5,), lo=1, hi=5)


def test_two_columns_can_be_exchanged(tmp_path: Path) -> None:
    names = {"response_a": "response_b", "response_b": "response_a"}
    (case,) = read(written(tmp_path / "rows.jsonl", PAIR), fields=names)
    assert [candidate.text for candidate in case.candidates] == ["Good day.", "Hello."]


def test_a_renamed_text_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", {"query": "q"})
    assert refusal(path, fields={"response": "answer"}) == (
        "rows.jsonl line 1: field 'fields' is \"answer\". The rows have no such column; theirs are query."
    )


def test_the_scale_given_holds_for_rows_that_name_none(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", TEXT | {"score": 70}, TEXT | {"score": 7, "scale": [0, 9]})
    labels = [case.label for case in read(path, scale=(0, 100))]
    assert labels == [Scores(values=(70,), lo=0, hi=100), Scores(values=(7,), lo=0, hi=9)]


# what cannot be read


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            PAIR | {"label": "best"},
            "field 'label' is \"best\". Use a, b or tie, or say which it means, as in --values best=a.",
        ),
        (
            TEXT | {"score": 9},
            "field 'score' is 9. Score 9 is not on the scale 1..5; give the scale with --scale LO..HI.",
        ),
        (CHOICE | {"label": 5}, "field 'label' is 5. Give the index of an option, 0..2."),
        (
            REVIEW | {"persona": "A cook."},
            "field 'reviewer' is \"r1\". The row also has 'persona'; a case is judged for one person.",
        ),
    ],
)
@pytest.mark.parametrize("write", [written, csv_file, parquet_file])
def test_a_bad_row_names_file_line_field_and_value(
    write: Any, row: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    good = {name: value for name, value in row.items() if name not in ("label", "score", "persona")}
    path = write(tmp_path / {written: "r.jsonl", csv_file: "r.csv", parquet_file: "r.parquet"}[write], good, row)
    shown = expected.replace("is 9.", 'is "9".').replace("is 5.", 'is "5".') if write is csv_file else expected
    assert refusal(path) == f"{path.name} line {3 if write is csv_file else 2}: {shown}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"[1, 2]", "the line is a JSON list, not an object. Write one JSON object a line."),
        (b'"text"', "the line is a JSON text, not an object. Write one JSON object a line."),
        (b"null", "the line is a JSON null, not an object. Write one JSON object a line."),
        (b'{"query": }', "is not JSON (Expecting value, column 11). Write one JSON object a line."),
        (b'{"query": "\xff"}', "byte 11 (0xff, 'ÿ' in Latin-1) is not UTF-8. Save the file as UTF-8."),
        (b"\xff{}", "byte 0 (0xff, 'ÿ' in Latin-1) is not UTF-8. Save the file as UTF-8."),
    ],
)
def test_a_line_that_is_no_row_is_named(line: bytes, expected: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path / "rows.jsonl", PAIR, line, PAIR)) == f"rows.jsonl line 2: {expected}"


def test_a_file_that_is_not_there_says_what_may_be_given(tmp_path: Path) -> None:
    assert refusal(tmp_path / "rows.jsonl") == (
        f"rows.jsonl: there is no such file. Give a {ENDINGS} file, hf:NAME or a catalogue name."
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("name", "ending"), [("rows.txt", ".txt"), ("rows.txt.gz", ".txt"), ("rows", ""), ("r.gz", "")]
)
def test_an_ending_that_nobody_knows_is_named(name: str, ending: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path / name, PAIR)) == (
        f"{name}: the ending {ending!r} is not known. Use {ENDINGS} (.gz may follow)."
    )


def test_a_file_that_only_says_it_is_gzipped_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_text(json.dumps(PAIR))
    assert refusal(path) == "rows.jsonl.gz: not a whole gzip file (Not a gzipped file (b'{\"')). Copy it again."


def test_a_gzip_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl.gz", *[PAIR | {"id": str(number)} for number in range(100)])
    path.write_bytes(path.read_bytes()[:-20])
    assert refusal(path).startswith("rows.jsonl.gz: not a whole gzip file (Compressed file ended before")


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    assert refusal(written(tmp_path / "rows.parquet", PAIR)).startswith("rows.parquet: not a Parquet file (")


def test_a_csv_row_that_ends_early_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "query,response", "q,x", "q")
    assert (
        refusal(path)
        == "rows.csv line 3: the row has 1 cells, the header 2. Write a cell for each column; it may be empty."
    )


def test_a_csv_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "query,response", "q,caf\xe9".encode("latin-1"))
    assert refusal(path) == "rows.csv line 2: byte 5 (0xe9, 'é' in Latin-1) is not UTF-8. Save it as CSV in UTF-8."


# rejects


@pytest.fixture
def rejects(tmp_path: Path) -> Iterator[Rejects]:
    with Rejects(tmp_path / "rejects.jsonl") as made:
        yield made


def rejected(rejects: Rejects) -> list[dict[str, Any]]:
    rejects.__exit__(None, None, None)
    return [json.loads(line) for line in rejects.path.read_text(encoding="utf-8").splitlines()]


def test_bad_rows_are_written_beside_their_line_and_error(tmp_path: Path, rejects: Rejects) -> None:
    bad = PAIR | {"label": "beß"}
    cases = read(written(tmp_path / "rows.jsonl", PAIR, bad, PAIR), rejects=rejects)
    assert [case.id for case in cases] == ["rows:1", "rows:3"]
    assert rejected(rejects) == [
        {
            "line": 2,
            "error": "field 'label' is \"beß\". Use a, b or tie, or say which it means, as in --values 'beß=a'.",
            "row": bad,
        }
    ]


def test_lines_that_are_no_rows_are_rejected_unchanged(tmp_path: Path, rejects: Rejects) -> None:
    read(written(tmp_path / "rows.jsonl", "{broken", "[1]", b"\xff", PAIR), rejects=rejects)
    assert [line["row"] for line in rejected(rejects)] == ["{broken", "[1]", "\ufffd"]
    assert (rejects.count, rejects.first.partition(":")[0]) == (3, "line 1")


def test_a_row_that_repeats_an_id_is_rejected(tmp_path: Path, rejects: Rejects) -> None:
    cases = read(written(tmp_path / "rows.jsonl", PAIR | {"id": "x"}, TEXT | {"id": "x"}), rejects=rejects)
    assert ([case.id for case in cases], rejects.count) == (["x"], 1)
    assert rejects.first == "line 2: field 'id' is \"x\". An earlier row has the same id; ids must be unique."


def test_a_rejected_row_does_not_use_up_its_id(tmp_path: Path, rejects: Rejects) -> None:
    path = written(tmp_path / "rows.jsonl", PAIR | {"id": "x", "label": "best"}, PAIR | {"id": "x"})
    assert [case.id for case in read(path, rejects=rejects)] == ["x"]


def test_every_row_is_a_case_or_a_reject(tmp_path: Path, rejects: Rejects) -> None:
    rows = [PAIR | {"label": "a" if number % 3 else "?"} for number in range(50)]
    path = csv_file(tmp_path / "rows.csv", *rows)
    assert len(read(path, rejects=rejects)) + rejects.count == 50
    assert len(rejected(rejects)) == rejects.count == 17


def test_without_a_bad_row_there_is_no_rejects_file(tmp_path: Path, rejects: Rejects) -> None:
    read(written(tmp_path / "rows.jsonl", PAIR), rejects=rejects)
    assert not rejects.path.exists()


def test_rejects_do_not_excuse_a_file_that_cannot_be_read(tmp_path: Path, rejects: Rejects) -> None:
    assert "there is no such file" in refusal(tmp_path / "rows.jsonl", rejects=rejects)


def test_a_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    # FIPS 180-2, appendix B.1: SHA-256 of "abc"
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


# known defects


@pytest.mark.parametrize("line", [pytest.param("[" * 200_000, id="deep"), pytest.param("1" * 5000, id="long number")])
def test_a_line_that_python_cannot_parse_is_named(line: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path / "rows.jsonl", line)).startswith("rows.jsonl line 1: ")


def test_a_gzip_file_that_is_damaged_within_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl.gz", *[PAIR | {"id": str(number * 7919)} for number in range(500)])
    content = bytearray(path.read_bytes())
    content[60:200] = bytes(byte ^ 0x55 for byte in content[60:200])
    path.write_bytes(content)
    assert refusal(path).startswith("rows.jsonl.gz: not a whole gzip file (")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"query,response\n", id="plain"),
        pytest.param(gzip.compress(b"query,response\nq,x\n")[:-6], id="cut off"),
    ],
)
def test_a_csv_that_is_no_whole_gzip_file_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(content)
    assert refusal(path).startswith("rows.csv.gz: not a whole gzip file (")


def test_a_csv_line_that_is_not_utf8_is_named_by_its_number(tmp_path: Path) -> None:
    assert "line 3" in refusal(written(tmp_path / "rows.csv", "query,response", "q,x", b"q,\xff"))


def test_a_csv_row_with_too_many_cells_is_refused(tmp_path: Path) -> None:
    assert "line 2" in refusal(written(tmp_path / "rows.csv", "query,response", "q,a text, cut at its comma"))


def test_a_renamed_column_that_no_row_has_is_named(tmp_path: Path) -> None:
    assert "raiting" in refusal(written(tmp_path / "rows.jsonl", TEXT), fields={"score": "raiting"})


def test_a_text_that_cannot_be_written_as_utf8_is_named(tmp_path: Path) -> None:
    assert "line 1" in refusal(written(tmp_path / "rows.jsonl", TEXT | {"query": "\ud83d"}))


def test_a_data_set_that_breaks_while_it_is_read_is_named(hub_folder: Path) -> None:
    written(hub_folder / "train.jsonl", PAIR, "{broken")
    with pytest.raises(DataError, match="some-set"):
        from_hub(str(hub_folder))
