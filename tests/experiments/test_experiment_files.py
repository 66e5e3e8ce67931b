"""Experiment files: what they declare becomes cells, and what they name wrongly is an error with advice."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from dicast.errors import DeclarationError
from dicast.experiments import find_experiment, read_experiment, shipped_experiments

RUN = "runs: {a: {judge: direct, sets: authored}}\n"
HEAD = "title: t\nsets: [authored]\nmeasures: [accuracy]\n"


@pytest.fixture
def read(tmp_path):
    def of(text):
        (tmp_path / "mine.yaml").write_text(text)
        return read_experiment(tmp_path / "mine.yaml")

    return of


def test_every_combination_of_sets_and_values_is_a_cell_in_the_order_of_the_file(read):
    text = HEAD.replace("[authored]", "[authored, pandalm]")
    text += "runs: {a: {judge: perse, sets: [authored, pandalm], over: {k: [0, 3], comments: [true]}}}\n"
    cells = read(text).cells
    assert [cell.title for cell in cells] == [
        "a, authored, k=0, comments=true",
        "a, authored, k=3, comments=true",
        "a, pandalm, k=0, comments=true",
        "a, pandalm, k=3, comments=true",
    ]
    assert cells[1].runs[0].settings == {"k": 3, "comments": True}


def test_repeated_values_are_runs_of_one_cell(read):
    (cell,) = read(HEAD + "runs: {a: {judge: perse, sets: authored, repeat: {shuffle: [1, 2, 3]}}}\n").cells
    assert [run.settings["shuffle"] for run in cell.runs] == [1, 2, 3]


def test_a_value_belongs_to_the_judge_the_cases_or_the_measuring_as_its_axis_says(read):
    axes = "over: {threshold: [0.7], aspect: [ending], samples: [5], form: [V1]}"
    (cell,) = read(HEAD + f"runs: {{a: {{judge: explicit, sets: authored, {axes}}}}}\n").cells
    (run,) = cell.runs
    assert cell.measuring.threshold == 0.7
    assert (run.options, run.samples, run.settings) == ({"aspect": "ending"}, 5, {"form": "V1"})


def test_printed_figures_keep_every_decimal_and_go_to_the_cells_they_name(read):
    text = HEAD + "runs: {a: {judge: direct, sets: authored, over: {order: [one, both]}}}\n"
    text += "printed:\n  - {at: {order: one}, values: {accuracy: {GPT-4: 0.630, other: .5}}, place: Table 9}\n"
    one, both = read(text).cells
    assert one.printed == {"accuracy": (("GPT-4", Decimal("0.630"), "Table 9"), ("other", Decimal("0.5"), "Table 9"))}
    assert str(one.printed["accuracy"][0][1]) == "0.630"
    assert both.printed == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "runs: {a: {judge: direct, sets: authord}}\n", "no set 'authord'. Did you mean 'authored'"),
        (
            HEAD + RUN + "printed: [{at: {run: b}, values: {accuracy: {x: 1}}}]\n",
            "no cell has run=b. The values of run",
        ),
        (HEAD + RUN + "printed: [{at: {}, values: {acuracy: {x: 1}}}]\n", "'acuracy'. Did you mean 'accuracy'"),
        (HEAD + RUN + "printed: [{at: {k: 1}, values: {accuracy: {x: 1}}}]\n", "No run has an axis 'k'"),
        (HEAD.replace("measures: [accuracy]\n", "") + RUN, "no measure is named"),
        (HEAD + "runs: {a: {judge: direct, sets: authored, over: {k: []}}}\n", "k needs values, each once"),
        (HEAD + "runs: {a: {judge: direct, sets: authored, over: {set: [x]}}}\n", "set is no axis"),
        (HEAD + "runs: {}\n", "field 'runs'"),
        (HEAD + RUN + "titel: x\n", "titel"),
        ("- 1\n", "Input should be an object"),
        (HEAD + RUN.replace("authored}", "[authored, authored]}"), "sets needs names, each once"),
        (HEAD.replace("[accuracy]", "[accuracy, accuracy]") + RUN, "'accuracy' names two measures"),
        (HEAD + RUN.replace("authored}", "authored, over: {threshold: [0.5, 7]}}"), "field 'threshold' is 7"),
        (HEAD + RUN.replace("authored}", "authored, over: {samples: [0, 2]}}"), "samples is 0. Give whole numbers"),
        (HEAD + RUN.replace("authored}", "authored, over: {judge: [3]}}"), "judge is 3. Give names"),
        (HEAD + RUN + "figure: {over: ordr}\n", "no run has 'ordr' in `over`"),
        (
            HEAD
            + RUN.replace("authored}", "authored, over: {order: [one]}}")
            + "figure: {over: order, measures: [acuracy]}\n",
            "no run has the measure 'acuracy'. Did you mean 'accuracy'",
        ),
        (
            HEAD
            + RUN.replace(
                "authored}",
                f"authored, over: {{tie_threshold: {[*range(40)]}}}, repeat: {{score_weight: {[*range(40)]}}}}}",
            ),
            "1,600 runs, and at most 1,000",
        ),
    ],
)
def test_what_a_file_names_wrongly_is_an_error_with_advice(read, text, message):
    with pytest.raises(DeclarationError) as failure:
        read(text)
    assert message in str(failure.value)


def test_an_unknown_experiment_names_a_near_one():
    with pytest.raises(DeclarationError, match="Did you mean 'fennec-table-3'"):
        find_experiment("fennec-tabel-3")


def test_a_changed_copy_of_an_experiment_of_dicast_needs_another_name(tmp_path):
    text = find_experiment("fennec-table-3").text
    for name in ("fennec-table-3.yaml", "mine.yaml"):
        (tmp_path / name).write_text(text + "# mine\n", encoding="utf-8")
    with pytest.raises(DeclarationError, match="dicast has its own 'fennec-table-3'. Give your file another name."):
        find_experiment(tmp_path / "fennec-table-3.yaml")
    assert find_experiment(tmp_path / "mine.yaml").name == "mine"


def test_every_experiment_of_dicast_says_paper_place_source_and_what_differs():
    for experiment in shipped_experiments():
        content = experiment.content
        assert content.paper.startswith("arXiv "), experiment.name
        assert content.place, experiment.name
        assert content.differs, experiment.name
        assert not content.printed or content.source, experiment.name
        assert content.printed or content.not_at_hand, experiment.name


def test_the_file_of_the_documentation_is_one(read):
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    experiment = read(text)
    assert [cell.title for cell in experiment.cells] == ["perse, k=0", "perse, k=1", "perse, k=3", "reviewer average"]
    assert len(experiment.cells[0].runs) == 3
    assert experiment.cells[2].printed["pearson"][0] == ("GPT-4", Decimal(".315"), "")
