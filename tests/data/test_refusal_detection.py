"""Texts that decline, and texts that only look so."""

import pytest

from dicast.data import Case
from dicast.data.refusal_detection import has_refusal, is_refusal, names_an_ai

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I'm sorry but I cannot do this.",
    "I\N{RIGHT SINGLE QUOTATION MARK}m sorry, I can\N{RIGHT SINGLE QUOTATION MARK}t judge that.",
    "i am sorry, i cannot say.",
    "I am very sorry, but no.",
    "I'm really sorry, but I'm unable to do that.",
    "Sorry, I can't answer this.",
    "Apologies, but I can't assist.",
    "My apologies, I cannot continue.",
    "I cannot provide this.",
    "I apologize, but I cannot provide this.",
    "Unfortunately, I cannot help you with this.",
    "Unfortunately I can't.",
    "I can not do that.",
    "I won't write this.",
    "I will not take part in this.",
    "I must decline.",
    "I am unable to say which one this person prefers.",
    "I'm not able to help.",
    "I'm unable to say.",
    "Unfortunately, I'm unable to choose.",
    "I don't feel comfortable choosing.",
    "I am not able to help.",
    "I do not feel comfortable choosing.",
    "As an AI, I have no preferences.",
    "As an AI language model, I do not hold opinions.",
    "As a large language model, I cannot choose.",
    "As an artificial intelligence I have no taste.",
    "It is not appropriate to guess.",
    "It's inappropriate to say.",
    "It would be inappropriate to guess by ethnicity.",
    '  "I\'m sorry, but no."',
    "**I cannot help with this.**",
]
ANSWERS = [
    "",
    "A",
    "Response A.",
    '{"preferred": "A"}',
    "Sorry is a card game.",
    "The assistant says: I'm sorry, I can't help.",
    "I can help with that.",
    "I think that A is better.",
    "As an airline pilot, I prefer B.",
    "As a language teacher, I would say B.",
    "Artificial intelligence is a field of study.",
    "It is appropriate here.",
    "You can't go wrong with A.",
    "This person cannot eat meat, so B.",
    "Apologists of the empire wrote this.",
    "Unfortunately, the answer is wrong.",
    "I will note three points.",
    "Sorrel is a herb.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_text_that_declines_is_a_refusal(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_a_text_that_answers_is_none(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_recognised_whatever_its_case(text: str) -> None:
    assert is_refusal(text.upper())
    assert is_refusal(text.lower())


@pytest.mark.parametrize(
    ("texts", "refused"),
    [
        (["A fine answer.", "Another."], False),
        (["A fine answer.", "I'm sorry, but I can't help."], True),
        (["I cannot say.", "A fine answer."], True),
        (["I cannot say."], True),
        (["", ""], False),
    ],
)
def test_a_case_has_a_refusal_when_any_candidate_declines(texts: list[str], refused: bool) -> None:
    case = Case(id="c", query="I'm sorry, can you help?", candidates=[{"text": text} for text in texts])
    assert has_refusal(case) == refused
    assert has_refusal(case.model_copy(update={"candidates": case.candidates[::-1]})) == refused


@pytest.mark.parametrize(
    "text",
    [
        "As a chatbot I can't take sides.",
        "Well, as an AI I try to stay neutral.",
        "I am just a large language model.",
        "We language-models have no taste.",
        "Some AIs do, I do not.",
        "OpenAI made me.",
        "I, an A.I., abstain.",
        "Chatbots have no vote.",
    ],
)
def test_a_response_that_names_an_ai_is_left_out_as_in_the_paper(text: str) -> None:
    assert names_an_ai(text)
    case = Case(id="c", query="q", candidates=[{"text": "A fine answer."}, {"text": text}])
    assert has_refusal(case, "ai-words")
    assert not has_refusal(case, "keep")


@pytest.mark.parametrize("text", ["AIDS and SAID", "j'ai dit", "MAIN", "A model of language.", "I cannot say.", "aim"])
def test_a_word_that_only_holds_these_letters_is_none(text: str) -> None:
    assert not names_an_ai(text)
