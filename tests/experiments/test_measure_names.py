"""Which addresses can be a figure: every address that an evaluation has, and no other name."""

import re
from pathlib import Path

import pytest

from dicast.errors import DeclarationError
from dicast.evaluation import metrics
from dicast.evaluation.metric import METRICS, Metric
from dicast.experiments import shipped_experiments
from dicast.experiments.measure_names import check_addresses, is_declared


def test_every_metric_of_dicast_declares_its_measures():
    assert [metric.name for metric in METRICS if not metric.measures] == []


def test_every_address_of_the_papers_is_declared():
    addresses = {spec.name for each in shipped_experiments() for cell in each.cells for spec in cell.measures}
    assert [address for address in sorted(addresses) if not is_declared(address)] == []


@pytest.mark.parametrize(
    "address",
    [
        "accuracy",
        "accuracy (Ending)",
        "accuracy (*)",
        "*exclusions",
        "gpt-4: win rate",
        "systems kendall",
        "explained pearson by guideline",
        "mean of orders above chance",
        "rougeL",
        "accuracy[subset=hard]",
        "strata.hard.tau of pairs",
        "strata.hard (coherence).accuracy",
        "branches[n=3].measures.both-orders accuracy",
        "sections.agreement[name=accuracy]",
        "systems[system=a.b].judge",
        "subgroups.tables.subset.rows.hard.figure",
        "usage.calls",
        "unscored.refusal",
        "scored",
    ],
)
def test_what_can_be_a_figure_is_declared(address):
    check_addresses([address], "mine")
    assert is_declared(address)


@pytest.mark.parametrize("address", ["accurcy", "judge", "strata.hrd.accuracy", "agreement[subset=hard]", "nothing *"])
def test_what_can_be_none_is_an_error(address):
    with pytest.raises(DeclarationError, match="there is no such figure"):
        check_addresses([address], "mine")


def test_a_metric_without_declared_measures_may_have_any_name():
    METRICS.add("plain", Metric("plain", "annotators", lambda run, options: ()), module=__name__)
    try:
        check_addresses(["unanimous accuracy"], "mine")
        assert not is_declared("unanimous accuracy")
    finally:
        METRICS.remove("plain")


def test_the_names_in_the_code_of_metrics_are_declared():
    code = "".join(path.read_text() for path in Path(metrics.__path__[0]).glob("*.py"))
    named = re.findall(r'yield \w*measure\(\s*f?"([^"]+)"', code)
    assert len(named) > 40
    assert [name for name in named if not is_declared(re.sub(r"{\w+}", "*", name))] == []
