"""The difference of two instructions: removed, added and common words or lines."""

import difflib
import re
from dataclasses import dataclass
from typing import Literal

SIMILAR = 0.4  # of the words; below, a diff word by word is harder to read than the two texts one after the other
WORD = re.compile(r"\S+\s*|\s+")  # with the following space, so that adjacent changed words are one piece


@dataclass(frozen=True)
class Piece:
    """A stretch of text."""

    kind: Literal["same", "removed", "added"]
    text: str


def pieces(before: str, after: str) -> tuple[Piece, ...]:
    """The difference in words; both whole texts if they have little in common.

    Example:
        >>> [(piece.kind, piece.text) for piece in pieces("Say which is better.", "Say which is kinder.")]
        [('same', 'Say which is '), ('removed', 'better.'), ('added', 'kinder.')]
    """
    old, new = WORD.findall(before), WORD.findall(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < SIMILAR:
        texts = (Piece("removed", before), Piece("added", after))
        return tuple(piece for piece in texts if piece.text)
    diff = []
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            diff.append(Piece("same", "".join(old[old_start:old_end])))
            continue
        diff += [Piece("removed", "".join(old[old_start:old_end]))] if old_end > old_start else []
        diff += [Piece("added", "".join(new[new_start:new_end]))] if new_end > new_start else []
    return tuple(diff)


def unified(before: str, after: str) -> str:
    """The difference in lines, each with its sign, as in a patch."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))
