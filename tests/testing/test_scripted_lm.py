"""dicast.testing's language model: every kind of answer reaches a judge as a real model's would."""

import dspy
import pytest

import dicast
from dicast.testing import ScriptedLM, answer_fields, prompt_text, smallest_value

CASE = dicast.Case(id="1", query="Name a prime.", candidates=[{"text": "9"}, {"text": "7"}])


def judged(lm, program="direct", **settings):
    with dspy.context(lm=lm):
        return dicast.judge(program, **settings)(CASE)


def test_a_mapping_is_a_written_answer():
    lm = ScriptedLM({"better": "B"})
    assert judged(lm, grading="pairwise", readout="generate", order="one").winner == "b"
    (request,) = lm.requests
    assert answer_fields(request) == {"better"}
    assert "Name a prime." in prompt_text(request)


def test_token_probabilities_are_read_as_the_distribution():
    verdict = judged(ScriptedLM({"token_probabilities": {"A": 0.2, "B": 0.6}}), grading="pairwise", order="one")
    assert verdict.distribution["b"] == pytest.approx(0.75)


def test_an_exception_ends_as_an_unscored_verdict():
    from dspy.lm15 import ServerError

    verdict = judged(ScriptedLM(ServerError("down")))
    assert (verdict.status, verdict.reason) == ("unscored", "infrastructure")


@pytest.mark.parametrize("readout", ["generate", "probability"])
@pytest.mark.parametrize("name", ["direct", "fennec"])
def test_without_an_answer_each_question_gets_a_valid_one(name, readout):
    assert judged(ScriptedLM(), program=name, readout=readout).status == "scored"


def test_two_models_of_one_script_share_no_cache():
    first, second = ScriptedLM("x", cache=True), ScriptedLM("y", cache=True)
    assert (first("q"), first("q"), second("q")) == (["x"], ["x"], ["y"])
    assert (len(first.requests), len(second.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"enum": ["b", "a"]}, "b"),
        ({"const": 3}, 3),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 0, "maximum": 100}, 0),
        ({"type": "array", "items": {"type": "number"}}, [1.0]),
        (
            {"$defs": {"X": {"type": "boolean"}}, "type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}},
            {"x": True},
        ),
    ],
)
def test_the_smallest_value_of_a_schema(schema, value):
    assert smallest_value(schema) == value
