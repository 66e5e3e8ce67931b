"""Heads of categories: against scikit-learn's logistic regression, costs, order of categories."""

import math
from typing import Any

import numpy as np
import pytest
from made_evidence import categories as world
from sklearn.linear_model import LogisticRegression

from dicast.data import Case, Category, Judged, Verdict
from dicast.errors import DeclarationError
from dicast.evaluation import run_arrays
from dicast.judging.heads import CategoryHead
from dicast.optimizers.head.fit import fit
from dicast.optimizers.objective import OBJECTIVES, objective_for

WORDS = ("fail", "pass")
World = tuple[list[Case], list[Verdict]]


def accuracy(cases: list[Case], verdicts: Any) -> float:
    run = run_arrays([Judged.of(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)])
    return OBJECTIVES.find("accuracy").value(run)


def log_loss(cases: list[Case], verdicts: Any) -> float:
    run = run_arrays([Judged.of(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)])
    return OBJECTIVES.find("log-loss").value(run)


@pytest.mark.parametrize("names", [WORDS, ("ham", "phish", "spam")])
def test_a_head_mends_a_bias_of_the_judge_on_new_cases(names: tuple[str, ...]) -> None:
    fitted = fit(*world(names=names))
    assert isinstance(fitted.head, CategoryHead)
    cases, verdicts = world(seed=1, names=names)
    calibrated = [fitted.head(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
    assert accuracy(cases, calibrated) > accuracy(cases, verdicts) + 0.1
    assert log_loss(cases, calibrated) < log_loss(cases, verdicts) - 0.1
    for verdict in calibrated:
        assert math.fsum((verdict.distribution or {}).values()) == pytest.approx(1)
        assert verdict.certainty == (verdict.distribution or {})[verdict.category or ""]


def test_two_categories_are_a_logistic_regression() -> None:
    cases, verdicts = world(n=600)
    head = fit(cases, verdicts).head
    x = np.array([[math.log(v.distribution["pass"] / v.distribution["fail"])] for v in verdicts if v.distribution])
    y = np.array([case.label.answer == "pass" for case in cases if case.label])
    expected = LogisticRegression(C=np.inf).fit(x, y).predict_proba(x)[:, 1]
    said = [(head(case, v).distribution or {})["pass"] for case, v in zip(cases, verdicts, strict=True)]
    np.testing.assert_allclose(said, expected, atol=0.03)


def test_without_evidence_a_head_gives_the_base_rates() -> None:
    cases, verdicts = world(n=200, strength=0.0)
    cases = [
        case.model_copy(update={"label": Category(category=WORDS[number % 4 > 0])}) for number, case in enumerate(cases)
    ]
    head = fit(cases, verdicts).head
    shares = np.array([(head(c, v).distribution or {})["pass"] for c, v in zip(cases, verdicts, strict=True)])
    assert shares.mean() == pytest.approx(0.75, abs=0.02)
    assert shares.std() < 0.1


def test_an_error_that_costs_more_is_made_less_often() -> None:
    cases, verdicts = world()
    head = fit(cases, verdicts).head
    assert isinstance(head, CategoryHead)
    assert head.cutoff == 0.5
    careful = head.model_copy(update={"costs": {"fail": {"pass": 9.0}}})
    assert careful.cutoff == pytest.approx(0.9)
    passed = {"plain": 0, "careful": 0}
    for case, verdict in zip(cases, verdicts, strict=True):
        for name, each in (("plain", head), ("careful", careful)):
            said = each(case, verdict)
            share = (said.distribution or {})["pass"]
            assert (said.category == "pass") == (share > (each.cutoff or 0))
            passed[name] += said.category == "pass"
    assert 0 < passed["careful"] < passed["plain"]
    assert ("costs", "fail:pass=9") in careful.describe()


def test_the_order_in_which_a_case_names_its_categories_does_not_matter() -> None:
    cases, verdicts = world()
    head = fit(cases, verdicts).head
    turned = cases[0].model_copy(update={"categories": WORDS[::-1]})
    assert head(turned, verdicts[0]) == head(cases[0], verdicts[0])


def test_votes_are_soft_labels() -> None:
    cases, verdicts = world(n=200, strength=0.0)
    votes = tuple(Category(category=word) for word in ("pass", "pass", "pass", "fail"))
    voted = [case.model_copy(update={"label": None, "votes": votes}) for case in cases]
    fitted = fit(voted, verdicts)
    assert fitted.labels.soft == 200
    share = (fitted.head(voted[0], verdicts[0]).distribution or {})["pass"]
    assert share == pytest.approx(0.75, abs=0.02)


def test_other_categories_are_refused() -> None:
    cases, verdicts = world()
    head = fit(cases, verdicts).head
    other = Case(id="x", query="q", candidates=({"text": "t"},), categories=("bad", "good"))
    with pytest.raises(DeclarationError, match="case 'x' is of bad, good. Compile a judge with labels of these"):
        head(other, Verdict(case_id="x"))
    mixed = [cases[0].model_copy(update={"categories": WORDS[::-1]}), *cases[1:]]
    with pytest.raises(DeclarationError, match="Give all cases the same categories"):
        fit(mixed, verdicts)


def test_objectives_of_categories() -> None:
    cases, _ = world(n=30)
    assert objective_for(None, cases).name == "accuracy"
    assert objective_for("balanced accuracy", cases).name == "balanced accuracy"
    with pytest.raises(DeclarationError, match="'spearman': is not defined for categories. Use one of"):
        objective_for("spearman", cases)
