"""`dicast init`: three users' files, from the export to a project that every verb reads."""

import csv
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from dicast.cli import run
from dicast.testing import MockServer

N = 30
ASKED = [f"How do I change the address of order {number}?" for number in range(N // 2)] * 2


def rows_of(kind: str, count: int = N) -> list[dict[str, Any]]:
    generator = random.Random(3)
    rows = []
    for number in range(count):
        row: dict[str, Any] = {
            "ticket": f"T{number}",
            "channel": "mail" if number % 3 else "chat",
            "question": ASKED[number % N] + "!" * (number // N),
        }
        texts = [f"Open the settings, says reply {number}{side}." for side in "AB"]
        if kind == "passfail":
            rows.append(row | {"answer": texts[0], "verdict": generator.choice(["Pass", "Fail"])})
            continue
        row |= {"answer_A": texts[0], "answer_B": texts[1]}
        words = [generator.choice(["answer_A", "answer_B", "both good"]) for _ in range(3)]
        if kind == "long":
            rows += [row | {"worker": name, "choice": word} for name, word in zip("xyz", words, strict=True)]
        else:
            rows.append(row | dict(zip(("anna", "ben", "chloe"), words, strict=True)))
    return rows


def write(path: Path, rows: list[dict[str, Any]], *, mark: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=mark)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def saved(folder: Path, kind: str) -> Path:
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for cells in ([*rows_of("wide")[0]], *([*row.values()] for row in rows_of("wide"))):
            book.active.append(cells)
        book.save(folder / "support.xlsx")
        return folder / "support.xlsx"
    if kind == "excel csv":
        rows = [row | {"question": row["question"] + " – später"} for row in rows_of("wide")]
        return write(folder / "support.csv", rows, mark=";", encoding="cp1252")
    return write(folder / "support.csv", rows_of(kind))


WRITTEN = {
    "wide": ["votes = ", '"answer_A" = "a"', '"both good" = "tie"', 'id = "ticket"'],
    "excel csv": ['encoding = "cp1252"'],
    "xlsx": ['data = "support.xlsx"'],
    "long": ['join = ["ticket"]', 'label = "choice"'],
    "passfail": ['response = "answer"', 'label = "verdict"'],
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_users_file_goes_from_init_to_check_and_judge(
    kind: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(folder, kind)
    assert run(["init", path.name]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"cases: {N:,}; labels: " in out
    assert "groups: 15, by equal query" in out
    assert ("all agree in" in out) == (kind != "passfail")
    text = (folder / "dicast.toml").read_text(encoding="utf-8")
    for line in WRITTEN[kind]:
        assert line.replace('"answer_A"', "answer_A") in text
    assert run(["judge", "--judge", "majority", "--out", "runs/first"]) == 0
    assert f"dicast.toml: --cases {path.name}" in capsys.readouterr().err
    assert run(["evaluate", "runs/first", "--by", "channel", "--json"]) == 0
    evaluation = json.loads(capsys.readouterr().out)["evaluation"]
    assert evaluation["cases"] == N


@pytest.mark.slow
def test_three_commands_make_a_judge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder / "support.csv", rows_of("wide", 90))
    with MockServer() as server:
        model = f"openai/init@{server.url}"
        assert run(["init", path.name, "--lm", model]) == 0
        assert run(["check"]) in (0, 3)  # 3 where an extra or the default model is not installed
        assert "labels: " in capsys.readouterr().out
        assert run(["compile", "direct", "--trials", "0", "--set", "evidence="]) in (0, 1, 2)
    err = capsys.readouterr().err
    assert f"dicast.toml: --lm {model}" in err
    assert (folder / "compiled" / "direct-support" / "direct.judge.json").exists()


def test_what_is_given_wins_over_the_project(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", saved(folder, "wide").name]) == 0
    other = write(folder / "new.csv", [{"question": "q", "answer_A": "x", "answer_B": "yy", "ticket": "n"}])
    capsys.readouterr()
    assert run(["judge", "--judge", "longer", "--cases", other.name, "--out", "runs/new"]) == 0
    assert "dicast.toml: new.csv has the columns of support.csv and is read in the same way" in capsys.readouterr().err
    write(folder / "pairs.csv", [{"query": "q", "response_a": "x", "response_b": "yy", "label": "a"}])
    assert run(["judge", "--judge", "longer", "--cases", "pairs.csv", "--out", "runs/pairs"]) == 0
    assert "dicast.toml" not in capsys.readouterr().err
    assert run(["judge", "--judge", "longer", "--fields", "query=channel", "--limit", "2", "--out", "runs/other"]) == 0
    manifest = json.loads((folder / "runs/other/manifest.json").read_text())
    assert (manifest["source"]["fields"]["query"], manifest["source"]["fields"]["response_a"]) == (
        "channel",
        "answer_A",
    )


def test_cases_come_from_a_pipe(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"prompt": "q", "response_a": "x", "response_b": "yy", "label": "2"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    options = ["--fields", "query=prompt", "--values", "1=a,2=b", "--out", "runs/piped"]
    assert run(["judge", "--judge", "longer", "--cases", "-", *options]) == 0
    (line,) = (folder / "runs/piped/verdicts.jsonl").read_text().splitlines()
    assert json.loads(line)["label"]["value"] == "b"


# questions


def ambiguous(folder: Path) -> Path:
    rows = [
        {"question": ASKED[n], "answer_a": f"Yes, do that {n}.", "answer_b": f"No, never {n}.", "label": n % 3}
        for n in range(N)
    ]
    return write(folder / "numbers.csv", rows)


def test_two_equal_readings_are_refused_with_a_line_for_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", ambiguous(folder).name]) == 3
    out, err = capsys.readouterr()
    lines = [line.strip() for line in err.splitlines() if line.startswith("    dicast init")]
    assert (out, len(lines), (folder / "dicast.toml").exists()) == ("", 2, False)
    assert run(lines[1].split()[1:]) == 0
    assert '0 = "a"\n1 = "b"\n2 = "tie"' in (folder / "dicast.toml").read_text()
    capsys.readouterr()
    assert run(["init", "numbers.csv", "--force", "--json"]) == 3
    assert len(json.loads(capsys.readouterr().out)["answers"]) == 2


class Terminal(io.StringIO):
    """Standard input or output that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ambiguous(folder)
    monkeypatch.setattr(sys, "stdin", Terminal("7\n2\n"))
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert run(["init", path.name]) == 0
    assert '2 = "tie"' in (folder / "dicast.toml").read_text()


def test_a_terminal_that_ends_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ambiguous(folder)
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert run(["init", path.name]) == 3
    assert not (folder / "dicast.toml").exists()


# what is wrong


def bad_file(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return name


HEADER = b"question,answer_A,answer_B,preferred\n"
GOOD = b"".join(f"How is it {n}?,It is good {n}.,It is bad {n}.,answer_{'AB'[n % 2]}\n".encode() for n in range(20))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty. Export it again."),
        ("a.csv", HEADER, "there is no row"),
        ("a.csv", b"text\nhello there\n", "1 with values (text)"),
        ("a.csv", HEADER.replace(b"answer_B", b"answer_A") + GOOD, '2 columns are called "answer_A"'),
        ("a.csv", HEADER + GOOD.replace(b"good 3", b"go\0od 3"), "holds a NUL byte, so it is no text"),
        ("a.xlsx", b"PK\x03\x04 nothing", "is no Excel workbook"),
        ("a.xls", b"\xd0\xcf\x11\xe0", "the ending '.xls' is not known"),
        ("a.json", b'[{"question": "q", ', "element 1"),
        ("a.jsonl", b"{not json\n", "there is no row"),
        ("a.txt", b"x", "the ending '.txt' is not known"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_and_exit_3(
    name: str, content: bytes, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", bad_file(folder, name, content)]) == 3
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert err.startswith(f"dicast: {name}")
    assert message in err
    assert not (folder / "dicast.toml").exists()


def test_a_file_that_is_not_there_and_a_folder_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "nothing.csv"]) == 3
    assert "nothing.csv: there is no such file" in capsys.readouterr().err
    (folder / "data.csv").mkdir()
    assert run(["init", "data.csv"]) == 3
    assert "data.csv: is a folder" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named_before_the_project_that_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "dicast.toml").write_text("data = 'mine'\n")
    assert run(["init", "nothing.csv"]) == 3
    assert capsys.readouterr().err.startswith("dicast: nothing.csv: there is no such file. Give a .csv")


def test_ragged_rows_are_counted_and_the_first_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad_file(folder, "a.csv", HEADER + GOOD + b"How?,Yes.\n" + b"What, when?,Yes.,No.,answer_A\n")
    assert run(["init", "a.csv"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "bad: 2 rows cannot be read, line 22: the row has 2 cells, the header 4." in out
    assert "cases: 20;" in out
    assert run(["judge", "--judge", "longer"]) == 3
    assert run(["judge", "--judge", "longer", "--skip-bad"]) == 0


def test_a_byte_order_mark_is_no_part_of_a_name(folder: Path) -> None:
    bad_file(folder, "a.csv", b"\xef\xbb\xbf" + HEADER + GOOD)
    assert run(["init", "a.csv"]) == 0
    assert 'query = "question"' in (folder / "dicast.toml").read_text()


def test_a_project_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad_file(folder, "a.csv", HEADER + GOOD)
    (folder / "dicast.toml").write_text("data = 'mine'\n")
    assert run(["init", "a.csv"]) == 3
    assert "dicast.toml: exists in this folder. --force" in capsys.readouterr().err
    assert run(["init", "a.csv", "--dry-run"]) == 0
    assert 'label = "preferred"' in capsys.readouterr().out
    assert (folder / "dicast.toml").read_text() == "data = 'mine'\n"
    assert run(["init", "a.csv", "--force"]) == 0
    assert "mine" not in (folder / "dicast.toml").read_text()


def test_without_cases_and_project_a_verb_says_how_to_begin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", "--judge", "longer"]) == 3
    err = capsys.readouterr().err
    assert "Missing option '--cases'" in err
    assert "dicast init FILE" in err


def test_the_screen_fits_80_columns(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dicast.cli import render

    monkeypatch.setattr(render.console, "width", 80)
    assert run(["init", saved(folder, "wide").name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", saved(folder, "passfail").name, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["written"], result["kind"]) == (True, "categories")
    assert result["project"]["fields"] == {
        "response": "answer",
        "query": "question",
        "label": "verdict",
        "id": "ticket",
    }
    assert result["labelled"]["cases"] == N
