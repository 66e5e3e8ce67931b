"""docs/init.md and `dicast export`: the page's commands run, one after the other; a table holds the run."""

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from dicast.cli import run
from dicast.testing import MockServer
from dicast.workflows.project import Project

PAGE = (Path(__file__).parents[2] / "docs" / "init.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def rows() -> list[dict[str, Any]]:
    row = {"channel": "=1+1"}
    return [
        {"ticket": f"T{n}", **row, "question": f"How, asks {n // 2}?"}
        | {"answer_A": f"So it is {n}.", "answer_B": f"It is not {n}.", "best": "answer_" + "AB"[n % 2]}
        for n in range(60)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    with Path("support.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows()[0]))
        writer.writeheader()
        writer.writerows(rows())
    return tmp_path


@pytest.mark.slow
def test_the_commands_of_the_page_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MockServer() as server:
        for line in COMMANDS:
            command = shlex.split(line)[1:]
            asks = ["--lm", f"openai/page@{server.url}"] if command[0] == "compile" else []
            assert run([*command, *asks]) in ((0, 1, 2, 3) if command[0] in ("check", "compile") else (0,)), line
    assert "Traceback" not in capsys.readouterr().err


def test_the_page_names_every_key_of_the_project() -> None:
    table = PAGE.partition("## dicast.toml")[2]
    named = set(re.findall(r"`\[?(\w+)\]?`", table.partition("Options on")[0]))
    assert set(Project.model_fields) <= named


@pytest.fixture
def judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["init", "support.csv"]) == 0
    assert run(["judge", "--judge", "longer", "--out", "runs/longer"]) == 0
    capsys.readouterr()
    return folder


def wanted() -> list[tuple[str, str, str, str]]:
    return [(row["ticket"], row["question"], row["answer_A"], "ab"[row["best"] == "answer_B"]) for row in rows()]


def seen(table: list[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    return [(row["case_id"], row["query"], row["response_a"], row["label"]) for row in table]


def test_a_table_holds_verdicts_and_texts_in_every_format(judged: Path) -> None:
    for name in ("x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.xlsx"):
        assert run(["export", "runs/longer", "--out", name]) == 0
    with Path("x.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert seen(table) == wanted()
    assert {row["channel"] for row in table} == {"'=1+1"}  # a spreadsheet program would compute it
    with Path("x.tsv").open(encoding="utf-8-sig", newline="") as file:
        assert seen(list(csv.DictReader(file, delimiter="\t"))) == wanted()
    lines = [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]
    assert seen(lines) == wanted()
    assert lines[0]["winner"] == "b"
    parquet = pytest.importorskip("pyarrow.parquet")
    assert seen(parquet.read_table("x.parquet").to_pylist()) == wanted()
    openpyxl = pytest.importorskip("openpyxl")
    head, *cells = openpyxl.load_workbook("x.xlsx").active.iter_rows(values_only=True)
    assert seen([dict(zip(head, row, strict=True)) for row in cells]) == wanted()


def test_a_table_goes_to_standard_output(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "runs/longer", "--out", "-", "--no-texts"]) == 0
    table = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["case_id"] for row in table} == {row["ticket"] for row in rows()}
    assert "query" not in table[0]


def test_another_ending_and_a_lost_case_are_named(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "runs/longer", "--out", "x.doc"]) == 3
    assert "the ending '.doc' is not known" in capsys.readouterr().err
    Path("support.csv").write_text("\n".join(Path("support.csv").read_text().splitlines()[:3]) + "\n")
    assert run(["export", "runs/longer"]) == 3
    assert "case 'T10' is no longer in" in capsys.readouterr().err
