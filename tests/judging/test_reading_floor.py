"""A question whose options the model gives next to nothing is not read: the case is unscored, and never a tie."""

from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from judges import PAIR, SINGLE, ask

from dicast.data import Usage
from dicast.errors import DeclarationError
from dicast.judging import Cascade, Judge, Panel, build
from dicast.judging.hparam import HParam
from dicast.judging.judge_file import load, save
from dicast.testing import ScriptedLM, prompt_text

THOUGHT = {"token_probabilities": {"<think>": 0.9, "\n": 0.06, "Okay": 0.04}}


def given(mass: float) -> Any:
    """A model that gives the letters and digits this probability in all."""
    spread = {"A": 0.5, "B": 0.1, "1": 0.1, "3": 0.3}
    return {"token_probabilities": {"The": 1 - mass, **{mark: mass * share for mark, share in spread.items()}}}


@pytest.mark.parametrize("name", ["direct", "zero-shot", "pairwise", "perse-pairwise"])
def test_a_model_that_begins_with_a_thought_is_unreadable_and_no_tie(name):
    settings = {"k": 0} if name.startswith("perse") else {}
    verdict, _ = ask(build(name, readout="probability", **settings), PAIR, lambda request: THOUGHT)
    assert (verdict.status, verdict.reason, verdict.winner) == ("unscored", "unreadable", None)
    assert "hold 0.00% of the probability, less than 5%" in verdict.detail
    assert "The model's first token is '<think>' 90%, '\\n' 6%, 'Okay' 4%." in verdict.detail
    assert "--readout generate" in verdict.detail


def test_one_question_of_several_that_is_not_read_leaves_the_case_unscored():
    def answer(request: Request) -> Any:
        return given(0.02 if "one digit" in prompt_text(request) else 0.9)

    assert ask(build("direct", grading="pairwise"), PAIR, answer)[0].status == "scored"
    verdict, requests = ask(build("direct", grading="both"), PAIR, answer)
    assert (verdict.reason, len(requests)) == ("unreadable", 4)
    assert verdict.detail.startswith("stage 'judgment', question 'score': the options hold 0.80% ")
    assert verdict.usage == Usage(calls=4, prompt_tokens=40, completion_tokens=8, seconds=verdict.usage.seconds)


@pytest.mark.parametrize(
    ("mass", "floor", "status"), [(0.2, 0.05, "scored"), (0.2, 0.5, "unscored"), (0.02, 0, "scored")]
)
def test_the_floor_is_a_parameter_of_the_judge(mass, floor, status):
    judge = build("direct", grading="pairwise", min_mass=floor)
    assert ask(judge, PAIR, lambda request: given(mass))[0].status == status


def test_a_floor_outside_of_0_to_1_is_refused():
    with pytest.raises(DeclarationError, match="min_mass: must be at most 1, got 5"):
        build("direct", min_mass=5)


def test_a_floor_goes_without_saying_until_it_is_changed(tmp_path):
    """So the identity of runs, judge files and compilations from before the parameter stays what it was."""
    assert "min_mass" not in build("direct").settings()
    changed = build("direct", min_mass=0.2)
    assert changed.settings()["min_mass"] == 0.2
    save(changed, tmp_path / "strict.judge.json")
    assert load(tmp_path / "strict.judge.json").settings()["min_mass"] == 0.2
    assert changed.set(min_mass=0.05).settings() == build("direct").settings()
    assert not HParam(0.05).is_implied


def test_each_member_has_its_own_floor():
    strict, lenient = (build("direct", grading="pairwise", min_mass=floor) for floor in (0.5, 0.0))
    verdict, _ = ask(Panel([strict, lenient]), PAIR, lambda request: given(0.2))
    assert (verdict.status, verdict.notes) == ("scored", ("direct 1: unreadable",))
    verdict, _ = ask(Cascade([strict, lenient]), PAIR, lambda request: given(0.2))
    assert (verdict.status, verdict.notes[0]) == ("scored", "direct 1: unreadable")
    verdict, _ = ask(Panel([strict, strict]), PAIR, lambda request: given(0.2))
    assert verdict.reason == "unreadable"


def test_the_implicit_score_takes_whatever_the_words_have_as_its_paper_does():
    some = {"token_probabilities": {"The": 0.97, "Yes": 0.01, "No": 0.02}}
    verdict, _ = ask(build("implicit"), SINGLE, lambda request: some)
    assert verdict.scores == pytest.approx((0.98,))
    assert verdict.findings[0].mass_read == pytest.approx(0.03)
    verdict, _ = ask(build("implicit"), SINGLE, lambda request: THOUGHT)
    assert verdict.reason == "unreadable"
    assert "'<think>' 90%" in verdict.detail


def test_a_written_answer_has_no_floor():
    judge: Judge = build("direct", grading="pairwise", readout="generate", min_mass=1.0)
    with dspy.context(lm=ScriptedLM({"better": "A"})):
        assert judge(PAIR).status == "scored"


@pytest.mark.parametrize(
    ("tokens", "is_thought"),
    [
        ({"The": 0.6, "A": 0.01, " You": 0.3}, False),
        ({"{": 0.9, "```": 0.1}, False),
        ({"<think>": 1.0}, True),
        ({"The": 0.6, "[THINK]": 0.3}, True),
        ({"<": 0.9}, True),
        ({"<|channel|>": 0.9}, True),
        ({" Okay": 0.9, ",": 0.05}, True),
    ],
)
def test_the_advice_is_of_the_tokens_that_came(tokens, is_thought):
    judge = build("direct", grading="pairwise")
    detail = ask(judge, PAIR, lambda request: {"token_probabilities": tokens})[0].detail
    assert detail is not None
    assert ("does not begin with thinking" in detail) == is_thought
    assert ("The model ignores the options" in detail) != is_thought
