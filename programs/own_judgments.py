"""What a judge of a pair said of one response, as the corrector of that response may read it.

The corrector of Fennec (arXiv 2405.12163, section 3.1) is given one response and its own judgments. A judge that saw
two writes "Response A is clearer than response B": the letter names nothing to a reader of one response, and what is
said of the other one would put its content into the correction.
"""

import re

SENTENCES = re.compile(r"(?<=[.!?])\s+")
NOUN = r"(?i:response|answer|assistant|candidate|text|option)"
VERB = r"(?:is|was|has|had|does|did|gives?|got|names?|says?|states?|lacks?|fails?|provides?|answers?|misses)\b"
PAIRED = re.compile(rf"\b(?:both|neither|either|other)\s+(?:of\s+the\s+)?{NOUN}s?\b|\bthe\s+other\b", re.IGNORECASE)


def of_response(explanation: str, letter: str) -> str:
    """The explanation without the sentences that name the other response; its own letter becomes "the response".

    Args:
        explanation: of one response of two.
        letter: "A" or "B", by which the judge called this response.

    Example:
        >>> of_response("Response A names no prime. Response B names 7.", "A")
        'The response names no prime.'
    """
    itself, other = _naming(letter), _naming("B" if letter == "A" else "A")
    sentences = SENTENCES.split(explanation.strip())
    about_it = [sentence for sentence in sentences if not (other.search(sentence) or PAIRED.search(sentence))]
    return " ".join(itself.sub(_unlettered, sentence) for sentence in about_it)


def _naming(letter: str) -> re.Pattern[str]:
    """What names a response by its letter: "Response A", "than A", and "A" where a sentence says something of it."""
    compared = rf"(?<=\bthan\s){letter}\b|(?<=\b[Uu]nlike\s){letter}\b"
    return re.compile(rf"\b{NOUN}\s+{letter}\b|{compared}|^{letter}(?=(?:['’]s)?\s+{VERB})")


def _unlettered(match: re.Match[str]) -> str:
    return "The response" if match.start() == 0 else "the response"
