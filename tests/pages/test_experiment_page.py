"""The page of an experiment: printed figures beside ours, curves over an axis, texts escaped."""

import re
from decimal import Decimal

import pytest

from dicast.evaluation.results import Measure
from dicast.experiments.results import ExperimentResult, MissingSet, Printed, ResultLine
from dicast.experiments.spec import SweepFigure
from dicast.pages import experiment_html, experiment_markdown
from dicast.pages.experiment_page import command_of
from dicast.pages.plots.experiments import ABOVE, BELOW, label_heights

NAME = "<script>alert(1)</script> | `x`"


def line(k, value, *printed, **other):
    ours = None if value is None else Measure(name="spearman", value=value, low=value - 0.1, high=value + 0.1, n=40)
    figures = tuple(Printed(system=system, value=Decimal(text)) for system, text in printed)
    return ResultLine(
        cell=f"perse, k={k}", run="perse", set="s", axes={"k": k}, measure="spearman", address="spearman",
        printed=figures, ours=ours, **other,
    )  # fmt: skip


def result(*lines, **other):
    return ExperimentResult(name="perse-figure-3", title="correlation", lines=lines, models=("openai/m",), **other)


@pytest.fixture
def swept():
    lines = (line(0, 0.1, ("GPT-4", "0.150")), line(1, 0.25, ("GPT-4", "0.315")), line(3, None, note="not run yet"))
    return result(*lines, figure=SweepFigure(over="k"), differs=("Other data.",), limit=40, seed=1)


def test_the_same_result_gives_the_same_page(swept):
    assert experiment_html(swept, now="now") == experiment_html(swept, now="now")


def test_a_sweep_says_every_point_of_ours_and_of_the_printed_curve_in_words(swept):
    page = experiment_html(swept, now="now")
    assert "spearman over k. perse: 0 0.1, 1 0.25; GPT-4 (printed): 0 0.15, 1 0.315." in page
    assert "2 of 3 figures measured" in page
    assert "not run yet" in page
    assert "Other data." in page


def test_without_an_axis_printed_figures_are_drawn_beside_ours():
    page = experiment_html(result(line(0, 0.1, ("GPT-4", "0.150"))), now="now")
    assert "spearman, printed and ours" in page
    assert "perse, k=0: ours 0.100 (95\u202f% interval 0.000 to 0.200); printed GPT-4 0.150." in page


def test_percent_is_the_unit_of_printed_figures_and_ours():
    percent = line(0, 0.5, ("GPT-4", "61.84"), unit="percent")
    assert "| 61.84 % GPT-4 | 50.0 % \\[40.0, 60.0\\] | 40 |" in experiment_markdown(result(percent), now="now")


def test_texts_of_a_file_are_escaped():
    missing = MissingSet(name=NAME, why=NAME, get=NAME)
    made = result(line(0, 0.1, (NAME, "1")), differs=(NAME,), missing=(missing,), source=NAME, not_at_hand=NAME)
    page, text = experiment_html(made, now="now"), experiment_markdown(made, now="now")
    assert "<script>alert" not in page
    assert "<script>" not in text
    assert "\\| \\`x\\`" in text


def test_the_command_makes_the_same_runs():
    made = result(limit=40, seed=1, file="my file.yaml", cases={"s": "mine.jsonl"})
    assert command_of(made) == (
        "dicast experiment run 'my file.yaml' --lm openai/m --limit 40 --seed 1 --cases s=mine.jsonl"
    )


def test_names_of_printed_figures_that_are_close_do_not_overlap():
    centres, widths = [10.0, 14.0, 18.0, 60.0, 200.0], [30.0, 30.0, 30.0, 30.0, 30.0]
    heights = label_heights(centres, widths)
    assert heights == [ABOVE, BELOW, None, ABOVE, ABOVE]
    page = experiment_html(result(line(0, 0.5, ("Command R+", "0.893"), ("GPT-4o", "0.908"))), now="now")
    tops = [re.search(rf' y="([\d.]+)">{name}<', page) for name in (r"Command R\+", "GPT-4o")]
    first, second = (float(top[1]) for top in tops if top)
    assert abs(first - second) > 11
