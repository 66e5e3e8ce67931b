"""A reason that says nothing but the verdict, repeats the question or copies a text is noticed; others pass."""

import dspy
import pytest

from dicast import Case
from dicast.data import Verdict
from dicast.judging.explainer import Explainer
from dicast.judging.reason_content import fault_of
from dicast.judging.verdict_words import VerdictWords, verdict_words
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text

REQUEST = "Explain to a child of five why the sky is blue, and do not use the word scattering."
SHORT = "Because the air sends blue light around more than red light, so blue comes from everywhere."
LONG = "Rayleigh scattering: the cross section goes with the fourth power of the frequency of the light."
PAIR = Case.model_validate(
    {"id": "1", "query": REQUEST, "aspect": "helpfulness", "candidates": [{"text": SHORT}, {"text": LONG}]}
)
VERDICT = Verdict(case_id="1", winner="a")


def words() -> VerdictWords:
    said = verdict_words(PAIR, VERDICT)
    assert said is not None
    return said


@pytest.mark.parametrize(
    ("reason", "fault"),
    [
        ("", "is empty"),
        (" ... ", "is empty"),
        ("Response A is better.", "says nothing but the verdict"),
        ("The verdict is that response A is better than response B, so A.", "says nothing but the verdict"),
        ("Response A is better: helpfulness.", "says nothing but the verdict"),
        ("Helpfulness and honesty of the response", "only names what was judged"),
        (REQUEST, "repeats the question"),
        ("Why the sky is blue, and do not use the word scattering.", "repeats the question"),
        (f"{SHORT}", "is copied from the texts"),
        (f"Response A: {SHORT}", "is copied from the texts"),
        ("Response A uses plain words a child knows; B says scattering, which the request forbids.", ""),
        ("It says 'blue comes from everywhere', which a child can picture.", ""),
        ("B breaks the rule: it says scattering.", ""),
        ("Die Antwort A ist kindgerecht und vermeidet das verbotene Wort.", ""),
        ("回答A用简单的词解释了天空。", ""),
    ],
)
def test_what_is_wrong_with_a_reason(reason: str, fault: str) -> None:
    found = fault_of(reason, words(), aspect="helpfulness, honesty", question=[REQUEST], responses=[SHORT, LONG])
    assert found == fault


def test_a_reason_of_a_category_that_only_names_it_says_nothing() -> None:
    case = Case.model_validate(
        {"id": "1", "query": "q", "candidates": [{"text": "rude"}], "categories": ["not polite", "polite"]}
    )
    said = verdict_words(case, Verdict(case_id="1", category="not polite"))
    assert said is not None
    assert fault_of("The response is not polite.", said, aspect="", question=(), responses=()) != ""
    assert fault_of("It insults whoever asks.", said, aspect="", question=(), responses=()) == ""


@pytest.mark.parametrize("reason", [SHORT, "Response A is better.", "A uses plain words; B names a law."])
def test_marks_and_case_change_nothing(reason: str) -> None:
    faults = {
        fault_of(text, words(), aspect="", question=[REQUEST], responses=[SHORT, LONG])
        for text in (reason, reason.upper(), f'"{reason}"', reason.replace(" ", "\n"))
    }
    assert len(faults) == 1


def explained(reasons: list[str], letter: str = "A") -> tuple[ScriptedLM, Explainer]:
    """An explainer whose model writes these reasons, and names this place of every list."""
    left = list(reasons)

    def answer(request: object) -> Answer:
        if answer_fields(request) == {"reason"}:
            return {"reason": left.pop(0)}
        return {"token_probabilities": {name: 0.9 if name == letter else 0.05 for name in "ABC"}}

    return ScriptedLM(answer), Explainer()


def test_a_reason_that_says_nothing_is_asked_again_once_and_then_left_empty_with_the_cause() -> None:
    lm, explainer = explained(["Response A is better.", SHORT])
    with dspy.context(lm=lm):
        reason = explainer.explain(PAIR, VERDICT)
    assert reason is not None
    assert (reason.text, reason.tries, reason.agrees, reason.speaks_for) == ("", 2, None, "")
    assert reason.cause == "the second reason is copied from the texts; the first says nothing but the verdict"
    assert reason.note == f"No reason: {reason.cause}."
    assert "An earlier reason says nothing but the verdict. Name a detail" in prompt_text(lm.requests[-1])
    assert len(lm.requests) == 2  # nothing is read of what says nothing


def test_a_second_reason_that_says_something_counts() -> None:
    good = "Response A is better: it avoids the forbidden word."
    lm, explainer = explained(["Helpfulness.", good])
    with dspy.context(lm=lm):
        reason = explainer.explain(PAIR, VERDICT)
    assert reason is not None
    assert (reason.text, reason.cause, reason.tries, reason.agrees) == (good, "", 2, True)


@pytest.mark.parametrize("letter", ["A", "B", "C"])
def test_a_model_that_names_a_place_of_the_list_checks_nothing(letter: str) -> None:
    lm, explainer = explained(["It avoids the forbidden word."] * 2, letter)
    with dspy.context(lm=lm):
        reason = explainer.explain(PAIR, VERDICT)
    assert reason is not None
    assert len(lm.requests) == 3  # the reason, and the check in both orders
    assert (reason.agrees, reason.speaks_for) == (None, "")
    assert reason.note.startswith("Not checked")
