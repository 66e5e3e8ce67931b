"""Digests of texts that do not depend on how a text was typed: equal digests are equal texts.

A text is normalised before it is compared: Unicode compatibility forms (NFKC), case, white space and invisible
characters do not count, so that a copy with one space more is the same text. Short texts are in many unrelated cases
("yes", "A", "42", "I don't know."): what two cases share counts as shared only from `MIN_BYTES` on.
"""

import json
import unicodedata

from .case import Case, digest

MIN_BYTES = 24
"""The least length, in bytes of UTF-8, of a text that shows that two cases belong together.

It is about five English words or eight Chinese characters. In the public labelled sets what unrelated cases share is
shorter: "yes", "positive", "<nooutput>", "empty string", "hello, how are you?" (19). From 26 bytes on nearly all are
copies of a whole question or answer; the few others are greetings and refusals of a model.
"""

INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def normalised(text: str) -> str:
    """The text in NFKC, case-folded, with single spaces, without spaces at its ends and without invisible characters.

    Example:
        >>> normalised("  The \\n ﬁrst\\u200b Line ")
        'the first line'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.translate(INVISIBLE).split())


def text_digest(text: str) -> str:
    """16 hex digits of the normalised text, or "" for a text too short to show that two cases belong together."""
    compared = normalised(text)
    return digest(compared) if len(compared.encode()) >= MIN_BYTES else ""


def conversation(case: Case) -> str:
    """The turns before the query, and the query: what the candidates answer."""
    return "\n".join([*(turn.text for turn in case.history), case.query])


def query_digest(case: Case) -> str:
    """The `text_digest` of the conversation, query included."""
    return text_digest(conversation(case))


def candidate_digests(case: Case) -> list[str]:
    """The `text_digest` of each candidate, in order; "" for short texts."""
    return [text_digest(candidate.text) for candidate in case.candidates]


def case_text_digest(case: Case) -> str:
    """16 hex digits of all that a judge sees of a case, whatever the order of its candidates.

    Conversation, context, candidates, profile and aspect count, and right answers beside categories, normalised and at
    any length; id, label, votes, systems, group
    and `meta` do not. Equal digests mean that a judge that saw one case saw the other.
    """
    profile = json.dumps(case.profile.model_dump(), sort_keys=True, ensure_ascii=False) if case.profile else ""
    about = [*(turn.text for turn in case.history), case.query, profile, case.aspect or ""]
    about += [text for text in (case.context, *(case.references if case.categories else ())) if text]
    texts = sorted(normalised(candidate.text) for candidate in case.candidates)
    return digest(json.dumps([[normalised(text) for text in about], texts]))
