"""The metric of docs/extending.md, installed from the page; and metrics of packages that are broken."""

import json

import pytest
from extending import blocks, entry_points
from runs import distinct, evaluated, fraction, measure, pair

from dicast.cli import run as dicast
from dicast.data import Winner
from dicast.evaluation import METRICS, register
from dicast.evaluation.sections import SECTIONS

VOTED = distinct(
    pair("a", winner, votes=tuple(Winner(value=vote) for vote in votes))
    for winner, votes in (("a", "aa"), ("b", "aa"), ("a", "aaa"), ("b", "ab"), ("b", "a"))
)


@pytest.fixture
def page(install):
    (code,) = blocks("A metric", "python")
    install("unanimous", code, entry_points("A metric"))


def test_the_metric_of_the_page_is_in_an_evaluation(page):
    found = evaluated(*VOTED)
    assert fraction(found, "unanimous accuracy") == (2, 3)
    assert measure(found, "unanimous accuracy").low > 0
    assert list(found.sections)[-1] == "annotators"
    assert found.titles["annotators"] == "Annotators"
    assert "annotators" not in evaluated(pair("a", "a")).sections


def test_the_metric_of_the_page_is_printed_and_in_json(page, tmp_path, monkeypatch, capsys):
    rows = [
        {"id": str(n), "prediction": row.winner, "label": "a", "votes": [vote.value for vote in row.votes]}
        for n, row in enumerate(VOTED)
    ]
    (tmp_path / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    assert dicast(["evaluate", "verdicts.jsonl", "--all"]) == 0
    out = capsys.readouterr().out
    assert "Annotators" in out
    assert "accuracy where all annotators agree" in out
    assert dicast(["evaluate", "verdicts.jsonl", "--require", "unanimous accuracy>=0.99"]) == 1


def test_a_package_that_cannot_be_loaded_is_left_out_with_a_warning(install):
    install("broken", "1 / 0", "[dicast.metrics]\nbroken = broken:metric\n")
    with pytest.warns(UserWarning, match="metric 'broken': its package cannot be loaded .* Repair or remove"):
        assert fraction(evaluated(*VOTED), "accuracy") == (2, 5)


def test_an_entry_point_that_is_no_metric_says_so(install):
    install("number", "metric = 3", "[dicast.metrics]\nnumber = number:metric\n")
    with pytest.warns(UserWarning, match="its entry point names int 3. Name a dicast Metric"):
        evaluated(*VOTED)


def test_an_error_of_a_metric_names_it():
    def dividing(run, options):
        return [1 / 0]

    dividing.__module__ = "__main__"  # as in a notebook
    register("agreement")(dividing)
    try:
        with pytest.raises(ZeroDivisionError) as raised:
            evaluated(*VOTED)
        assert raised.value.__notes__ == ["raised by the metric 'dividing'"]
    finally:
        METRICS.remove("dividing")


def test_every_built_in_metric_has_a_section_with_a_title():
    assert {metric.section for metric in METRICS.built_in().values()} <= set(SECTIONS)
    assert all(name == metric.name for name, metric in METRICS.built_in().items())
