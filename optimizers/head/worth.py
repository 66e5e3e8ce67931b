"""What evidence is worth: the loss of heads that weigh it against that of heads that do not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...data.case import Record
from ...stats.paired import difference

Floats = NDArray[np.float64]


class EvidenceWorth(Record):
    """How much better heads predict people with some evidence than without it.

    Both losses are nested: on each fold that of the best candidate on the other folds, fitted and calibrated without
    the fold.
    """

    name: str = Field(description="of the source of evidence, as in state")
    loss: float = Field(description="mean loss of heads with it: nats, or squared points for scores")
    without: float = Field(description="mean loss of heads without it")
    gain: float = Field(description="the second less the first")
    low: float | None = Field(description="lower limit of the gain's 95 % interval, by whole groups; None: not defined")
    high: float | None = Field(description="upper limit of it")
    used: bool = Field(description="whether the head weighs it")

    @property
    def is_shown(self) -> bool:
        """Whether its gain is above 0 beyond chance."""
        return self.low is not None and self.low > 0

    @property
    def sentence(self) -> str:
        """As in "state: loss 0.482 with it, 0.531 without, gain +0.049 [0.021, 0.077]"."""
        interval = "" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]"
        losses = f"loss {self.loss:.3f} with it, {self.without:.3f} without"
        return f"{self.name}: {losses}, gain {self.gain:+.3f}{interval}" + ("" if self.used else "; left out")


def worth(name: str, loss: Floats, without: Floats, groups: Sequence[str], *, used: bool) -> EvidenceWorth:
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
        used=used,
    )
