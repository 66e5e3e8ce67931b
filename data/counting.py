"""Counts in messages."""


def cases_text(count: int) -> str:
    """The number with its noun.

    Example:
        >>> cases_text(1), cases_text(1200)
        ('1 case', '1,200 cases')
    """
    return f"{count:,} case{'' if count == 1 else 's'}"
