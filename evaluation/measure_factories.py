"""Estimates told as measures: what each kind of figure has beside its value."""

import math
from dataclasses import replace

from numpy.typing import ArrayLike

from ..stats.resampling import Estimate, Groups, mean, share
from .results import Measure


def told(
    name: str, figure: Estimate, what: str, note: str = "", *, neutral: float | None = None, is_share: bool = False
) -> Measure:
    """An estimate as a measure; what is not defined has no value, and says so."""
    known = not math.isnan(figure.value)
    bounded = known and not math.isnan(figure.low)
    return Measure(
        name=name,
        value=figure.value if known else None,
        low=figure.low if bounded else None,
        high=figure.high if bounded else None,
        n=figure.n,
        groups=figure.groups if figure.groups < figure.n else None,
        what=what,
        note=note or ("" if known else "not defined on these cases"),
        kind="share" if is_share else "number",
        neutral=neutral,
    )


def rate(
    name: str, hits: ArrayLike, groups: Groups, what: str, note: str = "", *, neutral: float | None = None
) -> Measure:
    """The share of cases that are hits."""
    return told(name, share(hits, groups), what, note, neutral=neutral, is_share=True)


def mean_rate(name: str, shares: ArrayLike, groups: Groups, what: str) -> Measure:
    """The mean of shares, one a case."""
    return told(name, within(mean(shares, groups), 0, 1), what, is_share=True)


def within(figure: Estimate, low: float, high: float) -> Estimate:
    """With an interval that does not leave the range of the figure, as a mean's may on few cases."""
    return replace(figure, low=max(figure.low, low), high=min(figure.high, high))


def gap(name: str, figure: Estimate, what: str) -> Measure:
    """A difference of shares, 0 where there is none."""
    return told(name, figure, what, neutral=0.0, is_share=True)


def plain(name: str, value: float, n: int, what: str, note: str = "") -> Measure:
    """A figure without an interval."""
    return told(name, Estimate(value, math.nan, math.nan, n, n), what, note)
