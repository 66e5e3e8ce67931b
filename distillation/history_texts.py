"""The earlier texts inside a history, which a prompt shows as one text: reviews, choices, turns (`data.profile_text`).

A label begins each part of a history, at the beginning of a line. An earlier text may hold such a line itself, so that
where it ends is not certain: the text up to the next label is compared in every way, those up to later labels for
equality alone.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..data.profiles import CUT
from ..data.text_digest import normalised

PART = re.compile(r"^(Query|Text|Review|Aspect|Score|A|B|Preferred|User|Assistant|System): ", re.MULTILINE)
IS_HISTORY = re.compile(r"^(Score: [\d.e+-]+|Preferred: \w+|(User|Assistant): .*)$", re.MULTILINE)
TEXTS = frozenset({"Query", "Text", "A", "B", "User", "Assistant", "System"})  # the others are what was said of them
MOST_ENDS = 8  # labels after the first one at which a text may end


@dataclass(frozen=True)
class HistoryTexts:
    """The earlier texts of histories, normalised.

    Attributes:
        texts: each up to the next label.
        longer: each up to later labels.
        beginnings: of texts that a word limit cut.
    """

    texts: frozenset[str] = frozenset()
    longer: frozenset[str] = frozenset()
    beginnings: frozenset[str] = frozenset()


def history_texts(shown: Iterable[str]) -> HistoryTexts:
    """The earlier texts in those of the shown texts that are histories.

    Example:
        >>> history_texts(["Text: A tale of\\nthe sea.\\nReview: Fine.\\nScore: 7"]).texts
        frozenset({'a tale of the sea.'})
    """
    texts, longer, beginnings = set[str](), set[str](), set[str]()
    cut = normalised(CUT)
    for content in shown:
        if not IS_HISTORY.search(content):
            continue
        parts = list(PART.finditer(content))
        ends = [*(part.start() for part in parts[1:]), len(content)]
        for number, part in enumerate(parts):
            if part[1] not in TEXTS:
                continue
            first, *others = (normalised(content[part.end() : end]) for end in ends[number : number + MOST_ENDS])
            if first.endswith(cut):
                beginnings.add(first.removesuffix(cut).rstrip())
            texts.add(first)
            longer.update(others)
    return HistoryTexts(frozenset(texts), frozenset(longer), frozenset(beginnings))
