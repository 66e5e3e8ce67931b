"""What first users had, and what they typed: each is answered by a result, or by one sentence with a remedy.

The files are of `support_desk`; the commands run in process, as a shell would start them.
"""

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_desk import desk_server, pair_rows, save_csv, save_xlsx, score_rows, verdict_rows

from dicast.cli import run

PEOPLE = ("anna", "ben", "chloe")
ROWS = pair_rows(30)
COLUMNS = "query=question,response_a=answer_A,response_b=answer_B,id=ticket"
WORDS = "answer_A=a,answer_B=b,both good=tie"
JUDGE = ["judge", "--judge", "longer", "--out", "runs/first"]
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DICAST_LM", raising=False)


Screen = Callable[[list[str]], tuple[int, str, str]]


@pytest.fixture
def screen(capsys: pytest.CaptureFixture[str]) -> Screen:
    """Runs a command: its exit code, standard output as one line, and standard error."""

    def show(command: list[str]) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(command)
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err.strip()

    return show


def bare(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in PEOPLE}


def verdicts(folder: str = "runs/first") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(folder, "verdicts.jsonl").read_text().splitlines()]


def read_votes() -> list[list[str]]:
    """The votes that a run read, by ticket."""
    return [[vote["value"] for vote in line["votes"]] for line in sorted(verdicts(), key=lambda line: line["case_id"])]


def wanted() -> list[list[str]]:
    ours = {"answer_A": "a", "answer_B": "b", "both good": "tie"}
    return [[ours[row[name]] for name in PEOPLE] for row in sorted(ROWS, key=lambda row: row["ticket"])]


# columns and words of people


@pytest.mark.parametrize("columns", ["anna,ben,chloe", "anna+ben+chloe"])
def test_three_annotators_columns_are_votes_in_either_spelling(columns: str, screen: Screen) -> None:
    save_csv(Path("support.csv"), ROWS)
    options = ["--cases", "support.csv", "--fields", f"{COLUMNS},votes={columns}", "--values", WORDS]
    assert screen([*JUDGE, *options])[0] == 0
    assert read_votes() == wanted()


def test_one_annotators_column_is_votes_of_one(screen: Screen) -> None:
    save_csv(Path("support.csv"), ROWS)
    options = ["--cases", "support.csv", "--fields", f"{COLUMNS},votes=anna", "--values", WORDS]
    assert screen([*JUDGE, *options])[0] == 0
    assert read_votes() == [votes[:1] for votes in wanted()]


@pytest.mark.parametrize("mark", [",", ";", "|", ", "])
def test_votes_in_one_cell_are_a_list(mark: str, screen: Screen) -> None:
    cells = [mark.join({"a": "A", "b": "B"}.get(vote, vote) for vote in votes) for votes in wanted()]
    save_csv(Path("support.csv"), [bare(row) | {"votes": cell} for row, cell in zip(ROWS, cells, strict=True)])
    assert screen([*JUDGE, "--cases", "support.csv", "--fields", COLUMNS])[0] == 0
    assert read_votes() == wanted()


def test_numbers_as_labels_are_asked_about_and_each_answer_is_a_line_to_paste(screen: Screen) -> None:
    numbers = {"answer_A": 1, "answer_B": 2, "both good": 0}
    save_csv(Path("support.csv"), [bare(row) | {"label": numbers[row["anna"]]} for row in ROWS])
    code, out, err = screen(["init", "support.csv"])
    assert (code, out) == (3, "")
    assert "0 = tie, 1 = a, 2 = b (1 and 2 the responses, 0 a tie)" in err
    line = next(line.strip() for line in err.splitlines() if "0=tie,1=a,2=b" in line)
    assert screen(line.split()[1:])[0] == 0
    assert screen(JUDGE)[0] == 0
    assert [line["label"]["value"] for line in sorted(verdicts(), key=lambda line: line["case_id"])] == [
        votes[0] for votes in wanted()
    ]


@pytest.mark.parametrize("spelling", ["answer_A", "A", "[[A]]", "Response A", "answer_A is better"])
def test_any_usual_word_for_a_side_is_understood(spelling: str, screen: Screen) -> None:
    words = {"answer_A": spelling, "answer_B": spelling.replace("A", "B"), "both good": "both good"}
    save_csv(Path("support.csv"), [bare(row) | {"preferred": words[row["anna"]]} for row in ROWS])
    assert screen(["init", "support.csv"])[0] == 0
    text = Path("dicast.toml").read_text()
    assert 'label = "preferred"' in text
    assert '"both good" = "tie"' in text


def test_a_word_that_is_no_label_is_refused_with_what_to_state(screen: Screen) -> None:
    save_csv(Path("support.csv"), [bare(row) | {"preferred": row["anna"]} for row in ROWS])
    code, out, err = screen([*JUDGE, "--cases", "support.csv", "--fields", f"{COLUMNS},label=preferred"])
    word = ROWS[0]["anna"]
    assert (code, out) == (3, "")
    assert err == (
        f"dicast: support.csv line 2: field 'label' is \"{word}\". Use a, b or tie, or say which it means, as in "
        f"--values {word}=a. `dicast init support.csv` finds out how the file is read."
    )


# files as people save them


def saved(kind: str) -> str:
    """The rows in one of the ways in which people export them; the file's name."""
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
        return save_xlsx(Path("support.xlsx"), ROWS).name
    if kind == "a row an annotator":
        rows = [bare(row) | {"worker": name, "choice": row[name]} for row in ROWS for name in PEOPLE]
        return save_csv(Path("support.csv"), rows).name
    options = {"semicolons": {"mark": ";"}, "tabs": {"mark": "\t"}, "cp1252": {"encoding": "cp1252"}}.get(kind, {})
    return save_csv(Path("support.csv"), ROWS, **options).name


@pytest.mark.parametrize("kind", ["commas", "semicolons", "tabs", "cp1252", "xlsx", "a row an annotator"])
def test_a_file_as_it_was_exported_goes_in_with_its_votes(kind: str, screen: Screen) -> None:
    name = saved(kind)
    code, out, err = screen(["init", name])
    assert (code, err) == (0, "")
    assert "cases: 30; labels:" in out
    assert "people: 30 cases have several votes; all agree in" in out
    assert screen(JUDGE)[0] == 0
    assert read_votes() == wanted()


@pytest.mark.parametrize("kind", ["commas", "cp1252", "a row an annotator"])
def test_the_first_word_without_fields_names_the_command_that_finds_out(kind: str, screen: Screen) -> None:
    name = saved(kind)
    code, out, err = screen([*JUDGE, "--cases", name])
    assert (code, out, len(err.splitlines())) == (3, "", 1)
    assert err.endswith(f"`dicast init {name}` finds out how the file is read.")
    assert not Path("runs").exists()
    assert screen(["init", name])[0] == 0
    assert screen(JUDGE)[0] == 0


# what had to be typed again and again


def test_fields_and_model_are_stated_once(screen: Screen) -> None:
    save_csv(Path("support.csv"), ROWS)
    with desk_server() as server:
        model = server.model_string("once")
        assert screen(["init", "support.csv", "--lm", model])[0] == 0
        code, _, err = screen(["judge", "--judge", "direct", "--out", "runs/first"])
    assert (code, err.splitlines()[:2]) == (0, ["dicast.toml: --cases support.csv", f"dicast.toml: --lm {model}"])
    assert len(server.requests) > 0


def test_the_environment_names_the_model_before_the_project_does(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_csv(Path("support.csv"), ROWS)
    with desk_server() as server, desk_server() as unused:
        assert screen(["init", "support.csv", "--lm", unused.model_string("unused")])[0] == 0
        monkeypatch.setenv("DICAST_LM", server.model_string("named"))
        code, _, err = screen(["judge", "--judge", "direct", "--out", "runs/first", "--limit", "3"])
    assert code == 0
    assert f"DICAST_LM: --lm {server.model_string('named')}" in err
    assert (len(server.requests) > 0, unused.requests) == (True, [])


def test_a_project_of_somebody_else_sends_no_text_to_an_address_that_only_it_names(screen: Screen) -> None:
    save_csv(Path("support.csv"), ROWS)
    assert screen(["init", "support.csv"])[0] == 0
    far = "openai/theirs@http://judge.example:8000/v1"
    Path("dicast.toml").write_text(f'lm = "{far}"\n' + Path("dicast.toml").read_text())
    for command in (["judge", "--judge", "direct", "--out", "runs/first"], ["check"], ["compile", "direct"]):
        code, out, err = screen(command)
        assert (code, out) == (3, "")
        assert "texts and your key would go to judge.example:8000, which only this file names" in err
        assert f"name it once yourself: --lm {far}" in err
    assert screen(["init", "support.csv", "--force", "--lm", far])[0] == 0
    from dicast.cli.model_choice import find_lm

    assert find_lm(None) == far


def test_the_model_of_the_project_is_what_check_asks(screen: Screen) -> None:
    """No weights that nothing needs are missed, and no extra of another verb."""
    save_csv(Path("support.csv"), ROWS)
    with desk_server() as server:
        assert screen(["init", "support.csv", "--lm", server.model_string("checked")])[0] == 0
        code, out, _ = screen(["check"])
    assert code == 0
    assert f"ok model {server.model_string('checked')}" in out
    assert "default model" not in out
    assert "FAIL" not in out


# what people wrote, and what they did not


def test_peoples_written_reasons_are_a_field_that_the_documentation_names(screen: Screen) -> None:
    save_csv(Path("support.csv"), verdict_rows(20))
    code, out, _ = screen(["init", "support.csv"])
    assert code == 0
    assert "reason comment text of" in out
    assert 'reason = "comment"' in Path("dicast.toml").read_text()
    assert re.search(r"^\| `reason`", (DOCS / "rows.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("rows", [verdict_rows(30), [bare(row) | {"best": row["anna"]} for row in ROWS]])
def test_without_votes_it_is_said_that_there_is_no_human_ceiling(rows: list[dict[str, Any]], screen: Screen) -> None:
    save_csv(Path("support.csv"), rows)
    code, out, _ = screen(["init", "support.csv"])
    assert code == 0
    assert "people: one label a case, so no human ceiling; several people's labels of a case would give one" in out


def test_a_pass_or_fail_column_is_a_label(screen: Screen) -> None:
    save_csv(Path("support.csv"), verdict_rows(30))
    assert "Pass is the positive one" in screen(["init", "support.csv"])[1]
    with desk_server() as server:
        command = ["judge", "--judge", "direct", "--lm", server.model_string("passes"), "--out", "runs/first"]
        assert screen(command)[0] == 0
    evaluation = json.loads(screen(["evaluate", "runs/first", "--json"])[1])["evaluation"]
    names = {measure["name"] for section in evaluation["sections"].values() for measure in section}
    assert {"accuracy", "kappa", "TPR", "TNR"} <= names


def test_a_row_a_rater_with_scores_is_a_case_with_their_mean(screen: Screen) -> None:
    rows = score_rows(20)
    save_csv(Path("scores.csv"), rows)
    assert "the label of a case is their mean" in screen(["init", "scores.csv"])[1]
    with desk_server() as server:
        command = ["judge", "--judge", "direct", "--lm", server.model_string("scores"), "--out", "runs/first"]
        assert screen(command)[0] == 0
    labels = {line["case_id"]: line["label"]["values"] for line in verdicts()}
    assert labels["I0"] == [pytest.approx(sum(row["rating"] for row in rows[:3]) / 3)]


# pipes and tables


@pytest.mark.parametrize("kind", ["JSON Lines", "a list", "CSV"])
def test_rows_come_from_a_pipe_in_any_form(kind: str, screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [bare(row) | {"label": votes[0]} for row, votes in zip(ROWS, wanted(), strict=True)]
    if kind == "CSV":
        text = save_csv(Path("rows.csv"), rows).read_text()
    else:
        text = json.dumps(rows) if kind == "a list" else "".join(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert screen([*JUDGE, "--cases", "-", "--fields", COLUMNS])[0] == 0
    assert len(verdicts()) == 30


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_verdicts_come_out_as_a_table_with_the_texts(ending: str, screen: Screen) -> None:
    save_csv(Path("support.csv"), ROWS)
    assert screen(["init", "support.csv"])[0] == 0
    assert screen(JUDGE)[0] == 0
    code, out, _ = screen(["export", "runs/first", "--out", f"verdicts.{ending}"])
    assert (code, out) == (0, f"30 verdicts: verdicts.{ending}")
    if ending == "csv":
        with Path("verdicts.csv").open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.DictReader(file))
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table("verdicts.parquet").to_pylist()
    assert [row["query"] for row in table] == [row["question"] for row in ROWS]
    assert {row["winner"] for row in table} <= {"a", "b", "tie"}


def test_without_a_file_a_verb_says_how_to_begin(screen: Screen) -> None:
    code, out, err = screen(JUDGE)
    assert (code, out) == (3, "")
    assert "Or run `dicast init FILE` once: the file that it writes names the cases." in err
