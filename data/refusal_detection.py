"""Detects refusals in a judge's answer, and the candidate responses that a filter leaves out.

Two filters of responses: `opening`, the text opens as a refusal does; `ai-words`, it names an AI, a language model or a
chatbot, as models do when they decline to have an opinion. The second is how the runs of arXiv 2406.11657 filter:
their program drops every response with "language model", "AI" or "chatbot" in it. Here these are whole words, so that
AIDS or MAIN stay, with "OpenAI" and plurals; "AI" only in capitals.
"""

import re
from collections.abc import Callable
from typing import Literal

from .case import Case

RefusalFilter = Literal["keep", "opening", "ai-words"]

OPENING = re.compile(
    r"^\W*(?:(?:i'?m|i am) (?:so |very |really )?sorry\b|sorry,|(?:my |i )?apologi(?:es|[sz]e)\b"
    r"|(?:unfortunately,? )?(?:but )?(?:(?:i'?m|i am) (?:not able|unable)"
    r"|i (?:(?:can(?:no|')t|can not)(?! wait\b)|won'?t|will not|must decline|(?:do not|don't) feel comfortable))\b"
    r"|as an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|it(?: is|'s| would be) (?:not |in)appropriate\b)",
    re.IGNORECASE,
)
AI_WORDS = re.compile(r"\b(?:(?:Open)?AIs?\b|A\.I\.|(?i:(?:language[ -]models?|chat-?bots?)\b))")


def is_refusal(text: str) -> bool:
    """Whether the text opens as a refusal does, in English.

    Example:
        >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Sorry is a card game.")
        (True, False)
    """
    return OPENING.match(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")) is not None


def names_an_ai(text: str) -> bool:
    """Whether the text names an AI, a language model or a chatbot, as in arXiv 2406.11657.

    Example:
        >>> names_an_ai("As a chatbot I can't take sides."), names_an_ai("The AIDS crisis")
        (True, False)
    """
    return AI_WORDS.search(text) is not None


FILTERS: dict[RefusalFilter, Callable[[str], bool]] = {
    "keep": lambda text: False,
    "opening": is_refusal,
    "ai-words": names_an_ai,
}


def has_refusal(case: Case, kind: RefusalFilter = "opening") -> bool:
    """Whether the filter drops a candidate of the case; arXiv 2406.11657 leaves such cases out."""
    return any(FILTERS[kind](candidate.text) for candidate in case.candidates)
