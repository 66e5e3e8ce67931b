"""The browser of the verdicts that compiling changed: what it lists, and what it leaves out where texts are private."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from known_judge import SPACE, Known, known_cases

from dicast.cli import run
from dicast.data import Finding, Judged
from dicast.optimizers.changed_verdicts import Change, ChangedVerdict, Changes
from dicast.optimizers.compile import Compiler
from dicast.optimizers.compile_folder import Compilation, read_compilation
from dicast.optimizers.recipe import Recipe
from dicast.pages import compilation_html
from dicast.pages.changed_cases import changes_sentence, pieces_of, without_texts
from dicast.workflows.case_source import CaseSource
from dicast.workflows.compilation_texts import note_source

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compilation of pairs that changed verdicts; it is only read."""
    path = tmp_path_factory.mktemp("work") / "compiled"
    space = {name: tuple(values) for name, values in SPACE.items()}
    recipe = Recipe.model_validate({"baseline": None, "trials": 4, "space": space, "head": False})
    Compiler(Known(), known_cases(80), path, recipe).run()
    return path


def page(compilation: Compilation, **options: Any) -> str:
    return compilation_html(compilation, title="t", now="now", **options)


def listed(html: str) -> list[str]:
    return re.findall(r'<li class="case changed" data-change="([^"]+)"', html)


def test_the_browser_lists_what_the_table_counts(folder: Path) -> None:
    compilation = read_compilation(folder)
    changes = compilation.result.changes
    assert changes is not None
    html = page(compilation)
    assert len(listed(html)) == changes.changed > 0
    for kind, n in changes.counts.items():
        assert listed(html).count(kind) == n
        assert re.search(rf"{kind}</a> <span class=\"num value\">{n}<", html)
    assert html.count("texts of this case are not on this page") == changes.changed


def test_at_most_as_many_rows_as_wanted_the_surest_first(folder: Path) -> None:
    compilation = read_compilation(folder)
    html = page(compilation, most=1)
    assert len(listed(html)) == 1
    assert "Shown are 1 of them, the surest first." in html
    assert listed(page(compilation, most=0)) == []
    sure = [row.model_copy(update={"after": row.after.model_copy(update={"certainty": 1.0})}) for row in
            compilation.changed[-1:]]  # fmt: skip
    changed = Compilation(**{**compilation.__dict__, "changed": (*compilation.changed[:-1], *sure)})
    assert f'data-id="{sure[0].after.case_id}"' in page(changed, most=1)


def test_texts_are_shown_and_escaped_and_none_where_they_are_private(folder: Path) -> None:
    compilation = read_compilation(folder)
    finding = Finding(criterion=f"criterion {EVIL}", distribution={"a": 0.8, "b": 0.2}, explanation=f"because {EVIL}")
    said = {"rationale": f"rationale {EVIL}", "findings": (finding,), "group": f"group {EVIL}", "notes": (f"n {EVIL}",)}
    rows = tuple(
        ChangedVerdict(change=row.change, before=row.before, after=row.after.model_copy(update=said))
        for row in compilation.changed
    )
    changed = Compilation(**{**compilation.__dict__, "changed": rows})
    texts = {
        case.id: case.model_copy(update={"query": f"query {EVIL}"}) for case in known_cases(80)
    }  # of another digest, so that only those without one are taken
    texts = {row.after.case_id: texts[row.after.case_id] for row in rows}
    bare = tuple(row.model_copy(update={"before": row.before.model_copy(update={"case_digest": ""})}) for row in rows)
    html = page(Compilation(**{**changed.__dict__, "changed": bare}), texts=texts)
    assert "query &lt;/script&gt;" in html
    assert "because &lt;/script&gt;" in html
    assert EVIL not in html
    private = page(changed, texts=None)
    assert len(listed(private)) == len(rows)
    assert "onerror" not in private


def test_a_case_that_has_changed_since_shows_no_texts(folder: Path) -> None:
    compilation = read_compilation(folder)
    texts = {case.id: case.model_copy(update={"query": "another question"}) for case in known_cases(80)}
    assert "another question" not in page(compilation, texts=texts)
    assert "question " in page(compilation, texts={case.id: case for case in known_cases(80)})


def test_nothing_that_was_written_is_left_without_texts() -> None:
    written = {"rationale": "x", "notes": ("x",), "group": "x", "findings": (Finding(criterion="x", scores=(1, 2)),)}
    judged = Judged.model_validate({"case_id": "1", "winner": "a", "certainty": 0.8, **written})
    left = without_texts(judged)
    assert (left.winner, left.certainty) == ("a", 0.8)
    assert "x" not in json.dumps(left.model_dump(mode="json", include=set(written)))


@pytest.mark.parametrize(
    ("n", "right", "counts", "words"),
    [
        (9, 4, {}, "None of the 9 verdicts changed."),
        (9, 4, {"became right": 2}, "2 of 9 verdicts changed: 2 became right."),
        (9, 3, {"became right": 2, "became wrong": 1, "changed, still wrong": 1},
         "4 of 9 verdicts changed: 2 became right, 1 became wrong and 1 changed, still wrong."),
        (9, 0, {"nearer": 3}, "3 of 9 texts moved by more than a tenth of all places: 3 nearer to people."),
        (0, 0, {}, ""),
    ],
)  # fmt: skip
def test_what_changed_in_words(n: int, right: int, counts: dict[Change, int], words: str) -> None:
    changes = Changes(n=n, right=right, counts=counts)
    assert changes_sentence(changes) == words
    assert sum(piece.n for piece in pieces_of(changes)) == n


def test_report_reads_the_texts_from_where_compile_did(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    rows = folder.parent / "labels.jsonl"
    cases = [case.model_dump(mode="json", exclude_defaults=True) for case in known_cases(80)]
    plain = [
        {"id": case["id"], "query": f"asked {case['query']}", "response_a": "x", "response_b": "y",
         "label": case["label"]["value"]}
        for case in cases
    ]  # fmt: skip
    rows.write_text("".join(json.dumps(row) + "\n" for row in plain))
    monkeypatch.chdir(folder.parent)
    note_source(folder, CaseSource("labels.jsonl"))
    changed = [json.loads(line) for line in (folder / "changed.jsonl").read_text().splitlines()]
    for row in changed:
        row["before"]["case_digest"] = ""
    (tmp_path / "copy").mkdir()
    for path in folder.glob("*.json"):
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "copy" / "changed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    out = tmp_path / "page.html"
    assert run(["report", str(tmp_path / "copy"), "--out", str(out), "--json"]) == 0
    assert "asked question" in out.read_text()
    monkeypatch.chdir(tmp_path)  # the source is no longer in the project
    assert run(["report", str(tmp_path / "copy"), "--out", str(out), "--json"]) == 0
    assert "asked question" not in out.read_text()
    assert "is not in this project" in capsys.readouterr().err
    command = ["report", str(tmp_path / "copy"), "--out", str(out), "--cases", str(rows), "--json"]
    assert run(command) == 0
    assert "asked question" in out.read_text()
    assert run([*command, "--no-texts"]) == 0
    assert "asked question" not in out.read_text()


def test_a_page_of_a_run_leaves_texts_out_where_it_shall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"id": "1", "query": "a secret question", "response_a": "secret x", "response_b": "secret text", "label": "a"}
    Path("pairs.jsonl").write_text(json.dumps(row) + "\n")
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "r", "--json"]) == 0
    for options, is_shown in (([], True), (["--no-texts"], False)):
        assert run(["report", "r", "--out", "page.html", "--json", *options]) == 0
        text = Path("page.html").read_text()
        assert ("secret" in text) == is_shown
        assert 'data-id="1"' in text
