"""Options read under letters in rotated order: the letters' prior, and whether what is unread can change the winner.

A case of k options is read at most k times, the options moved on by one letter each time, so that over all readings
every option has had every letter once: a Latin square, and whatever a letter is worth falls out of an option's mean
log-probability. Reading fewer needs a model. The log-probability of option i under the letter at place p is

    option_i + letter_p + deviation_p + noise_ip     (and a constant of the reading, which no comparison sees)

with the letters' prior `letter`, the same for all cases, and normal options, deviations (what a letter is worth to this
case beyond its prior) and noise. The three variances come from cases that were read in full, without labels, by the
analysis of variance of a Latin square with random effects (Searle, Casella & McCulloch 1992, Variance Components,
chapter 4); given them, the full reading is normal given the readings so far, and so is every difference in it between
two options. The probability that any option overtakes the leader is at most the sum of the probabilities that each
does.

Reading stops where that bound is small. What is stated is the error over all cases, the expected proportion of winners
that the rest would have changed; most cases stop far below the bound of a case, so that this bound may be looser: see
`fit_rotations`. Rotations against the letters' prior: Zheng et al. 2024, https://arxiv.org/abs/2309.03882.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FEWEST_CASES = 10  # read in full, from which variances are estimated
WIDENINGS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0)  # of standard deviations, where noise is not normal
LOOSER = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)  # bounds of a case, in units of the error of all
FREE = 1e4  # variance of a reading's constant: of which nothing is known


@dataclass(frozen=True)
class Variances:
    """Of log-probabilities: between a case's options, of letters within a case, and what is left."""

    option: float
    letter: float
    noise: float


@dataclass(frozen=True)
class Outlook:
    """What is expected of the full reading.

    Attributes:
        means: of each option's mean log-probability over all rotations, (k,), up to a constant.
        leader: the option with the greatest mean.
        change: the most that the probability can be that another option leads the full reading, in [0, 1].
    """

    means: Floats
    leader: int
    change: float


@dataclass(frozen=True)
class RotationModel:
    """What the readings of unlabelled cases say about letters and noise, for cases of one number of options.

    Attributes:
        letters: the prior of each letter, as log-probabilities with the mean 0, (k,).
        variances: around it.
        widening: factor of the standard deviations.
        bound: reading stops where `Outlook.change` is at most this.
        changed: how often that changed the winner of the cases of the fit.
        cases: of the fit.
    """

    letters: Floats
    variances: Variances
    widening: float = 1.0
    bound: float = 0.0
    changed: int = 0
    cases: int = 0

    def outlook(self, readings: Sequence[Sequence[float]]) -> Outlook:
        """The full reading, given the first readings.

        Args:
            readings: of rotation 0, 1, ...: the log-probability of each letter in its order; option i is at place
                (i - rotation) mod k.
        """
        k, m = len(self.letters), len(readings)
        read = np.array([_by_option(np.asarray(row) - self.letters, turn) for turn, row in enumerate(readings)])
        read = read - read.mean(axis=1, keepdims=True)
        if m == k:
            means = read.mean(axis=0)
            return Outlook(means, int(means.argmax()), 0.0)
        gain, spread = _prediction(k, m, self.variances)
        means = gain @ read.ravel()
        leader = int(means.argmax())
        others = [option for option in range(k) if option != leader]
        deviations = self.widening * spread[leader, others]
        change = sum(map(_below_zero, means[leader] - means[others], deviations))
        return Outlook(means, leader, min(1.0, change))

    def stop(self, readings: Sequence[Sequence[float]]) -> Outlook | None:
        """The outlook where reading can stop; None where another rotation must be read."""
        outlook = self.outlook(readings)
        return outlook if outlook.change <= self.bound or len(readings) == len(self.letters) else None


def fit_rotations(cases: Iterable[Sequence[Sequence[float]]], error: float) -> RotationModel | None:
    """The model of cases that were read in full; None where they are fewer than `FEWEST_CASES`.

    The widening is the least with which a bound of `error` for each case changes at most that proportion of these
    cases' winners. The bound is then the loosest that still does so, and with which the mean of `Outlook.change` over
    these cases is at most `error`. The order of the cases does not matter.

    Args:
        cases: for each case its k readings, as for `RotationModel.outlook`; all of the same k.
        error: the proportion of winners that stopping may change, in expectation.
    """
    tables = [np.asarray(case, dtype=float) for case in cases]
    if len(tables) < FEWEST_CASES:
        return None
    readings = np.array(sorted(tables, key=lambda table: table.tolist()))  # (cases, rotations, places)
    readings = readings - readings.mean(axis=2, keepdims=True)
    letters = readings.mean(axis=(0, 1))
    variances = _variances(readings - letters)
    model = RotationModel(letters, variances)
    for widening in WIDENINGS:
        model = _checked(replace(model, widening=widening, bound=error), readings)[0]
        if model.changed <= error * model.cases:
            break
    for looser in LOOSER[1:]:
        tried, change = _checked(replace(model, bound=looser * error), readings)
        if change > error or tried.changed > error * tried.cases:
            break
        model = tried
    return model


def unknown(options: int) -> RotationModel:
    """The model where nothing is known of the letters: nothing is sure before all rotations are read."""
    return RotationModel(np.zeros(options), Variances(1.0, 1.0, 1.0), bound=-1.0)


def _checked(model: RotationModel, readings: Floats) -> tuple[RotationModel, float]:
    """The model with its check on these cases, and the mean of the changes that it expects there."""
    stopped, full = [], []
    for case in readings.tolist():
        stops = (model.stop(case[:count]) for count in range(1, len(case) + 1))
        stopped.append(next(outlook for outlook in stops if outlook is not None))
        full.append(model.outlook(case).leader)
    changed = sum(outlook.leader != leader for outlook, leader in zip(stopped, full, strict=True))
    expected = math.fsum(outlook.change for outlook in stopped) / len(stopped)
    return replace(model, changed=changed, cases=len(stopped)), expected


def _variances(readings: Floats) -> Variances:
    """By the mean squares of options, places and the rest, (cases, rotations, places) without the letters' prior."""
    n, k, _ = readings.shape
    by_option = np.array([[_by_option(row, turn) for turn, row in enumerate(case)] for case in readings])
    options, places = by_option.mean(axis=1), readings.mean(axis=1)  # (cases, k) both
    of_options = k * float((options**2).sum()) / (n * (k - 1))
    of_places = k * float((places**2).sum()) / ((n - 1) * (k - 1))
    if k == 2:  # two readings leave nothing over: noise counts as a deviation of the letters
        return Variances(max(0.0, (of_options - of_places) / k), of_places / k, 0.0)
    rest = float((readings**2).sum()) - k * float((options**2).sum()) - k * float((places**2).sum())
    noise = max(0.0, rest) / (n * (k - 1) * (k - 2))
    return Variances(max(0.0, (of_options - noise) / k), max(0.0, (of_places - noise) / k), noise)


def _by_option(row: Floats, turn: int) -> Floats:
    """A reading by place as one by option."""
    return np.roll(row, turn)


@lru_cache(maxsize=256)
def _prediction(k: int, m: int, variances: Variances) -> tuple[Floats, Floats]:
    """How the full reading follows from the first m of k: (its mean as a matrix times the readings (k, m * k), the
    standard deviation of the difference between each two options (k, k))."""
    turns, options = np.divmod(np.arange(k * k), k)
    places = (options - turns) % k
    covariance = variances.option * (options[:, None] == options) + variances.letter * (places[:, None] == places)
    covariance = covariance + variances.noise * np.eye(k * k) + FREE * (turns[:, None] == turns)
    full = (options[:, None] == np.arange(k)).T / k  # (k, k * k): the mean over rotations
    read = slice(0, m * k)
    jitter = 1e-9 * np.eye(m * k)
    with_read = full @ covariance[:, read]
    gain = np.linalg.solve(covariance[read, read] + jitter, with_read.T).T
    left = full @ covariance @ full.T - gain @ with_read.T
    differences = np.diag(left)[:, None] + np.diag(left) - 2 * left
    return gain, np.sqrt(np.maximum(differences, 0.0))


def _below_zero(mean: float, deviation: float) -> float:
    """The probability that a normal variable is below 0; one half where it is 0 for certain."""
    if deviation <= 0:
        return 0.0 if mean > 0 else 0.5
    return 0.5 * math.erfc(mean / deviation / math.sqrt(2))
