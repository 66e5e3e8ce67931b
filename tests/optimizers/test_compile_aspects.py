"""A compilation over several aspects: each has its level and its figure, on every surface."""

import io

import numpy as np
import pytest
from rich.console import Console

from dicast.cli import run
from dicast.cli.compile import aspects_table
from dicast.data import Candidate, Case, Finding, Judged, Scores, Verdict
from dicast.evaluation.run_arrays import run_arrays
from dicast.judging import PROGRAMS, Program
from dicast.judging.judge import Judge, verdict_of
from dicast.judging.judge_file import read
from dicast.optimizers.compile import Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.objective import OBJECTIVES
from dicast.optimizers.recipe import Recipe
from dicast.optimizers.result import Result
from dicast.optimizers.structure.racing import RacingTest, racing_schedule
from dicast.pages import compilation_html, compilation_markdown

SLOPES = {"coherence": 0.62, "fluency": 0.88}
LEVELS = {"coherence": 2.4, "fluency": 3.6}  # people's; the judge's are the other way round


class TwoCriteria(Judge):
    """Scores a text by a criterion that people share, and by another, noise."""

    name = "two-criteria"

    def assess(self, case: Case) -> Verdict:
        sense, noise = case.meta["read"]
        findings = [Finding(criterion="sense", scores=(sense,)), Finding(criterion="noise", scores=(noise,))]
        return verdict_of(case, findings)


def world(texts=90, seed=0):
    """Cases of two aspects whose levels differ between the judge and people."""
    random = np.random.default_rng(seed)
    cases = []
    for number in range(texts):
        for aspect, slope in SLOPES.items():
            read = 6 - LEVELS[aspect] + random.uniform(-1.5, 1.5)
            people = LEVELS[aspect] + slope * (read - 6 + LEVELS[aspect]) + random.normal(0, 0.15)
            cases.append(
                Case(
                    id=f"{number:03}#{aspect}", query=f"text {number}",
                    candidates=(Candidate(text="x" * int(random.integers(9, 99))),),
                    aspect=aspect, label=Scores(values=(min(max(people, 1.0), 5.0),), lo=1, hi=5),
                    meta={"read": [read, float(random.uniform(1, 5))]},
                )
            )  # fmt: skip
    return cases


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("aspects")
    program = Program("two-criteria", TwoCriteria, "two criteria", "-", "single texts", "1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROGRAMS._added, "two-criteria", program)
        compiled = Compiler(TwoCriteria(), world(), path, Recipe(trials=0, estimate="split", baseline=None)).run()
        compiled.save(path / "two.judge.json")
        yield path, compiled


def test_the_head_knows_the_level_and_the_slope_of_each_aspect(folder):
    _, compiled = folder
    head = compiled.judge.head
    for aspect, slope in SLOPES.items():
        assert head.aspects[aspect].weights["criterion 1"] == pytest.approx(slope, abs=0.1)
    cases = world(40, seed=7)
    for aspect in SLOPES:
        part = [case for case in cases if case.aspect == aspect]
        scores = [compiled.judge(case).scores[0] for case in part]
        people = [case.label.values[0] for case in part]
        assert np.corrcoef(scores, people)[0, 1] > 0.9
        assert np.mean(np.abs(np.subtract(scores, people))) < 0.25


def test_each_aspect_has_its_figure_before_and_after(folder):
    result = folder[1].result
    assert result.outcome == "improved"
    assert [row.aspect for row in result.aspects] == ["coherence", "fluency"]
    for row in result.aspects:
        name = f"spearman ({row.aspect})"
        assert row.before == result.uncompiled.evaluation.measure(name)
        assert row.after == result.compiled.evaluation.measure(name)
        assert row.before.low < row.before.value < row.after.value
        assert row.test.p < 0.05
        assert row.test.difference.value == pytest.approx(row.after.value - row.before.value)
    mean = np.mean([row.test.difference.value for row in result.aspects])
    assert result.decisive_test.difference.value == pytest.approx(mean)


def test_the_compiled_judge_is_better_than_longer(folder):
    assert "not shown to be better" not in folder[1].result.summary


def test_the_aspects_are_in_the_judge_file_on_the_terminal_and_on_the_page(folder, capsys):
    path, compiled = folder
    assert read(path / "two.judge.json").training["aspects"][0]["aspect"] == "coherence"
    console = Console(file=io.StringIO(), width=150)
    console.print(aspects_table(compiled.result))
    printed = console.file.getvalue()
    row = compiled.result.aspects[0]
    assert "spearman by aspect" in printed
    assert f"{row.after.value:.3f}" in printed
    page = compilation_html(read_compilation(path), title="t", now="today")
    for text in (page, compilation_markdown(read_compilation(path), title="t", now="today")):
        assert "by aspect" in text
        assert "coherence" in text
    assert run(["show", str(path / "two.judge.json")]) == 0
    shown = capsys.readouterr().out
    assert "aspect coherence: criterion 1" in shown
    assert f"before: {row.before.value:.3f}" in shown


def test_a_result_of_an_earlier_version_has_no_aspects(folder):
    dumped = folder[1].result.model_dump(mode="json")
    del dumped["aspects"]
    assert Result.model_validate(dumped).aspects == ()


@pytest.mark.slow
def test_an_objective_that_no_evaluation_has_by_aspect_is_measured(tmp_path):
    recipe = Recipe(trials=0, estimate="split", baseline=None, objective="mse")
    result = Compiler(TwoCriteria(), world(60), tmp_path, recipe).run().result
    for row in result.aspects:
        assert row.test.name == f"mse ({row.aspect})"
        assert row.after.low < row.after.value < row.after.high
        assert row.test.difference.value == pytest.approx(row.after.value - row.before.value)


def test_a_structure_search_races_on_the_mean_over_aspects():
    cases = world(40)
    schedule = racing_schedule(cases, RacingTest(), seed=0)
    run = run_arrays(Judged.of(case, TwoCriteria()(case)) for case in cases)
    objective = OBJECTIVES.find("spearman")
    units = np.array(schedule.contributions(run, objective.value_as_of(run)))
    mean = float(schedule.weights @ units / schedule.weights.sum())
    assert mean == pytest.approx(objective.value(run), abs=0.02)  # a jackknife: exact up to its bias
