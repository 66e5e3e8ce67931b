"""Check a certificate on labelled cases that came later.

Repeated checks of one judge take the latest ones together, back to as many labels as the certificate has, and share
the level (`stats.repeated_checks`): a certificate that holds is called contradicted by any of them with a probability
of at most delta, by the union bound.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from ...data import Judged
from ...data.counting import ordinal
from ...errors import DeclarationError
from ...evaluation.check_history import CheckedCase, CheckHistory, Rows
from ...stats.repeated_checks import share_of
from .certificate import CascadeCertificate, Certificate
from .certify import check, check_cascade
from .fixed_sequence_test import accepted_needed
from .threshold_check import ThresholdCheck
from .wording import percent

_KINDS: TypeAdapter[Certificate | CascadeCertificate] = TypeAdapter(Certificate | CascadeCertificate)


@dataclass(frozen=True)
class CertificateCheck:
    """A certificate and its check on new labels.

    Attributes:
        margin: the excess over the certified risk that would matter, in (0, 1).
        number: of this check of the judge; 1: the first.
        checks: how many of the latest checks are taken together.
        together: on their labels, at this check's level; None: only this check is known.
    """

    certificate: Certificate | CascadeCertificate
    check: ThresholdCheck
    margin: float = 0.05
    number: int = 1
    checks: int = 1
    together: ThresholdCheck | None = None

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1:
            raise DeclarationError(f"certificate: margin {self.margin} is not in (0, 1). Give 0.05, say.")

    @property
    def outcome(self) -> Literal["agrees", "worse", "unknown"]:
        """`worse`: the disagreement is significantly above the certified risk, by the latest checks together where
        these are known. `agrees`: an excess of the margin is excluded. `unknown`: neither is shown."""
        if (self.together or self.check).holds is False:
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
        if self.together is not None and (self.number > 1 or self.together.holds != self.check.holds):
            sentence += f" {self._repeated(self.together)}"
        if self.outcome == "worse":
            again = "dicast cascade" if isinstance(self.certificate, CascadeCertificate) else "dicast compile"
            return f"{sentence} Certify it again: {again}."
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
            "number": self.number,
            "checks": self.checks,
            "together": None if self.together is None else self.together.model_dump(),
        }

    def _repeated(self, together: ThresholdCheck) -> str:
        """What the latest checks show together."""
        verb = "contradict" if together.holds is False else "do not contradict"
        latest = f"the latest {self.checks:,} checks together" if self.checks > 1 else "this check"
        nth = ordinal(self.number).capitalize()
        return (
            f"{nth} check of this judge: the labels of {latest} {verb} the certificate at a "
            f"level at which all checks do so by chance at most {percent(self.certificate.delta)} of the time."
        )

    @property
    def _limit(self) -> float:
        return self.certificate.risk + self.margin


def check_certificate(
    certificate: Certificate | CascadeCertificate,
    verdicts: Sequence[Judged],
    *,
    margin: float = 0.05,
    history: CheckHistory | None = None,
) -> CertificateCheck:
    """The check of a certificate by verdicts on labelled cases.

    A cascade does not ask every member about every case, so the members' verdicts are not all known. The cascade counts
    as one judge with certainty 1 where it decided and 0 where it abstained; so does a judge with its threshold.

    Args:
        verdicts: of the cascade; or of a judge whose threshold is off.
        margin: the excess over the certified risk that would matter, in (0, 1).
        history: the checks of this judge, with this one; None: this one alone.
    """
    rows = {
        verdict.case_id: CheckedCase(
            verdict.group_name, verdict.answer == verdict.human_answer, accepts(certificate, verdict)
        )
        for verdict in verdicts
    }
    check = _check(certificate, rows, certificate.delta)
    if history is None:
        return CertificateCheck(certificate, check, margin)
    number = len(history.checks)
    latest, checks = history.latest_rows(certificate.cases or certificate.n)
    level = 2 * certificate.delta * share_of(number)  # of both sides; only the lower limit decides
    return CertificateCheck(certificate, check, margin, number, checks, _check(certificate, latest, level))


def accepts(certificate: Certificate | CascadeCertificate, verdict: Judged) -> bool:
    """Whether the certificate is about a verdict: of a cascade that did not abstain, or of a certainty at or above the
    certified threshold."""
    if verdict.status != "scored" or isinstance(certificate, CascadeCertificate):
        return verdict.status == "scored"
    if verdict.certainty is None or certificate.threshold is None:
        return False
    return verdict.certainty >= certificate.threshold


def _check(certificate: Certificate | CascadeCertificate, rows: Rows, delta: float) -> ThresholdCheck:
    ordered = sorted(rows.items())
    evidence = [float(row.accepted) for _, row in ordered], [row.accepted and row.right for _, row in ordered]
    known: dict[str, Any] = {"groups": [row.group for _, row in ordered], "ids": [case for case, _ in ordered]}
    if isinstance(certificate, CascadeCertificate):
        return check_cascade(certificate.model_copy(update={"thresholds": (1.0,), "delta": delta}), [evidence], **known)
    return check(certificate.model_copy(update={"threshold": 1.0, "delta": delta}), *evidence, **known)


def read_certificate(content: Mapping[str, Any] | None) -> Certificate | CascadeCertificate | None:
    """The certificate that a judge file holds as JSON; None for no or an unknown certificate."""
    try:
        return _KINDS.validate_python(content)
    except ValidationError:
        return None
