"""Labels that a judge was compiled on are left out of the figures of its runs, or said."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from leaning_judge import Leaning, worlds

import dicast
from dicast.cli import run as command
from dicast.data import Case, Judged
from dicast.data.text_digest import case_text_digest
from dicast.engines.batch import read_manifest
from dicast.judging import PROGRAMS, Program
from dicast.optimizers.compile import Compiler
from dicast.optimizers.fingerprints import case_fingerprints
from dicast.optimizers.recipe import Recipe
from dicast.workflows.learnt_labels import LearntLabels

OLD, NEW = (
    worlds(60),
    [case.model_copy(update={"id": f"new {case.id}", "query": f"n {case.id}"}) for case in worlds(40, 1)],
)


def rows_of(cases: list[Case]) -> list[dict[str, object]]:
    return [
        {
            "id": case.id, "query": case.query, "response_a": "x", "response_b": "yy", "meta": case.meta,
            "label": case.label.answer if case.label else None,
        }
        for case in cases
    ]  # fmt: skip


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A judge file, and its run over 60 cases that it was compiled on and 40 new ones."""
    folder, monkeypatch = tmp_path_factory.mktemp("learnt"), pytest.MonkeyPatch()
    monkeypatch.setitem(PROGRAMS._added, "leaning", Program("leaning", Leaning, "leans", "-", "pairs", "2"))
    monkeypatch.setenv("DICAST_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    Compiler(Leaning(), OLD, folder / "compiled", Recipe(baseline=None)).run().save("leaning.judge.json")
    dicast.run("leaning.judge.json", rows_of([*OLD, *NEW]), out="both")
    dicast.run("leaning.judge.json", rows_of(OLD), out="old")
    yield folder
    monkeypatch.undo()


def test_the_figures_are_of_the_new_cases_and_say_so(judged: Path) -> None:
    evaluation = dicast.evaluate("both")
    assert (evaluation.cases, evaluation.labelled) == (40, 40)
    assert evaluation.notices[0] == (
        "60 of 100 labelled cases are left out: the judge was compiled on them, and agrees more with people there "
        "than on new cases"
    )
    new = {judged.case_id: judged for judged in dicast.workflows.open_run("both")}
    hits = sum(new[case.id].winner == case.label.answer for case in NEW if new[case.id].status == "scored")
    accuracy = evaluation.measure("accuracy")
    assert accuracy is not None
    assert accuracy.value is not None
    assert round(accuracy.value * accuracy.n) == hits


def test_where_there_are_no_others_they_are_measured_and_the_page_says_it(judged: Path) -> None:
    assert dicast.evaluate("old").labelled == 60
    assert dicast.evaluate("old").notices[0].startswith("the judge was compiled on all 60 cases with labels, so every")
    dicast.report("old", "old.md")
    assert "compiled on all 60 cases with labels" in Path("old.md").read_text()


def test_the_terminal_says_it_in_judge_and_in_evaluate(judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_of([*OLD, *NEW])))
    assert command(["judge", "--judge", "leaning.judge.json", "--cases", "rows.jsonl", "--out", "all"]) == 0
    words = " ".join(capsys.readouterr().err.split())
    assert "has learned from 60 of these 100 cases" in words
    assert "so dicast evaluate and report leave them out" in words
    assert command(["evaluate", "all"]) == 0
    assert "60 of 100 labelled cases are left out" in " ".join(capsys.readouterr().out.split())


def test_manifest_and_judge_file_hold_digests_and_no_text(judged: Path) -> None:
    stored = read_manifest(Path("both"))["compiled_on"]
    assert stored == case_fingerprints(OLD)
    assert OLD[0].query not in stored.split()


def test_case_and_white_space_hide_no_label() -> None:
    case = OLD[0].model_copy(update={"query": f"  {OLD[0].query.upper()} "})
    rows = [
        Judged(case_id=str(n), winner="a", label=one.label, text_digest=case_text_digest(one))
        for n, one in enumerate([case, *NEW])
    ]
    learnt = LearntLabels.of(rows, case_fingerprints(OLD))
    assert (learnt.seen, learnt.labelled) == (1, 41)
    assert [row.case_id for row in rows if not learnt.counts(row)] == ["0"]
    assert LearntLabels.of(rows, None).notice == ""
