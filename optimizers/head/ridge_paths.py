"""Ridge regressions on many columns, for every penalty of a grid, in as many unknowns as there are rows or columns.

    odd_logistic_path   min over w: sum_i c_i (log(1 + e^f_i) - y_i f_i) + penalty / 2 |w|^2, with f = X w and without
                        an intercept: where rows of X are negated and their y replaced by 1 - y, w stays, bit for bit
    squares_path        min over w: sum_i c_i (y_i - f_i)^2 / 2 + penalty / 2 |w|^2

With n labels and a hidden state of d numbers, n is mostly the smaller: then w = X'a, and n equations in the products of
the rows give a (the dual or kernel form: Saunders, Gammerman & Vovk 1998; for the logistic loss Rasmussen & Williams
2006, algorithm 3.1). Otherwise d equations give w. Both give the same w.

The logistic penalties are solved from the largest, where w is nearly 0, to the smallest, each from the one before. A
step that does not lower the loss is halved, so that every step descends. Everything is float64 without randomness.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEAR = 1e-6  # nats above the minimum, as the next step estimates them; that step is still taken
STEPS, HALVINGS = 100, 40
LEAST_ROOT = 1e-8  # root of the curvature of a row that is fitted all but perfectly


def odd_logistic_path(x: Floats, target: Floats, counts: Floats, penalties: Sequence[float]) -> Floats:
    """The (penalties, d) weights.

    Args:
        x: (n, d) rows, each of which changes its sign when what it compares is exchanged.
        target: (n,) in [0, 1], the proportion that prefers the first.
        counts: (n,) how many observations a row counts for, above 0.
        penalties: above 0.
    """
    dual = len(x) <= x.shape[1]
    design = x @ x.T if dual else x
    path, place = np.empty((len(penalties), design.shape[1])), np.zeros(design.shape[1])
    for index in sorted(range(len(penalties)), key=lambda index: -penalties[index]):
        path[index] = place = _descended(design, target - 0.5, counts, penalties[index], place, dual=dual)
    return path @ x if dual else path


def squares_path(x: Floats, y: Floats, counts: Floats, penalties: Sequence[float]) -> Floats:
    """The (penalties, d) weights.

    Args:
        x: (n, d).
        y: (n,).
        counts: (n,) how many observations a row counts for, above 0.
        penalties: above 0.
    """
    dual, root = len(x) <= x.shape[1], np.sqrt(counts)
    rows, goal = x * root[:, None], y * root
    products, right = (rows @ rows.T, goal) if dual else (rows.T @ rows, goal @ rows)
    path = np.stack([np.linalg.solve(_plus(products, penalty), right) for penalty in penalties])
    return path @ rows if dual else path


def logistic_losses(f: Floats, target: Floats) -> Floats:
    """log(1 + e^f) - target f, the losses in nats of log-odds f."""
    size = np.abs(f)
    losses: Floats = size / 2 + np.log1p(np.exp(-size)) - (target - 0.5) * f
    return losses


def _descended(design: Floats, sign: Floats, counts: Floats, penalty: float, place: Floats, *, dual: bool) -> Floats:
    """The coefficients of the columns of `design` with the least loss, by Newton steps from `place`.

    Args:
        design: (n, p) columns; in the dual the (n, n) products of the rows, which then are the metric of the penalty.
        sign: (n,) target less a half.
        counts: (n,).
        place: (p,).
    """
    f = design @ place
    value = _value(f, sign, counts, penalty, place, f if dual else place)
    for _ in range(STEPS):
        slope, root = _slopes(f, sign, counts)
        if dual:  # the slope of the loss is the products times `pull`
            pull = slope - penalty * place
            step = root * np.linalg.solve(_plus(root[:, None] * design * root, penalty), pull / root)
            moved = design @ step
            fall = float(pull @ moved)
        else:
            pull, rows = slope @ design - penalty * place, design * root[:, None]
            step = np.linalg.solve(_plus(rows.T @ rows, penalty), pull)
            moved = design @ step
            fall = float(pull @ step)
        if fall / 2 <= NEAR:
            return place + step
        pace = 1.0
        for _ in range(HALVINGS):
            trial, f_trial = place + pace * step, f + pace * moved
            value_trial = _value(f_trial, sign, counts, penalty, trial, f_trial if dual else trial)
            if value_trial <= value:
                break
            pace /= 2
        place, f, value = trial, f_trial, value_trial
    return place


def _value(f: Floats, sign: Floats, counts: Floats, penalty: float, left: Floats, right: Floats) -> float:
    return float(counts @ logistic_losses(f, sign + 0.5)) + penalty / 2 * float(left @ right)


def _slopes(f: Floats, sign: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """(n,) by how much the loss falls with f, and (n,) the roots of its curvatures."""
    e = np.exp(-np.abs(f))
    return counts * (sign - np.tanh(f / 2) / 2), np.maximum(np.sqrt(counts * e) / (1 + e), LEAST_ROOT)


def _plus(products: Floats, penalty: float) -> Floats:
    """The products with the penalty added to their diagonal."""
    sums = products.copy()
    sums.flat[:: len(sums) + 1] += penalty
    return sums
