"""Texts that decline: how they are told, for a judge that will not judge and for responses that will not answer."""

import re

from .case import Case

OPENING = re.compile(
    r"^\W*(?:i'?m (?:so |very |really )?sorry|i am (?:so |very )?sorry|sorry,|(?:my )?apologi(?:es|[sz]e)"
    r"|(?:unfortunately,? )?(?:but )?i (?:can(?:no|')t|am (?:not able|unable)|'?m (?:not able|unable)|won'?t|will not"
    r"|must decline|do not feel comfortable)"
    r"|as an? (?:ai|artificial intelligence|(?:large )?language model)|it(?: is|'s| would be) (?:not |in)appropriate)",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether the text opens as a refusal does, in English.

    Example:
        >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Sorry is a card game.")
        (True, False)
    """
    return OPENING.match(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")) is not None


def has_refusal(case: Case) -> bool:
    """Whether a candidate of the case declines; arXiv 2406.11657 leaves such cases out."""
    return any(is_refusal(candidate.text) for candidate in case.candidates)
