"""What evidence is worth: the loss of heads that weigh it against that of heads that do not."""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...data.case import Record
from ...stats.paired import difference
from .screening import LossGain

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class EvidenceWorth(Record):
    """How much better heads predict people with some evidence than without it, and why it is weighed or left out.

    Both losses are nested: on each fold that of the best candidate on the other folds, fitted and calibrated without
    the fold.
    """

    name: str = Field(description="of the source of evidence, as in state")
    loss: float = Field(description="mean loss of heads with it: nats, or squared points for scores")
    without: float = Field(description="mean loss of heads without it")
    gain: float = Field(description="the second less the first")
    low: float | None = Field(description="lower limit of the gain's 95 % interval, by whole groups; None: not defined")
    high: float | None = Field(description="upper limit of it")
    by_itself: float | None = Field(
        default=None,
        description="loss of the labels' base rate less that of this evidence by itself; None: not measured",
    )
    by_itself_error: float | None = Field(default=None, description="its standard error, by whole groups")
    used: bool = Field(description="whether the head weighs it")

    @property
    def is_shown(self) -> bool:
        """Whether the head weighs it, and its gain is above 0 beyond chance."""
        return self.used and self.low is not None and self.low > 0

    @property
    def decision(self) -> str:
        """Whether it is weighed, and why, as in "left out, as by itself it does not predict the labels"."""
        if self.is_shown:
            return "weighed"
        if self.by_itself is None or self.by_itself_error is None:
            return "weighed; what it adds is within chance" if self.used else "left out"
        figure = f"({self.by_itself:+.3f} against their base rate, standard error {self.by_itself_error:.3f})"
        if not LossGain(self.by_itself, self.by_itself_error).is_there:
            return f"left out, as by itself it does not predict the labels {figure}"
        predicts = f"by itself it predicts the labels {figure}"
        if self.used:
            return f"weighed, as {predicts}; what it adds is within chance"
        return f"left out, as the best head does without it, though {predicts}"

    @property
    def sentence(self) -> str:
        """As in "state: loss 0.482 with it, 0.531 without, gain +0.049 [0.021, 0.077]", and the decision."""
        interval = "" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]"
        losses = f"loss {self.loss:.3f} with it, {self.without:.3f} without"
        return f"{self.name}: {losses}, gain {self.gain:+.3f}{interval}; {self.decision}"


def worth(
    name: str, loss: Floats, without: Floats, groups: Codes, *, by_itself: LossGain, used: bool
) -> EvidenceWorth:  # fmt: skip
    """The worth of evidence by the (n,) losses with it and without it, of cases in groups (n,)."""
    gain = difference(without, loss, groups)
    low, high = (None if np.isnan(limit) else float(limit) for limit in (gain.low, gain.high))
    return EvidenceWorth(
        name=name,
        loss=float(loss.mean()),
        without=float(without.mean()),
        gain=gain.value,
        low=low,
        high=high,
        by_itself=by_itself.value,
        by_itself_error=by_itself.standard_error,
        used=used,
    )
