"""Racing: what each case contributes, who is stopped, and how rarely that is the best."""

import math

import numpy as np
import pytest
from known_judge import Known, known_cases, measured

from dicast.data import Judged
from dicast.errors import DeclarationError
from dicast.evaluation.run_arrays import RunArrays, run_arrays
from dicast.optimizers.objective import OBJECTIVES
from dicast.optimizers.structure.racing import (
    FEWEST,
    MOST_UNITS,
    Interim,
    RacingSchedule,
    RacingTest,
    is_beaten,
    racing_schedule,
)
from dicast.stats import paired
from dicast.stats.resampling import mean

ACCURACY = OBJECTIVES.find("accuracy").value


def looked(along: RacingSchedule, judge: Known, *, without: frozenset[str] = frozenset()) -> tuple[Interim, RunArrays]:
    """A judge's look at all cases of a racing_schedule; `without` names cases that it leaves unscored."""
    cases = [case for part in along.slices for case in part]
    judged = [
        Judged(case_id=one.case_id, status="unscored", reason="parse_failure", group=one.group)
        if one.case_id in without
        else one
        for one in measured(judge, cases)
    ]
    run = run_arrays(judged)
    units = along.contributions(run, ACCURACY)
    return Interim(cases=len(cases), scored=run.n, value=ACCURACY(run), units=units, calls=1, tokens=None), run


def test_slices_hold_every_case_once_and_whole_groups():
    cases = known_cases(200, groups=40)
    along = racing_schedule(cases, RacingTest(), seed=1)
    assert sorted(case.id for part in along.slices for case in part) == [case.id for case in cases]
    groups = [{case.group for case in part} for part in along.slices]
    assert not groups[0] & groups[1]
    assert not (groups[0] | groups[1]) & groups[2]
    assert [len(part) for part in along.slices] == [50, 50, 100]


def test_the_seed_alone_decides_the_course():
    cases = known_cases(120)
    same, turned, other = (
        [case.id for part in racing_schedule(given, RacingTest(), seed=seed).slices for case in part]
        for given, seed in ((cases, 1), (cases[::-1], 1), (cases, 2))
    )
    assert same == turned != other


def test_looks_at_too_few_cases_are_passed_over():
    assert len(racing_schedule(known_cases(4 * FEWEST), RacingTest(), seed=0).slices) == 3
    assert len(racing_schedule(known_cases(4 * FEWEST - 4), RacingTest(), seed=0).slices) == 2
    assert len(racing_schedule(known_cases(FEWEST), RacingTest(), seed=0).slices) == 1


def test_no_case_is_an_error():
    with pytest.raises(DeclarationError, match="no case to select by"):
        racing_schedule([], RacingTest(), seed=0)


@pytest.mark.parametrize("slices", [(0.5, 0.25), (0.0, 0.5), (0.5, 1.0), (0.25, 0.25), (-0.1,)])
def test_slices_that_do_not_rise_inside_0_and_1_are_refused(slices):
    with pytest.raises(DeclarationError, match="rising proportions"):
        RacingTest(slices=slices)


def test_contributions_to_an_accuracy_are_the_cases_own_hits():
    along = racing_schedule(known_cases(60), RacingTest(), seed=5)
    look, run = looked(along, Known(care="careful"))
    hits = dict(zip(run.ids, (run.human == run.judge).tolist(), strict=True))
    assert [look.units[along.units[one]] for one in run.ids] == [float(hits[one]) for one in run.ids]


def test_contributions_of_groups_are_the_groups_own_means():
    along = racing_schedule(known_cases(60, groups=13), RacingTest(), seed=5)
    look, run = looked(along, Known())
    for unit in range(13):
        mine = np.array([along.units[one] == unit for one in run.ids])
        assert look.units[unit] == pytest.approx(ACCURACY(run.rows(mine)), abs=1e-9)


def test_interval_and_error_of_an_accuracy_are_the_cluster_robust_ones():
    along = racing_schedule(known_cases(90, groups=15), RacingTest(), seed=2)
    look, run = looked(along, Known())
    expected = mean((run.human == run.judge).astype(float), run.group)
    found = along.estimate(look)
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert found.groups == 15


def test_the_interval_of_a_gap_is_students_of_the_paired_differences():
    along = racing_schedule(known_cases(80), RacingTest(), seed=2)
    (one, first), (other, second) = looked(along, Known(care="careful")), looked(along, Known())
    apart = (first.human == first.judge).astype(float) - (second.human == second.judge)
    expected, found = mean(apart), along.difference(one, other)
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))


def test_the_jackknife_error_of_kappa_is_that_of_its_sampling():
    """Kappa is no mean: its jackknife error against the spread of kappa over 300 drawn sets."""
    kappa, rng = OBJECTIVES.find("kappa").value, np.random.default_rng(0)
    run = run_arrays(measured(Known(care="careful"), known_cases(100)))
    along = racing_schedule(known_cases(100), RacingTest(slices=()), seed=0)
    look = Interim(cases=100, scored=100, value=kappa(run), units=along.contributions(run, kappa), calls=1, tokens=None)
    draws = []
    for _ in range(300):
        right, human = rng.random(100) < 0.8, rng.integers(2, size=100)
        agreed = right.mean()
        said = np.where(right, human, 1 - human)
        chance = human.mean() * said.mean() + (1 - human.mean()) * (1 - said.mean())
        draws.append((agreed - chance) / (1 - chance))
    assert along.error(look) == pytest.approx(float(np.std(draws)), rel=0.12)


def test_nothing_is_said_of_the_error_where_all_cases_are_alike():
    along = racing_schedule(known_cases(30), RacingTest(), seed=0)
    cases = [case.model_copy(update={"meta": {"ease": 0.1}}) for part in along.slices for case in part]
    run = run_arrays(measured(Known(care="careful"), cases))
    units = along.contributions(run, ACCURACY)
    found = along.estimate(Interim(cases=30, scored=30, value=1.0, units=units, calls=1, tokens=None))
    assert found.value == 1
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_more_groups_than_units_are_bound_together_in_the_order_of_the_course():
    along = racing_schedule(known_cases(1000), RacingTest(), seed=0)
    numbers = [along.units[case.id] for part in along.slices for case in part]
    assert numbers == sorted(numbers)
    assert len(along.weights) == MOST_UNITS
    assert set(along.weights.tolist()) == {2.0, 3.0}


def test_a_surely_worse_structure_is_beaten_and_the_better_one_is_not():
    along = racing_schedule(known_cases(100), RacingTest(), seed=1)
    (worse, _), (better, _) = looked(along, Known(care="sloppy")), looked(along, Known(care="careful"))
    assert is_beaten(worse, better, along, alpha=0.05, higher=True, seed=0)
    assert not is_beaten(better, worse, along, alpha=0.05, higher=True, seed=0)
    assert is_beaten(better, worse, along, alpha=0.05, higher=False, seed=0)


def test_a_structure_does_not_beat_its_equal():
    along = racing_schedule(known_cases(100), RacingTest(), seed=1)
    one, _ = looked(along, Known())
    assert not is_beaten(one, one, along, alpha=0.99, higher=True, seed=0)


@pytest.mark.parametrize(("lost", "beaten"), [(6, True), (5, False)])
def test_the_test_is_the_exact_one_of_mcnemar_where_few_cases_differ(lost, beaten):
    # 6 of 6: p = 2 / 64 = 0.03; 5 of 5: p = 2 / 32 = 0.06.
    units = np.ones(40)
    weaker = np.where(np.arange(40) < lost, 0.0, units)
    along = RacingSchedule((), {}, units)
    one, other = (
        Interim(cases=40, scored=40, value=0, units=tuple(side.tolist()), calls=1, tokens=None)
        for side in (weaker, units)
    )
    assert is_beaten(one, other, along, alpha=0.05, higher=True, seed=0) is beaten
    assert (paired.mcnemar(weaker, units).p < 0.05) is beaten


def test_only_cases_that_both_have_scored_are_compared():
    along = racing_schedule(known_cases(100), RacingTest(), seed=1)
    wrong = frozenset(f"{index:04}" for index in range(50, 100))  # what sloppy judges get wrong, left out
    (sloppy, _), (careful, _) = looked(along, Known(care="sloppy"), without=wrong), looked(along, Known(care="careful"))
    assert sloppy.scored == 50
    assert len(along.weighted_differences(sloppy, careful)) == 50
    assert not is_beaten(sloppy, careful, along, alpha=0.05, higher=True, seed=0)


def race(right: np.ndarray, alpha: float, seed: int) -> tuple[set[int], int]:
    """Who is stopped, and how many verdicts are given, when (structures, cases) are raced row by row."""
    k, n = right.shape
    along = RacingSchedule((), {}, np.ones(n))

    def look(structure: int, m: int) -> Interim:
        units = (*right[structure, :m].tolist(), *[None] * (n - m))
        return Interim(cases=m, scored=m, value=float(right[structure, :m].mean()), units=units, calls=1, tokens=None)

    complete, stopped, judged = [0], set[int](), n
    for structure in range(1, k):
        rival = max(complete, key=lambda one: right[one].mean())
        for m in [int(share * n) for share in RacingTest().slices]:
            if is_beaten(look(structure, m), look(rival, m), along, alpha=alpha, higher=True, seed=seed):
                stopped.add(structure)
                judged += m
                break
        else:
            complete.append(structure)
            judged += n
    return stopped, judged


def survival(worlds: int, *, n: int, spread: float) -> tuple[float, float]:
    """How often the best of 10 structures is not stopped, and which share of the judgments was made.

    Accuracies are drawn around 0.72; whether two structures are right on a case has a latent correlation of 0.6.
    Where all are equally good the best is any one, drawn.
    """
    from scipy.special import ndtri

    survived, judged = 0, 0
    for seed in range(worlds):
        rng = np.random.default_rng([seed, n])
        accuracy = np.clip(rng.normal(0.72, spread, 10), 0.05, 0.98)
        hard, own = rng.normal(size=n), rng.normal(size=(10, n))
        right = (math.sqrt(0.6) * hard + math.sqrt(0.4) * own < ndtri(accuracy)[:, None]).astype(float)
        best = int(rng.choice(np.flatnonzero(accuracy == accuracy.max())))
        stopped, made = race(right, RacingTest().alpha, seed)
        survived += best not in stopped
        judged += made
    return survived / worlds, judged / (worlds * 10 * n)


def test_the_best_of_ten_structures_survives_and_judgments_are_saved():
    survived, judged = survival(40, n=120, spread=0.1)
    assert survived >= 0.95
    assert judged < 0.9


@pytest.mark.simulation
@pytest.mark.parametrize(("spread", "most"), [(0.0, 1.0), (0.05, 0.95), (0.1, 0.83)])
@pytest.mark.parametrize("n", [100, 200, 400])
def test_the_best_of_ten_structures_survives_at_least_95_times_in_100(n, spread, most):
    survived, judged = survival(400, n=n, spread=spread)
    assert survived >= 0.95 - 1.96 * math.sqrt(0.95 * 0.05 / 400)  # the error of 400 worlds
    assert judged <= most
