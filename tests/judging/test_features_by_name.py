"""Features of questions by their names."""

import math

import pytest

from dicast.data import Candidate, Case, Finding, Verdict
from dicast.judging.calibration_features import option_features, pair_features, text_features
from dicast.judging.features_by_name import MOST_NAMED, answers_by_name, recurring


def yes_no(name: str, *yes: float) -> Finding:
    levels = tuple((1 - p, p) for p in yes)
    return Finding(criterion=name, scores=yes, levels=levels)


def of(texts: int) -> Case:
    return Case(id="1", query="q", candidates=tuple(Candidate(text="x" * (n + 1)) for n in range(texts)))


def verdict(*findings: Finding) -> Verdict:
    return Verdict(case_id="1", findings=findings)


def test_a_yes_counts_in_log_odds_and_a_degree_in_its_scale() -> None:
    degree = Finding(criterion="good", scores=(0.75, 0.25))
    odd = pair_features(of(2), verdict(yes_no("right", 0.9, 0.5), degree)).odd
    assert odd["question right"] == pytest.approx(math.log(9))
    assert odd["question good"] == 0.5


def test_an_answer_about_the_pair_is_its_log_odds_averaged_over_orders() -> None:
    first, second = ({"a": p, "b": 1 - p} for p in (0.8, 0.4))
    orders = [
        Finding(criterion="better", order="ab", distribution=first),
        Finding(criterion="better", order="ba", distribution=second),
    ]
    found = answers_by_name([*orders, yes_no("right", 0.5, 0.5)], 2)
    assert found["question better"][0] == -found["question better"][1]
    odd = pair_features(of(2), verdict(*orders, yes_no("right", 0.5, 0.5))).odd
    assert odd["question better"] == pytest.approx((math.log(4) + math.log(2 / 3)) / 2)


def test_exchanging_the_pair_negates_every_question_exactly() -> None:
    findings = [
        yes_no("right", 0.91, 0.13),
        Finding(criterion="good", scores=(0.7, 0.1)),
        Finding(criterion="better", order="ab", distribution={"a": 0.8, "b": 0.2}),
        Finding(criterion="better", order="ba", distribution={"a": 0.45, "b": 0.55}),
    ]
    one = pair_features(of(2), verdict(*findings)).odd
    other = pair_features(of(2).swapped(), verdict(*findings).swapped()).odd
    assert {name: -value for name, value in one.items()} == other
    assert sum(name.startswith("question ") for name in one) == 3


def test_a_question_that_counts_for_nothing_without_a_head_is_a_feature_too() -> None:
    idle = yes_no("fluent", 0.9, 0.5).model_copy(update={"weight": 0.0})
    odd = pair_features(of(2), verdict(idle, yes_no("right", 0.5, 0.5))).odd
    assert odd["question fluent"] == pytest.approx(math.log(9))


def test_texts_and_options_have_them_without_a_limit_of_ten() -> None:
    names = [f"q{n}" for n in range(40)]
    text = text_features(of(1), verdict(*(yes_no(name, 0.8) for name in names)))
    assert sum(name.startswith("question ") for name in text) == 40
    assert text["question q39"] == pytest.approx(math.log(4))
    options = option_features(of(3), verdict(*(yes_no(name, 0.8, 0.5, 0.2) for name in names)))
    assert options["question q7"] == pytest.approx((math.log(4), 0.0, -math.log(4)))
    many = answers_by_name([yes_no(f"q{n}", 0.5) for n in range(MOST_NAMED + 5)], 1)
    assert len(many) == MOST_NAMED


def test_heads_of_criteria_recur_where_the_words_after_the_colon_do_not() -> None:
    first = answers_by_name([yes_no("Accuracy: is 7 prime", 0.5), yes_no("Style: kind", 0.5)], 1)
    second = answers_by_name([yes_no("accuracy: is Paris right", 0.5), yes_no("depth", 0.5)], 1)
    assert set(first) & set(second) == {"question accuracy"}
    assert recurring(first | second, [first, second, second, second], 10) == ["question accuracy", "question depth"]


def test_a_lone_criterion_has_no_name() -> None:
    assert answers_by_name([yes_no("right", 0.5)], 1) == {}


def test_numbered_criteria_make_way_for_many_named_ones() -> None:
    row = {f"question {n}": 1.0 for n in range(11)} | {"criterion 1": 1.0, "letters": 1.0}
    assert "criterion 1" not in recurring(row, [row], 10)
    few = {f"question {n}": 1.0 for n in range(10)} | {"criterion 1": 1.0}
    assert "criterion 1" in recurring(few, [few], 10)
