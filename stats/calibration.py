"""How well a judge knows how sure it may be: its certainties against how often it is right.

`confidence` is the probability that the judge gives its own verdict, `correct` whether people say the same; where the
judge gives every verdict a probability, `brier` and `log_loss` take the whole distribution. Verdicts without a
certainty or a label are left out before they come here.

    ECE            the mean distance of confidence and accuracy over bins, weighted by their size (Naeini et al. 2015;
                   Guo et al. 2017, arXiv 1706.04599, equation 5); a judge of perfect calibration scores above 0 by
                   chance alone, the more so the fewer its verdicts
    debiased ECE   the same less that chance (Kumar, Liang and Ma 2019, arXiv 1909.10155)
    Brier score    the mean squared distance of forecast and outcome (Brier 1950), and its parts (Murphy 1973)
    log loss       the mean of -ln of what was given to the label, in nats
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DeclarationError

Floats = NDArray[np.float64]
Scheme = Literal["width", "mass"]


@dataclass(frozen=True)
class ReliabilityBin:
    """The verdicts of one bin: `hits` of `n` are correct, at the mean `confidence`."""

    low: float
    high: float
    n: int
    confidence: float
    hits: int

    @property
    def accuracy(self) -> float:
        return self.hits / self.n

    @property
    def difference(self) -> float:
        """Accuracy less confidence: below 0 where the judge is overconfident."""
        return self.accuracy - self.confidence


@dataclass(frozen=True)
class Murphy:
    """The parts of the Brier score: reliability - resolution + uncertainty + within.

    Args:
        reliability: squared distance of confidence and accuracy, 0 at perfect calibration.
        resolution: how far the accuracies of the bins lie from that of all; higher is better.
        uncertainty: accuracy x (1 - accuracy) of all, which no judge of confidence can change.
        within_bins: what is lost by taking unequal confidences of one bin together (Stephenson, Coelho and Jolliffe
            2008); 0 without bins.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def reliability_bins(
    confidence: Floats, correct: NDArray[np.bool_], bins: int = 10, scheme: Scheme = "width"
) -> list[ReliabilityBin]:
    """The bins that hold verdicts, from the least sure to the surest.

    A confidence on an edge belongs to the bin below, as in Guo et al. and in scikit-learn's `calibration_curve`. Equal
    confidences always share a bin, so bins of equal mass may come out unequal, or fewer than asked for.

    Args:
        confidence: (n,) in [0, 1].
        correct: (n,).
        bins: at least 1.
        scheme: "width" cuts [0, 1] into equal parts, "mass" at the quantiles of the confidences.

    Raises:
        DataError: lengths differ, or a confidence is outside of [0, 1] or missing.
        DeclarationError: fewer than one bin, or another scheme.
    """
    sure, right = checked("reliability_bins", confidence, correct)
    if bins < 1:
        raise DeclarationError(f"reliability_bins: bins={bins}. Ask for at least 1.")
    if scheme not in ("width", "mass"):
        raise DeclarationError(f"reliability_bins: scheme={scheme!r} is not known. Use 'width' or 'mass'.")
    if not len(sure):
        return []
    parts = np.linspace(0.0, 1.0, bins + 1)
    edges = parts if scheme == "width" else np.percentile(sure, 100 * parts)
    which = np.searchsorted(edges[1:-1], sure)
    n = np.bincount(which, minlength=bins)
    hits = np.bincount(which, right, bins)
    total = np.bincount(which, sure, bins)
    return [
        ReliabilityBin(float(edges[at]), float(edges[at + 1]), int(n[at]), float(total[at] / n[at]), int(hits[at]))
        for at in np.flatnonzero(n)
    ]


def ece(confidence: Floats, correct: NDArray[np.bool_], bins: int = 10, scheme: Scheme = "width") -> float:
    """The expected calibration error, in [0, 1], 0 the best; NaN for no verdicts. Arguments as `reliability_bins`."""
    parts = reliability_bins(confidence, correct, bins, scheme)
    return sum(part.n * abs(part.difference) for part in parts) / len(confidence) if parts else math.nan


def ece_debiased(confidence: Floats, correct: NDArray[np.bool_], bins: int = 10, scheme: Scheme = "width") -> float:
    """The ECE less its upward bias, at least 0; NaN for no verdicts. Arguments as `reliability_bins`.

    The accuracy of a bin is taken as normal about what was seen, with variance accuracy x (1 - accuracy) / n. The bias
    of the distance |accuracy - confidence| is then how much its mean is above what was seen; it is taken off once.
    Kumar et al. draw that mean 1,000 times (`normal_debiased_ce` of their library); it is the mean of a folded normal,
    so it needs no samples. A bin of which all are right, or none, shows no variance and is not corrected; some of the
    bias remains.
    """
    parts = reliability_bins(confidence, correct, bins, scheme)
    if not parts:
        return math.nan
    debiased = sum(part.n * (2 * abs(part.difference) - _mean_distance(part)) for part in parts) / len(confidence)
    return max(debiased, 0.0)


def brier(distribution: Floats, labels: NDArray[np.int64]) -> float:
    """Brier's score of many classes: the squared distances summed over the classes, in [0, 2]; NaN for no verdicts.

    For two classes it is twice `brier_binary`. Arguments as `log_losses`.
    """
    forecast, truth = _checked_distribution("brier", distribution, labels)
    outcome = np.arange(forecast.shape[1]) == truth[:, None]
    return float(np.square(forecast - outcome).sum(axis=1).mean()) if len(truth) else math.nan


def brier_binary(confidence: Floats, correct: NDArray[np.bool_]) -> float:
    """The mean of (confidence - correct)^2, in [0, 1], of which .25 is always saying one half; NaN for no verdicts."""
    sure, right = checked("brier_binary", confidence, correct)
    return float(np.square(sure - right).mean()) if len(sure) else math.nan


def murphy(confidence: Floats, correct: NDArray[np.bool_], bins: int | None = None) -> Murphy:
    """The parts of `brier_binary`; NaN each for no verdicts.

    Args:
        confidence: (n,) in [0, 1].
        correct: (n,).
        bins: of equal mass; None gives every distinct confidence a separate bin, which tells something only of a
            judge that uses few of them (certainties in words, scores).
    """
    score = brier_binary(confidence, correct)
    if math.isnan(score):
        return Murphy(math.nan, math.nan, math.nan, math.nan)
    if bins is None:
        sure, which, n = np.unique(confidence, return_inverse=True, return_counts=True)
        accuracy = np.bincount(which, correct) / n
    else:
        parts = reliability_bins(confidence, correct, bins, "mass")
        sure, accuracy, n = np.array([(part.confidence, part.accuracy, part.n) for part in parts]).T
    overall = float(np.mean(correct))
    reliability = float(np.average((sure - accuracy) ** 2, weights=n))
    resolution = float(np.average((accuracy - overall) ** 2, weights=n))
    uncertainty = overall * (1 - overall)
    within_bins = 0.0 if bins is None else score - (reliability - resolution + uncertainty)
    return Murphy(reliability, resolution, uncertainty, within_bins)


def log_losses(distribution: Floats, labels: NDArray[np.int64]) -> Floats:
    """(n,) -ln p(label) of each verdict, in nats.

    Probabilities are clipped to [eps, 1 - eps] with eps = 2.2e-16, that of a float64, as scikit-learn does; a label
    that was given 0 so costs 36.04 nats and not infinitely many.

    Args:
        distribution: (n, k), each row in [0, 1] and of sum 1 within 1e-6.
        labels: (n,) columns that people name, 0 .. k - 1.

    Raises:
        DataError: the shapes do not fit, a row is no distribution, or a label is no column.
    """
    forecast, truth = _checked_distribution("log_losses", distribution, labels)
    of_label = forecast[np.arange(len(truth)), truth]
    eps = np.finfo(np.float64).eps
    losses: Floats = -np.log(np.clip(of_label, eps, 1 - eps))
    return losses


def log_loss(distribution: Floats, labels: NDArray[np.int64]) -> float:
    """The mean of `log_losses`; NaN for no verdicts."""
    losses = log_losses(distribution, labels)
    return float(losses.mean()) if len(losses) else math.nan


def checked(who: str, confidence: Floats, correct: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Both as arrays of one length.

    Raises:
        DataError: they are not, or a confidence is outside of [0, 1] or missing.
    """
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.bool_)
    if sure.ndim != 1 or sure.shape != right.shape:
        raise DataError(f"{who}: shapes {sure.shape} and {right.shape}. Give one certainty a verdict.")
    outside = sure[~((sure >= 0) & (sure <= 1))]
    if len(outside):
        raise DataError(f"{who}: certainty {outside[0]} is not in [0, 1]. Leave out verdicts without one.")
    return sure, right


def _checked_distribution(
    who: str, distribution: Floats, labels: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int64]]:
    forecast, truth = np.asarray(distribution, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    if forecast.ndim != 2 or forecast.shape[:1] != truth.shape:
        raise DataError(f"{who}: shapes {forecast.shape} and {truth.shape}. Give one row a label.")
    sound = (forecast >= 0).all(axis=1) & (np.abs(forecast.sum(axis=1) - 1) <= 1e-6)
    if not sound.all():
        raise DataError(
            f"{who}: {forecast[~sound][0].tolist()} is no distribution. Give probabilities of sum 1 in every row."
        )
    unknown = truth[(truth < 0) | (truth >= forecast.shape[1])]
    if len(unknown):
        raise DataError(
            f"{who}: label {unknown[0]} is none of the {forecast.shape[1]} columns. Leave out verdicts without a label."
        )
    return forecast, truth


def _mean_distance(part: ReliabilityBin) -> float:
    """The mean of |x| for x normal about the difference: of a folded normal (Leone, Nelson and Nottingham 1961)."""
    difference, spread = abs(part.difference), math.sqrt(part.accuracy * (1 - part.accuracy) / part.n)
    if spread == 0:
        return difference
    ratio = difference / spread
    return spread * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2) + difference * math.erf(ratio / math.sqrt(2))
