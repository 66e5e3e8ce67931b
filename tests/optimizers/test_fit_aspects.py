"""Heads of texts judged on several aspects: each aspect has its level, its slope and its scale."""

import json

import numpy as np
import pytest
from made_evidence import judged, lettered, scored
from pydantic import TypeAdapter
from sklearn.linear_model import LinearRegression

from dicast.data import Candidate, Case, Scores, Winner
from dicast.errors import DeclarationError
from dicast.judging.heads import AspectModel, Head, ScoreHead
from dicast.optimizers.head.fit import fit
from dicast.optimizers.head.likelihood import fit_squares, fit_squares_within

SLOPES = {"coherence": 0.62, "fluency": 0.88}
PEOPLE = {"coherence": 2.4, "fluency": 3.6}  # their mean score; the judge's means are the other way round


def aspects_world(n=100, seed=0, scales=None, slopes=SLOPES):
    """Texts whose aspects differ in level between judge and people, so that one line through all texts is flat."""
    random = np.random.default_rng(seed)
    cases, verdicts = [], []
    for number in range(n):
        for aspect, slope in slopes.items():
            judge = 6 - PEOPLE[aspect] + random.uniform(-1.5, 1.5)
            people = PEOPLE[aspect] + slope * (judge - 6 + PEOPLE[aspect]) + random.normal(0, 0.2)
            lo, hi = (1.0, 5.0) if scales is None else scales[aspect]
            people = lo + (hi - lo) * min(max((people - 1) / 4, 0), 1)
            label = Scores(values=(people,), lo=lo, hi=hi)
            case = Case(
                id=f"{number:04}#{aspect}", query=f"text {number}", aspect=aspect, label=label,
                candidates=(Candidate(text="x"),),
            )  # fmt: skip
            cases.append(case)
            verdicts.append(judged([scored(judge)], 1, case_id=case.id))
    return cases, verdicts


def correlations(cases, verdicts):
    """Pearson's correlation with people's scores by aspect."""
    rows = [
        (case.aspect, verdict.scores[0], case.label.values[0]) for case, verdict in zip(cases, verdicts, strict=True)
    ]
    return {name: np.corrcoef(np.array([row[1:] for row in rows if row[0] == name]).T)[0, 1] for name in SLOPES}


def test_a_head_finds_the_slope_and_the_level_of_each_aspect():
    cases, verdicts = aspects_world()
    result = fit(cases, verdicts)
    assert isinstance(result.head, ScoreHead)
    assert "a model for each aspect" in result.head.fitted
    for aspect, slope in SLOPES.items():
        model = result.head.aspects[aspect]
        assert model.weights["mean"] == pytest.approx(slope, abs=0.08)
        assert model.n == 100
    before, after = correlations(cases, verdicts), correlations(cases, result.crossfitted)
    for aspect in SLOPES:
        assert after[aspect] > 0.8
        assert after[aspect] == pytest.approx(before[aspect], abs=0.02)
    errors = [verdict.scores[0] - case.label.values[0] for case, verdict in zip(cases, result.crossfitted, strict=True)]
    assert np.mean(np.square(errors)) < 0.06  # the noise is .04; of one line for all it is above .8
    one = next(candidate for candidate in result.candidates if "aspect" not in candidate.name)
    assert one.loss > 0.8


def test_few_labels_share_a_slope():
    slopes = dict.fromkeys(SLOPES, 0.75)
    names = [fit(*aspects_world(15, seed, slopes=slopes)).head.fitted for seed in range(20)]
    assert sum("an intercept for each aspect" in name for name in names) >= 12


def test_common_slopes_are_those_of_a_regression_with_an_indicator_for_each_aspect():
    random = np.random.default_rng(1)
    x, strata = random.normal(size=(80, 2)), random.integers(3, size=80)
    y = x @ [0.5, -0.3] + strata + random.normal(size=80)
    chosen = np.stack([np.ones(80, dtype=bool), random.random(80) < 0.7])
    found = fit_squares_within(x, y, strata, chosen, penalty=0.0, bounded=np.zeros(2, dtype=bool))
    for rows, intercepts, w in zip(chosen, *found, strict=True):
        design = np.column_stack([x, np.eye(3)[strata]])[rows]
        reference = LinearRegression(fit_intercept=False).fit(design, y[rows]).coef_
        assert np.r_[w, intercepts] == pytest.approx(reference, abs=1e-6)


def test_one_stratum_is_the_fit_of_all():
    random = np.random.default_rng(2)
    x, y = random.normal(size=(50, 3)), random.normal(size=50)
    chosen, bounded = np.ones((1, 50), dtype=bool), np.array([True, False, True])
    intercepts, weights = fit_squares(x, y, chosen, penalty=3.0, bounded=bounded)
    within = fit_squares_within(x, y, np.zeros(50, dtype=np.int64), chosen, penalty=3.0, bounded=bounded)
    assert within[0][:, 0] == pytest.approx(intercepts)
    assert within[1] == pytest.approx(weights)


def test_a_stratum_without_rows_has_no_intercept():
    x, y, strata = np.arange(6.0)[:, None], np.arange(6.0), np.array([0, 0, 0, 1, 1, 1])
    chosen = np.array([[True, True, True, False, False, False]])
    intercepts, weights = fit_squares_within(x, y, strata, chosen, penalty=0.0, bounded=np.array([True]))
    assert np.isnan(intercepts).tolist() == [[False, True]]
    assert weights == pytest.approx(1.0)


def test_aspects_may_be_on_several_scales():
    scales = {"coherence": (0.0, 1.0), "fluency": (1.0, 100.0)}
    cases, verdicts = aspects_world(scales=scales)
    head = fit(cases, verdicts).head
    for case, verdict in zip(cases, verdicts, strict=True):
        (score,) = head(case, verdict).scores
        lo, hi = scales[case.aspect]
        assert lo <= score <= hi
        assert abs(score - case.label.values[0]) < 0.25 * (hi - lo)
    new = cases[0].model_copy(update={"aspect": "relevance"})
    with pytest.raises(
        DeclarationError, match="'relevance', which was not in training, and the aspects coherence, fluency"
    ):
        head(new, verdicts[0])


def test_an_aspect_that_was_not_in_training_gets_the_common_model_and_a_note():
    cases, verdicts = aspects_world()
    head = fit(cases, verdicts).head
    new = cases[0].model_copy(update={"aspect": "relevance"})
    verdict = head(new, verdicts[0])
    assert verdict.notes == (
        "the head was not fitted to the aspect 'relevance'; the common model of the other aspects scored it",
    )
    assert verdict.scores[0] == pytest.approx(head.intercept + head.weights["mean"] * verdicts[0].scores[0])
    assert 0.62 < head.weights["mean"] < 0.88
    assert head(cases[0], verdicts[0]).notes == ()


def test_an_aspect_with_few_labels_gets_an_intercept_and_with_very_few_the_common_model():
    cases, verdicts = aspects_world()
    few = [index for index, case in enumerate(cases) if case.aspect == "coherence" or index < 20]
    head = fit([cases[i] for i in few], [verdicts[i] for i in few]).head
    assert head.aspects["fluency"].n == 10
    assert head.aspects["fluency"].weights == head.weights
    very_few = [index for index in few if cases[index].aspect == "coherence" or index < 8]
    head = fit([cases[i] for i in very_few], [verdicts[i] for i in very_few]).head
    assert "fluency" not in head.aspects


def test_the_head_of_aspects_comes_back_from_json_and_its_rows_have_no_order():
    cases, verdicts = aspects_world(40)
    head = fit(cases, verdicts).head
    adapter = TypeAdapter(Head)
    assert adapter.validate_json(adapter.dump_json(head)) == head
    rows = np.random.default_rng(0).permutation(len(cases)).tolist()
    assert fit([cases[row] for row in rows], [verdicts[row] for row in rows]).head == head


def test_a_head_without_aspects_is_saved_as_before():
    head = ScoreHead(intercept=1.0, lo=1, hi=5)
    assert json.loads(head.model_dump_json()) == {
        "fitted": "", "n": 0, "weights": {}, "kind": "score", "intercept": 1.0, "knots": [], "lo": 1.0, "hi": 5.0
    }  # fmt: skip


def test_what_a_head_learned_of_each_aspect_is_described():
    model = AspectModel(n=40, weights={"mean": 0.62}, intercept=0.5, lo=1, hi=5)
    head = ScoreHead(intercept=1.0, lo=1, hi=5, aspects={"coherence": model})
    assert head.describe()[-1] == ("aspect coherence", "mean +0.62, from 0.5, 1..5, of 40 labels")


def pairs_world(n, seed, share):
    """Pairs on two aspects, each with its share of ties; the judge's letters are as good on both."""
    random = np.random.default_rng(seed)
    cases, verdicts = [], []
    for number in range(n):
        aspect = ("harmless", "helpful")[number % 2]
        margin = float(random.normal(0, 2))
        label = "tie" if random.random() < share[aspect] else "a" if random.logistic() < margin else "b"
        case = Case(
            id=f"{number:04}", query=f"pair {number}", aspect=aspect, label=Winner(value=label),
            candidates=(Candidate(text="x"), Candidate(text="y")),
        )  # fmt: skip
        cases.append(case)
        p = 1 / (1 + np.exp(-margin))
        verdicts.append(judged([lettered(float(p))], 2, case_id=case.id))
    return cases, verdicts


def test_ties_of_pairs_may_depend_on_the_aspect():
    cases, verdicts = pairs_world(300, 0, {"harmless": 0.5, "helpful": 0.02})
    head = fit(cases, verdicts).head
    assert "ties by aspect" in head.fitted
    even = verdicts[0].model_copy(update={"findings": (lettered(0.5),)})
    ties = {}
    for case in cases[:2]:
        ties[case.aspect] = head(case, even).distribution["tie"]
        mirrored = head(case.swapped(), even).distribution
        assert (mirrored["a"], mirrored["tie"]) == (head(case, even).distribution["b"], ties[case.aspect])
    assert ties["harmless"] > 0.4
    assert ties["helpful"] < 0.25


def test_equal_aspects_of_pairs_seldom_get_thresholds():
    share = {"harmless": 0.2, "helpful": 0.2}
    names = [fit(*pairs_world(120, seed, share)).head.fitted for seed in range(12)]
    assert sum("ties by aspect" in name for name in names) <= 6


def test_pairs_of_a_single_aspect_have_no_feature_of_it():
    cases, verdicts = pairs_world(80, 1, {"harmless": 0.3, "helpful": 0.3})
    cases = [case.model_copy(update={"aspect": "helpful"}) for case in cases]
    without = [case.model_copy(update={"aspect": None}) for case in cases]
    assert fit(cases, verdicts).head == fit(without, verdicts).head
