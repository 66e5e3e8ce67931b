"""The probability readout: marks, token variants, coverage, and what is asked."""

import math

import dspy
import pytest
from dspy.experimental import Choice, Noul, Score

from dicast.engines.token_probabilities import ProbabilityLM, options_of, read_options
from dicast.errors import NoTokenProbabilities
from dicast.testing import ScriptedLM, prompt_text


class ThreeKinds(dspy.Signature):
    """Judge the text."""

    text: str = dspy.InputField()
    better: Choice[("A", None), ("B", None)] = dspy.OutputField(desc="Which is better, A or B?")
    grade: Score["poor", "fair", "good"] = dspy.OutputField(desc="How good is it?")
    true: Noul[(True, "it is true"), (False, "it is false")] = dspy.OutputField(desc="Is it true?")


def response_with(tokens):
    lm = ScriptedLM(lambda request: {"token_probabilities": tokens})
    ProbabilityLM(lm)(
        state={"instructions": "i", "inputs": {"text": "t"}},
        questions={"q": {"type": "choice", "instructions": "?", "criteria": {"A": None, "B": None}}},
    )
    return lm(lm.requests[0])


def test_letters_are_read_whatever_their_case_spaces_and_brackets():
    response = response_with({"A": 0.3, " A": 0.1, "a": 0.1, "(B": 0.2, "Ġb": 0.1, "The": 0.2})
    distribution, mass_read = read_options(response, "AB")
    assert distribution == pytest.approx([0.5 / 0.8, 0.3 / 0.8])
    assert mass_read == pytest.approx(0.8)


def test_no_option_among_the_tokens_is_uniform_with_coverage_zero():
    assert read_options(response_with({"The": 0.9, "I": 0.1}), "ABC") == ([1 / 3] * 3, 0.0)


def test_a_server_without_token_probabilities_is_named_with_what_to_do():
    lm = ScriptedLM(lambda request: "A")
    question = {"q": {"type": "noul", "instructions": "?", "criteria": None}}
    with pytest.raises(NoTokenProbabilities, match="no token probabilities. Use --readout auto"):
        ProbabilityLM(lm)(state={"instructions": "i", "inputs": {}}, questions=question)


def test_each_kind_of_question_is_one_request_of_one_token():
    lm = ScriptedLM(lambda request: {"token_probabilities": {"A": 0.5, "B": 0.25, "1": 0.05, "2": 0.05, "3": 0.1}})
    read = dspy.Predict(ThreeKinds)(lm=ProbabilityLM(lm), text="hello")
    assert len(lm.requests) == 3
    assert {request.config.max_tokens for request in lm.requests} == {1}
    assert read.better.probabilities == pytest.approx({"A": 2 / 3, "B": 1 / 3})
    assert read.grade.value == pytest.approx((0 * 0.05 + 1 * 0.05 + 2 * 0.1) / 0.2)
    assert read.true.probability == pytest.approx(2 / 3)


def test_the_inputs_come_before_the_question_so_that_questions_share_a_prefix():
    lm = ScriptedLM(lambda request: {"token_probabilities": {"A": 0.5, "1": 0.5}})
    dspy.Predict(ThreeKinds)(lm=ProbabilityLM(lm), text="hello")
    asked = [request.messages[0].text for request in lm.requests]
    assert all(text.startswith("Text:\nhello\n\n") for text in asked)
    assert asked[0].endswith("Which is better, A or B?\nAnswer with one letter.")
    assert asked[1].endswith("How good is it?\n1. poor\n2. fair\n3. good\nAnswer with one digit.")
    assert asked[2].endswith("Is it true?\nA. it is true\nB. it is false\nAnswer with one letter.")


def test_demos_are_shown_before_the_case():
    lm = ScriptedLM(lambda request: {"token_probabilities": {"A": 1.0}})
    predict = dspy.Predict(ThreeKinds.delete("grade").delete("true"))
    predict.demos = [dspy.Example(text="earlier", better="A")]
    predict(lm=ProbabilityLM(lm), text="now")
    text = prompt_text(lm.requests[0])
    assert "Example 1:\nText: earlier\nBetter: A" in text
    assert text.index("earlier") < text.index("now")


def test_score_levels_are_named_from_one():
    marks, options = options_of({"type": "score", "criteria": ["a", "b", "c", "d", "e"]})
    assert marks == ("1", "2", "3", "4", "5")
    assert list(options) == ["0", "1", "2", "3", "4"]


TEN = tuple(map(str, range(1, 11)))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ({"7": 0.9, "6": 0.1}, {"7": 0.9, "6": 0.1}),
        ({"10": 0.7, "1": 0.1, "9": 0.2}, {"10": 0.7, "1": 0.1, "9": 0.2}),  # 10 is one token of this model
        ([{"1": 0.8, "9": 0.2}, {"0": 0.75, ".": 0.25}], {"10": 0.6, "1": 0.2, "9": 0.2}),  # 10 is two tokens
        ([{"1": 1.0}, {"<end>": 0.9, "0": 0.1}], {"1": 0.9, "10": 0.1}),
        ({"1": 1.0}, {"1": 1.0}),  # the answer ends after the 1
        ({"9": 0.6, "1": 0.2, "8": 0.2}, {"9": 0.6, "10": 0.2, "8": 0.2}),  # a 1 beside 9 and no 2 begins a 10
        ({"2": 0.6, "1": 0.2, "3": 0.2}, {"2": 0.6, "1": 0.2, "3": 0.2}),
        ({"2": 0.2, "9": 0.6, "1": 0.2}, {"2": 0.2, "9": 0.6, "1": 0.05, "10": 0.15}),
    ],
)
def test_ten_is_distinguished_from_one(tokens, expected):
    lm = ScriptedLM({"token_probabilities": tokens})
    question = {"q": {"type": "score", "instructions": "?", "criteria": ["x"] * 10}}
    read = ProbabilityLM(lm)(state={"instructions": "i", "inputs": {"text": "t"}}, questions=question)["q"]
    assert read["mass_read"] == pytest.approx(1.0)
    probabilities = dict(zip(TEN, read["probabilities"].values(), strict=True))
    assert {mark: p for mark, p in probabilities.items() if p} == pytest.approx(expected)
    assert lm.requests[0].config.max_tokens == 2


def test_a_uniform_distribution_over_five_levels_has_the_mean_three() -> None:
    lm = ScriptedLM(lambda request: {"token_probabilities": {str(level): 0.2 for level in range(1, 6)}})

    class Five(dspy.Signature):
        """Grade."""

        text: str = dspy.InputField()
        grade: Score["1", "2", "3", "4", "5"] = dspy.OutputField(desc="?")

    read = dspy.Predict(Five)(lm=ProbabilityLM(lm), text="t")
    assert math.isclose(read.grade.value + 1, 3.0)
