"""The words of categories: how they are written, in which order, and which of two is the positive one.

Any words are categories: pass and fail, good and bad, 1 and 0, or twenty names. Of two the second is the positive one,
which true-positive rate, precision and costs are about: by the lists below, else the greater number, else the last by
the alphabet. Upper and lower case, spaces at the ends and the `.0` of a whole number, which
data frames add, do not count.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from ..parsing import shown

MOST = 200
"""Categories of a set. More distinct labels are texts: categories are judged one by one against each other."""

OPPOSITES = (
    ("fail", "pass"), ("failed", "passed"), ("bad", "good"), ("no", "yes"), ("false", "true"), ("n", "y"),
    ("f", "t"), ("0", "1"), ("incorrect", "correct"), ("wrong", "right"), ("unacceptable", "acceptable"),
    ("reject", "accept"), ("rejected", "accepted"), ("rejected", "approved"), ("not ok", "ok"), ("nok", "ok"),
    ("unsafe", "safe"), ("irrelevant", "relevant"), ("unhelpful", "helpful"), ("unfaithful", "faithful"),
    ("ungrounded", "grounded"), ("unsupported", "supported"), ("invalid", "valid"), ("negative", "positive"),
    ("hallucinated", "factual"), ("thumbs_down", "thumbs_up"), ("down", "up"), ("-1", "1"), ("dislike", "like"),
)  # fmt: skip
NEGATIVE = {negative for negative, _ in OPPOSITES}
POSITIVE = {positive for _, positive in OPPOSITES}


def written(value: object) -> str:
    """A label as the text of a category: `True` is "true" and 1.0 is "1".

    Example:
        >>> written(" Pass "), written(True), written(1.0), written("0.0")
        ('Pass', 'true', '1', '0')
    """
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).strip()
    number = number_of(text)
    return str(int(number)) if number is not None and number == int(number) else text


def number_of(text: str) -> float | None:
    """The finite number that a text is; None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 and not text[-1:].isalpha() else None


def is_number(value: object) -> bool:
    """Whether a label is a number, or the text of one."""
    return isinstance(value, int | float) or (isinstance(value, str) and number_of(value.strip()) is not None)


def are_numbers(words: Iterable[str]) -> bool:
    """Whether all words are numbers."""
    return all(number_of(word) is not None for word in words)


def in_order(words: Iterable[str]) -> tuple[str, ...]:
    """The categories in order: of two the positive one last, numbers by their value, others by the alphabet.

    Example:
        >>> in_order(["pass", "fail"]), in_order(["10", "9"]), in_order(["spam", "ham", "other"])
        (('fail', 'pass'), ('9', '10'), ('ham', 'other', 'spam'))
    """
    listed = sorted(words, key=lambda word: (number_of(word) is None, number_of(word) or 0.0, word.casefold(), word))
    if len(listed) == 2:
        listed.sort(key=lambda word: (word.casefold() in POSITIVE) - (word.casefold() in NEGATIVE))
    return tuple(listed)


def opposite(word: str) -> str | None:
    """The other of two categories, where it is known; in lower case.

    Example:
        >>> opposite("Pass"), opposite("spam")
        ('fail', None)
    """
    named = word.casefold()
    return next((pair[1 - pair.index(named)] for pair in OPPOSITES if named in pair), None)


def match(value: object, categories: Sequence[str]) -> str | None:
    """The category that a label names; None if it is none of them."""
    text = written(value)
    if text in categories:
        return text
    same = [category for category in categories if category.casefold() == text.casefold()]
    return same[0] if len(same) == 1 else None


def parse_categories(text: str) -> tuple[str, ...]:
    """The categories that a list such as "fail,pass" names, in its order.

    Raises:
        ValueError: fewer than two, more than `MOST`, or one twice.
    """
    return checked([part for part in (written(part) for part in text.split(",")) if part])


def checked(names: Sequence[str]) -> tuple[str, ...]:
    """The categories as they are.

    Raises:
        ValueError: as of `parse_categories`.
    """
    if not 2 <= len(names) <= MOST:
        raise ValueError(f"{shown(', '.join(names))} names {len(names)}; give 2 to {MOST}, as in fail,pass")
    if len({name.casefold() for name in names}) < len(names):
        raise ValueError(f"{shown(', '.join(names))} names one twice")
    return tuple(names)


def of_counts(counts: Counter[str]) -> tuple[str, ...]:
    """The categories of a set by the words of its labels, each spelt as it is most often.

    Numbers are categories where they are two, such as 0 and 1; three or more are scores, which nobody may take for
    names: then, and without labels, there are none. A single word has the opposite that is known of it.

    Raises:
        ValueError: a single word without a known opposite, or more than `MOST`.
    """
    spellings: dict[str, Counter[str]] = {}
    for word, count in counts.items():
        spellings.setdefault(word.casefold(), Counter())[word] += count
    words = [spelling.most_common(1)[0][0] for spelling in spellings.values()]
    if not words or (are_numbers(words) and len(words) != 2):
        return ()
    if len(words) == 1:
        other = opposite(words[0])
        if other is None:
            raise ValueError(f"every label is {shown(words[0])}. Name the categories, as in --categories fail,pass.")
        words.append(other.upper() if words[0].isupper() else other.capitalize() if words[0].istitle() else other)
    if len(words) > MOST:
        raise ValueError(
            f"the labels are {len(words):,} different texts, such as {shown(words[0])}; of categories there are at "
            f"most {MOST}. Name the column of the label with --fields label=COLUMN."
        )
    return in_order(words)
