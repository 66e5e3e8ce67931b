"""A case without what the judge reads: unscored for that reason, before any call, and not asked again for nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dicast
from dicast.cli import run as command
from dicast.data import Case, read_cases
from dicast.distillation.distil_recipe import DistilRecipe
from dicast.distillation.estimate import estimate_distillation
from dicast.errors import DataError, ExecutionError, MissingField
from dicast.judging import Cascade, Panel, build
from dicast.optimizers.recipe import Recipe
from dicast.testing import MockServer
from dicast.workflows import estimate_run, missing_fields
from dicast.workflows.compile_estimate import estimate_compilation
from dicast.workflows.trace_collections import collect_traces

SENTENCE = (
    "judge 'rouge-l': case '1' has no reference. Give rows with `reference` or `references`, or use a judge that "
    "needs none."
)
OF_FIRST = SENTENCE.replace("case '1'", "case '0'")
NOWHERE = f"dicast: no case has what the judge reads; of the first one: {OF_FIRST}\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))


def save(*referenced: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"id": str(n), "query": "q", "response_a": "the cat sat", "response_b": "a dog ran", "label": "a"}
        | ({"reference": "the cat sat down"} if has else {})
        for n, has in enumerate(referenced)
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def lines() -> dict[str, dict[str, Any]]:
    read = [json.loads(line) for line in Path("out/verdicts.jsonl").read_text().splitlines()]
    assert len({line["case_id"] for line in read}) == len(read)
    return {line["case_id"]: line for line in read}


def test_a_case_without_a_reference_is_unscored_for_that_and_stays_so(capsys: pytest.CaptureFixture[str]) -> None:
    save(True, False, True)
    judge = ["judge", "--judge", "rouge-l", "--cases", "pairs.jsonl", "--out", "out"]
    assert command(judge) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "unscored missing_field 1 counted in coverage only; asked again with --retry missing_field" in out
    before = Path("out/verdicts.jsonl").read_bytes()
    missing = lines()["1"]
    assert (missing["status"], missing["reason"], missing["detail"]) == ("unscored", "missing_field", SENTENCE)
    assert [lines()[name]["winner"] for name in "02"] == ["a", "a"]
    assert command(judge) == 0
    assert Path("out/verdicts.jsonl").read_bytes() == before


def test_a_reference_that_was_added_is_read_by_a_retry() -> None:
    save(True, False)
    judge = ["judge", "--judge", "rouge-l", "--cases", "pairs.jsonl", "--out", "out"]
    assert command(judge) == 0
    save(True, True)
    assert command([*judge, "--retry", "missing_field"]) == 0
    assert [lines()[name]["winner"] for name in "01"] == ["a", "a"]


def test_a_run_that_goes_on_with_cases_without_a_reference_alone_is_complete() -> None:
    save(True, False, False)
    judge = ["judge", "--judge", "rouge-l", "--cases", "pairs.jsonl", "--out", "out"]
    assert command([*judge, "--limit", "1"]) == 0
    assert command(judge) == 0
    assert command([*judge, "--retry", "missing_field"]) == 0
    assert [lines()[name]["reason"] for name in "012"] == [None, "missing_field", "missing_field"]


def test_a_server_that_is_down_ends_a_run_in_which_other_cases_lack_a_field() -> None:
    rows = [row | ({"reviewer": "r", "reviews": [{"text": "t", "comment": "c", "score": 3}]} if n % 2 else {})
            for n, row in enumerate(save(*[False] * 60))]  # fmt: skip
    with MockServer(faults={"500": 1.0}) as server:
        judge = build("perse-pairwise").bind(server.model_string())
        with pytest.raises(ExecutionError, match="The first 5 cases failed so"):
            dicast.run(judge, rows, out="out", workers=1)


@pytest.mark.parametrize("verb", [["judge", "--judge", "rouge-l"], ["judge", "--judge", "rouge-l", "--dry-run"]])
def test_where_no_case_has_a_reference_that_is_said_and_nothing_is_left(
    verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    save(False, False)
    out = [] if "--dry-run" in verb else ["--out", "out"]
    assert command([*verb, "--cases", "pairs.jsonl", *out]) == 3
    assert capsys.readouterr() == ("", NOWHERE)
    assert not Path("out").exists()


def test_a_compilation_says_so_before_it_asks(capsys: pytest.CaptureFixture[str]) -> None:
    save(*[False] * 40)
    assert command(["compile", "rouge-l", "--cases", "pairs.jsonl", "--out", "out"]) == 3
    assert capsys.readouterr().err == NOWHERE
    assert not Path("out").exists()


def test_no_member_of_a_panel_is_asked_of_a_case_that_another_cannot_judge() -> None:
    rows = save(True, False)
    with MockServer(answer=lambda body: '{"better": "A"}') as server:
        members = [build("direct", grading="pairwise", readout="generate").bind(server.model_string())]
        run = dicast.run(Panel([*members, build("rouge-l")]), rows, out="out")
        assert {judged.case_id: judged.reason for judged in run} == {"0": None, "1": "missing_field"}
        assert len(server.requests) == 2  # both orders of the first case


@pytest.fixture
def panel() -> Iterator[Panel]:
    with MockServer() as server:
        direct = build("direct", grading="pairwise", readout="generate").bind(server.model_string())
        yield Panel([direct, build("rouge-l")])
        assert server.requests == []


def test_a_dry_run_counts_the_cases_that_have_what_is_read(panel: Panel) -> None:
    save(False, False, False, True, True)
    estimate = estimate_run(panel, "pairs.jsonl")
    assert (estimate.cases, estimate.calls, estimate.note) == (2, 4, "")  # both orders
    traces = collect_traces(panel, "pairs.jsonl", dry_run=True).estimate
    assert traces is not None
    assert (traces.cases, traces.calls, traces.note) == (2, 4, "")


def test_compilations_and_distillations_are_estimated_from_cases_that_have_what_is_read(panel: Panel) -> None:
    save(*[False] * 3, *[True] * 97)
    cases = list(read_cases("pairs.jsonl"))
    of_compilation = estimate_compilation(panel, cases, Recipe(), baseline=panel).judging
    of_distillation = estimate_distillation(panel, cases, [], DistilRecipe(), "openai/base").judging
    for row in (*of_compilation, of_distillation[0]):
        assert (row.calls, row.note) == (2 * row.cases, ""), row.name


def test_a_cascade_needs_what_its_first_member_reads() -> None:
    case = Case(id="1", query="q", candidates=[{"text": "x"}, {"text": "y"}])
    metric, longer = build("rouge-l"), build("longer")
    assert Cascade([metric, longer]).lacks(case) == Panel([longer, metric]).lacks(case) == SENTENCE
    assert Cascade([longer, metric]).lacks(case) == ""


def test_a_cascade_keeps_what_it_has_where_a_later_member_cannot_judge() -> None:
    rows = save(True, False)
    with MockServer(answer=lambda body: '{"better": "A"}') as server:
        first = build("direct", grading="pairwise", readout="generate").bind(server.model_string())
        cascade = Cascade([first, build("rouge-l")], thresholds=[2, 0])
        run = {judged.case_id: judged for judged in dicast.run(cascade, rows)}
    assert run["0"].status == "scored"
    usage = run["1"].usage
    assert (run["1"].status, usage.calls + usage.cached) == ("abstained", 2)
    assert "rouge-l: missing_field" in run["1"].notes


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ("perse-pairwise", "has no reviewer. Give rows with `reviewer` and `reviews`, or --set k=0."),
        ("reviewer-average", "has no reviewer. Give rows with `reviewer` and `reviews`."),
        ("third-person", "has no votes. Give rows with `votes`."),
    ],
)
def test_other_judges_name_what_they_read(judge: str, words: str) -> None:
    rows = save(False)
    with pytest.raises(DataError, match="no case has what the judge reads; of the first one: ") as raised:
        dicast.run(judge, rows, out="out")
    assert str(raised.value).endswith(f"judge '{judge}': case '0' {words}")


def test_cases_are_read_ahead_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_fields, "MOST_READ", 2)
    cases = [Case(id=str(n), query="q", candidates=[{"text": "x"}]) for n in range(3)]
    judge, read = build("rouge-l"), iter(cases)
    passed = missing_fields.with_fields(judge, read)
    assert next(read).id == "2"
    assert [case.id for case in passed] == ["0", "1"]
    with pytest.raises(MissingField):
        missing_fields.with_fields(judge, cases[:1])
    assert list(missing_fields.with_fields(judge, [])) == []
