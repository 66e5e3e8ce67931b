"""The mass read: how much of the probability the options held, against figures by hand."""

import numpy as np
import pytest

from dicast.data import Finding, Judged, Winner
from dicast.evaluation.evaluate import evaluate
from dicast.evaluation.results import Evaluation

IDENTITY = {"judge": "direct", "settings": {}, "lm": "m", "data": "0" * 64}


def evaluated(*masses: tuple[float | None, ...]) -> Evaluation:
    """The evaluation of a run with a verdict for each tuple: the masses of its findings; None for a written one."""
    verdicts = [
        Judged(
            case_id=str(number),
            winner="a",
            label=Winner(value="a"),
            findings=[Finding(criterion="c", distribution={"a": 0.9, "b": 0.1}, mass_read=mass) for mass in of_verdict],
        )
        for number, of_verdict in enumerate(masses)
    ]
    return evaluate(verdicts, IDENTITY)


def test_the_mean_and_the_lowest_twentieth_are_over_all_findings_that_were_read():
    rng = np.random.default_rng(3)
    masses = rng.uniform(0.6, 1.0, size=(40, 2))
    run = evaluated(*map(tuple, masses.tolist()))
    mean, low = run.measure("mass read"), run.measure("mass read, lowest 5 %")
    assert mean is not None
    assert low is not None
    assert (mean.value, mean.n, mean.groups) == (pytest.approx(masses.mean()), 80, 40)
    assert low.value == pytest.approx(np.quantile(masses, 0.05))
    per_case = masses.mean(axis=1)
    half = 1.96 * per_case.std() / np.sqrt(40)
    assert mean.low == pytest.approx(masses.mean() - half, abs=0.005)
    assert mean.high == pytest.approx(masses.mean() + half, abs=0.005)
    assert run.warnings == ()


def test_a_low_mean_warns_and_says_what_to_do():
    run = evaluated((0.1, 0.2), (0.06, 0.12))
    assert run.warnings == (
        "the options hold 12% of the probability on average: the model would mostly say something else. "
        "Use --readout generate, or another model; dicast check --lm MODEL shows what it says.",
    )
    assert run.model_dump(mode="json")["sections"]["readout"][0]["warning"] == run.warnings[0]
    assert evaluated((0.5,), (0.5,)).warnings == ()


def test_written_answers_have_no_mass():
    assert "readout" not in evaluated((None, None)).sections
    mixed = evaluated((None, 0.8), (None, 0.6)).measure("mass read")
    assert mixed is not None
    assert (mixed.value, mixed.n) == (pytest.approx(0.7), 2)


def test_a_case_that_is_not_scored_is_not_in_the_mean():
    unread = Judged(case_id="u", status="unscored", reason="unreadable", detail="x", label=Winner(value="a"))
    read = Judged(case_id="r", winner="a", findings=[Finding(criterion="c", scores=(1, 2), mass_read=0.9)])
    mean = evaluate([unread, read], IDENTITY).measure("mass read")
    assert mean is not None
    assert (mean.value, mean.n) == (0.9, 1)
