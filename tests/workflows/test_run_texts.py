"""A report reads texts only from where its user points; lines of one case count once; options that choose nothing."""

import json
from pathlib import Path

import pytest

import dicast
from dicast.cli import run as command
from dicast.errors import DataError, DeclarationError
from dicast.workflows import CaseSource, Progress
from dicast.workflows.run_texts import texts_of

pytest.importorskip("matplotlib", reason="the extra `report` is not installed")

ROWS = [
    {"id": f"r{n}", "query": f"q{n}", "response_a": f"left {n}", "response_b": f"right {n}", "label": "a"}
    for n in range(6)
]


class Notices(Progress):
    """Keeps the notices."""

    def __init__(self):
        self.lines = []

    def notice(self, text):
        self.lines.append(text)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a run over a file elsewhere; the working folder is the project."""
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    (tmp_path / "private").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for folder in (".", "../private"):
        Path(folder, "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    dicast.run("longer", "pairs.jsonl", out="runs/near")
    dicast.run("longer", "../private/pairs.jsonl", out="runs/far")
    return tmp_path / "project"


def page(run, **options):
    notices = Notices()
    dicast.report(run, "page.html", progress=notices, **options)
    return "left 3" in Path("page.html").read_text(), notices.lines


def edit_source(run, **fields):
    path = Path(run, "manifest.json")
    manifest = json.loads(path.read_text())
    manifest["source"] |= fields
    path.write_text(json.dumps(manifest))


def test_texts_of_the_project_are_shown(project):
    assert page("runs/near") == (True, [])


def test_texts_elsewhere_are_shown_where_the_user_names_them(project, capsys):
    is_shown, (line,) = page("runs/far")
    assert not is_shown
    assert "private/pairs.jsonl, which is not in this project, so it is not read. If these are the texts add" in line
    assert page("runs/far", cases="../private/pairs.jsonl") == (True, [])
    assert command(["report", "runs/far", "--cases", "../private/pairs.jsonl"]) == 0
    assert "left 3" in Path("report.html").read_text()


def test_rows_of_memory_lie_in_the_run_folder(project, monkeypatch):
    dicast.run("longer", ROWS, out="runs/rows")
    monkeypatch.chdir("..")
    assert page("project/runs/rows") == (True, [])


@pytest.mark.parametrize("source", ["hf:somebody/set", "/etc/hosts.jsonl", "../private/pairs.jsonl"])
def test_a_manifest_leads_nowhere_else(project, source):
    edit_source("runs/near", source=source)
    is_shown, (line,) = page("runs/near")
    assert not is_shown
    assert f"its manifest names {source}" in line
    with pytest.raises(DataError, match="add --cases"):
        dicast.evaluate("runs/near", texts="bleu")


def test_a_link_in_a_run_folder_leads_nowhere_else(project):
    Path("runs/near/cases.jsonl").symlink_to(project.parent / "private" / "pairs.jsonl")
    edit_source("runs/near", source=str(Path("runs/near/cases.jsonl").absolute()))
    assert page("runs/near")[0] is False


def test_a_public_set_is_found_where_the_user_keeps_public_sets(project, monkeypatch):
    foreign = CaseSource("pandalm", root=project.parent / "private")
    assert texts_of(Path("runs/near"), foreign) == CaseSource("pandalm")
    monkeypatch.setenv("DICAST_DATA", str(project.parent / "private"))
    assert texts_of(Path("runs/near"), foreign) == foreign


def test_cases_that_the_user_names_are_read_as_the_run_read_them(project):
    fields = {"response_a": "response_b", "response_b": "response_a"}
    Path("../private/b.jsonl").write_text("".join(json.dumps(row | {"label": "b"}) + "\n" for row in ROWS))
    dicast.run("longer", CaseSource("../private/b.jsonl", fields=fields), out="runs/exchanged")
    assert page("runs/exchanged", cases="../private/b.jsonl") == (True, [])


def test_texts_that_changed_since_are_not_shown(project):
    changed = [row | {"query": "another"} if row["id"] == "r3" else row for row in ROWS]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    is_shown, lines = page("runs/near")
    assert not is_shown
    assert lines == ["report: 1 cases of near have changed since; the page has no texts of them."]


# lines of one case


def test_repeated_lines_count_once_and_are_said(project, capsys):
    path = Path("runs/near/verdicts.jsonl")
    path.write_text(path.read_text() + path.read_text().splitlines(keepends=True)[0] * 10)
    evaluation = dicast.evaluate("runs/near")
    assert (evaluation.cases, evaluation.repeated) == (6, 10)
    sentence = "10 lines do not count, as an equal or a later line is of the same case"
    judged_again = ["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "runs/near"]
    for arguments in (["evaluate", "runs/near"], judged_again):
        assert command(arguments) == 0
        assert sentence in " ".join(capsys.readouterr().out.split())
    dicast.report("runs/near", "page.html")
    assert sentence in Path("page.html").read_text()


def test_rows_of_another_tool_count_once_a_case_and_aspect(project):
    rows = [{"id": "1", "prediction": "b", "label": "b"}] * 60
    rows += [{"id": "1", "prediction": "a", "label": "a", "aspect": aspect} for aspect in ("tone", "facts")]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for verdicts in ("rows.jsonl", rows):
        evaluation = dicast.evaluate(verdicts)
        assert (evaluation.cases, evaluation.repeated) == (3, 59)
        assert evaluation.measure("accuracy").value == 1.0
    run = dicast.workflows.open_run("rows.jsonl")
    assert [judged.winner for judged in run] == ["b", "a", "a"]


def test_rows_that_are_left_out_by_where_do_not_repeat_a_case(project):
    rows = [{"id": "1", "prediction": letter, "label": "a", "judge": name} for name, letter in (("x", "a"), ("y", "b"))]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluation = dicast.evaluate("rows.jsonl", where={"judge": "x"})
    assert (evaluation.cases, evaluation.repeated, evaluation.measure("accuracy").value) == (1, 0, 1.0)


# options that choose nothing


def test_where_is_for_rows_of_other_tools(project, capsys):
    with pytest.raises(DeclarationError, match="--where: runs/near is a run folder, of which every verdict counts"):
        dicast.evaluate("runs/near", where={"judge": "x"})
    for verb in ("evaluate", "report"):
        assert command([verb, "runs/near", "--where", "judge=x"]) == 3
        assert "is a run folder, of which every verdict counts" in " ".join(capsys.readouterr().err.split())


def test_a_system_that_no_text_is_of_is_refused(project):
    with pytest.raises(DeclarationError, match="--judge-system gpt: no judged text is of this system. .*none is known"):
        dicast.evaluate("runs/near", judge_systems=["gpt"])
    rows = [row | {"system_a": "gpt", "system_b": "llama"} for row in ROWS]
    run = dicast.run("longer", rows, out="runs/systems")
    assert run.evaluate(judge_systems="gpt").cases == 6
    with pytest.raises(DeclarationError, match="The systems: gpt, llama"):
        run.evaluate(judge_systems=["gpt", "claude"])
