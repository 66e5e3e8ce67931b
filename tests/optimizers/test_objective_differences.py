"""The test of an objective between two judges: of its own figure, with the right sign, by whole groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dicast.data import Judged, Scores, Winner
from dicast.data.case import CaseKind
from dicast.evaluation.compare import compare
from dicast.evaluation.results import PairedTest
from dicast.evaluation.run_arrays import run_arrays
from dicast.optimizers.objective import OBJECTIVES, TESTED_BY_COMPARE, paired_tests
from dicast.optimizers.result import Result, compare_on_test

N = 60


def run(kind: CaseKind, skill: float, seed: int = 0, *, sure: float = 0.8, each: int = 1) -> list[Judged]:
    """A judge that is right so often, and says that it is `sure`; `each` cases are of one group."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(N):
        more: dict[str, Any] = {"case_id": f"{number:03}", "group": f"{number // each:03}"}
        if kind == "texts":
            people = 1 + number % 5
            noise = float(random.normal(0, 4 * (1 - skill)))
            found.append(Judged(scores=(people + noise,), label=Scores(values=(people,), lo=1, hi=5), **more))
            continue
        names: Sequence[Any] = ("a", "b") if kind == "pairs" else range(4)
        label = names[number % len(names)]
        said = label if random.random() < skill else names[(number + 1) % len(names)]
        shares = {str(name): sure if name == said else (1 - sure) / (len(names) - 1) for name in names}
        orders = {"order_winners": {"ab": said, "ba": said}, "consistent": True} if kind == "pairs" else {}
        found.append(
            Judged(winner=said, distribution=shares, certainty=sure, label=Winner(value=label), **orders, **more)
        )
    return found


def paired(name: str, first: list[Judged], second: list[Judged]) -> PairedTest:
    runs, more = (run_arrays(first), run_arrays(second)), paired_tests(OBJECTIVES.find(name))
    if name not in TESTED_BY_COMPARE:
        (test,) = more(*runs, 0)
        return test
    (found,) = compare([("one", runs[0]), ("two", runs[1])], more=more)
    (test,) = (one for one in found.tests if one.name == name)
    return test


@pytest.mark.parametrize(("name", "kind"), [(one.name, kind) for one in OBJECTIVES for kind in sorted(one.kinds)])
def test_every_objective_is_tested_by_its_own_figure(name: str, kind: CaseKind) -> None:
    objective, good, bad = OBJECTIVES.find(name), run(kind, 0.95, 1), run(kind, 0.6, 2)
    test = paired(name, good, bad)
    assert test.difference.value == pytest.approx(objective.value(run_arrays(good)) - objective.value(run_arrays(bad)))
    assert test.p is not None
    assert test.p < 0.01
    assert objective.gain(test) > 0
    other = paired(name, bad, good)
    assert other.p == pytest.approx(test.p, abs=0.005)
    assert objective.gain(other) == pytest.approx(-objective.gain(test))


@pytest.mark.parametrize("name", ["kappa", "log-loss", "kendall"])
def test_groups_are_exchanged_whole(name: str) -> None:
    """Of 5 groups the judges can be exchanged in 16 ways: p is a sixteenth at the least."""
    kind: CaseKind = "texts" if name == "kendall" else "pairs"
    test = paired(name, run(kind, 1.0, 1, each=12), run(kind, 0.6, 2, each=12))
    assert test.difference.groups == 5
    assert test.p == pytest.approx(1 / 16)


def side_by_side(name: str, uncompiled: list[Judged], compiled: list[Judged], **bars: list[Judged]) -> Result:
    identity = {"judge": "known", "lm": "none", "settings": {}, "data": "made", "version": "0", "seed": 0}
    runs = {"uncompiled": uncompiled, "compiled": compiled}
    return compare_on_test(runs, OBJECTIVES.find(name), baselines=bars, seed=0, identity=identity)


@pytest.mark.parametrize("name", ["log-loss", "brier"])
def test_probabilities_alone_can_improve(name: str) -> None:
    """The same winners, four of five right: who is 80 % sure is better than who is 99.9 % sure."""
    calm, bold = run("pairs", 0.8), run("pairs", 0.8, sure=0.999)
    found = side_by_side(name, bold, calm)
    assert found.outcome == "improved"
    title = {"log-loss": "log-loss of votes", "brier": "Brier of votes"}[name]  # the measures are of labels
    assert found.summary.startswith(f"{title} (lower is better) -")
    assert found.decisive_test is not None
    assert found.decisive_test.name == title
    (comparison,) = found.comparisons
    earlier = tuple(test.model_copy(update={"name": name}) for test in comparison.tests if test.name == title)
    of_earlier = comparison.model_copy(update={"tests": earlier})
    assert found.model_copy(update={"comparisons": (of_earlier,)}).decisive_test == earlier[0]
    assert side_by_side(name, calm, bold).outcome == "worse"
    by_accuracy = side_by_side("accuracy", bold, calm)
    assert by_accuracy.outcome == "improved"
    assert "same verdicts" in by_accuracy.headline


def test_a_bar_without_the_figure_is_held_against_by_another_that_is_named() -> None:
    mute = [one.model_copy(update={"distribution": None, "certainty": None}) for one in run("pairs", 0.8)]
    result = side_by_side(
        "log-loss", run("pairs", 0.6, 1), run("pairs", 0.8), mute=mute, wild=run("pairs", 0.8)
    ).summary
    assert result.endswith("; not shown to be better than mute by accuracy, wild")


def test_an_objective_that_no_case_has_tells_nothing() -> None:
    mute = [one.model_copy(update={"distribution": None, "certainty": None}) for one in run("pairs", 0.8)]
    found = side_by_side("log-loss", mute, run("pairs", 0.8))
    assert (found.outcome, found.decisive_test) == ("inconclusive", None)
    assert found.summary.endswith("on too few of them log-loss of votes is defined for both judges")
