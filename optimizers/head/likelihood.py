"""Penalised likelihoods and their minimisation, for the fits of all folds at once.

    ordered     ordered logit with symmetric thresholds for pairs (Rao & Kupper 1967; McCullagh 1980)
    choices     conditional logit (McFadden 1974)
    squares     least squares

s fits to n cases run together: `chosen` (s, n) marks the cases of every fit; the features of the cases are shared.

Weights have a normal prior about 0 of precision `penalty`, for features standardised over the chosen cases. A weight of
evidence, likewise standardised, is at least `LEAST`, as the weights of stacked regressions are not negative (Breiman
1996): with few labels the sign of a weak judge is sometimes estimated wrong, and a head must not reverse the judge.
`LEAST` is above 0 so that a winner is always named.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...judging.heads import THRESHOLDS

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
PenalisedLoss = Callable[[Floats], tuple[Floats, Floats, Floats]]

LEAST = 1e-3
EVEN_PENALTY = 10.0  # of a slope of log t: few ties inform it, and a tie predicted as impossible costs much
INTERCEPT_PENALTY = 0.1  # about the base rate; keeps the threshold finite where all labels or none are ties
CONSTANT = 1e-12  # a deviation this small is rounding, for values of 1
NEAR = 1e-6  # nats above the minimum, as the next step estimates them
STEPS, HALVINGS = 100, 30


def outcomes(m: Floats, t: Floats | None) -> tuple[Floats, Floats, Floats]:
    """The losses in nats of the outcomes a, b and, with thresholds, tie, and their derivatives by margin and by
    threshold; (k, ..., n) each.

    Args:
        m: (..., n) margins.
        t: (..., n) thresholds, above 0; None without ties.
    """
    low, high = (m, m) if t is None else (m - t, m + t)  # P(a) = s(low), P(b) = s(-high)
    (loss_a, not_a), (loss_b, not_b) = _softplus(-low), _softplus(high)
    if t is None:
        return np.stack([loss_a, loss_b]), np.stack([-not_a, not_b]), np.stack([not_a, not_b])
    between = np.expm1(2 * t)  # P(tie) = (1 - P(a)) (1 - P(b)) between / (1 + between)
    loss = (loss_a + low) + (loss_b - high) + np.log1p(1 / between)
    by_t = (not_a - 1) + (not_b - 1) - 2 / between
    return np.stack([loss_a, loss_b, loss]), np.stack([-not_a, not_b, not_b - not_a]), np.stack([not_a, not_b, by_t])


def ordered(m: Floats, t: Floats | None, proportions: Floats) -> Floats:
    """The (n,) losses in nats of margins and thresholds; `proportions` (n, 3) are of a, b and tie."""
    by_outcome = outcomes(m, t)[0]
    losses: Floats = np.einsum("nk,kn->n", proportions[:, : len(by_outcome)], by_outcome)
    return losses


def fit_ordered(
    x: Floats, z: Floats | None, proportions: Floats, chosen: Flags, *, penalty: float, bounded: Flags
) -> tuple[Floats, Floats]:
    """The (s, p) weights of the odd features, and the intercept and weights of the even ones, (s, 1 + q) or (s, 0).

    Args:
        x: (n, p) odd features.
        z: (n, q) even features; None without ties.
        proportions: (n, 3) of a, b and tie.
        chosen: (s, n).
        penalty: of the weights of x; of those of z at least `EVEN_PENALTY`.
        bounded: (p,), which weights are at least `LEAST`.
    """
    (n, p), fits = x.shape, len(chosen)
    design = np.empty((n, 0)) if z is None else np.column_stack([np.ones(n), z])
    size = root_mean_square(x, chosen)
    prior, centre = np.zeros((fits, *[p + design.shape[1]] * 2)), np.zeros((fits, p + design.shape[1]))
    odd, even = np.arange(p), np.arange(p + 1, prior.shape[1])
    prior[:, odd, odd] = penalty * np.square(size)
    if z is not None:
        mean, spread = moments(z, chosen)
        typical = np.column_stack([np.ones(fits), mean])  # the prior expects the base rate at the mean case
        prior[:, p:, p:] = INTERCEPT_PENALTY * typical[:, :, None] * typical[:, None, :]
        prior[:, even, even] += max(penalty, EVEN_PENALTY) * np.square(spread)
        tie_rate = (chosen @ proportions[:, 2] + 0.5) / (chosen.sum(axis=1) + 1)
        centre[:, p] = np.clip(np.log(2 * np.arctanh(tie_rate)), *THRESHOLDS)  # P(tie) = tanh(t / 2) at margin 0
    least = np.full(centre.shape, -np.inf)
    least[:, odd[bounded]] = LEAST / size[:, bounded]
    weights = minimised(_ordered(x, design, proportions, chosen, prior, centre), centre, least)
    return weights[:, :p], weights[:, p:]


def _ordered(
    x: Floats, design: Floats, proportions: Floats, chosen: Flags, prior: Floats, centre: Floats
) -> PenalisedLoss:
    """The loss with a normal prior, as a function of the weights of x and, with a design, of the log thresholds."""
    p, ties = x.shape[1], design.shape[1] > 0
    products = [_products(x, x), _products(x, design), _products(design, design)]

    def objective(both: Floats) -> tuple[Floats, Floats, Floats]:
        log_t = _sums(both[:, p:], design.T) if ties else None
        loss, by_m, by_t, *curved = _summed(_sums(both[:, :p], x.T), log_t, proportions, chosen)
        away = both - centre
        pull = (prior @ away[..., None])[..., 0]
        xx, xz, zz = (_sums(weights, rows) for weights, rows in zip(curved, products, strict=True))
        information = prior.copy()
        information[:, :p, :p] += xx
        information[:, :p, p:] += xz
        information[:, p:, :p] += xz.swapaxes(1, 2)
        information[:, p:, p:] += zz
        gradient = np.column_stack([_sums(by_m, x), _sums(by_t, design)]) + pull
        return loss.sum(axis=1) + (pull * away).sum(axis=1) / 2, gradient, information

    return objective


def fit_rescaling(m: Floats, log_t: Floats | None, proportions: Floats, chosen: Flags, *, penalty: float) -> Floats:
    """The (s, 2) factors of the margins and shifts of the log thresholds with the least loss; (1, 0) is no change.

    Args:
        m: (s, n) margins.
        log_t: (s, n) log thresholds; None without ties.
        proportions: (n, 3) of a, b and tie.
        chosen: (s, n).
        penalty: of the squared difference from no change.
    """
    same = np.tile([1.0, 0.0], (len(m), 1))

    def objective(both: Floats) -> tuple[Floats, Floats, Floats]:
        factor, shift = both[:, :1], both[:, 1:]
        moved = None if log_t is None else log_t + shift
        loss, by_m, by_t, mm, mt, tt = _summed(factor * m, moved, proportions, chosen)
        pull = penalty * (both - same)
        gradient = np.stack([(by_m * m).sum(axis=1), by_t.sum(axis=1)], axis=1)
        both_ways = (mt * m).sum(axis=1)
        curved = np.stack([(mm * m * m).sum(axis=1), both_ways, both_ways, tt.sum(axis=1)], axis=1).reshape(-1, 2, 2)
        value = loss.sum(axis=1) + (pull * (both - same)).sum(axis=1) / 2
        return value, gradient + pull, curved + penalty * np.eye(2)

    return minimised(objective, same, np.array([LEAST, -np.inf]))


def _summed(m: Floats, log_t: Floats | None, proportions: Floats, chosen: Flags) -> list[Floats]:
    """The (s, n) losses, their slopes by margin and by log threshold, and their expected curvatures by margin, by both,
    and by log threshold, which are the expected products of the slopes (McCullagh 1980)."""
    t, grows = None, np.zeros(())
    if log_t is not None:
        clipped = np.clip(log_t, *THRESHOLDS)
        t = np.exp(clipped)
        grows = t * (clipped == log_t)
    losses, by_m, by_t = outcomes(m, t)
    by_t = by_t * grows
    observed, chances = proportions[:, : len(losses)], np.exp(-losses)
    sums = [np.einsum("nk,ksn->sn", observed, values) * chosen for values in (losses, by_m, by_t)]
    pairs = ((by_m, by_m), (by_m, by_t), (by_t, by_t))
    return sums + [np.einsum("ksn,ksn,ksn->sn", chances, left, right) * chosen for left, right in pairs]


def choices(utility: Floats, proportions: Floats) -> tuple[Floats, Floats]:
    """The (..., n) losses in nats, and the (..., n, k) probabilities of the options.

    Args:
        utility: (..., n, k); minus infinity where a case has fewer than k options.
        proportions: (n, k) of the votes for the options, rows of sum 1.
    """
    shifted = utility - utility.max(axis=-1, keepdims=True)
    masses = np.exp(shifted)
    total = masses.sum(axis=-1, keepdims=True)
    logs = np.where(np.isfinite(shifted), shifted, 0.0) - np.log(total)
    return -(proportions * logs).sum(axis=-1), masses / total


def fit_choices(
    x: Floats, exists: Flags, proportions: Floats, chosen: Flags, *, penalty: float | Floats, bounded: Flags
) -> Floats:
    """The (s, p) weights of the (n, k, p) features of options; `exists` (n, k) marks the options that a case has.

    Args:
        penalty: of all features, or (p,) of each.
    """
    n, k, p = x.shape
    flat = x.reshape(n * k, p)
    size = root_mean_square(flat, np.repeat(chosen, k, axis=1) & exists.ravel())
    prior = penalty * np.square(size)
    products = _products(flat, flat)

    def objective(w: Floats) -> tuple[Floats, Floats, Floats]:
        utility = _sums(w, flat.T).reshape(-1, n, k)
        loss, chances = choices(np.where(exists, utility, -np.inf), proportions)
        over = (chances - proportions) * chosen[..., None]
        chances = chances * chosen[..., None]
        means = np.einsum("snk,nkp->snp", chances, x)
        second_moments = _sums(chances.reshape(-1, n * k), products)
        information = second_moments - np.einsum("snp,snq->spq", means, means) + prior[..., None] * np.eye(p)
        value = (loss * chosen).sum(axis=1) + (prior * w * w).sum(axis=1) / 2
        return value, _sums(over.reshape(-1, n * k), flat) + prior * w, information

    return minimised(objective, np.zeros(size.shape), np.where(bounded, LEAST / size, -np.inf))


def fit_squares(x: Floats, y: Floats, chosen: Flags, *, penalty: float, bounded: Flags) -> tuple[Floats, Floats]:
    """The (s,) intercepts and (s, p) ridge weights of the (n, p) features x for the (n,) scores y."""
    (mean, spread), (level, _) = moments(x, chosen), moments(y[:, None], chosen)
    w = _squares(x - mean[:, None, :], y, spread, chosen, penalty, bounded)
    return level[:, 0] - (mean * w).sum(axis=1), w


def fit_squares_within(
    x: Floats, y: Floats, strata: NDArray[np.int64], chosen: Flags, *, penalty: float, bounded: Flags
) -> tuple[Floats, Floats]:
    """The (s, k) intercepts of the strata 0..k-1 and their common (s, p) ridge weights; NaN for a stratum without rows.

    Args:
        x: (n, p).
        y: (n,).
        strata: (n,) codes.
        chosen: (s, n).
    """
    rows = chosen[:, None, :] & (strata == np.arange(int(strata.max()) + 1)[:, None])  # (s, k, n)
    counts = rows.sum(axis=2)
    sizes = np.where(counts, counts, np.nan)
    means, levels = np.einsum("skn,np->skp", rows, x) / sizes[..., None], np.einsum("skn,n->sk", rows, y) / sizes
    centred = np.where(chosen[..., None], x - means[:, strata], 0.0)
    spread = np.sqrt(np.square(centred).sum(axis=1) / chosen.sum(axis=1)[:, None])
    size = np.abs(np.where(chosen[..., None], x, 0.0)).max(axis=1, initial=0.0)
    spread = np.where(spread <= CONSTANT * np.maximum(1.0, size), 1.0, spread)
    w = _squares(centred, y, spread, chosen, penalty, bounded)
    return levels - np.einsum("skp,sp->sk", means, w), w


def _squares(
    centred: Floats, y: Floats, spread: Floats, chosen: Flags, penalty: float, bounded: Flags
) -> Floats:  # fmt: skip
    """The (s, p) ridge weights of (s, n, p) features of mean 0."""
    centred = centred * chosen[..., None]
    gram = np.einsum("snp,snq->spq", centred, centred)
    gram = gram + (penalty * np.square(spread))[..., None] * np.eye(centred.shape[2])
    cross = np.einsum("snp,n->sp", centred, y)

    def objective(w: Floats) -> tuple[Floats, Floats, Floats]:
        slope = (gram @ w[..., None])[..., 0] - cross
        return (w * (slope - cross)).sum(axis=1) / 2, slope, gram

    return minimised(objective, np.zeros(cross.shape), np.where(bounded, LEAST / spread, -np.inf))


def minimised(objective: PenalisedLoss, start: Floats, least: Floats) -> Floats:
    """The (s, p) minimisers of the objectives, at `least` or above, by projected Newton steps (Bertsekas 1982).

    With the expected curvature of a likelihood this is Fisher scoring. A fit that has converged no longer moves, so
    that no fit depends on the others.

    Args:
        objective: maps (s, p) places to (s,) values, (s, p) gradients and (s, p, p) positive definite curvatures.
        start: (s, p).
        least: (s, p) or (p,).
    """
    place = np.maximum(start, least)
    if not place.size:
        return place
    value, slope, curvature = objective(place)
    for _ in range(STEPS):
        at_bound = (place <= least) & (slope > 0)
        free = np.where(at_bound, 0.0, 1.0)
        inner = curvature * free[:, :, None] * free[:, None, :] + at_bound[:, :, None] * np.eye(place.shape[1])
        step = np.linalg.solve(inner, (slope * free)[..., None])[..., 0]
        pace = np.where((slope * step).sum(axis=1) / 2 > NEAR, 1.0, 0.0)
        if not pace.any():
            place = np.maximum(place - step, least)
            break
        for _ in range(HALVINGS):
            trial = np.maximum(place - pace[:, None] * step, least)
            evaluated = objective(trial)
            worse = evaluated[0] > value
            if not worse.any():
                break
            pace[worse] /= 2
        place, (value, slope, curvature) = trial, evaluated
    return place


def root_mean_square(values: Floats, chosen: Flags) -> Floats:
    """The (s, p) root mean squares of the (n, p) values over the chosen rows; 1 where all values are 0."""
    size = np.sqrt(_sums(_row_weights(chosen), np.square(values)))
    return np.where(size == 0, 1.0, size)


def moments(values: Floats, chosen: Flags) -> tuple[Floats, Floats]:
    """The (s, p) means and standard deviations of the (n, p) values over the chosen rows; 1 for a constant."""
    mean = _sums(_row_weights(chosen), values)
    spread = np.sqrt(np.einsum("sn,snp->sp", _row_weights(chosen), np.square(values - mean[:, None, :])))
    return mean, np.where(spread <= CONSTANT * np.maximum(1.0, np.abs(mean)), 1.0, spread)


def _row_weights(chosen: Flags) -> Floats:
    """(s, n) equal weights of the chosen rows, of sum 1."""
    weights: Floats = chosen / chosen.sum(axis=1, keepdims=True)
    return weights


def _products(left: Floats, right: Floats) -> Floats:
    """(n, p, q): the outer product of every row of (n, p) and (n, q)."""
    return left[:, :, None] * right[:, None, :]


def _sums(weights: Floats, rows: Floats) -> Floats:
    """(s, ...): the sums of the (n, ...) rows with (s, n) weights. Not `@`: on busy cores the threads of a small
    product wait for each other a hundred times as long as the product takes."""
    sums: Floats = np.einsum("sn,n...->s...", weights, rows)
    return sums


def _softplus(x: Floats) -> tuple[Floats, Floats]:
    """log(1 + e^x) and its slope, the logistic function, from one exponential."""
    e = np.exp(-np.abs(x))
    return np.maximum(x, 0.0) + np.log1p(e), np.where(x >= 0, 1.0, e) / (1 + e)
