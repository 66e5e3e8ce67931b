"""Evidence of 6,000 numbers that says nothing: no gain is reported, and heads with evidence that says something are
calibrated (docs/results/evidence-simulation.md)."""

import numpy as np
import pytest

from dicast.benchmarks import evidence_simulation as worlds
from dicast.optimizers.head.fit import fit
from dicast.stats.calibration import ece


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
