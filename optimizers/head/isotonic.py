"""Isotonic regression as knots of a piecewise linear function, by SciPy's pool-adjacent-violators algorithm."""

import numpy as np
from numpy.typing import NDArray

from ...judging.heads import Knots
from .likelihood import LEAST

Floats = NDArray[np.float64]


def rising(x: Floats, y: Floats) -> Knots:
    """The isotonic regression of y on x as knots, one a block, at the block's mean x and value."""
    from scipy.optimize import isotonic_regression

    places, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(which, y) / counts
    fitted = isotonic_regression(means, weights=counts)
    firsts = fitted.blocks[:-1]
    centres = np.add.reduceat(places * counts, firsts) / fitted.weights
    return tuple(zip(centres.tolist(), fitted.x[firsts].tolist(), strict=True))


def odd_rising(m: Floats, value: Floats) -> Knots:
    """The calibration of margins as knots on |m|, from 0 up: the log-odds of the isotonic share of wins, ties half.

    Each margin is taken with its negation, so that the share is one half at 0 and the bent margin is odd. Half a win
    and half a loss are taken for seen at each end, so that shares of 0 and 1 stay finite, and every bend rises a
    little, so that margins keep their side.

    Args:
        m: (n,) margins.
        value: (n,) in [0, 1]: 1 where a won, 1/2 for a tie.
    """
    side = np.where(m == 0, 0.5, np.where(m > 0, value, 1 - value))
    top = np.abs(m).max(initial=0.0)
    knots = rising(np.r_[np.abs(m), 0.0, top], np.r_[side, 0.5, 0.5])
    shares = np.clip([share for _, share in knots], 0.5, 1 - 0.5 / (len(m) + 1))
    places = np.array([place for place, _ in knots])
    bends = np.log(shares) - np.log1p(-shares) + LEAST * places / max(top, LEAST)
    inner = [(place, bend) for (place, _), bend in zip(knots, bends.tolist(), strict=True) if place > 0]
    return ((0.0, 0.0), *inner)
