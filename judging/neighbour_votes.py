"""Votes of the nearest labelled cases: a kernel estimate in the space of a source's numbers (Nadaraya and Watson 1964).

    pair     v = sum w s y / sum w over the nearest labelled pairs; y = P(a) - P(b) of people, s the sign of the cosine
             c of the two differences of vectors, w = |c|^power. A labelled pair votes for the text that differs from
             its rival as the preferred one did there, and the exchanged pair gets exactly -v.
    choice   the same of each option: its vector minus the mean of the case's options, y = P(option) - 1 / options
    text     the weighted mean of the scores, w = max(c, 0)^power

With `topic` a labelled case counts less the further the mean of its candidates' vectors is: w exp(topic (c' - 1)).
Cosines are rounded to nine decimals, so that the last bits of a processor's sums move no neighbour.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..data.case import Record

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Form = Literal["pair", "text", "choice"]
DECIMALS = 9


class VoteRule(Record):
    """How the labelled cases vote."""

    neighbours: int | None = Field(default=None, ge=1, description="the nearest rows that vote; None: all")
    power: float = Field(default=1.0, ge=0, le=64, description="of the cosine in a vote's weight")
    topic: float = Field(default=0.0, ge=0, le=64, description="how much a distant subject lowers the weight")

    def __str__(self) -> str:
        count = "all" if self.neighbours is None else f"{self.neighbours} nearest"
        return f"{count}, cosine^{self.power:g}" + (f", topic {self.topic:g}" if self.topic else "")


def form_of(candidates: int) -> Form:
    """The form of cases with so many candidates."""
    return "text" if candidates == 1 else "pair" if candidates == 2 else "choice"


def relative(vectors: NDArray[np.floating]) -> Floats:
    """(rows, width): half the difference of a pair, one row; a text's vector; each option's without their mean."""
    values = vectors.astype(np.float64)
    if len(values) == 2:
        return (values[:1] - values[1:]) / 2
    return values if len(values) == 1 else values - middle(values)


def middle(vectors: NDArray[np.floating]) -> Floats:
    """(width,): the mean of the candidates' vectors; the same in any order of a pair."""
    values = vectors.astype(np.float64)
    return np.asarray((values[0] + values[1]) / 2 if len(values) == 2 else np.sort(values, axis=0).mean(axis=0))


def relative_targets(targets: tuple[float, ...]) -> tuple[float, ...]:
    """The target of each row of `relative`: of a pair P(a) - P(b), of a text its score, of an option
    P - 1 / options."""
    if len(targets) == 2:
        return (targets[0] - targets[1],)
    return targets if len(targets) == 1 else tuple(target - 1 / len(targets) for target in targets)


def directions(values: Floats, centre: Floats | float, scale: Floats) -> Floats:
    """The rows moved and scaled, at length 1; a row of zeros stays."""
    moved = (values - centre) / scale
    length = np.sqrt(np.square(moved).sum(axis=-1, keepdims=True))
    return np.asarray(moved / np.where(length > 0, length, 1.0))


def spread(values: Floats, centre: Floats | float) -> Floats:
    """(width,): the root mean square of each number around the centre; 1 where there is none."""
    size = np.sqrt(np.square(values - centre).mean(axis=0))
    return np.where(size > 0, size, 1.0)


def votes(cosines: Floats, topics: Floats | None, targets: Floats, usable: Flags, rule: VoteRule, form: Form) -> Floats:
    """(rows,): the vote on each row; 0, or the mean score of all for a text, where no labelled row has a weight.

    Args:
        cosines: (rows, n), of each row with each labelled row.
        topics: (rows, n), of the cases' means; None without them.
        targets: (n,), see `relative_targets`.
        usable: (rows, n), or (n,) for all rows: which labelled rows may vote.
    """
    near = np.round(cosines, DECIMALS)
    weight = np.where(usable, (np.maximum(near, 0.0) if form == "text" else np.abs(near)) ** rule.power, 0.0)
    if form != "text":
        weight = np.where(near == 0, 0.0, weight)
    if rule.topic and topics is not None:
        weight = weight * np.exp(rule.topic * (np.round(topics, DECIMALS) - 1))
    if rule.neighbours is not None and rule.neighbours < weight.shape[1]:
        least = np.partition(weight, -rule.neighbours, axis=1)[:, -rule.neighbours, None]
        weight = np.where(weight >= least, weight, 0.0)
    total = weight.sum(axis=1)
    said = targets if form == "text" else np.sign(near) * targets
    otherwise = float(targets.mean()) if form == "text" and len(targets) else 0.0
    return np.where(total > 0, (weight * said).sum(axis=1) / np.where(total > 0, total, 1.0), otherwise)
