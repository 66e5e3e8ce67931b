"""A swapped judgment is the same judgment of the pair in the other order."""

import json

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dicast.data import Case
from dicast.distillation.consistency import consistent, preferred
from dicast.distillation.swap import swapped, swapped_outputs, swapped_words
from dicast.distillation.trace import traced
from dicast.distillation.trace_rows import rows_of_traces, with_both_orders
from dicast.judging.yaml_judge import declared_judge
from dicast.programs.direct import Direct
from dicast.programs.fennec import Fennec
from dicast.testing import ScriptedLM

PAIR = Case(id="7", query="Name a fruit.", candidates=[{"text": "An apple."}, {"text": "A shoe, I think."}], group="g")


def judgments(judge, case=PAIR, answer=None):
    with dspy.context(lm=ScriptedLM(answer)):
        return [trace for trace in traced(judge, case)[1] if trace.order]


@pytest.mark.parametrize("judge", [Direct(grading="pairwise", order="one"), Fennec(branches=1, order="one")])
def test_the_swapped_prompt_is_that_of_the_swapped_pair(judge):
    (trace,) = judgments(judge)
    (other,) = judgments(judge, PAIR.swapped())  # its ab is our ba
    assert swapped(trace).messages == other.messages
    assert swapped(trace).order == "ba"


def test_fields_letters_and_words_are_exchanged():
    answer = {
        "explanation_a": "Response A names an apple.", "score_a": 5,
        "explanation_b": "A shoe is no fruit.", "score_b": 1,
        "comparison": "A is better than B: (B) names no fruit, and the first response does.",
    }  # fmt: skip
    trace = next(
        trace
        for trace in judgments(
            Fennec(branches=1, order="one"),
            answer=lambda request: answer if "Response A" in request.messages[-1].text else None,
        )
    )
    assert json.loads(swapped(trace).answer) == {
        "explanation_a": "A shoe is no fruit.", "score_a": 1,
        "explanation_b": "Response B names an apple.", "score_b": 5,
        "comparison": "B is better than A: (A) names no fruit, and the second response does.",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Both name it; A's list is longer.", "Both name it; B's list is longer."),
        ("A short text. A, however, is complete.", "A short text. B, however, is complete."),
        ("better than A", "better than B"),
        ("The second answer is wrong.", "The first answer is wrong."),
        ("Nothing is named.", "Nothing is named."),
        ("The latter is vague.", None),
        ("Response 1 is vague.", None),
        ("Vitamin B12 helps.", "Vitamin B12 helps."),
        ("A contains more than B.", "B contains more than A."),
        ("A isn't clear, B’s list is.", "B isn't clear, A’s list is."),
        ("A concise answer. B lacks one.", "A concise answer. A lacks one."),
        ("A serious flaw of B", "A serious flaw of A"),
        ("A clearly wins.", None),
        ("A quotes B.", None),
        ("A can be read.", None),
        ("A (the shorter) is fine.", None),
        ("A/B", None),
        ("The first is clearer than the second.", None),
        ("Option 2 wins.", None),
        ("Assistant a is better.", None),
        ("Vitamin A is named.", None),
        ("A made more errors than B.", None),
        ("A wrote more. B is short.", None),
        ("A over B.", None),
        ("A, because B", "B, because A"),
        ("A because it is longer.", None),
        ("A fell short while B is fine.", None),
        ("A by-product is named, B is vague.", "A by-product is named, A is vague."),
        ("A good answer. B is vague.", "A good answer. A is vague."),
        ("Response A answers a different question.", "Response B answers a different question."),
        ("Response a answers it.", None),
        ("Responses a and b are equal.", None),
        ("Of the answers a is better, or a, or answers a", None),
    ],
)
def test_words_that_name_a_text_are_exchanged_or_refused(text, expected):
    assert swapped_words(text) == expected


def test_words_in_lists_are_exchanged_too():
    answer = {"reasons": ["A is clear.", "B is not."], "of": {"score_a": 1, "score_b": 2}, "note": None, "better": "A"}
    assert swapped_outputs(answer) == {
        "reasons": ["B is clear.", "A is not."], "of": {"score_a": 2, "score_b": 1}, "note": None, "better": "B",
    }  # fmt: skip
    assert swapped_outputs({"reasons": ["The latter is vague."]}) is None


def test_the_score_of_one_text_of_a_pair_is_not_swapped():
    """Its token's probabilities are of the text that the question names, which is the other one after a swap."""
    declared = {"name": "t", "judges": "pairs", "instructions": "Judge.", "criteria": ["clear"], "scale": "1..5"}
    judge = declared_judge({**declared, "order": "one", "readout": "probability"})
    traces = judgments(judge, answer={"token_probabilities": {"5": 0.9, "1": 0.1}})
    assert [trace.question for trace in traces] == ["score_a", "score_b"]
    assert [swapped(trace) for trace in traces] == [None, None]
    assert with_both_orders(traces) == (traces, {"judgments that cannot be swapped": 2})


def test_tokens_of_a_and_b_are_exchanged_and_a_tie_stays():
    (trace,) = judgments(Direct(grading="pairwise", order="one"), answer={"token_probabilities": {"A": 0.9, "B": 0.1}})
    other = swapped(trace)
    assert (other.probabilities, other.answer) == ({"A": pytest.approx(0.1), "B": pytest.approx(0.9)}, "B")


def test_swapping_twice_gives_the_trace_again():
    for trace in judgments(Direct(grading="pairwise")) + judgments(Fennec(branches=2)):
        again = swapped(swapped(trace))
        assert (again.messages, again.outputs, again.order) == (trace.messages, trace.outputs, trace.order)


def test_one_order_is_completed_and_both_orders_stay():
    one, both = judgments(Direct(grading="pairwise", order="one")), judgments(Direct(grading="pairwise"))
    completed, counts = with_both_orders(one)
    assert [trace.order for trace in completed] == ["ab", "ba"]
    assert counts == {"judgments swapped": 1}
    assert with_both_orders(both) == (both, {})


def scores(first, second):
    said = {"explanation_a": "fine", "explanation_b": "fine", "comparison": "fine"}
    return {**said, "score_a": first, "score_b": second}


@pytest.mark.parametrize(
    ("other_order", "dropped"),
    [(scores(2, 4), 0), (scores(4, 2), 2), (scores(3, 3), 2)],  # the first shown: apple 4, shoe 2
)
def test_judgments_that_differ_between_the_orders_are_dropped(other_order, dropped):
    def answer(request):
        text = request.messages[-1].text
        if "Response A" not in text:
            return None
        return scores(4, 2) if text.index("apple") < text.index("shoe") else other_order

    traces = judgments(Fennec(branches=1), answer=answer)
    left, differing = consistent(traces)
    assert (len(left), differing) == (2 - dropped, dropped)
    assert {preferred(trace) for trace in left} <= {"a"}


def test_counts_say_what_became_of_the_traces():
    labelled = PAIR.model_copy(update={"label": None})
    with dspy.context(lm=ScriptedLM({"token_probabilities": {"A": 0.9, "B": 0.1}})):
        traces = traced(Direct(grading="pairwise", order="one"), labelled)[1]
    rows = rows_of_traces(traces, "teacher")
    assert rows.counts == {"judgments swapped": 1, "one-token targets: teacher": 2}
    first, second = rows.rows
    assert first.targets == pytest.approx({"A": 0.9, "B": 0.1})
    assert second.targets == pytest.approx({"A": 0.1, "B": 0.9})  # the verdict's, turned over


texts = st.lists(st.sampled_from(["response A", "B is", "(A)", "good", "A's", "first answer"]), max_size=6).map(
    " ".join
)


@given(texts, texts, st.integers(1, 5), st.integers(1, 5))
def test_swapping_an_answer_twice_gives_it_again(first, second, score_a, score_b):
    outputs = {"explanation_a": first, "score_a": score_a, "explanation_b": second, "score_b": score_b, "better": "A"}
    other = swapped_outputs(outputs)
    assert other is None or swapped_outputs(other) == outputs
    assert other is None or (other["score_a"], other["better"]) == (score_b, "B")
