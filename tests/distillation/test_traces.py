"""Traces are collected by the batch runner: resumed, budgeted, and never taken for whole when they are not."""

import threading

import dspy
import pytest

from dicast.data import Case
from dicast.data.case import Scores, Winner
from dicast.distillation.rejection import accepted, reason_of
from dicast.distillation.trace import traced
from dicast.distillation.traces import TRACES, collect, read_traces
from dicast.engines.ledger import Budget
from dicast.errors import RunError
from dicast.programs.direct import Direct
from dicast.testing import ScriptedLM

CASES = [
    Case(id=str(number), query=f"Question {number}?", candidates=[{"text": f"yes {number}"}, {"text": f"no {number}"}])
    for number in range(6)
]
JUDGE = Direct(grading="pairwise")
LM = ScriptedLM({"token_probabilities": {"A": 0.7, "B": 0.3}})  # one model for all runs of a folder


def collected(folder, cases=CASES, **options):
    before = len(LM.requests)
    with dspy.context(lm=LM):
        return collect(JUDGE, cases, folder, **options), len(LM.requests) - before


def test_every_case_has_the_calls_of_its_judgment(tmp_path):
    result, calls = collected(tmp_path / "t", workers=3)
    traces = list(result.traces())
    assert (result.status, calls, len(traces)) == ("complete", 12, 12)
    assert {(trace.case_id, trace.order) for trace in traces} == {(case.id, o) for case in CASES for o in ("ab", "ba")}
    assert all(trace.consistent is False for trace in traces)  # the letter A in both orders


def test_a_second_collection_asks_only_for_new_cases(tmp_path):
    collected(tmp_path / "t", CASES[:4])
    _, calls = collected(tmp_path / "t", CASES)
    assert calls == 4
    assert len(list(read_traces(tmp_path / "t"))) == 12


def test_a_kill_between_calls_and_verdict_doubles_nothing(tmp_path):
    folder = tmp_path / "t"
    collected(folder)
    verdicts = folder / "verdicts.jsonl"
    verdicts.write_bytes(b"".join(verdicts.read_bytes().splitlines(keepends=True)[:-1]))  # the last one was not written
    with (folder / TRACES).open("ab") as file:
        file.write(b'{"case_id":"5","tra')  # nor the end of this line
    assert len(list(read_traces(folder))) == 10  # a case without a verdict does not count
    _, calls = collected(folder)
    assert calls == 2
    assert len(list(read_traces(folder))) == 12


def test_a_budget_ends_it_and_more_of_it_continues(tmp_path):
    first, calls = collected(tmp_path / "t", budget=Budget(calls=5))
    assert (first.status, calls) == ("budget", 5)
    assert "5 of 5 calls are used" in first.message
    second, _ = collected(tmp_path / "t")
    assert (second.status, len(list(second.traces()))) == ("complete", 12)


def test_a_stop_ends_it(tmp_path):
    stop = threading.Event()
    result, calls = collected(tmp_path / "t", stop=stop, on_verdict=lambda judged: stop.set())
    assert result.status == "stopped"
    assert 0 < calls < 12


def test_a_folder_is_of_one_judge_with_its_head(tmp_path):
    collected(tmp_path / "t")
    with pytest.raises(RunError, match="holds a run with"), dspy.context(lm=LM):
        collect(Direct(grading="single"), CASES, tmp_path / "t")
    abstaining = Direct(grading="pairwise")
    abstaining.threshold = 0.9
    with pytest.raises(RunError, match="holds a run with"), dspy.context(lm=LM):
        collect(abstaining, CASES, tmp_path / "t")


def test_a_folder_without_traces_is_refused(tmp_path):
    with pytest.raises(RunError, match=f"has no {TRACES}"):
        list(read_traces(tmp_path))


def judged(label=None, letters=None, **options):
    """The first trace of a judgment that prefers the text "yes 0", unless `letters` decide."""
    case = CASES[0].model_copy(update={"label": label})

    def answer(request):
        text = request.messages[-1].text
        return {"token_probabilities": letters or ({"A": 1.0} if text.index("yes") < text.index("no ") else {"B": 1.0})}

    with dspy.context(lm=ScriptedLM(answer)):
        return traced(Direct(grading="pairwise", **options), case)[1][0]


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        (judged(Winner(value="a")), "agrees with the label"),
        (judged(Winner(value="b")), "contradicts the label"),
        (judged(Winner(value="tie")), "contradicts the label"),
        (judged(Scores(values=(4, 1), lo=1, hi=5)), "agrees with the label"),
        (judged(), "the same in both orders"),
        (judged(letters={"A": 0.8, "B": 0.2}), "other winner in the other order"),
        (judged(order="one"), "one order, no label"),
        (judged().model_copy(update={"scored": False}), "unscored"),
    ],
)
def test_a_judgment_is_learnt_if_it_agrees_with_the_label_or_with_itself(trace, reason):
    assert reason_of(trace) == reason
    sampled = accepted([trace])
    assert sampled.counts == {reason: 1}
    assert bool(sampled.traces) == (reason in ("agrees with the label", "the same in both orders"))


def test_a_score_agrees_when_it_is_near_on_the_scale():
    case = Case(id="1", query="q", candidates=[{"text": "t"}], label=Scores(values=(7,), lo=0, hi=10))
    with dspy.context(lm=ScriptedLM({"token_probabilities": {"4": 1.0}})):  # 4 of 1..5 is .75; people said .7
        trace = traced(Direct(), case)[1][0].model_copy(update={"scale": (1, 5)})
    assert reason_of(trace) == "agrees with the label"
    assert reason_of(trace, tolerance=0.04) == "contradicts the label"


def test_unchecked_judgments_are_learnt_when_asked():
    assert len(accepted([judged(order="one")], unchecked=True).traces) == 1
