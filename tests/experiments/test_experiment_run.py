"""`dicast experiment run`: whole, stopped and continued, out of budget, with missing sets; no call is made twice."""

import json
import re
import threading
from collections import Counter
from pathlib import Path

import pytest

from dicast.cli import run as command
from dicast.data import Judged
from dicast.engines.ledger import Ledger, charge_to
from dicast.errors import DataError
from dicast.experiments.results import ExperimentResult
from dicast.testing import MockServer
from dicast.workflows import Progress, run
from dicast.workflows.experiments import experiment

FILE = """
title: does the order decide
place: Table 0
source: invented
sets: {pairs: {cases: pairs.jsonl}}
runs:
  direct: {judge: direct, sets: pairs, over: {order: [one, both]}}
  longer: {judge: longer, sets: pairs}
measures: [accuracy, consistency, usage.calls]
printed:
  - {at: {run: direct, order: one}, values: {accuracy: {GPT-4: 0.630}}}
differs: [everything is invented]
"""
CASES = 12
KEPT = re.compile(r"\((\d+) more from the cache\)")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder with twelve pairs, an experiment over them, and a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DICAST_ANSWERS", str(tmp_path / "answers"))
    rows = [
        {"id": str(n), "query": f"Question {n}?", "response_a": "x" * n, "response_b": "four", "label": "ab"[n % 2]}
        | {"subset": ("easy", "hard")[n % 3 == 0]}
        for n in range(1, CASES + 1)
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("mine.yaml").write_text(FILE)
    return tmp_path


@pytest.fixture
def server():
    with MockServer() as started:
        yield started


def lm(server):
    return f"openai/experiment@{server.url}"


def lines(result):
    return {(line.cell, line.measure): line for line in result.lines}


def verdict_counts(out="runs/experiments/mine"):
    """How often each case of each run was written."""
    files = sorted(Path(out).glob("runs/*/verdicts.jsonl"))
    return {
        file.parent.name: Counter(json.loads(line)["case_id"] for line in file.read_text().splitlines())
        for file in files
    }


def test_the_table_has_printed_figures_beside_those_of_dicast_evaluate(server, capsys):
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(Path("runs/experiments/mine/experiment.json").read_text())
    result = ExperimentResult.model_validate(printed)
    assert [line.cell for line in result.lines[::3]] == ["direct, order=one", "direct, order=both", "longer"]
    line = lines(result)["direct, order=one", "accuracy"]
    assert [(figure.system, str(figure.value)) for figure in line.printed] == [("GPT-4", "0.630")]
    assert command(["evaluate", f"runs/experiments/mine/{line.folders[0]}", "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)["evaluation"]
    assert line.ours is not None
    assert line.ours.model_dump(mode="json") in evaluated["sections"]["agreement"]
    assert result.models == (lm(server),)
    assert lines(result)["longer", "accuracy"].model == ""


def test_terminal_markdown_and_page_have_the_same_figures(server, capsys):
    pytest.importorskip("jinja2")
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.startswith("direct, order=one") and "accuracy" in line)
    value = row.split("GPT-4")[1].split()[0]
    markdown, page = (Path("runs/experiments/mine", name).read_text() for name in ("table.md", "report.html"))
    for text in (out, markdown, page):
        assert "0.630 GPT-4" in text
        assert value in text
        assert "everything is invented" in text
    assert "differs: everything is invented" in out


def test_a_stopped_experiment_is_continued_and_nothing_is_judged_or_asked_twice(server):
    class StopAfter(Progress):
        def __init__(self, count):
            self.left, self.stop = count, threading.Event()

        def verdict(self, judged: Judged) -> None:
            self.left -= 1
            if not self.left:
                self.stop.set()

    first = StopAfter(CASES + 3)  # in the second run
    stopped = experiment("mine.yaml", lm=lm(server), progress=first, stop=first.stop, workers=1)
    assert stopped.status == "stopped"
    assert lines(stopped)["longer", "accuracy"].note == "not run yet"
    before = sum(counts.total() for counts in verdict_counts().values())
    assert CASES < before < 3 * CASES
    counted = Counter[str]()

    class Counting(Progress):
        def start(self, total, done):
            counted.update(total=total, done=done)

        def verdict(self, judged: Judged) -> None:
            counted["verdicts"] += 1

    whole = experiment("mine.yaml", lm=lm(server), progress=Counting(), workers=1)
    assert whole.status == "complete"
    assert counted == {"total": 3 * CASES, "done": before, "verdicts": 3 * CASES - before}
    assert all(set(counts.values()) == {1} and len(counts) == CASES for counts in verdict_counts().values())
    bodies = Counter(json.dumps(request, sort_keys=True) for request in server.requests)
    assert set(bodies.values()) == {1}


@pytest.mark.slow
def test_the_budget_is_of_all_runs_together_and_the_rest_is_done_later(server, capsys):
    assert (
        command(["experiment", "run", "mine.yaml", "--lm", lm(server), "--budget", "calls=30", "--workers", "1"]) == 2
    )
    assert len(server.requests) == 30
    assert "The same command continues" in capsys.readouterr().err
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 0
    assert set(Counter(json.dumps(request, sort_keys=True) for request in server.requests).values()) == {1}


def test_a_run_is_charged_to_the_ledger_around_it(server):
    with charge_to(Ledger()) as whole:
        part = run("direct", "pairs.jsonl", lm=lm(server), out="out", limit=2)
    assert whole.total.calls == sum(usage.calls for usage in part.usage.values()) > 0


def test_a_dry_run_asks_nobody_and_estimates_the_calls_that_are_made(server, capsys):
    arguments = ["experiment", "run", "mine.yaml", "--lm", lm(server), "--limit", "5", "--seed", "1"]
    assert command([*arguments, "--dry-run", "--json"]) == 0
    dry = json.loads(capsys.readouterr().out)
    assert (dry["status"], server.requests) == ("dry run", [])
    estimate = dry["estimate"]
    assert (estimate["runs"], estimate["cases"], estimate["done"], estimate["cost"]) == (3, 15, 0, None)
    assert command(arguments) == 0
    assert estimate["calls"] == len(server.requests) + int(KEPT.search(capsys.readouterr().out)[1])
    assert command([*arguments, "--dry-run"]) == 0
    assert "0 of 15 cases left: 0 calls" in capsys.readouterr().out


def test_a_known_price_is_estimated(capsys):
    arguments = ["experiment", "run", "mine.yaml", "--dry-run", "--json", "--lm"]
    assert command([*arguments, "openai/gpt-4o-mini"]) == 0
    estimate = json.loads(capsys.readouterr().out)["estimate"]
    expected = 0.15e-6 * estimate["prompt_tokens"] + 0.6e-6 * estimate["completion_tokens"]
    assert estimate["cost"] == pytest.approx(expected, rel=0.01)  # dollars a token, of LiteLLM's table
    assert command([*arguments, "local/qwen2.5-coder-1.5b"]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["cost"] == 0


@pytest.mark.slow
def test_a_missing_set_leaves_its_lines_and_says_where_to_get_it(server, capsys):
    text = FILE.replace("cases: pairs.jsonl}", "cases: pairs.jsonl}, other: {cases: no.jsonl, fetch: the authors}")
    Path("mine.yaml").write_text(text.replace("longer, sets: pairs", "longer, sets: [pairs, other]"))
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 0
    out = capsys.readouterr().out
    assert "not run: other is missing" in out
    assert "missing other, to get it: the authors" in out
    result = experiment("mine.yaml", lm=lm(server))
    assert lines(result)["longer, other", "accuracy"].ours is None
    assert lines(result)["longer, pairs", "accuracy"].ours is not None
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server), "--cases", "other=pairs.jsonl"]) == 0
    assert "not run" not in capsys.readouterr().out


def test_only_the_sets_that_are_named_are_judged_and_all_of_them_continue_their_runs(server, capsys):
    text = FILE.replace("cases: pairs.jsonl}", "cases: pairs.jsonl}, other: {cases: no.jsonl, fetch: the authors}")
    Path("mine.yaml").write_text(text.replace("longer, sets: pairs", "longer, sets: [pairs, other]"))
    arguments = ["experiment", "run", "mine.yaml", "--lm", lm(server)]
    assert command([*arguments, "--only", "pairs"]) == 0
    captured = capsys.readouterr()
    assert "other" not in captured.out + captured.err
    assert "page: runs/experiments/mine/" in captured.out
    assert "--only pairs" in Path("runs/experiments/mine/table.md").read_text()
    asked = len(server.requests)
    assert command(arguments) == 0
    assert len(server.requests) == asked
    assert command([*arguments, "--only", "elsewhere"]) == 3
    assert "there is no set 'elsewhere'. It has: pairs, other." in capsys.readouterr().err


def test_the_texts_that_a_run_rewrites_are_judged_with_the_set_that_they_come_from(server):
    text = """
title: score after correction
sets: {pairs: {cases: pairs.jsonl}, more: {cases: pairs.jsonl}, rewritten: {corrected: correct}}
runs:
  correct: {judge: fennec-correct, sets: pairs, settings: {branches: 1}, measures: [rewrites]}
  rejudged: {judge: explicit, sets: rewritten, measures: [systems.corrected.judge]}
  others: {judge: longer, sets: more, measures: [accuracy]}
"""
    Path("mine.yaml").write_text(text)
    result = experiment("mine.yaml", lm=lm(server), limit=2, only=["rewritten"])
    assert [(line.run, line.ours is not None) for line in result.lines] == [("correct", True), ("rejudged", True)]


def test_an_experiment_without_any_set_is_an_error(capsys):
    Path("mine.yaml").write_text(FILE.replace("cases: pairs.jsonl", "cases: no.jsonl, fetch: the authors"))
    assert command(["experiment", "run", "mine.yaml"]) == 3
    assert "no set is on this machine. pairs, to get it: the authors" in capsys.readouterr().err
    assert not Path("runs").exists()
    Path("mine.yaml").write_text(FILE.replace("cases: pairs.jsonl", "cases: autoh"))
    with pytest.raises(DataError, match="Did you mean 'autoj'"):
        experiment("mine.yaml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("judge: direct", "judge: direkt"), "there is no such judge. Did you mean 'direct'"),
        (("order: [one, both]", "ordr: [one]"), "'ordr'"),
        (("cases: pairs.jsonl", "cases: pairs.jsonl, options: {aspct: x}"), "Did you mean 'aspect'"),
        (("cases: pairs.jsonl", "cases: pairs.jsonl, options: {max_chars: many}"), "max_chars"),
    ],
)
def test_what_does_not_exist_is_an_error_before_the_first_case(server, capsys, change, message):
    Path("mine.yaml").write_text(FILE.replace(*change))
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 3
    assert message in capsys.readouterr().err
    assert server.requests == []


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("consistancy", "there is no such figure. Did you mean 'consistency'"),
        ("strata.harder.accuracy", "there is no such figure"),
        ("usage.cals", "there is no such figure"),
        ('"branches[n=1].both-orders acuracy"', "there is no such figure. Did you mean 'both-orders accuracy'"),
        ('"explaned *"', "there is no such figure"),
    ],
)
def test_a_name_of_no_measure_is_an_error_before_the_first_case(server, capsys, measure, message):
    Path("mine.yaml").write_text(FILE.replace("consistency,", f"{measure},"))
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 3
    err = capsys.readouterr().err
    assert f"measure {measure.strip(chr(34))!r}: {message}" in err
    assert server.requests == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ("tau of pairs", "12 scored, 12 labelled do not give it"),
        ("spearman by input", "fewer than two inputs"),
        ("strata.hard.tau of pairs", "no pair of this difficulty"),
        ('"accuracy[subset=hardest]"', "no labelled case has this value"),
        ('"explained *"', "do not give it"),
    ],
)
def test_a_measure_that_is_undefined_is_a_line_with_the_reason(server, capsys, measure, reason):
    Path("mine.yaml").write_text(FILE.replace("consistency,", f"{measure},"))
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 0
    assert "- (not defined on these cases: " in capsys.readouterr().out
    result = experiment("mine.yaml", lm=lm(server))
    address = measure.strip('"')
    undefined = [line for line in result.lines if line.address == address]
    assert len(undefined) == 3
    assert {line.ours for line in undefined} == {None}
    assert all(reason in line.note for line in undefined)
    assert all(line.ours is not None for line in result.lines if line.address != address)


def test_cases_without_labels_leave_every_figure_by_a_field_undefined(server):
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]
    Path("pairs.jsonl").write_text("".join(json.dumps({**row, "label": None}) + "\n" for row in rows))
    Path("mine.yaml").write_text(FILE.replace("consistency,", '"accuracy[subset=hard]",'))
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 0
    lines = experiment("mine.yaml", lm=lm(server)).lines
    assert all("label" in line.note for line in lines if line.address.startswith("accuracy"))
    assert all(line.ours is not None for line in lines if line.address == "usage.calls")


def test_a_field_that_no_case_has_is_an_error_beside_a_complete_table(server, capsys):
    Path("mine.yaml").write_text(FILE.replace("consistency,", '"accuracy[subst=hard]",'))
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 3
    captured = capsys.readouterr()
    assert "the run has no such field. It has: subset" in captured.err
    saved = json.loads(Path("runs/experiments/mine/experiment.json").read_text())["lines"]
    assert all(line["ours"] for line in saved if line["address"] != "accuracy[subst=hard]")
    asked = len(server.requests)
    Path("mine.yaml").write_text(FILE)
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 0
    assert len(server.requests) == asked


def test_a_figure_says_how_many_of_its_cases_are_unscored(capsys):
    def tokens(body):
        return {"x": 1.0} if "Question 7?" in json.dumps(body) else {"A": 0.4, "B": 0.1, "4": 0.3, "2": 0.2}

    with MockServer(token_probabilities=tokens) as server:
        assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 0
    assert "(1 of 12 cases unscored)" in capsys.readouterr().out


def test_a_run_that_its_cases_refuse_does_not_keep_the_others_back(server, capsys):
    text = FILE.replace("judge: longer,", "judge: third-person,")
    Path("mine.yaml").write_text(text)
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 3
    assert "What is judged is kept" in capsys.readouterr().err
    saved = json.loads(Path("runs/experiments/mine/experiment.json").read_text())["lines"]
    assert [bool(line["ours"]) for line in saved if line["measure"] == "accuracy"] == [True, True, False]


def test_measuring_that_fails_for_one_run_leaves_the_figures_of_the_others(server, capsys):
    Path("mine.yaml").write_text(FILE.replace("longer, sets: pairs", "longer, sets: pairs, measuring: {by: colour}"))
    assert command(["experiment", "run", "mine.yaml", "--lm", lm(server)]) == 3
    result = ExperimentResult.model_validate_json(Path("runs/experiments/mine/experiment.json").read_text())
    known = lines(result)
    assert known["direct, order=one", "accuracy"].ours is not None
    assert "no such field" in known["longer", "accuracy"].note
    printed = capsys.readouterr()
    assert "0.630 GPT-4" in printed.out
    assert "--by colour" in printed.err


def test_repeated_runs_are_one_line_with_mean_and_spread(server):
    repeated = FILE.replace("over: {order: [one, both]}", "repeat: {order: [one, both]}").partition("printed:")[0]
    Path("mine.yaml").write_text(FILE.partition("printed:")[0])
    single = lines(experiment("mine.yaml", lm=lm(server)))
    Path("mine.yaml").write_text(repeated)
    line = lines(experiment("mine.yaml", lm=lm(server)))["direct", "accuracy"]
    values = [single[f"direct, order={order}", "accuracy"].ours for order in ("one", "both")]
    assert line.repeated == tuple(measure.value for measure in values)
    assert line.ours.value == pytest.approx(sum(line.repeated) / 2)
    assert line.ours.low == pytest.approx(sum(measure.low for measure in values) / 2)
    assert line.spread == pytest.approx(abs(line.repeated[0] - line.repeated[1]) / 2**0.5)
    assert len(line.folders) == 2


def test_equal_runs_of_several_cells_are_made_once(server):
    axes = "over: {threshold: [0.5, 0.9]}"
    Path("mine.yaml").write_text(FILE.replace("over: {order: [one, both]}", axes).partition("printed:")[0])
    result = experiment("mine.yaml", lm=lm(server))
    assert len(verdict_counts()) == 2
    folders = {line.folders for line in result.lines if line.run == "direct"}
    assert len(folders) == 1


def test_several_models_have_a_line_each_and_a_judge_without_one_a_single_line(server):
    models = [lm(server), f"openai/other@{server.url}"]
    result = experiment("mine.yaml", lm=models)
    assert [line.model for line in result.lines if line.measure == "accuracy"] == [*models, *models, ""]


def test_figures_by_the_field_of_an_address_are_computed(server):
    Path("mine.yaml").write_text(
        FILE.replace("[accuracy, consistency, usage.calls]", '[accuracy, "accuracy[subset=hard]"]')
    )
    line = lines(experiment("mine.yaml", lm=lm(server)))["longer", "accuracy[subset=hard]"]
    assert line.ours.n == CASES // 3


def test_a_prepared_set_is_written_once_and_judged(server):
    text = FILE.replace("cases: pairs.jsonl", "cases: pairs.jsonl, prepare: anonymise")
    Path("mine.yaml").write_text(text)
    result = experiment("mine.yaml", lm=lm(server), limit=3)
    (prepared,) = Path("runs/experiments/mine/sets").glob("pairs-*.jsonl")
    assert len(prepared.read_text().splitlines()) == 3
    assert lines(result)["longer", "accuracy"].ours.n == 3
    asked = len(server.requests)
    experiment("mine.yaml", lm=lm(server), limit=3)
    assert len(server.requests) == asked


def test_a_set_of_pairs_is_drawn_of_all_texts_and_the_limit_is_of_the_pairs(server):
    texts = [
        {"id": str(n), "query": "q", "response": "x" * n, "score": 1 + n % 5, "system": f"s{n}"} for n in range(20)
    ]
    Path("texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
    text = FILE.replace("cases: pairs.jsonl", "cases: texts.jsonl, prepare: pairs, settings: {n: 15}, seed: 3")
    Path("mine.yaml").write_text(text)
    for limit in (4, None):
        result = experiment("mine.yaml", lm=lm(server), limit=limit)
        (prepared,) = Path("runs/experiments/mine/sets").glob("pairs-*.jsonl")
        assert len(prepared.read_text().splitlines()) == 15
        assert lines(result)["longer", "accuracy"].ours.n == (limit or 15)


def test_a_budget_that_ends_in_a_preparation_judges_nothing_and_continues(server):
    steps = "cases: pairs.jsonl, prepare: summarise, settings: {words: 2}"
    Path("mine.yaml").write_text(FILE.replace("cases: pairs.jsonl", steps))
    Path("pairs.jsonl").write_text(Path("pairs.jsonl").read_text().replace('"four"', '"four words of text"'))
    result = experiment("mine.yaml", lm=lm(server), budget="calls=1", workers=1)
    assert (result.status, len(server.requests)) == ("budget", 1)
    assert verdict_counts() == {}
    assert {line.note for line in result.lines} == {"not run yet"}
    assert experiment("mine.yaml", lm=lm(server)).status == "complete"
    assert set(Counter(json.dumps(request, sort_keys=True) for request in server.requests).values()) == {1}


def test_list_and_show_say_paper_place_sets_and_printed_figures(public_sets, capsys):
    assert command(["experiment", "list"]) == 0
    out = capsys.readouterr().out
    assert "fennec-table-3" in out
    assert "arXiv 2405.12163, Table 3" in out
    assert command(["experiment", "show", "fennec-table-3"]) == 0
    shown = capsys.readouterr().out
    for words in ("61.84", "branches=5", "calls 1 + N + 2N", "differs", "pandalm"):
        assert words in shown
    assert command(["experiment", "list", "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert names == sorted(names)


def test_texts_that_a_run_rewrites_are_judged_by_another_with_their_originals(server, capsys):
    text = """
title: score before and after correction
sets: {pairs: {cases: pairs.jsonl}, rewritten: {corrected: correct}}
runs:
  correct: {judge: fennec-correct, sets: pairs, settings: {branches: 1}, measures: [rewrites]}
  rejudged: {judge: explicit, sets: rewritten, measures: [systems.original.judge, systems.corrected.judge]}
"""
    Path("mine.yaml").write_text(text)
    arguments = ["experiment", "run", "mine.yaml", "--lm", lm(server), "--limit", "2"]
    assert command([*arguments, "--dry-run"]) == 0
    assert "rejudged: how many texts are rewritten is not known yet" in capsys.readouterr().out
    assert command(arguments) == 0
    result = ExperimentResult.model_validate_json(Path("runs/experiments/mine/experiment.json").read_text())
    rewrites, before, after = (line.ours for line in result.lines)
    assert rewrites.value == 2  # of each of the two cases
    assert before.n == after.n == 4
    asked = len(server.requests)
    assert command(arguments) == 0
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("corrected: longer", "corrected: longr"), "there is no run 'longr'. Did you mean 'longer'"),
        (("corrected: longer", "corrected: direct"), "without `over` and `repeat`"),
        (("corrected: longer", "corrected: after"), "before the runs that judge its texts"),
    ],
)
def test_rewritten_texts_are_those_of_one_earlier_run(capsys, change, message):
    text = FILE.replace("cases: pairs.jsonl}", "cases: pairs.jsonl}, rewritten: {corrected: longer}")
    text = text.replace("measures:", "  after: {judge: explicit, sets: rewritten}\nmeasures:")
    Path("mine.yaml").write_text(text.replace(*change))
    assert command(["experiment", "run", "mine.yaml"]) == 3
    assert message in capsys.readouterr().err
