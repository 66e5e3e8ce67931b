"""`direct` with `scale=both`: what a model likes in high numbers falls out, what the levels mean stays."""

import re

import dspy
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Verdict
from dicast.data.case import Candidate
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.judging.turned_scale import turned
from dicast.signatures.direct import Grade, Prefer, SharedGrade
from dicast.testing.scripted_lm import Answer, ScriptedLM

TRUTH = {"very poor": 1.0, "poor": 2.0, "fair": 4.0, "good": 2.0, "excellent": 1.0}
TEXT = Case(id="t", query="Why?", candidates=[Candidate(text="So.")])


def prefers_high_numbers(request: Request) -> Answer:
    meanings = dict(re.findall(r"^(\d)\. (.+)$", request.messages[0].text or "", re.MULTILINE))
    return {"token_probabilities": {digit: TRUTH[name] * 2.0 ** int(digit) / 1000 for digit, name in meanings.items()}}


def judged(**settings: str) -> tuple[Verdict, list[Request]]:
    lm = ScriptedLM(prefers_high_numbers)
    with dspy.context(lm=lm):
        return build("direct", min_mass=0, grading="single", **settings)(TEXT), lm.requests


@pytest.mark.parametrize("layout", ["separate", "shared"])
def test_both_directions_see_through_a_preference_for_high_numbers(layout: str) -> None:
    up, _ = judged(layout=layout)
    both, requests = judged(layout=layout, scale="both")
    assert up.scores is not None
    assert up.scores[0] > 3.7
    assert both.scores == pytest.approx((3.0,))
    total = sum(TRUTH.values())
    assert list((both.distribution or {}).values()) == pytest.approx([share / total for share in TRUTH.values()])
    assert len(requests) == 2


def test_the_instructions_name_the_ends_as_they_are_asked() -> None:
    for signature in (Grade, SharedGrade):
        text = turned(signature, "score").instructions + str(turned(signature, "score").output_fields["score"])
        assert "1 (excellent) to 5 (very poor)" in text
        assert "1 (very poor)" not in text


def test_a_question_without_named_levels_has_no_other_direction() -> None:
    with pytest.raises(DeclarationError, match="scale=both: the output 'better' has no name for each of its levels"):
        turned(Prefer, "better")


def test_scale_up_asks_as_ever() -> None:
    _, as_ever = judged()
    _, up = judged(scale="up")
    assert [request.messages for request in up] == [request.messages for request in as_ever]
