"""Detects refusals, in a judge's answer and in a candidate response."""

import re

from .case import Case

OPENING = re.compile(
    r"^\W*(?:(?:i'?m|i am) (?:so |very |really )?sorry\b|sorry,|(?:my |i )?apologi(?:es|[sz]e)\b"
    r"|(?:unfortunately,? )?(?:but )?(?:(?:i'?m|i am) (?:not able|unable)"
    r"|i (?:(?:can(?:no|')t|can not)(?! wait\b)|won'?t|will not|must decline|(?:do not|don't) feel comfortable))\b"
    r"|as an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|it(?: is|'s| would be) (?:not |in)appropriate\b)",
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
