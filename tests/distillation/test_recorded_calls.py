"""What is recorded of a judgment is what the model was sent and answered."""

import itertools

import dspy
import pytest

from dicast.data import Case
from dicast.distillation.trace import traced, traces_of
from dicast.distillation.trace_rows import rows_of_traces
from dicast.engines.asked_distributions import SampledYesNoLM, StatedYesNoLM
from dicast.engines.token_probabilities import YesNoLM
from dicast.errors import BudgetSpent
from dicast.judging import build
from dicast.judging.recorded_calls import recording
from dicast.programs.direct import Direct
from dicast.programs.fennec import Fennec
from dicast.programs.reference_free import Pairwise
from dicast.testing import ScriptedLM, prompt_text

PAIR = Case(id="7", query="Name a fruit.", candidates=[{"text": "An apple."}, {"text": "A shoe, I think."}], group="g")


def sent(request):
    """The messages of a request that reached the model."""
    system = [("system", request.system)] if request.system else []
    return [*system, *((message.role, message.text) for message in request.messages)]


def test_nothing_is_recorded_unless_somebody_records():
    with dspy.context(lm=ScriptedLM()):
        Direct()(PAIR)
    with recording() as calls:
        pass
    assert calls == []


def test_messages_and_answers_are_those_of_the_requests():
    lm = ScriptedLM()
    with dspy.context(lm=lm):
        verdict, traces = traced(Fennec(branches=2, order="both", correct=True), PAIR)
    assert verdict.status == "scored"
    sent_calls = {tuple(sent(request)) for request in lm.requests}
    recorded = {tuple((message.role, message.content) for message in trace.messages) for trace in traces}
    assert recorded == sent_calls
    assert {trace.task.partition(".")[2] for trace in traces} == {
        "criteria", "guideline", "pairwise", "correction", "single",
    }  # fmt: skip


def test_a_stored_answer_is_recorded_as_an_asked_one_is():
    lm = ScriptedLM(cache=True)
    with dspy.context(lm=lm):
        _, first = traced(Direct(), PAIR)
        asked = len(lm.requests)
        _, second = traced(Direct(), PAIR)
    assert len(lm.requests) == asked
    assert [trace.model_dump() for trace in second] == [trace.model_dump() for trace in first]


def test_probabilities_are_by_token_and_say_what_they_mean():
    with dspy.context(lm=ScriptedLM({"token_probabilities": {"A": 0.6, "B": 0.2, "x": 0.2}})):
        _, traces = traced(Direct(grading="pairwise"), PAIR)
    assert [trace.order for trace in traces] == ["ab", "ba"]
    for trace in traces:
        assert trace.probabilities == pytest.approx({"A": 0.75, "B": 0.25})
        assert (trace.meanings, trace.answer) == ({"A": "a", "B": "b"}, "A")
        first, second = ("An apple.", "A shoe, I think.")[:: 1 if trace.order == "ab" else -1]
        text = trace.messages[-1].content
        assert text.index(first) < text.index(second)
        assert trace.shown["response_a"] == f"<<<\n{first}\n>>>"


def test_a_text_that_is_shown_alone_names_its_candidate():
    with dspy.context(lm=ScriptedLM()):
        _, traces = traced(Direct(grading="single"), PAIR)
    assert [(trace.candidate, trace.order, trace.task) for trace in traces] == [
        (0, None, "direct.single"), (1, None, "direct.single"),
    ]  # fmt: skip
    assert list(traces[0].meanings) == list("12345")


def test_equal_texts_are_shown_in_their_order():
    same = Case(id="1", query="q", candidates=[{"text": "one"}, {"text": "one"}])
    with dspy.context(lm=ScriptedLM()):
        _, traces = traced(Direct(grading="pairwise", order="one"), same)
    assert [trace.order for trace in traces] == ["ab"]


def test_the_try_that_was_used_is_recorded():
    answers = itertools.chain(["no JSON at all"], itertools.repeat('{"better": "B"}'))
    with dspy.context(lm=ScriptedLM(lambda request: next(answers))):
        _, (trace,) = traced(Direct(grading="pairwise", readout="generate", order="one"), PAIR)
    assert (trace.answer, trace.outputs, trace.probabilities) == ('{"better": "B"}', {"better": "B"}, {})


def test_the_three_options_of_a_comparison_mean_a_b_and_tie():
    with dspy.context(lm=ScriptedLM({"token_probabilities": {"A": 0.2, "B": 0.3, "C": 0.5}})):
        _, traces = traced(Pairwise(readout="probability", order="one"), PAIR)
    assert [trace.meanings for trace in traces] == [{"A": "a", "B": "b", "C": "tie"}]


def test_a_failed_judgment_leaves_what_was_answered_before():
    def answer(request):
        return BudgetSpent("spent") if "Criterion" in request.messages[-1].text else None

    with recording() as calls, dspy.context(lm=ScriptedLM(answer)), pytest.raises(BudgetSpent):
        Fennec(branches=1)(PAIR)
    assert [call.task for call in calls] == ["criteria"]


def test_a_ranking_is_not_a_list_of_criteria():
    with dspy.context(lm=ScriptedLM()), recording() as calls:
        verdict = Fennec(branches=3, keep=1, priority="asked", order="one")(PAIR)
    traces = traces_of("fennec", PAIR, verdict, calls)
    assert {trace.task for trace in traces} <= {
        "fennec.criteria", "fennec.ranking", "fennec.guideline", "fennec.pairwise",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("readout", "answers", "share"),
    [
        ("sampled", ["A", "A.", "B", "neither"], 2.5 / 4),  # (2 + 1/2) / (3 + 2/2)
        ("sampled", ["A"], 1.5 / 2),
        ("stated", ['{"A": 30, "B": 10}'], 75.5 / 101),  # (75 + 1/2) / (100 + 2/2)
        ("stated", ["no JSON", '{"A": 30, "B": 10}'], 75.5 / 101),
    ],
)
def test_what_was_sampled_or_stated_is_one_trace_with_the_prompt_for_the_token(readout, answers, share):
    replies: dict[str, itertools.cycle[str]] = {}  # by prompt: both orders are asked at once

    def answer(request):
        return next(replies.setdefault(prompt_text(request), itertools.cycle(answers)))

    with dspy.context(lm=ScriptedLM(answer)):
        judge = build("direct", grading="pairwise", readout=readout, letters=len(answers))
        verdict, traces = traced(judge, PAIR)
    with dspy.context(lm=ScriptedLM({"token_probabilities": {"A": 0.6, "B": 0.4}})):
        _, read = traced(build("direct", grading="pairwise", readout="probability"), PAIR)
    assert verdict.status == "scored"
    assert [trace.messages for trace in traces] == [trace.messages for trace in read]
    for trace, of_token in zip(traces, read, strict=True):
        assert trace.probabilities == pytest.approx({"A": share, "B": 1 - share})
        assert (trace.answer, trace.order, trace.meanings) == ("A", of_token.order, of_token.meanings)
    learnt = rows_of_traces(traces, "teacher")
    assert [row.targets["A"] for row in learnt.rows] == pytest.approx([0.5, 0.5])  # the letter A in both orders
    assert learnt.counts == {"one-token targets: teacher": 2}


@pytest.mark.parametrize("reader", [SampledYesNoLM, StatedYesNoLM])
def test_the_prompt_of_a_yes_no_question_is_that_of_its_probabilities(reader):
    state = {"instructions": "Judge.", "inputs": {"text": "A pear."}}
    questions = {"good": {"type": "noul", "instructions": "Is it good?"}}
    lm = ScriptedLM({"token_probabilities": {"Yes": 0.6, "No": 0.4}})
    YesNoLM(lm)(state=state, questions=questions)
    (asked,) = lm.requests
    answers = ScriptedLM(lambda request: '{"A": 60, "B": 40}' if "percent" in prompt_text(request) else "Yes")
    evidence = reader(answers)(state=state, questions=questions)["good"]
    assert [(message["role"], message["content"]) for message in evidence["prompt"]] == sent(asked)
    assert evidence["noul"] > 0.5
