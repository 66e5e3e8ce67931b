"""Files and moments that nobody plans for: each ends in a right project, or in one sentence that says what to do."""

import gzip
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_desk import desk_server, pair_rows, save_csv, verdict_rows

from dicast.cli import run
from dicast.data.layout import Layout
from dicast.data.readers import read_cases

PAIRS, TEXTS = pair_rows(24), verdict_rows(24)
PEOPLE = ("anna", "ben", "chloe")
ASPECTS = ("helpfulness", "correctness", "tone")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))


Screen = Callable[..., tuple[int, str, str]]


@pytest.fixture
def screen(capsys: pytest.CaptureFixture[str]) -> Screen:
    """Runs a command: its exit code, standard output as one line, and standard error."""

    def show(*command: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(list(command))
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err.strip()

    return show


def without_labels() -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in PEOPLE} for row in PAIRS]


def scored() -> list[dict[str, Any]]:
    generator = random.Random(1)
    rows = [{"item": f"i{n}", "prompt": row["question"], "response": row["answer"]} for n, row in enumerate(TEXTS)]
    return [row | {aspect: generator.randint(1, 5) for aspect in ASPECTS} for row in rows]


# bytes


def as_bytes(kind: str) -> Path:
    plain = save_csv(Path("plain.csv"), PAIRS)
    text = plain.read_bytes().replace(b"\r\n", b"\n")
    name, content = {
        "Windows": ("a.csv", text.replace(b"\n", b"\r\n")),
        "old Mac": ("a.csv", text.replace(b"\n", b"\r")),
        "byte order mark": ("a.csv", b"\xef\xbb\xbf" + text),
        "UTF-16": ("a.csv", text.decode().encode("utf-16")),
        "a list": ("a.json", json.dumps(PAIRS).encode()),
        "an indented list": ("a.json", json.dumps(PAIRS, indent=2).encode()),
        "gzip": ("a.csv.gz", gzip.compress(text)),
        "gzip of cp1252": ("a.csv.gz", gzip.compress(text.decode().encode("cp1252"))),
        "gzip of lines": ("a.jsonl.gz", gzip.compress("".join(json.dumps(row) + "\n" for row in PAIRS).encode())),
    }[kind]
    Path(name).write_bytes(content)
    return Path(name)


@pytest.mark.parametrize(
    "kind",
    [
        "Windows", "old Mac", "byte order mark", "UTF-16", "a list", "an indented list", "gzip", "gzip of cp1252",
        "gzip of lines",
    ],
)  # fmt: skip
def test_any_bytes_of_the_same_rows_are_the_same_cases(kind: str, screen: Screen) -> None:
    name = as_bytes(kind).name
    code, out, err = screen("init", name)
    assert (code, err) == (0, "")
    assert "votes anna, ben, chloe 3 annotators" in out
    assert screen("judge", "--judge", "longer", "--out", "runs/first")[0] == 0
    lines = [json.loads(line) for line in Path("runs/first/verdicts.jsonl").read_text().splitlines()]
    assert sorted(line["case_id"] for line in lines) == sorted(row["ticket"] for row in PAIRS)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"\n\n", "there is no row. Export it again, with a header and a row for each case."),
        ("a.json", b"[]", "there is no row."),
        ("a.json", b"5", "there is no row."),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "not a whole gzip file"),
        ("a.csv.gz", b"a,b\n1,2\n", "cannot be read"),
    ],
)
def test_a_file_with_nothing_in_it_is_one_line(name: str, content: bytes, message: str, screen: Screen) -> None:
    Path(name).write_bytes(content)
    code, out, err = screen("init", name)
    assert (code, out, len(err.splitlines())) == (3, "", 1)
    assert message in err
    assert not Path("dicast.toml").exists()


# columns


def test_scores_of_several_aspects_are_a_case_for_each(screen: Screen) -> None:
    rows = scored()
    rows[3] |= {"tone": ""}
    save_csv(Path("aspects.csv"), rows)
    code, out, _ = screen("init", "aspects.csv")
    assert code == 0
    assert "score helpfulness, correctness, tone 3 aspects, a case for each: 1 " in out
    assert f"cases: {3 * len(rows) - 1}; labels: {3 * len(rows) - 1} a score" in out
    assert 'score = ["helpfulness", "correctness", "tone"]' in Path("dicast.toml").read_text()
    with desk_server() as server:
        command = ("judge", "--judge", "direct", "--lm", server.model_string("aspects"), "--out", "runs/first")
        assert screen(*command)[0] == 0
    asked = {part for body in server.requests for part in ASPECTS if part in str(body["messages"])}
    assert asked == set(ASPECTS)
    evaluation = json.loads(screen("evaluate", "runs/first", "--json")[1])["evaluation"]
    assert evaluation["cases"] == 3 * len(rows) - 1


def test_a_row_a_rater_with_a_column_an_aspect_joins_each_aspect_by_itself() -> None:
    rows = [row | {"rater": name} for row in scored()[:4] for name in ("x", "y")]
    save_csv(Path("aspects.csv"), rows)
    aspects = ("helpfulness", "tone")
    fields: dict[str, str | tuple[str, ...]] = {"query": "prompt", "score": aspects, "id": "item"}
    cases = list(read_cases("aspects.csv", fields=fields, layout=Layout(join=("item",))))
    assert sorted(case.id for case in cases) == sorted(f"i{n}/{aspect}" for n in range(4) for aspect in aspects)
    assert all(len(case.votes) == 2 and case.aspect in aspects for case in cases)


def test_unlabelled_texts_with_columns_of_aspects_are_a_case_for_each() -> None:
    save_csv(Path("aspects.csv"), [row | {"helpfulness": "", "tone": ""} for row in scored()[:2]])
    cases = list(read_cases("aspects.csv", fields={"query": "prompt", "score": ("helpfulness", "tone")}))
    assert [(case.id, case.aspect, case.label) for case in cases] == [
        ("2/helpfulness", "helpfulness", None), ("2/tone", "tone", None),
        ("3/helpfulness", "helpfulness", None), ("3/tone", "tone", None),
    ]  # fmt: skip


def test_a_column_of_mixed_values_is_refused_until_each_word_is_stated(screen: Screen) -> None:
    words = ["Pass", "Fail", "3", "maybe?"]
    save_csv(Path("mixed.csv"), [row | {"verdict": words[n % 4]} for n, row in enumerate(TEXTS)])
    code, out, err = screen("init", "mixed.csv")
    assert (code, out) == (3, "")
    assert '"maybe?" (6)' in err
    assert "State a category or number for each" in err
    code, out, _ = screen("init", "mixed.csv", "--values", "maybe?=,3=")
    assert code == 0
    assert "cases: 24; labels: 12 none, 6 Pass, 6 Fail" in out
    code, out, _ = screen("init", "mixed.csv", "--force", "--values", "maybe?=Fail,3=Pass")
    assert (code, "cases: 24; labels: 12 Pass, 12 Fail" in out) == (0, True)


def test_labels_that_nobody_understands_are_listed_with_how_often_they_occur(screen: Screen) -> None:
    rows = [row | {"label": ("foo", "bar", "qux")[n % 3]} for n, row in enumerate(without_labels())]
    save_csv(Path("odd.csv"), rows)
    code, out, err = screen("init", "odd.csv")
    assert (code, out) == (3, "")
    assert '"foo" (8), "bar" (8), "qux" (8): neither response, nor a tie. State a, b or tie for each' in err
    assert screen("init", "odd.csv", "--values", "foo=a,bar=b,qux=tie")[0] == 0


def test_a_file_without_labels_makes_a_project_that_can_be_judged_and_compile_says_what_it_needs(
    screen: Screen,
) -> None:
    save_csv(Path("new.csv"), without_labels())
    code, out, _ = screen("init", "new.csv")
    assert code == 0
    assert "note: no column is a label: these cases can be judged, but not compiled or measured" in out
    assert out.endswith("dicast judge --judge direct verdicts; they cannot be measured without labels")
    assert screen("judge", "--judge", "longer", "--out", "runs/first")[0] == 0
    with desk_server() as server:
        code, out, err = screen("compile", "direct", "--lm", server.model_string("bare"))
    assert (code, out, server.requests) == (2, "", [])
    assert "compile: 0 labelled cases; at least 40 are needed" in err


def test_names_in_other_scripts_and_with_spaces_go_in_and_are_quoted_for_the_shell(screen: Screen) -> None:
    rows = [{"质问": row["question"], "Réponse": row["answer"], "Bewertung": row["verdict"]} for row in TEXTS]
    save_csv(Path("bewertung ñ 质.csv"), rows)
    code, out, _ = screen("init", "bewertung ñ 质.csv")
    assert (code, "response Réponse" in out, "label Bewertung Pass" in out) == (0, True, True)
    assert screen("judge", "--judge", "majority", "--out", "runs/first")[0] == 0
    numbers = [bare | {"label": n % 3} for n, bare in enumerate(without_labels())]
    save_csv(Path("my labels.csv"), numbers)
    assert "dicast init 'my labels.csv' --fields label=label" in screen("init", "my labels.csv", "--force")[2]


# moments


def test_init_twice_leaves_the_first_project_as_it_is(screen: Screen) -> None:
    save_csv(Path("a.csv"), PAIRS)
    save_csv(Path("b.csv"), TEXTS)
    assert screen("init", "a.csv")[0] == 0
    before = Path("dicast.toml").read_text()
    code, out, err = screen("init", "b.csv")
    assert (code, out) == (3, "")
    assert err == "dicast: dicast.toml: exists in this folder. --force writes it anew, --dry-run only looks."
    assert Path("dicast.toml").read_text() == before


class Interrupted:
    """A terminal at which somebody presses Ctrl-C."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def readline(self, *_: object) -> str:
        raise KeyboardInterrupt


def test_ctrl_c_in_a_question_ends_the_command_and_writes_nothing(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_csv(Path("a.csv"), [bare | {"label": n % 3} for n, bare in enumerate(without_labels())])
    monkeypatch.setattr(sys, "stdin", Interrupted())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, _, err = screen("init", "a.csv")
    assert (code, err.splitlines()[-1]) == (130, "stopped.")
    assert not Path("dicast.toml").exists()


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_csv(Path("a.csv"), PAIRS)

    def refused(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", "dicast.toml")

    monkeypatch.setattr(Path, "write_text", refused)
    code, out, err = screen("init", "a.csv")
    assert (code, out) == (3, "")
    assert err == (
        "dicast: dicast.toml: cannot be written (Permission denied). Work in a folder of yours, and name the file from "
        "there; --dry-run prints the text."
    )


def test_a_large_file_is_looked_at_in_parts(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 MB (396,000 rows) init took 7 s of processor time and 124 MB of memory; here the parts are smaller."""
    monkeypatch.setattr("dicast.workflows.initialisation.MOST_ROWS", 10)
    save_csv(Path("a.csv"), PAIRS)
    code, out, _ = screen("init", "a.csv")
    assert code == 0
    assert "a.csv: 10 rows looked at, the first of the file, 8 columns" in out
    assert "cases: 10, the first ones; labels:" in out
