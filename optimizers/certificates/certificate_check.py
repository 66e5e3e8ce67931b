"""Check the certificate of a cascade on labelled cases that came later."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from ...data import Judged
from ...errors import DeclarationError
from .certificate import CascadeCertificate, Certificate
from .certify import check_cascade
from .fixed_sequence_test import accepted_needed
from .threshold_check import ThresholdCheck
from .wording import percent

_KINDS: TypeAdapter[Certificate | CascadeCertificate] = TypeAdapter(Certificate | CascadeCertificate)


@dataclass(frozen=True)
class CertificateCheck:
    """A certificate and its check on new labels.

    Attributes:
        margin: the excess over the certified risk that would matter, in (0, 1).
    """

    certificate: CascadeCertificate
    check: ThresholdCheck
    margin: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1:
            raise DeclarationError(f"certificate: margin {self.margin} is not in (0, 1). Give 0.05, say.")

    @property
    def outcome(self) -> Literal["agrees", "worse", "unknown"]:
        """`worse`: the disagreement is significantly above the certified risk. `agrees`: an excess of the margin is
        excluded. `unknown`: neither is shown."""
        if self.check.holds is False:
            return "worse"
        return "agrees" if self.check.high is not None and self.check.high <= self._limit else "unknown"

    @cached_property
    def needed(self) -> int | None:
        """New labels, one per group, that exclude an excess of the margin with 80 % power, if people disagree as often
        as on the certificate's cases; None if more than 5,000 accepted verdicts would be needed."""
        before = self.certificate
        accepted = accepted_needed(before.errors / before.accepted, risk=self._limit, delta=before.delta / 2)
        return None if accepted is None else math.ceil(accepted * before.n / before.accepted)

    def summary(self) -> str:
        """The sentences that a user reads."""
        limit, sentence = percent(self._limit), self.check.summary()
        if self.outcome == "worse":
            return f"{sentence} Certify it again: dicast cascade."
        if self.outcome == "agrees":
            return f"{sentence} A disagreement above {limit} is excluded."
        if self.needed is None:
            return (
                f"{sentence} One above {limit} is not excluded, and no 5,000 labels would do it; give a wider --margin."
            )
        labels = "labels" if self.certificate.n == self.certificate.cases else "groups of labels"
        return f"{sentence} One above {limit} is not excluded; {self.needed:,} {labels} would do it with 80 % power."

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "outcome": self.outcome,
            "certificate": self.certificate.summary(),
            "check": self.check.model_dump(),
            "margin": self.margin,
            "needed": self.needed if self.outcome == "unknown" else None,
        }

    @property
    def _limit(self) -> float:
        return self.certificate.risk + self.margin


def check_certificate(
    certificate: CascadeCertificate, verdicts: Sequence[Judged], *, margin: float = 0.05
) -> CertificateCheck:
    """The check of a cascade's certificate by the cascade's verdicts on labelled cases.

    A cascade does not ask every member about every case, so the members' verdicts are not all known. The cascade counts
    as one judge with certainty 1 where it decided and 0 where it abstained.
    """
    ordered = sorted(verdicts, key=lambda verdict: verdict.case_id)
    decided = [float(verdict.status == "scored") for verdict in ordered]
    correct = [verdict.status == "scored" and verdict.winner == verdict.human_winner for verdict in ordered]
    as_one = certificate.model_copy(update={"thresholds": (1.0,)})
    groups = [verdict.group or verdict.case_id for verdict in ordered]
    ids = [verdict.case_id for verdict in ordered]
    check = check_cascade(as_one, [(decided, correct)], groups=groups, ids=ids)
    return CertificateCheck(certificate, check, margin)


def read_certificate(content: Mapping[str, Any] | None) -> Certificate | CascadeCertificate | None:
    """The certificate that a judge file holds as JSON; None for no or an unknown certificate."""
    try:
        return _KINDS.validate_python(content)
    except ValidationError:
        return None
