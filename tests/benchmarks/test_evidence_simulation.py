"""Evidence of 6,000 numbers that says nothing: no gain is reported, and heads with evidence that says something are
calibrated (docs/results/evidence-simulation.md)."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from dicast.optimizers.head.fit import fit
from dicast.stats.calibration import ece

PATH = Path(__file__).parents[2] / "benchmarks" / "evidence_simulation.py"
SPEC = importlib.util.spec_from_file_location("evidence_simulation", PATH)
assert SPEC is not None
assert SPEC.loader is not None
worlds = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(worlds)


def test_random_labels_show_no_worth_in_a_few_worlds() -> None:
    assert not any(worlds.random_world(seed, 60)[0] for seed in range(3))


@pytest.mark.simulation
def test_random_labels_show_no_worth_in_95_percent_of_worlds() -> None:
    assert sum(worlds.random_world(seed, 120)[0] for seed in range(200)) <= 10


@pytest.mark.simulation
def test_heads_of_250_labels_are_calibrated() -> None:
    errors = []
    for seed in range(10):
        cases, verdicts, vectors = worlds.pairs(250, 10**6 + seed, signal=1.0)
        fitted = fit(cases, verdicts, sources=worlds.SOURCES, vectors=vectors)
        wins, certainty = worlds.right(fitted, *worlds.pairs(1000, 2 * 10**6 + seed, signal=1.0))
        errors.append(ece(certainty, wins))
    assert np.mean(errors) < 0.05
