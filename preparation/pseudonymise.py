"""The names of one text: proposals are checked and completed, applied by code, and what they leave is found.

Names are replaced word by word, so that families stay together: once "Jackson Marshall" is Peter Howell, Ava Marshall
is a Howell too. A replacement is a word that the text does not hold, so none can be taken for a name of the text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .pseudonyms import CALENDAR, PLAIN, TITLES, invented

WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")  # a letter may carry combining accents
START, END = r"(?<![^\W_])(?<![\u0300-\u036f])", r"(?![^\W_]|[\u0300-\u036f])"
BETWEEN = r"[\s'’.\-]{1,3}"  # the words of a name
POSSESSIVE = re.compile(r"['’]s?\s*$")
OPENING = re.compile(r"[.!?…\"“”«»‘*#]|\s'|\n\s*\n")  # between two words: the second opens a sentence or a quotation
AROUND = 48  # characters shown on either side of a word in doubt


class Names:
    """The replacements made in a text and in the comments on it.

    Attributes:
        replaced: how many names of each kind.
    """

    def __init__(self, text: str, comments: Sequence[str] = ()) -> None:
        self.bodies = [text, *comments]
        self.words = {word for body in self.bodies for word in WORD.findall(body)}
        self.common = {word for word in self.words if word.islower()}
        self.replaced: Counter[str] = Counter()
        self._inside = {word.group() for body in self.bodies for word in inside_sentences(body)}
        self._taken = {word.casefold() for word in self.words}
        self._words: dict[str, str] = {}
        self._phrases: dict[tuple[str, ...], list[str]] = {}
        self._cleared: set[str] = set()
        self._spare = {given_name: invented(text, given_name=given_name) for given_name in (True, False)}

    def add(self, name: str, kind: str, replacement: str) -> None:
        """Replace a name from now on; what is not in the text, or is no name, is passed over.

        Words that are replaced already stay so. A replacement that does not fit makes room for an invented one.
        """
        words = tuple(WORD.findall(POSSESSIVE.sub("", name)))
        capitals = tuple(word.upper() for word in words)
        if not words or not any(_pattern(form).search(body) for form in (words, capitals) for body in self.bodies):
            return
        fitted, last, known = _fitted(words, replacement), len(words) - 1, len(self._words) + len(self._phrases)
        replaced_alone = [self._may_stand_alone(word, kind, whole=not last) for word in words]
        if any(replaced_alone):
            for place, word in enumerate(words):
                if replaced_alone[place] and word not in self._words:
                    given_name = kind == "person" and (place < last or not last)
                    self._replace(word, self._free(fitted[place], given_name), plural=kind == "person")
        elif last and any(map(_nameable, words)) and words not in self._phrases:  # The Red Lion, where lions are red
            new = [self._free(fitted[place], False) if _nameable(word) else word for place, word in enumerate(words)]
            self._phrases |= {capitals: [word.upper() for word in new], words: new}
            self._taken |= {word.casefold() for word in new}
        if len(self._words) + len(self._phrases) > known:
            self.replaced[kind] += 1

    def clear(self, words: Iterable[str]) -> None:
        """Words that are no names, whatever they look like."""
        self._cleared.update(words)

    def apply(self, text: str) -> str:
        """The text with every name replaced.

        Raises:
            AssertionError: a name is left; it never should be.
        """
        phrases = [_pattern(words).pattern for words in sorted(self._phrases, key=len, reverse=True)]
        result = re.sub("|".join([*phrases, WORD.pattern]), self._new, text)
        left = sorted(self._words.keys() & set(WORD.findall(result)))
        left += [" ".join(words) for words in self._phrases if _pattern(words).search(result)]
        assert not left, f"names: {left[0]!r} is still in the text"
        return result

    def suspects(self) -> dict[str, str]:
        """Words left that look like names, each with a piece of its text around it.

        They are capitalised inside a sentence and never in lower case, were put in place by nobody, and are neither
        plain words nor days and months.
        """
        replacements = {*self._words.values(), *(word for new in self._phrases.values() for word in new)}
        known = replacements | self._cleared
        suspects: dict[str, str] = {}
        for body in map(self.apply, self.bodies):
            for match in inside_sentences(body):
                word = match.group()
                ordinary = {word.lower()} & (self.common | PLAIN | CALENDAR)
                if not (ordinary or word in known or word in suspects or word.isupper()):
                    suspects[word] = " ".join(body[max(0, match.start() - AROUND) : match.end() + AROUND].split())
        return suspects

    def _may_stand_alone(self, word: str, kind: str, *, whole: bool) -> bool:
        """Whether the word is replaced wherever it occurs; a common word (university) is not, but for people (Will)."""
        if not _nameable(word):
            return False
        return kind == "person" or word.lower() not in self.common or (whole and word in self._inside)

    def _replace(self, word: str, new: str, *, plural: bool) -> None:
        """Replace the word, in capitals as well unless those may be a common word's, and a family's plural."""
        ends = (("", ""), *((end, _plural(new)) for end in ("s", "es"))) if plural else (("", ""),)
        for end, ending in ends:
            for old in sorted(self.words - self._words.keys()):
                is_common = old.lower() in self.common
                if old.lower() == (word + end).lower() and old[0].isupper() and (old == word or not is_common):
                    self._words[old] = (new + ending).upper() if old.isupper() else new + ending
        self._taken |= {new.casefold(), (new + _plural(new)).casefold()}

    def _free(self, proposed: str, given_name: bool) -> str:
        """The proposed word where nothing speaks against it, else an invented one."""
        if proposed.isalpha() and _nameable(proposed) and self._is_free(proposed):
            return proposed
        return next(name for name in self._spare[given_name] if self._is_free(name))

    def _is_free(self, word: str) -> bool:
        return not {word.casefold(), (word + _plural(word)).casefold()} & self._taken

    def _new(self, match: re.Match[str]) -> str:
        text = match.group()
        words = tuple(WORD.findall(text))
        if words in self._phrases:
            new = iter(self._phrases[words])
            return WORD.sub(lambda _: next(new), text)
        return self._words.get(text, text)


def inside_sentences(text: str) -> Iterator[re.Match[str]]:
    """Capitalised words that do not owe their capital to the start of a sentence."""
    before: re.Match[str] | None = None
    for word in WORD.finditer(text):
        if before is not None and word.group()[0].isupper():
            between, last = text[before.end() : word.start()], before.group()
            abbreviated = re.fullmatch(r"\.\s*", between) and (
                last.lower() in TITLES or (len(last) == 1 and last.isupper())
            )
            if abbreviated or not OPENING.search(between):
                yield word
        before = word


def _nameable(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and word.lower() not in PLAIN


def _fitted(words: Sequence[str], replacement: str) -> list[str]:
    """A word of the replacement for each word of the name; empty ones where their numbers differ."""
    new: Iterable[str] = WORD.findall(replacement)
    if len(list(new)) == len(words):
        return list(new)
    new_names, old_names = [word for word in new if _nameable(word)], [word for word in words if _nameable(word)]
    if len(new_names) != len(old_names):
        return [""] * len(words)
    rest = iter(new_names)
    return [next(rest) if _nameable(word) else word for word in words]


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(START + BETWEEN.join(map(re.escape, words)) + END)


def _plural(word: str) -> str:
    return "es" if word.lower().endswith(("s", "x", "z", "ch", "sh")) else "s"
