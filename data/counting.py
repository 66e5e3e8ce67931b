"""Counts in messages."""

WORDS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def cases_text(count: int) -> str:
    """The number with its noun.

    Example:
        >>> cases_text(1), cases_text(1200)
        ('1 case', '1,200 cases')
    """
    return f"{count:,} case{'' if count == 1 else 's'}"


def groups_text(count: int) -> str:
    """The number of groups with its noun, as `cases_text`."""
    return f"{count:,} group{'' if count == 1 else 's'}"


def ordinal(number: int) -> str:
    """The ordinal of a number, from 1.

    Example:
        >>> ordinal(3), ordinal(11), ordinal(21), ordinal(112)
        ('third', '11th', '21st', '112th')
    """
    if number < len(WORDS):
        return WORDS[number]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
