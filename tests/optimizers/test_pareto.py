"""The Pareto front and the three ways to choose on it, on points worked out by hand."""

import math
from itertools import permutations

import numpy as np
import pytest

from dicast.optimizers.structure.pareto import ParetoPoint, StructureTrial, choose, pareto_front


def places(*points: tuple[float, float], error: float = 0.0) -> list[ParetoPoint]:
    """One trial for each (utility, cost)."""
    return [ParetoPoint(number=n, utility=utility, cost=cost, error=error) for n, (utility, cost) in enumerate(points)]


def test_the_front_holds_what_no_other_one_beats_in_both():
    found = pareto_front(places((0.6, 2), (0.7, 1), (0.8, 4), (0.8, 6), (0.75, 4), (0.9, 9)))
    assert [one.number for one in found] == [1, 2, 5]


def test_the_front_is_that_of_its_definition():
    rng = np.random.default_rng(3)
    trials = places(*zip(rng.integers(6, size=40).tolist(), rng.integers(6, size=40).tolist(), strict=True))

    def is_beaten(trial: ParetoPoint) -> bool:
        return any(
            other.utility >= trial.utility
            and other.cost <= trial.cost
            and (other.utility, -other.cost, -other.number) > (trial.utility, -trial.cost, -trial.number)
            for other in trials
        )

    assert {one.number for one in pareto_front(trials)} == {one.number for one in trials if not is_beaten(one)}


def test_the_order_of_the_trials_does_not_matter_to_the_front():
    trials = places((0.7, 1), (0.7, 1), (0.8, 3), (0.6, 2))
    assert {pareto_front(one) for one in permutations(trials)} == {pareto_front(trials)}


def test_of_equal_trials_the_first_tried_stays():
    assert [one.number for one in pareto_front(places((0.7, 2), (0.7, 2)))] == [0]


def test_best_is_the_highest_worth_and_cheap_the_cheapest_within_one_standard_error_of_it():
    kept = pareto_front(places((0.70, 1), (0.775, 2), (0.79, 4), (0.80, 9), error=0.025))
    assert choose(kept, "best").number == 3
    assert choose(kept, "cheap").number == 1


def test_cheap_measures_by_the_best_ones_error_and_not_by_its_own():
    kept = (
        ParetoPoint(number=0, utility=0.7, cost=1, error=0.5),
        ParetoPoint(number=1, utility=0.8, cost=2, error=0.01),
    )
    assert choose(kept, "cheap").number == 1


def test_the_knee_is_farthest_above_the_line_through_the_ends():
    # Scaled to [0, 1]: (0, 0), (0.1, 0.5), (0.5, 0.8), (1, 1); above the diagonal by 0.4 and 0.3.
    kept = pareto_front(places((0.5, 0), (0.75, 1), (0.9, 5), (1.0, 10)))
    assert choose(kept, "knee").number == 1


def test_the_knee_does_not_depend_on_the_units_of_cost_and_worth():
    points = [(0.5, 1.0), (0.62, 3.0), (0.81, 4.5), (0.85, 9.0), (0.9, 20.0)]
    scaled = [(100 * utility - 7, 3 * cost + 11) for utility, cost in points]
    assert choose(pareto_front(places(*points)), "knee").number == choose(pareto_front(places(*scaled)), "knee").number


def test_a_front_that_sags_below_its_line_has_its_best_end_for_a_knee():
    kept = pareto_front(places((0.0, 0), (0.1, 5), (1.0, 10)))
    assert choose(kept, "knee").number == 2


@pytest.mark.parametrize("prefer", ["best", "cheap", "knee"])
def test_a_front_of_one_is_taken(prefer):
    assert choose(places((0.5, 3)), prefer).number == 0


def test_a_front_of_two_has_no_knee_and_gives_the_best():
    assert choose(pareto_front(places((0.5, 1), (0.9, 2))), "knee").number == 1


def test_negative_worth_as_of_losses_is_compared_like_any_other():
    kept = pareto_front(places((-0.7, 1), (-0.4, 2), (-0.5, 3)))
    assert [one.number for one in kept] == [0, 1]
    assert choose(kept, "best").utility == -0.4


def test_a_trial_comes_back_from_json_as_it_was():
    trial = StructureTrial(
        number=3, settings={"order": "one", "demos.grade": [{"score": 1}]}, cases=9, scored=8, value=1 / 3
    )
    assert StructureTrial.model_validate_json(trial.model_dump_json()) == trial
    assert math.isclose(trial.value or 0, 1 / 3)
