"""Soft targets against figures computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicast.data.case import Scores, Winner
from dicast.distillation.soft_targets import human_distribution, human_targets, soft_rows, teacher_targets, tokens_of
from dicast.distillation.trace import Trace
from dicast.errors import DeclarationError

TWO, THREE = {"A": "a", "B": "b"}, {"A": "a", "B": "b", "C": "tie"}
LEVELS = {str(level): str(level) for level in range(1, 6)}


def trace(meanings=TWO, order="ab", **fields):
    """A trace of a one-token question."""
    even = {token: 1 / len(meanings) for token in meanings}
    usual = {"case_id": "1", "group": "1", "program": "direct", "stage": "judgment", "task": "direct.pairwise"}
    messages = ({"role": "user", "content": "Which?"},)
    answer = {"probabilities": even, "meanings": meanings, "answer": next(iter(meanings)), "messages": messages}
    return Trace.model_validate({**usual, **answer, "order": order, **fields})


def votes(*winners):
    return tuple(Winner(value=winner) for winner in winners)


@pytest.mark.parametrize(
    ("meanings", "order", "label", "expected"),
    [
        (TWO, "ab", "a", {"A": 1, "B": 0}),
        (TWO, "ba", "a", {"A": 0, "B": 1}),
        (TWO, "ba", "tie", {"A": 0.5, "B": 0.5}),
        (THREE, "ba", "tie", {"A": 0, "B": 0, "C": 1}),
        (THREE, "ba", "b", {"A": 1, "B": 0, "C": 0}),
    ],
)
def test_a_label_is_the_token_of_the_text_as_shown(meanings, order, label, expected):
    assert human_targets(trace(meanings, order, label=Winner(value=label))) == expected


def test_votes_are_proportions_and_a_tie_is_half_a_vote_for_each_without_a_token_of_its_own():
    voted = votes("a", "a", "b", "tie")  # .5, .25, .25
    assert human_targets(trace(THREE, "ab", votes=voted)) == {"A": 0.5, "B": 0.25, "C": 0.25}
    assert human_targets(trace(TWO, "ba", votes=voted)) == {"A": 0.375, "B": 0.625}


def test_a_label_that_contradicts_the_votes_decides():
    assert human_distribution(Winner(value="b"), votes("a", "a", "b")) == {"a": 0, "b": 1, "tie": 0}
    assert human_distribution(Winner(value="a"), votes("a", "a", "b")) == pytest.approx(
        {"a": 2 / 3, "b": 1 / 3, "tie": 0}
    )
    assert human_distribution(None) is None


def test_the_question_which_text_is_worse_is_answered_the_other_way_round():
    mirrored = trace(THREE, "ab", question="worse", label=Winner(value="a"))
    assert human_targets(mirrored) == {"A": 0, "B": 1, "C": 0}


def test_the_teacher_is_its_verdict_not_the_letter_of_one_order():
    shares = {"a": 0.6, "b": 0.1, "tie": 0.3}
    assert teacher_targets(trace(TWO, "ba", distribution=shares)) == pytest.approx({"A": 0.25, "B": 0.75})
    assert teacher_targets(trace(THREE, "ab", distribution=shares)) == pytest.approx({"A": 0.6, "B": 0.1, "C": 0.3})
    assert teacher_targets(trace(TWO, "ab", distribution=None)) is None


def test_a_question_that_does_not_decide_is_taught_as_it_was_read():
    read = {"A": 0.9, "B": 0.1}
    two = [trace(probabilities=read, distribution={"a": 0.5, "b": 0.5, "tie": 0.0}, label=Winner(value="b"))] * 2
    rows = soft_rows(two, "both").rows  # two questions of one order: neither is the verdict
    assert [row.targets for row in rows] == [read, read]
    assert soft_rows(two, "labels").rows == ()


def test_a_mixture_is_weighted_token_by_token():
    of_case = trace(THREE, "ba", label=Winner(value="a"), distribution={"a": 0.5, "b": 0.3, "tie": 0.2})
    (row,) = soft_rows([of_case], "both", human_weight=0.75).rows
    # people: B 1; teacher: A .3, B .5, C .2
    assert row.targets == pytest.approx({"A": 0.075, "B": 0.875, "C": 0.05})
    assert (row.answer, row.source, row.order) == ("B", "labels", "ba")


def test_a_score_is_spread_over_the_levels_beside_it():
    alone = {"order": None, "candidate": 1, "task": "direct.single"}
    rated = trace(LEVELS, **alone, label=Scores(values=(0, 7.3), lo=0, hi=10))  # 1 + .73 * 4 = 3.92
    assert human_targets(rated) == pytest.approx({"1": 0, "2": 0, "3": 0.08, "4": 0.92, "5": 0})
    yes = trace({"A": "yes", "B": "no"}, **alone, label=Scores(values=(0, 7), lo=0, hi=10))
    assert human_targets(yes) == pytest.approx({"A": 0.7, "B": 0.3})
    assert human_targets(trace(LEVELS, **alone, label=Winner(value="a"))) is None


def test_counts_say_where_targets_come_from():
    labelled = trace(label=Winner(value="a"), distribution={"a": 1.0, "b": 0.0})
    unlabelled = trace(case_id="2", distribution={"a": 0.2, "b": 0.8})
    unscored = trace(case_id="3")
    assert soft_rows([labelled, unlabelled, unscored], "both").counts == {
        "people and teacher": 1, "teacher": 1, "without targets": 1,
    }  # fmt: skip
    assert soft_rows([labelled, unlabelled, unscored], "labels").counts == {"people": 1, "without targets": 2}


def test_unknown_targets_and_weights_are_refused():
    with pytest.raises(DeclarationError, match="'nobody' is unknown"):
        soft_rows([], "nobody")
    with pytest.raises(DeclarationError, match="weight of people is 2"):
        soft_rows([], human_weight=2)


shares = st.tuples(*[st.floats(0.001, 1)] * 3).map(
    lambda p: dict(zip(("a", "b", "tie"), (x / sum(p) for x in p), strict=True))
)


@given(shares, st.sampled_from([TWO, THREE]), st.sampled_from(["", "worse"]))
def test_targets_sum_to_one_and_turn_over_with_the_order(distribution, meanings, question):
    first = tokens_of(trace(meanings, "ab", question=question), distribution)
    second = tokens_of(trace(meanings, "ba", question=question), distribution)
    assert sum(first.values()) == pytest.approx(1)
    assert (second["A"], second["B"]) == (first["B"], first["A"])
    exchanged = distribution | {"a": distribution["b"], "b": distribution["a"]}
    assert tokens_of(trace(meanings, "ab", question=question), exchanged) == pytest.approx(second)


@given(st.floats(0, 10))
def test_the_mean_of_the_levels_is_the_score(value):
    rated = trace(LEVELS, order=None, candidate=0, label=Scores(values=(value, 0), lo=0, hi=10))
    targets = human_targets(rated)
    assert sum(int(level) * p for level, p in targets.items()) == pytest.approx(1 + value * 0.4)
    assert sum(targets.values()) == pytest.approx(1)


def test_a_question_that_does_not_name_the_categories_is_taught_as_it_was_read():
    judged = {"category": "pass", "distribution": {"pass": 0.9, "fail": 0.1}, "order": None, "candidate": 0}
    asked = trace({"Yes": "yes", "No": "no"}, **judged)
    assert teacher_targets(asked) == {"Yes": 0.5, "No": 0.5}
    named = trace({"A": "fail", "B": "pass"}, **judged)
    assert teacher_targets(named) == pytest.approx({"A": 0.1, "B": 0.9})
    other = named.model_copy(update={"probabilities": {"A": 0.2, "B": 0.8}})
    assert [row.targets["A"] for row in soft_rows([named, other]).rows] == [0.5, 0.2]  # two criteria
    turned = trace({"A": "pass", "B": "fail"}, **judged)
    assert [row.targets["A"] for row in soft_rows([named, turned]).rows] == pytest.approx([0.1, 0.9])
