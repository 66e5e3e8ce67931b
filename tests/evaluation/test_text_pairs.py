"""Scores of single texts as verdicts of sampled pairs: of one input, of the set, and by difficulty."""

import numpy as np
import pytest
from scipy import stats

from dicast.data import Judged
from dicast.evaluation import evaluate


def judged(number, human, score, group, aspect=None, hi=5.0):
    return Judged(
        case_id=f"c{number}", scores=(score,), label={"values": [human], "lo": 0, "hi": hi}, group=group, aspect=aspect
    )


def dialogs(count=60, aspect=None, seed=0, hi=5.0):
    """One text of each input; the judge sees people's scores with noise."""
    random = np.random.default_rng(seed)
    human = random.integers(0, int(hi) + 1, count).astype(float)
    scores = np.clip(human + random.normal(0, 1.2, count), 0, hi).round(1)
    numbers = zip(human.tolist(), scores.tolist(), strict=True)
    return [judged(f"{n}{aspect or ''}", h, s, f"d{n}", aspect, hi) for n, (h, s) in enumerate(numbers)]


IDENTITY = {"judge": "explicit", "settings": {}, "lm": "none", "data": "none"}


def measured(rows):
    return evaluate(rows, IDENTITY)


def test_where_each_input_has_one_text_the_pairs_are_of_the_set():
    evaluation = measured(dialogs())
    assert evaluation.measure("tau of pairs") is None
    tau = evaluation.measure("tau of pairs of the set")
    assert tau.n == 200
    assert tau.low < tau.value < tau.high
    assert "200 sampled pairs of any two texts of the set" in tau.description


def test_all_pairs_of_a_small_set_give_kendalls_tau_b_of_its_texts():
    rows = dialogs(18)  # 153 pairs: all of them
    tau = measured(rows).measure("tau of pairs of the set")
    human, scores = zip(*((row.label.values[0], row.scores[0]) for row in rows), strict=True)
    assert tau.n == 153
    assert tau.value == pytest.approx(stats.kendalltau(human, scores).statistic)


def test_the_strata_of_a_run_of_single_texts_are_hard_medium_and_easy():
    evaluation = measured(dialogs(120))
    assert [stratum.name for stratum in evaluation.strata] == ["hard", "medium", "easy"]
    accuracy = [stratum.measures[0] for stratum in evaluation.strata]
    assert [measure.name for measure in accuracy] == ["accuracy"] * 3
    assert sum(measure.n for measure in accuracy) == 200
    assert accuracy[0].value < accuracy[2].value
    assert [s.low for s in evaluation.strata] == [0, *(s.high for s in evaluation.strata[:-1])]
    assert {measure.name for stratum in evaluation.strata for measure in stratum.measures} == {
        "accuracy", "tau of pairs",
    }  # fmt: skip


def test_aspects_of_different_scales_have_strata_of_their_own():
    evaluation = measured([*dialogs(40, "overall", hi=4.0), *dialogs(40, "depth", seed=1, hi=2.0)])
    assert {stratum.name.split(" ", 1)[1] for stratum in evaluation.strata} == {"(overall)", "(depth)"}
    assert all(stratum.high <= 2 for stratum in evaluation.strata if "depth" in stratum.name)
    of_all, *parts = (
        evaluation.measure(f"tau of pairs of the set{name}").value for name in ("", " (depth)", " (overall)")
    )
    assert of_all == pytest.approx(np.mean(parts))


def test_pairs_of_one_input_are_stratified_where_there_are_any():
    random = np.random.default_rng(2)
    rows = [
        judged(f"{n}-{m}", float(random.integers(0, 6)), float(random.normal(2.5)), f"d{n}")
        for n in range(30)
        for m in range(4)
    ]
    evaluation = measured(rows)
    assert evaluation.measure("tau of pairs").n == 180
    assert evaluation.measure("tau of pairs of the set").n == 200
    assert "of one input" in evaluation.strata[0].measures[0].description
