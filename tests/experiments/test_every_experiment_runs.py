"""Every experiment file against a mock server: an estimate first, then a table without a gap.

Made-up rows of the same shape take the place of the sets (`made_sets`), of which those on this machine are only read.
"""

import json
import random
from collections.abc import Iterator, Mapping
from math import fsum
from pathlib import Path
from typing import Any

import pytest
from judges import MARKS, made_up
from made_sets import made_set

from dicast.experiments import Experiment, shipped_experiments
from dicast.experiments.results import ResultLine
from dicast.testing import MockServer
from dicast.workflows.experiment_lines import check_lines
from dicast.workflows.experiment_sets import find_sets, with_options
from dicast.workflows.experiments import experiment

LIMIT = 4
ASPECTS_OF_PERSE = ("Interestingness", "Adaptability", "Surprise", "Character Development", "Ending")
EXPERIMENTS = {each.name: each for each in shipped_experiments()}


def noise_of(body: Mapping[str, Any]) -> random.Random:
    return random.Random(json.dumps([body["messages"], body.get("seed")]))


def answer(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A made-up value of the form that is asked for; None where probabilities are read."""
    form = body.get("response_format", {}).get("json_schema", {}).get("schema")
    value: Mapping[str, Any] | None = made_up(form, noise_of(body)) if form else None
    return value


def token_probabilities(body: Mapping[str, Any]) -> Mapping[str, float]:
    noise = noise_of(body)
    masses = {mark: noise.random() + (mark.strip() in ("Yes", "No")) for mark in MARKS}  # `implicit` reads the top five
    return {mark: mass / fsum(masses.values()) for mark, mass in masses.items()}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(answer=answer, token_probabilities=token_probabilities) as server:
        yield server


def made_sets(chosen: Experiment, folder: Path) -> dict[str, str]:
    """A made-up file for each set."""
    return {name: str(made_set(chosen, name, folder)) for name in chosen.content.sets}


def is_of_empty_stratum(line: ResultLine) -> bool:
    """Whether few made-up scores of whole numbers leave a difficulty without a pair."""
    return line.address.startswith("strata.") and "no pair of this difficulty" in line.note


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_estimated_and_complete(name: str, server: MockServer, tmp_path: Path) -> None:
    chosen, before = EXPERIMENTS[name], len(server.requests)
    by_input = any(" by input" in spec.name for cell in chosen.cells for spec in cell.measures)
    sample = {"limit_groups": LIMIT} if by_input else {"limit": LIMIT}
    options: dict[str, Any] = {"lm": server.model_string(), "out": tmp_path / "out", **sample}
    options["cases"] = made_sets(chosen, tmp_path)
    planned = experiment(name, dry_run=True, **options)
    assert planned.status == "dry run"
    assert planned.estimate.cases
    assert len(server.requests) == before
    result = experiment(name, **options)
    assert (result.status, result.message, result.missing) == ("complete", "", ())
    lines = {(line.cell, line.address) for line in result.lines}
    assert lines == {(cell.title, spec.name) for cell in chosen.cells for spec in cell.measures}
    check_lines(result.lines)
    gaps = [line for line in result.lines if line.ours is None]
    assert {(line.cell, line.measure): line.note for line in gaps if not is_of_empty_stratum(line)} == {}
    with_figure = {line.address.partition(".")[0] for line in result.lines if line.ours is not None}
    assert {line.address.partition(".")[0] for line in gaps} <= with_figure
    assert (planned.estimate.calls or 0) > 0 or len(server.requests) == before
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"experiment.json", "table.md"}


@pytest.mark.parametrize("set_name", ["fed", "openmeva", "summeval", "twitter-para"])
def test_pairs_of_the_reference_free_paper_have_a_line_for_each_difficulty(set_name: str) -> None:
    for cell in EXPERIMENTS[f"reference-free-pairs-{set_name}"].cells:
        names = {spec.name for spec in cell.measures}
        assert {f"strata.{of}.tau of pairs" for of in ("hard", "medium", "easy")} < names


def test_table_4_of_perse_has_a_line_for_each_aspect() -> None:
    cells = EXPERIMENTS["perse-table-4"].cells
    for run in ("by aspect", "reviewer average"):
        assert tuple(cell.axes["aspect"] for cell in cells if cell.run == run) == ASPECTS_OF_PERSE


@pytest.mark.parametrize("name", sorted({name for each in EXPERIMENTS.values() for name in each.content.sets}))
def test_a_set_at_hand_has_the_cases_that_experiments_choose(name: str, public_sets: Path) -> None:
    chosen = {
        json.dumps(run.options, sort_keys=True): (found[name].source, run.options)
        for each in EXPERIMENTS.values()
        if name in each.content.sets and name in (found := find_sets(each, None, {})[0])
        for cell in each.cells
        for run in cell.runs
        if cell.set == name and not each.content.sets[name].prepare
    }
    if not chosen:
        pytest.skip(f"{name} is not on this machine, or is prepared first")
    for source, options in chosen.values():
        assert next(iter(with_options(source, options, name).cases()), None) is not None, options
