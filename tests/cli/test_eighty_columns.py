"""On a terminal of 80 columns no line is wider, and no word is divided."""

import io
import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest
from known_judge import SPACE, Known
from rich.text import Text

from dicast.cli import group, output, run
from dicast.cli.render import progress
from dicast.cli.render.columns import FittingTable
from dicast.cli.render.console import CleanConsole, console, indented, pipe_width, table
from dicast.judging import PROGRAMS, Program
from dicast.testing import MockServer

WIDTH, WIDE = 80, 10_000
RECIPE = {"space": SPACE, "trials": 0, "head": True, "baseline": None, "risk": 0.3}
TABLE = """
title: judges of support replies, each asked in one order and in both orders of the candidates
sets: {desk: {cases: pairs.jsonl}}
runs:
  a question with a longer name: {judge: direct, sets: [desk], over: {order: [one, both]}}
  longer: {judge: longer, sets: [desk]}
measures: [accuracy, both-orders accuracy]
"""
VERBS = (
    "check --lm LM --cases pairs.jsonl", "list", "list fennec", "data list", "models list",
    "judge --cases pairs.jsonl --lm LM --out runs/first --why all",
    "judge --judge longer --cases pairs.jsonl --out runs/longer",
    "judge --judge fennec --branches 2 --cases pairs.jsonl --lm LM --explain 'case 1'",
    "evaluate runs/first", "evaluate runs/first --all --by category",
    "evaluate runs/first --against runs/longer --require coverage>=0.9", "agreement runs/first runs/longer",
    "export runs/first --out first.csv", "report runs/first runs/longer", "experiment list",
    "experiment show fennec-table-3", "experiment run table.yaml --lm LM --dry-run",
    "experiment run table.yaml --lm LM",
    "compile known --cases labels.jsonl --recipe recipe.yaml --out compiled", "show compiled/known.judge.json",
    "show --history", "check --judge compiled/known.judge.json --cases fresh.jsonl",
    "distill known --cases labels.jsonl --base local/smollm2-135m --mode probe --dry-run",
    "init pairs.csv --fields 'response_a=reply one,response_b=reply two'",
)  # fmt: skip


def words_of(text: str) -> set[str]:
    """The words; without digits, as times and costs differ from one moment to the next, and without frames."""
    return {word for word in text.split() if re.search(r"[a-z]", word) and not re.search(r"\d", word)}


def misfits(narrow: str, wide: str) -> list[str]:
    """Lines of several words that are wider than the terminal, and words that were divided; a signature has parts."""
    parts = {part for word in wide.split() for part in re.findall(r"[^|,]+[|,]*", word)}
    lines = [line for line in narrow.splitlines() if len(line.rstrip()) > WIDTH and len(line.split()) > 1]
    return [*lines, *sorted(words_of(narrow) - words_of(wide) - parts)]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """What the console is asked to print, on a terminal of 80 columns."""
    seen: list[tuple[Any, dict[str, Any]]] = []
    print_ = CleanConsole.print

    def record(self: CleanConsole, *objects: Any, **options: Any) -> None:
        if self is console:
            seen.append((objects, options))
        print_(self, *objects, **options)

    monkeypatch.setattr(CleanConsole, "print", record)
    monkeypatch.setattr(console, "_width", WIDTH)
    monkeypatch.setattr(console, "_force_terminal", True)
    monkeypatch.setattr(console, "_color_system", None)
    return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A folder with cases, and the model string of a server."""
    here = tmp_path_factory.mktemp("eighty")

    def write(name: str, rows: list[dict[str, Any]]) -> None:
        (here / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def known(start: int, count: int, of: int) -> list[dict[str, Any]]:
        texts = {"response_a": "x", "response_b": "yy"}
        return [
            {"id": f"{n:04}", "query": f"question {n}", **texts, "label": "ab"[n * 7 % 5 % 2], "meta": {"ease": n / of}}
            for n in range(start, start + count)
        ]

    pairs = [
        {"id": f"case {n}", "query": f"How may I change my password, the {n}th time?", "response_a": "Please read " * n}
        | {"response_b": "Open the settings, then choose security.", "label": "ab"[n % 2], "votes": ["a", "b", "a"]}
        | {"meta": {"category": "a question about accounts and passwords" if n % 2 else "billing"}}
        for n in range(1, 9)
    ]
    write("pairs.jsonl", pairs)
    write("labels.jsonl", known(0, 60, 60))
    write("fresh.jsonl", known(100, 20, 120))
    rows = [f'"{row["query"]}",{row["response_a"]},"{row["response_b"]}",{row["label"]}' for row in pairs]
    (here / "pairs.csv").write_text("\n".join(['query,"reply one","reply two","which is better"', *rows]) + "\n")
    (here / "recipe.yaml").write_text(json.dumps(RECIPE))
    (here / "table.yaml").write_text(TABLE)

    def answer(body: dict[str, Any]) -> dict[str, str] | None:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        return {"reason": "The first one says what to do."} if set(schema) == {"reason"} else None

    with MockServer(answer=answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv("COLUMNS", str(WIDTH))
        patch.setenv("DICAST_HOME", str(here / "home"))
        patch.setitem(PROGRAMS._added, "known", Program("known", Known, "a judge that is known", "-", "pairs", "1"))
        yield f"openai/a-model-with-a-name-of-some-length@{server.url}"


def test_no_verb_prints_a_wide_line_or_half_a_word(
    folder: str,
    printed: list[tuple[Any, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found: dict[str, list[str]] = {}
    echoed: list[str] = []
    write = output._write

    def record(stream: Any, text: str) -> None:
        echoed.append(text)
        write(stream, text)

    monkeypatch.setattr(output, "_write", record)
    for verb in VERBS:
        printed.clear()
        echoed.clear()
        arguments = [folder if part == "LM" else part for part in shlex.split(verb)]
        code, (narrow, error) = run(arguments), capsys.readouterr()
        assert code in ((0, 3) if "--lm" in arguments and arguments[0] == "check" else (0, 1, 2)), error
        assert narrow, verb
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(console, "_width", WIDE)
            for objects, options in list(printed):
                console.print(*objects, **options)
        found[verb] = misfits(narrow, capsys.readouterr().out + "".join(echoed))
    assert [(verb, text) for verb, texts in found.items() for text in texts] == []


def commands(command: click.Command, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield names
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            nested = command.get_command(click.Context(command), name)
            assert nested
            yield from commands(nested, (*names, name))


def test_the_help_of_every_verb_fits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    wide = {}
    for names in commands(group):
        assert run([*names, "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        wide[names] = [line for line in lines if len(line) > WIDTH]
    assert {names: lines for names, lines in wide.items() if lines} == {}


def shown(part: Any, width: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    CleanConsole(width=width, force_terminal=True, color_system=None).print(part)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_line_is_wrapped_below_its_text_and_long_words_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/a/path/which/is/long/and/has/no/blank.html"
    assert shown(f"    page: {path} and more words", 24, capsys) == ["    page:", f"    {path}", "    and more words"]
    assert shown("model  an answer of 987.72 % here", 25, capsys) == ["model  an answer of", "  987.72 % here"]
    assert shown("direct|order=both,readout=generate|n=12", 24, capsys) == [
        "direct|order=both,",
        "  readout=generate|n=12",
    ]


def test_a_table_that_is_too_wide_has_its_descriptions_below_and_then_is_a_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def table() -> FittingTable:
        made = FittingTable(["", "value [95 % CI]", "n", "description"])
        made.add_row("accuracy", "0.825 [0.750, 0.882]", "60", Text("the verdict equals the human label"))
        made.add_row("consistency", "0.9", "1,060")
        return made

    assert shown(table(), 80, capsys) == [
        "             value [95 % CI]           n  description",
        "accuracy     0.825 [0.750, 0.882]     60  the verdict equals the human label",
        "consistency  0.9                   1,060",
    ]
    assert shown(indented(table()), 56, capsys) == [
        "               value [95 % CI]           n",
        "  accuracy     0.825 [0.750, 0.882]     60",
        "      the verdict equals the human label",
        "  consistency  0.9                   1,060",
    ]
    assert shown(table(), 30, capsys) == [
        "accuracy",
        "  value [95 % CI]: 0.825",
        "  [0.750, 0.882]",
        "  n: 60",
        "  description: the verdict",
        "  equals the human label",
        "consistency",
        "  value [95 % CI]: 0.9",
        "  n: 1,060",
    ]


@pytest.mark.parametrize(("width", "is_one_line"), [(WIDTH, False), (140, True)])
def test_the_note_of_a_bar_is_below_it_where_both_do_not_fit(
    width: int, is_one_line: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, note = io.StringIO(), "12.3/min, 345.6k tokens, $0.1234, accuracy 0.71, 12 unscored, 37 min left"
    terminal = CleanConsole(file=shown, width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(progress, "errors", terminal)
    with progress.BarProgress("judging", quiet=False) as bar:
        bar.start(1000, 10)
        bar.advance(note, "judged")
    with_bar = [line for line in shown.getvalue().splitlines() if "11/1000" in line]
    assert with_bar
    assert all((note in line) == is_one_line for line in with_bar)
    assert note in shown.getvalue()


def test_an_error_on_a_terminal_is_wrapped_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    output.error("dicast: a sentence that is wider than the terminal. Do this.")
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    output.error("dicast: a sentence that is wider than the terminal. Do this.")
    assert capsys.readouterr().err == "dicast: a sentence that is\nwider than the terminal. Do\nthis.\n"


@pytest.mark.parametrize(("columns", "width"), [(None, 160), ("", 160), ("0", 160), ("wide", 160), ("72", 72)])
def test_a_table_in_a_pipe_is_as_wide_as_columns_says(
    columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    pipe = io.StringIO()
    piped = CleanConsole(file=pipe, width=pipe_width(pipe))
    piped.print(table(["name", "what it is"], [["x", "a word " * 40]]))
    assert width - 8 < max(map(len, pipe.getvalue().splitlines())) <= width
