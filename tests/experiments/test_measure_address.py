"""Every figure of an evaluation has an address, with its interval and n."""

import json

import pytest
from evaluated import evaluation

from dicast.evaluation.results import Evaluation, Subgroup, Subgroups, SubgroupTable
from dicast.experiments.measure_address import fields_of, figures_at, near_names


@pytest.fixture
def judged() -> Evaluation:
    made = evaluation()
    figure = made.measure("accuracy").model_copy(update={"value": 0.25, "n": 8})
    table = SubgroupTable(field="subset", rows=(Subgroup(value="hard", cases=9, figure=figure),))
    return made.model_copy(update={"subgroups": Subgroups(tables=(table,), summary="hard")})


def test_a_measure_by_its_name_is_the_one_of_the_evaluation(judged):
    assert figures_at(judged, "accuracy") == (judged.measure("accuracy"),)


def test_every_measure_of_every_section_has_an_address(judged):
    for name, measures in judged.sections.items():
        for measure in measures:
            path = f"sections.{name}[name={measure.name}]"
            assert figures_at(judged, measure.name)[0].name == measure.name
            assert figures_at(judged, path) == (measure,), path


def test_a_value_of_a_field_is_the_figure_of_dicast_evaluate_by(judged):
    (figure,) = figures_at(judged, "accuracy[subset=hard]")
    assert (figure.value, figure.n) == (0.25, 8)
    assert fields_of("accuracy[subset=hard]") == ("subset",)
    assert figures_at(judged, "accuracy[subset=easy]") == ()


def test_paths_reach_strata_branches_systems_and_counts(judged):
    stratum, branch = judged.strata[0], judged.branches[1]
    assert figures_at(judged, f"strata.{stratum.name}.{stratum.measures[0].name}") == (stratum.measures[0],)
    assert figures_at(judged, f"branches[n={branch.n}].{branch.measures[0].name}") == (branch.measures[0],)
    assert figures_at(judged, f"branches.{branch.n}.measures[name={branch.measures[0].name}]") == (branch.measures[0],)
    assert fields_of(f"branches[n={branch.n}]") == ()
    (calls,) = figures_at(judged, "usage.calls")
    assert (calls.value, calls.low) == (judged.usage.calls, None)
    assert figures_at(judged, "scored")[0].value == judged.scored


@pytest.mark.parametrize(
    "address", ["nothing", "strata.nothing.accuracy", "branches[n=99].accuracy", "a[", "judge", ""]
)
def test_what_is_not_there_has_no_figure(judged, address):
    assert figures_at(judged, address) == ()


def test_a_pattern_is_every_measure_that_fits(judged):
    names = [figure.name for figure in figures_at(judged, "acc*")]
    assert names == [name for name in _names(judged) if name.startswith("acc")]
    assert names


def test_near_names_are_offered_for_an_unknown_one(judged):
    assert near_names(judged, "acuracy")[0] == "accuracy"
    assert near_names(judged, "acuracy[subset=hard]")[0] == "accuracy"
    assert near_names(judged, "stratas.hard") == ["strata"]


def _names(judged):
    return [measure["name"] for part in json.loads(judged.model_dump_json())["sections"].values() for measure in part]
