"""Isotonic regression as knots of a piecewise linear function, by SciPy's pool-adjacent-violators algorithm."""

import numpy as np
from numpy.typing import NDArray

from ...judging.heads import Knots
from .likelihood import LEAST

Floats = NDArray[np.float64]


def rising(x: Floats, y: Floats) -> Knots:
    """The isotonic regression of y on x as knots: one per constant block, at the mean x and the value of the block."""
    from scipy.optimize import isotonic_regression

    places, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(which, y) / counts
    fitted = isotonic_regression(means, weights=counts)
    firsts = fitted.blocks[:-1]
    centres = np.add.reduceat(places * counts, firsts) / fitted.weights
    return tuple(zip(centres.tolist(), fitted.x[firsts].tolist(), strict=True))


def odd_rising(m: Floats, value: Floats) -> Knots:
    """The isotonic calibration of margins as knots on |m|, from 0 up: the log-odds of a win, a tie counting half.

    Each margin enters with its negation, so that the win probability is one half at 0 and the calibration is an odd
    function. Half a win and half a loss are added at each end, so that log-odds stay finite, and the function is
    strictly increasing, so that no margin changes its sign.

    Args:
        m: (n,) margins.
        value: (n,) in [0, 1]: 1 if a won, 1/2 for a tie.
    """
    side = np.where(m == 0, 0.5, np.where(m > 0, value, 1 - value))
    top = np.abs(m).max(initial=0.0)
    knots = rising(np.r_[np.abs(m), 0.0, top], np.r_[side, 0.5, 0.5])
    wins = np.clip([win for _, win in knots], 0.5, 1 - 0.5 / (len(m) + 1))
    places = np.array([place for place, _ in knots])
    log_odds = np.log(wins) - np.log1p(-wins) + LEAST * places / max(top, LEAST)
    inner = [(place, y) for (place, _), y in zip(knots, log_odds.tolist(), strict=True) if place > 0]
    return ((0.0, 0.0), *inner)
