"""What the fits minimise: likelihoods with analytic gradients, and the bounded minimiser.

    ordered     ordered logit with symmetric thresholds for pairs (Rao & Kupper 1967; McCullagh 1980)
    choices     conditional logit (McFadden 1974)
    squares     least squares

Weights are of standardised features, with a normal prior about 0: `penalty` is its precision. A weight of evidence is
held at `LEAST` or above, as the weights of stacked regressions are not negative (Breiman 1996): with few labels the
sign of a weak judge is learnt wrong now and then, and a head must not turn what the judge says round. `LEAST` is above
0 so that some winner is always named.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...programs.head import THRESHOLDS

Floats = NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
Bounds = Sequence[tuple[float | None, float | None]]

LEAST = 1e-3
RESCALING_PENALTY = 1.0  # of a factor and a shift; keeps margins finite that are right every time
EVEN_PENALTY = 10.0  # a slope of log t: few ties teach it, and a tie held impossible costs much
INTERCEPT_PENALTY = 0.1  # about the base rate; keeps labels that are all or never ties finite


def ordered(m: Floats, t: Floats | float, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """The (n,) losses in nats and their derivatives by margin and by threshold.

    Args:
        m: (n,) margins.
        t: (n,) thresholds, above 0; exactly 0 where no share is of a tie.
        shares: (n, 3) of a, b and tie behind each case, rows of sum 1.
    """
    a, b, tie = shares.T
    low, high = m - t, m + t  # P(a) = s(low), P(b) = s(-high)
    (loss_a, not_a), (loss_b, not_b) = _softplus(-low), _softplus(high)
    loss = a * loss_a + b * loss_b
    by_m = b * not_b - a * not_a
    by_t = a * not_a + b * not_b
    if tie.any():
        loss += tie * ((loss_a + low) + (loss_b - high) - np.log(-np.expm1(-2 * t)))
        by_m += tie * (not_b - not_a)
        by_t += tie * ((not_a - 1) + (not_b - 1) - 2 / np.expm1(2 * t))
    return loss, by_m, by_t


def fit_ordered(
    x: Floats,
    z: Floats | None,
    shares: Floats,
    *,
    penalty: float,
    bounded: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """The (p,) weights of the odd features, and the intercept and weights of the even ones, (1 + q,) or empty.

    Args:
        x: (n, p) odd features.
        z: (n, q) even features, centred; None where no case is a tie to anybody.
        shares: (n, 3) of a, b and tie.
        penalty: of x; of z at least `EVEN_PENALTY`.
        bounded: (p,) which weights are held at `LEAST` or above.
    """
    n, p = x.shape
    if z is None:

        def two(w: Floats) -> tuple[float, Floats]:
            loss, by_m, _ = ordered(x @ w, 0.0, shares)
            return loss.sum() + penalty / 2 * (w @ w), by_m @ x + penalty * w

        return minimised(two, np.full(p, LEAST), _least(bounded)), np.empty(0)
    rate = (shares[:, 2].sum() + 0.5) / (n + 1)
    start = np.clip(np.log(2 * np.arctanh(rate)), *THRESHOLDS)  # P(tie) = tanh(t / 2) at margin 0
    design = np.column_stack([np.ones(n), z])
    precision = np.r_[INTERCEPT_PENALTY, np.full(z.shape[1], max(penalty, EVEN_PENALTY))]
    centre = np.r_[start, np.zeros(z.shape[1])]

    def three(both: Floats) -> tuple[float, Floats]:
        w, v = both[:p], both[p:]
        exponent = design @ v
        t = np.exp(np.clip(exponent, *THRESHOLDS))
        loss, by_m, by_t = ordered(x @ w, t, shares)
        pull = precision * (v - centre)
        inside = (exponent > THRESHOLDS[0]) & (exponent < THRESHOLDS[1])
        gradient = np.r_[by_m @ x + penalty * w, (by_t * t * inside) @ design + pull]
        return loss.sum() + penalty / 2 * (w @ w) + pull @ (v - centre) / 2, gradient

    found = minimised(
        three,
        np.r_[np.full(p, LEAST), centre],
        [*_least(bounded), THRESHOLDS, *[(None, None)] * z.shape[1]],
    )
    return found[:p], found[p:]


def fit_rescaling(m: Floats, log_t: Floats | None, shares: Floats) -> tuple[float, float]:
    """The factor of the margins and the shift of the log thresholds that suit the shares best, (1, 0) for no change.

    Args:
        m: (n,) margins.
        log_t: (n,) log thresholds; None where no case is a tie to anybody.
        shares: (n, 3) of a, b and tie.
    """

    def objective(both: Floats) -> tuple[float, Floats]:
        factor, shift = both
        t = np.exp(np.clip(log_t + shift, *THRESHOLDS)) if log_t is not None else 0.0
        loss, by_m, by_t = ordered(factor * m, t, shares)
        pull = RESCALING_PENALTY * (both - [1, 0])
        by_shift = (by_t * t).sum() if log_t is not None else 0.0
        return loss.sum() + pull @ (both - [1, 0]) / 2, np.array([by_m @ m, by_shift]) + pull

    factor, shift = minimised(objective, np.array([1.0, 0.0]), [(LEAST, None), (-3.0, 3.0)]).tolist()
    return factor, shift


def choices(utility: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """The (n,) losses in nats and their (n, k) derivatives.

    Args:
        utility: (n, k); minus infinity where a case has fewer than k options.
        shares: (n, k) of the options behind each case, rows of sum 1.
    """
    shifted = utility - utility.max(axis=1, keepdims=True)
    masses = np.exp(shifted)
    total = masses.sum(axis=1, keepdims=True)
    logs = np.where(np.isfinite(shifted), shifted, 0.0) - np.log(total)
    return -(shares * logs).sum(axis=1), masses / total - shares


def fit_choices(
    x: Floats, there: NDArray[np.bool_], shares: Floats, *, penalty: float, bounded: NDArray[np.bool_]
) -> Floats:
    """The (p,) weights of the (n, k, p) features of options, of which `there` (n, k) says which exist."""

    def objective(w: Floats) -> tuple[float, Floats]:
        loss, by_utility = choices(np.where(there, x @ w, -np.inf), shares)
        return loss.sum() + penalty / 2 * (w @ w), np.tensordot(by_utility, x, 2) + penalty * w

    return minimised(objective, np.full(x.shape[2], LEAST), _least(bounded))


def fit_squares(x: Floats, y: Floats, *, penalty: float, bounded: NDArray[np.bool_]) -> Floats:
    """The (p,) ridge weights of the centred features x for the centred y."""
    gram, cross = x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y

    def objective(w: Floats) -> tuple[float, Floats]:
        slope = gram @ w - cross
        return float(w @ (slope - cross) / 2), slope

    return minimised(objective, np.full(x.shape[1], LEAST), _least(bounded))


def minimised(objective: Objective, start: Floats, bounds: Bounds) -> Floats:
    """Where the objective is least within the bounds (truncated Newton: Nash 1984).

    Not L-BFGS-B: each of its steps calls a threaded LAPACK on a matrix of 20 rows, and on two busy cores the threads
    waited for each other ten times as long as the whole fit takes.
    """
    from scipy.optimize import minimize

    if not len(start):
        return start
    found = minimize(objective, start, jac=True, method="TNC", bounds=bounds)
    return np.asarray(found.x, dtype=np.float64)


def _least(bounded: NDArray[np.bool_]) -> list[tuple[float | None, float | None]]:
    return [(LEAST if one else None, None) for one in bounded.tolist()]


def _softplus(x: Floats) -> tuple[Floats, Floats]:
    """log(1 + e^x) and its slope, the logistic function, from one exponential."""
    e = np.exp(-np.abs(x))
    return np.maximum(x, 0.0) + np.log1p(e), np.where(x >= 0, 1.0, e) / (1 + e)
