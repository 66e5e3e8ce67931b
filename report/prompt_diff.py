"""Two wordings of one instruction side by side: what was taken out, what came in, and what stayed."""

import difflib
import re
from dataclasses import dataclass
from typing import Literal

ALIKE = 0.4  # of the words; below, a text marked word by word reads worse than the two texts one after the other
WORD = re.compile(r"\S+\s*|\s+")  # with the space behind it, so that changed words stand together


@dataclass(frozen=True)
class Piece:
    """A stretch of text."""

    kind: Literal["same", "gone", "new"]
    text: str


def pieces(before: str, after: str) -> tuple[Piece, ...]:
    """The change in words; both texts as a whole where they have little in common.

    Example:
        >>> [(one.kind, one.text) for one in pieces("Say which is better.", "Say which is kinder.")]
        [('same', 'Say which is '), ('gone', 'better.'), ('new', 'kinder.')]
    """
    old, new = WORD.findall(before), WORD.findall(after)
    matched = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matched.ratio() < ALIKE:
        whole = (Piece("gone", before), Piece("new", after))
        return tuple(piece for piece in whole if piece.text)
    found = []
    for kind, start, end, from_, to in matched.get_opcodes():
        if kind == "equal":
            found.append(Piece("same", "".join(old[start:end])))
            continue
        found += [Piece("gone", "".join(old[start:end]))] if end > start else []
        found += [Piece("new", "".join(new[from_:to]))] if to > from_ else []
    return tuple(found)


def unified(before: str, after: str) -> str:
    """The change in lines, each with its sign, as in a patch."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))
