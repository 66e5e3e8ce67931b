"""What the fits minimise, and how: likelihoods with their expected curvature, the fits of all folds at once.

    ordered     ordered logit with symmetric thresholds for pairs (Rao & Kupper 1967; McCullagh 1980)
    choices     conditional logit (McFadden 1974)
    squares     least squares

Of s fits to n cases, `chosen` (s, n) says which cases each one learns from; the features of the cases are shared.

Weights have a normal prior about 0: `penalty` is its precision, of features standardised over the chosen cases. A
weight of evidence is held at `LEAST` or above, likewise standardised, as the weights of stacked regressions are not
negative (Breiman 1996): with few labels the sign of a weak judge is learnt wrong now and then, and a head must not turn
what the judge says round. `LEAST` is above 0 so that some winner is always named.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...judging.heads import THRESHOLDS

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Objective = Callable[[Floats], tuple[Floats, Floats, Floats]]

LEAST = 1e-3
EVEN_PENALTY = 10.0  # a slope of log t: few ties teach it, and a tie held impossible costs much
INTERCEPT_PENALTY = 0.1  # about the base rate; keeps labels that are all or never ties finite
CONSTANT = 1e-12  # a deviation this small is rounding, for values of 1
NEAR = 1e-6  # nats above the minimum, as the next step estimates them
STEPS, HALVINGS = 100, 30


def outcomes(m: Floats, t: Floats | None) -> tuple[Floats, Floats, Floats]:
    """The losses in nats, and their derivatives by margin and by threshold, each (k, ..., n): of a, b and, with
    thresholds, tie.

    Args:
        m: (..., n) margins.
        t: (..., n) thresholds, above 0; None where nobody says tie.
    """
    low, high = (m, m) if t is None else (m - t, m + t)  # P(a) = s(low), P(b) = s(-high)
    (loss_a, not_a), (loss_b, not_b) = _softplus(-low), _softplus(high)
    if t is None:
        return np.stack([loss_a, loss_b]), np.stack([-not_a, not_b]), np.stack([not_a, not_b])
    between = np.expm1(2 * t)  # P(tie) = (1 - P(a)) (1 - P(b)) between / (1 + between)
    loss = (loss_a + low) + (loss_b - high) + np.log1p(1 / between)
    by_t = (not_a - 1) + (not_b - 1) - 2 / between
    return np.stack([loss_a, loss_b, loss]), np.stack([-not_a, not_b, not_b - not_a]), np.stack([not_a, not_b, by_t])


def ordered(m: Floats, t: Floats | None, shares: Floats) -> Floats:
    """The (n,) losses in nats of margins and thresholds; `shares` (n, 3) are of a, b and tie."""
    each = outcomes(m, t)[0]
    losses: Floats = np.einsum("nk,kn->n", shares[:, : len(each)], each)
    return losses


def fit_ordered(
    x: Floats, z: Floats | None, shares: Floats, chosen: Flags, *, penalty: float, bounded: Flags
) -> tuple[Floats, Floats]:
    """The (s, p) weights of the odd features, and the intercept and weights of the even ones, (s, 1 + q) or (s, 0).

    Args:
        x: (n, p) odd features.
        z: (n, q) even features; None where nobody says tie.
        shares: (n, 3) of a, b and tie.
        chosen: (s, n).
        penalty: of x; of z at least `EVEN_PENALTY`.
        bounded: (p,) which weights are held at `LEAST` or above.
    """
    (n, p), fits = x.shape, len(chosen)
    design = np.empty((n, 0)) if z is None else np.column_stack([np.ones(n), z])
    size = root_mean_square(x, chosen)
    prior, centre = np.zeros((fits, *[p + design.shape[1]] * 2)), np.zeros((fits, p + design.shape[1]))
    odd, even = np.arange(p), np.arange(p + 1, prior.shape[1])
    prior[:, odd, odd] = penalty * np.square(size)
    if z is not None:
        mean, spread = moments(z, chosen)
        typical = np.column_stack([np.ones(fits), mean])  # the base rate is expected of the mean case
        prior[:, p:, p:] = INTERCEPT_PENALTY * typical[:, :, None] * typical[:, None, :]
        prior[:, even, even] += max(penalty, EVEN_PENALTY) * np.square(spread)
        rate = (chosen @ shares[:, 2] + 0.5) / (chosen.sum(axis=1) + 1)
        centre[:, p] = np.clip(np.log(2 * np.arctanh(rate)), *THRESHOLDS)  # P(tie) = tanh(t / 2) at margin 0
    least = np.full(centre.shape, -np.inf)
    least[:, odd[bounded]] = LEAST / size[:, bounded]
    found = minimised(_ordered(x, design, shares, chosen, prior, centre), centre, least)
    return found[:, :p], found[:, p:]


def _ordered(x: Floats, design: Floats, shares: Floats, chosen: Flags, prior: Floats, centre: Floats) -> Objective:
    """Of weights of x and, where there is a design, of log thresholds: the loss with a normal prior."""
    p, ties = x.shape[1], design.shape[1] > 0
    products = [_products(x, x), _products(x, design), _products(design, design)]

    def objective(both: Floats) -> tuple[Floats, Floats, Floats]:
        log_t = _sums(both[:, p:], design.T) if ties else None
        loss, by_m, by_t, *curved = _summed(_sums(both[:, :p], x.T), log_t, shares, chosen)
        away = both - centre
        pull = (prior @ away[..., None])[..., 0]
        xx, xz, zz = (_sums(each, rows) for each, rows in zip(curved, products, strict=True))
        information = prior.copy()
        information[:, :p, :p] += xx
        information[:, :p, p:] += xz
        information[:, p:, :p] += xz.swapaxes(1, 2)
        information[:, p:, p:] += zz
        gradient = np.column_stack([_sums(by_m, x), _sums(by_t, design)]) + pull
        return loss.sum(axis=1) + (pull * away).sum(axis=1) / 2, gradient, information

    return objective


def fit_rescaling(m: Floats, log_t: Floats | None, shares: Floats, chosen: Flags, *, penalty: float) -> Floats:
    """The (s, 2) factors of the margins and shifts of the log thresholds that suit the shares best; (1, 0): no change.

    Args:
        m: (s, n) margins.
        log_t: (s, n) log thresholds; None where nobody says tie.
        shares: (n, 3) of a, b and tie.
        chosen: (s, n).
        penalty: of what the two differ from no change.
    """
    same = np.tile([1.0, 0.0], (len(m), 1))

    def objective(both: Floats) -> tuple[Floats, Floats, Floats]:
        factor, shift = both[:, :1], both[:, 1:]
        moved = None if log_t is None else log_t + shift
        loss, by_m, by_t, mm, mt, tt = _summed(factor * m, moved, shares, chosen)
        pull = penalty * (both - same)
        gradient = np.stack([(by_m * m).sum(axis=1), by_t.sum(axis=1)], axis=1)
        both_ways = (mt * m).sum(axis=1)
        curved = np.stack([(mm * m * m).sum(axis=1), both_ways, both_ways, tt.sum(axis=1)], axis=1).reshape(-1, 2, 2)
        value = loss.sum(axis=1) + (pull * (both - same)).sum(axis=1) / 2
        return value, gradient + pull, curved + penalty * np.eye(2)

    return minimised(objective, same, np.array([LEAST, -np.inf]))


def _summed(m: Floats, log_t: Floats | None, shares: Floats, chosen: Flags) -> list[Floats]:
    """Of each case (s, n): the loss, its slopes by margin and by log threshold, and its expected curvatures by margin,
    by both, and by log threshold, which are the expected products of the slopes (McCullagh 1980)."""
    t, grows = None, np.zeros(())
    if log_t is not None:
        within = np.clip(log_t, *THRESHOLDS)
        t = np.exp(within)
        grows = t * (within == log_t)
    losses, by_m, by_t = outcomes(m, t)
    by_t = by_t * grows
    said, chances = shares[:, : len(losses)], np.exp(-losses)
    real = [np.einsum("nk,ksn->sn", said, each) * chosen for each in (losses, by_m, by_t)]
    pairs = ((by_m, by_m), (by_m, by_t), (by_t, by_t))
    return real + [np.einsum("ksn,ksn,ksn->sn", chances, one, other) * chosen for one, other in pairs]


def choices(utility: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """The (..., n) losses in nats, and the (..., n, k) probabilities of the options.

    Args:
        utility: (..., n, k); minus infinity where a case has fewer than k options.
        shares: (n, k) of the options behind each case, rows of sum 1.
    """
    shifted = utility - utility.max(axis=-1, keepdims=True)
    masses = np.exp(shifted)
    total = masses.sum(axis=-1, keepdims=True)
    logs = np.where(np.isfinite(shifted), shifted, 0.0) - np.log(total)
    return -(shares * logs).sum(axis=-1), masses / total


def fit_choices(x: Floats, there: Flags, shares: Floats, chosen: Flags, *, penalty: float, bounded: Flags) -> Floats:
    """The (s, p) weights of the (n, k, p) features of options, of which `there` (n, k) says which exist."""
    n, k, p = x.shape
    flat = x.reshape(n * k, p)
    size = root_mean_square(flat, np.repeat(chosen, k, axis=1) & there.ravel())
    prior = penalty * np.square(size)
    products = _products(flat, flat)

    def objective(w: Floats) -> tuple[Floats, Floats, Floats]:
        utility = _sums(w, flat.T).reshape(-1, n, k)
        loss, chances = choices(np.where(there, utility, -np.inf), shares)
        over = (chances - shares) * chosen[..., None]
        chances = chances * chosen[..., None]
        means = np.einsum("snk,nkp->snp", chances, x)
        within = _sums(chances.reshape(-1, n * k), products)
        information = within - np.einsum("snp,snq->spq", means, means) + prior[..., None] * np.eye(p)
        value = (loss * chosen).sum(axis=1) + (prior * w * w).sum(axis=1) / 2
        return value, _sums(over.reshape(-1, n * k), flat) + prior * w, information

    return minimised(objective, np.zeros(size.shape), np.where(bounded, LEAST / size, -np.inf))


def fit_squares(x: Floats, y: Floats, chosen: Flags, *, penalty: float, bounded: Flags) -> tuple[Floats, Floats]:
    """The (s,) intercepts and (s, p) ridge weights of the (n, p) features x for the (n,) scores y."""
    (mean, spread), (level, _) = moments(x, chosen), moments(y[:, None], chosen)
    centred = (x - mean[:, None, :]) * chosen[..., None]
    gram = np.einsum("snp,snq->spq", centred, centred) + (penalty * np.square(spread))[..., None] * np.eye(x.shape[1])
    cross = np.einsum("snp,n->sp", centred, y)

    def objective(w: Floats) -> tuple[Floats, Floats, Floats]:
        slope = (gram @ w[..., None])[..., 0] - cross
        return (w * (slope - cross)).sum(axis=1) / 2, slope, gram

    w = minimised(objective, np.zeros(cross.shape), np.where(bounded, LEAST / spread, -np.inf))
    return level[:, 0] - (mean * w).sum(axis=1), w


def minimised(objective: Objective, start: Floats, least: Floats) -> Floats:
    """The (s, p) places, at `least` or above, where each objective is least: projected Newton steps (Bertsekas 1982).

    With the expected curvature of a likelihood they are Fisher's scoring. A fit that has arrived stays where it is, so
    that none depends on those beside it.

    Args:
        objective: of (s, p) places the (s,) values, (s, p) gradients and (s, p, p) curvatures, positive definite.
        start: (s, p).
        least: (s, p) or (p,).
    """
    place = np.maximum(start, least)
    if not place.size:
        return place
    value, slope, curvature = objective(place)
    for _ in range(STEPS):
        held = (place <= least) & (slope > 0)
        free = np.where(held, 0.0, 1.0)
        inner = curvature * free[:, :, None] * free[:, None, :] + held[:, :, None] * np.eye(place.shape[1])
        step = np.linalg.solve(inner, (slope * free)[..., None])[..., 0]
        pace = np.where((slope * step).sum(axis=1) / 2 > NEAR, 1.0, 0.0)
        if not pace.any():
            place = np.maximum(place - step, least)
            break
        for _ in range(HALVINGS):
            there = np.maximum(place - pace[:, None] * step, least)
            told = objective(there)
            worse = told[0] > value
            if not worse.any():
                break
            pace[worse] /= 2
        place, (value, slope, curvature) = there, told
    return place


def root_mean_square(values: Floats, chosen: Flags) -> Floats:
    """(s, p) of the (n, p) values over the chosen rows; 1 where all are 0."""
    size = np.sqrt(_sums(_shares(chosen), np.square(values)))
    return np.where(size == 0, 1.0, size)


def moments(values: Floats, chosen: Flags) -> tuple[Floats, Floats]:
    """The (s, p) means and standard deviations of the (n, p) values over the chosen rows; 1 for a constant's."""
    mean = _sums(_shares(chosen), values)
    spread = np.sqrt(np.einsum("sn,snp->sp", _shares(chosen), np.square(values - mean[:, None, :])))
    return mean, np.where(spread <= CONSTANT * np.maximum(1.0, np.abs(mean)), 1.0, spread)


def _shares(chosen: Flags) -> Floats:
    shares: Floats = chosen / chosen.sum(axis=1, keepdims=True)
    return shares


def _products(left: Floats, right: Floats) -> Floats:
    """(n, p, q): of each row of (n, p) and (n, q), every product."""
    return left[:, :, None] * right[:, None, :]


def _sums(weights: Floats, rows: Floats) -> Floats:
    """(s, ...), the sums of the (n, ...) rows with (s, n) weights. Not `@`: on busy cores the threads of a small
    product wait for each other a hundred times as long as it takes."""
    sums: Floats = np.einsum("sn,n...->s...", weights, rows)
    return sums


def _softplus(x: Floats) -> tuple[Floats, Floats]:
    """log(1 + e^x) and its slope, the logistic function, from one exponential."""
    e = np.exp(-np.abs(x))
    return np.maximum(x, 0.0) + np.log1p(e), np.where(x >= 0, 1.0, e) / (1 + e)
