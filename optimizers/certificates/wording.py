"""Counts and percentages in the sentences of certificates."""


def counted(n: int, cases: int | None, weighting: str, other: str = "") -> str:
    """What was counted, in words: cases, or groups.

    Args:
        n: independent groups.
        cases: labelled cases; None: not known.
        weighting: of the certificate; where it is "drawn", one case of each group was counted.
        other: "other " for cases on which nothing was certified.
    """
    if cases in (None, n):
        return f"{n:,} {other}labelled cases"
    if weighting == "drawn":
        return f"{n:,} {other}groups, one labelled case sampled from each,"
    return f"{n:,} {other}groups ({cases:,} labelled cases)"


def case_counts(
    n: int, cases: int | None, accepted: int | None, errors: int | None, limits: tuple[float, float] | None = None
) -> str:
    """A sentence on all cases counted singly, after a sentence on groups; empty where every case is alone."""
    if cases is None or cases == n or not accepted or errors is None:
        return ""
    interval = f" [{percent(limits[0])}, {percent(limits[1])}], every case weighted equally" if limits else ""
    disagree = f"{errors:,} of these disagree ({percent(errors / accepted)}{interval})"
    return f" Of all {cases:,} cases {accepted:,} are accepted, and {disagree}."


def percent(proportion: float) -> str:
    """A proportion in [0, 1] in percent, three digits.

    Example:
        >>> percent(0.1), percent(0.9512), percent(0)
        ('10 %', '95.1 %', '0 %')
    """
    return f"{100 * proportion:.3g} %"
