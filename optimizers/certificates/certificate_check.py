"""Whether a cascade keeps what its certificate says, on labelled cases that came later."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from ...data import Judged
from ...errors import DeclarationError
from .certificate import CascadeCertificate, Certificate, Check, percent
from .certify import check_cascade
from .fixed_sequence_test import kept_needed

_KINDS: TypeAdapter[Certificate | CascadeCertificate] = TypeAdapter(Certificate | CascadeCertificate)


@dataclass(frozen=True)
class Standing:
    """A certificate and what fresh labels say of it.

    Attributes:
        margin: the excess over the certified risk that would matter, in (0, 1).
    """

    certificate: CascadeCertificate
    check: Check
    margin: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1:
            raise DeclarationError(f"certificate: margin {self.margin} is not in (0, 1). Give 0.05, say.")

    @property
    def outcome(self) -> Literal["agrees", "worse", "unknown"]:
        """`worse`: more disagreement than certified is shown. `agrees`: the margin's excess is excluded. Else nothing
        is."""
        if self.check.holds is False:
            return "worse"
        return "agrees" if self.check.high is not None and self.check.high <= self._limit else "unknown"

    @cached_property
    def needed(self) -> int | None:
        """Fresh labels, one a group, that exclude an excess of the margin with 80 % chance, should people disagree as
        often as with the certificate's own; None where these are too many."""
        then = self.certificate
        kept = kept_needed(then.errors / then.kept, risk=self._limit, delta=then.delta / 2)
        return None if kept is None else math.ceil(kept / then.coverage)

    def told(self) -> str:
        """The sentences that a user reads."""
        limit, told = percent(self._limit), self.check.told()
        if self.outcome == "worse":
            return f"{told} Certify it anew: dicast cascade."
        if self.outcome == "agrees":
            return f"{told} A disagreement above {limit} is excluded."
        if self.needed is None:
            return f"{told} One above {limit} is not excluded, and no 5,000 labels would do it; give a wider --margin."
        labels = "labels" if self.certificate.n == self.certificate.cases else "groups of labels"
        return f"{told} One above {limit} is not excluded; {self.needed:,} {labels} would do it with 80 % chance."

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        needed = self.needed if self.outcome == "unknown" else None
        told = {"outcome": self.outcome, "certificate": self.certificate.told(), "check": self.check.model_dump()}
        return told | {"margin": self.margin, "needed": needed}

    @property
    def _limit(self) -> float:
        return self.certificate.risk + self.margin


def standing(certificate: CascadeCertificate, verdicts: Sequence[Judged], *, margin: float = 0.05) -> Standing:
    """What the cascade's own verdicts of labelled cases say of its certificate.

    As its members were asked in turn, their verdicts are not all known; the cascade counts as one judge, who is sure of
    what it decided and of nothing else.
    """
    told = sorted(verdicts, key=lambda one: one.case_id)
    decided = [float(one.status == "scored") for one in told]
    right = [one.status == "scored" and one.winner == one.human_winner for one in told]
    whole = certificate.model_copy(update={"thresholds": (1.0,)})
    groups = [one.group or one.case_id for one in told]
    return Standing(certificate, check_cascade(whole, [(decided, right)], groups=groups, seed=certificate.seed), margin)


def read_certificate(told: Mapping[str, Any] | None) -> Certificate | CascadeCertificate | None:
    """The certificate that a judge file holds as JSON; None where it holds none that is known."""
    try:
        return _KINDS.validate_python(told)
    except ValidationError:
        return None
