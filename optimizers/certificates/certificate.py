"""The records of a certificate, and the sentences that a user reads."""

from typing import Any

from pydantic import Field, model_validator

from ...data.case import Record

EQUAL_WEIGHT = "each group (a prompt, a person) with equal weight"  # one case of each is sampled, however many it has
OLD_NAMES = {"accepted": "kept", "accepted_of_all": "kept_of_all", "reached": "asked", "disagreement": "rate"}


class _CertificateRecord(Record):
    """A record that also reads the field names of earlier judge files."""

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        renamed = {old: name for name, old in OLD_NAMES.items() if name in cls.model_fields}
        return {renamed.get(name, name): content for name, content in value.items()}


class CertificatePoint(_CertificateRecord):
    """A threshold and its test."""

    threshold: float = Field(description="a verdict is accepted if its certainty is at or above")
    accepted: int = Field(description="verdicts that the threshold accepts")
    errors: int = Field(description="accepted verdicts that disagree with people")
    p: float = Field(description="p-value against a disagreement of `risk` or more")


class CascadePoint(_CertificateRecord):
    """A threshold for every judge of a cascade, and their test."""

    thresholds: tuple[float | None, ...] = Field(description="of each judge; None: this judge is left out")
    accepted: int = Field(description="verdicts that the thresholds accept")
    errors: int = Field(description="accepted verdicts that disagree with people")
    p: float = Field(description="p-value against a disagreement of `risk` or more")


class RiskCertificate(_CertificateRecord):
    """What the certificates of a judge and of a cascade have in common."""

    risk: float = Field(description="the disagreement that is allowed among accepted verdicts")
    delta: float = Field(description="the probability that the certificate does not hold")
    cases: int = Field(description="labelled cases that were available")
    n: int = Field(description="labelled cases that were used, one per group")
    accepted: int = Field(description="verdicts that the certified threshold accepts; 0 without a threshold")
    errors: int = Field(description="accepted verdicts that disagree with people")
    accepted_of_all: int | None = Field(default=None, description="`accepted` of all available cases; None: not known")
    errors_of_all: int | None = Field(default=None, description="`errors` of all available cases; None: not known")
    coverage: float = Field(description="accepted / n")
    coverage_low: float = Field(description="lower limit of the coverage at 95 %")
    coverage_high: float = Field(description="upper limit of the coverage at 95 %")
    bound: float | None = Field(
        description="exact upper limit of the risk at this threshold at 1 - delta (Clopper & Pearson 1934), as if no "
        "other threshold had been tested; what is guaranteed is `risk`. None without a threshold"
    )
    needed: int | None = Field(
        description="without a threshold: labelled cases, one per group, for an 80 % chance of a certificate, if "
        "people keep disagreeing as often as where the sequence stopped; None if that is too often, or with a threshold"
    )
    seed: int = Field(description="of the sample of one case per group")

    @property
    def _promise(self) -> str:
        weight = f", {EQUAL_WEIGHT}" if self._grouped else ""
        return f"in at most {percent(self.risk)} of cases{weight}, with {percent(1 - self.delta)} confidence"

    @property
    def _grouped(self) -> bool:
        return self.n != self.cases

    def _granted(self, verdicts: str) -> str:
        interval = f"[{percent(self.coverage_low)}, {percent(self.coverage_high)}]"
        sentence = (
            f"{verdicts} disagree with people {self._promise}: of {cases_used(self.n, self.cases)} "
            f"{self.accepted:,} are accepted ({percent(self.coverage)} {interval}), "
            f"and {self.errors:,} of these disagree."
        )
        return sentence + counts_of_all(self.n, self.cases, self.accepted_of_all, self.errors_of_all)

    def _refused(self, stopped: CertificatePoint | CascadePoint) -> str:
        sentence = (
            f"No threshold can be certified to disagree with people {self._promise}: of "
            f"{cases_used(self.n, self.cases)} {stopped.accepted:,} are accepted where the test starts, and "
            f"{stopped.errors:,} of these disagree."
        )
        if self.needed is None:
            return f"{sentence} That is too often for more labels to help."
        units = "groups of labelled cases" if self._grouped else "labelled cases"
        return f"{sentence} At this disagreement {self.needed:,} {units} would be needed."


class Certificate(RiskCertificate):
    """A certified threshold of one judge, or the result that none could be certified."""

    threshold: float | None = Field(
        description="a verdict is accepted if its certainty is at or above; None: no threshold could be certified"
    )
    stopped: CertificatePoint | None = Field(
        description="the first threshold that was tested and not rejected; None if all were rejected"
    )
    curve: tuple[CertificatePoint, ...] = Field(
        description="every threshold at which a count changes, the strictest first, tested or not"
    )

    def summary(self) -> str:
        """The sentence that a user reads."""
        if self.threshold is None and self.stopped is not None:
            return self._refused(self.stopped)
        return self._granted(f"Verdicts of certainty {self.threshold:g} or more")


class CascadeCertificate(RiskCertificate):
    """Thresholds of the judges of a cascade, certified together, or the result that none could be certified."""

    thresholds: tuple[float | None, ...] = Field(
        description="of each judge, in the order of the cascade; None: this judge is left out. Empty when no cascade "
        "could be certified"
    )
    decided: tuple[float, ...] = Field(
        description="the proportion of all cases that each judge decides; they sum to the coverage"
    )
    reached: tuple[float, ...] = Field(description="the proportion of all cases that reach each judge")
    cost: float | None = Field(description="of a case, in the unit of the given costs; None without costs")
    stopped: CascadePoint | None = Field(
        description="the first thresholds that were tested and not rejected; None if all were rejected"
    )
    curve: tuple[CascadePoint, ...] = Field(
        description="all thresholds of the path at which a count changes, in its order, tested or not"
    )

    def summary(self) -> str:
        """The sentence that a user reads."""
        if not self.thresholds and self.stopped is not None:
            return self._refused(self.stopped)
        thresholds = ", ".join("left out" if value is None else f"{value:g}" for value in self.thresholds)
        decided = ", ".join(percent(proportion) for proportion in self.decided)
        price = "" if self.cost is None else f", and a case costs {self.cost:,.1f}"
        sentence = self._granted(
            f"Verdicts of the cascade, each accepted at its judge's certainty ({thresholds}) or more,"
        )
        cases = "cases, groups weighted equally" if self._grouped else "all cases"
        return f"{sentence} The judges decide {decided} of {cases}{price}."


class ThresholdCheck(_CertificateRecord):
    """A certified threshold on other labelled cases."""

    risk: float = Field(description="of the certificate")
    n: int = Field(description="labelled cases that were used, one per group")
    accepted: int = Field(description="verdicts that the certified threshold accepts")
    errors: int = Field(description="accepted verdicts that disagree with people")
    cases: int | None = Field(default=None, description="labelled cases that were available; None: not known")
    accepted_of_all: int | None = Field(default=None, description="`accepted` of all available cases; None: not known")
    errors_of_all: int | None = Field(default=None, description="`errors` of all available cases; None: not known")
    disagreement: float | None = Field(description="errors / accepted; None if nothing is accepted")
    low: float | None = Field(description="exact lower limit of the disagreement at 1 - delta (Clopper & Pearson 1934)")
    high: float | None = Field(description="exact upper limit of the disagreement at 1 - delta")
    holds: bool | None = Field(
        description="whether these cases are compatible with the certificate (`low` is not above `risk`); None if "
        "nothing is accepted"
    )

    def summary(self) -> str:
        """The sentence that a user reads."""
        if self.disagreement is None or self.low is None or self.high is None:
            return f"Of {cases_used(self.n, self.cases, 'other ')} none is accepted, so the certificate is not checked."
        interval = f"{percent(self.disagreement)} [{percent(self.low)}, {percent(self.high)}]"
        verb = "is compatible with" if self.holds else "contradicts"
        sentence = (
            f"Of {cases_used(self.n, self.cases, 'other ')} {self.accepted:,} are accepted, and {self.errors:,} of "
            f"these disagree with people: {interval}, which {verb} the certified {percent(self.risk)}."
        )
        return sentence + counts_of_all(self.n, self.cases, self.accepted_of_all, self.errors_of_all)


def cases_used(n: int, cases: int | None, other: str = "") -> str:
    """What was counted, in words: cases, or groups if one case per group was sampled."""
    if cases in (None, n):
        return f"{n:,} {other}labelled cases"
    return f"{n:,} {other}groups, one labelled case sampled from each,"


def counts_of_all(n: int, cases: int | None, accepted: int | None, errors: int | None) -> str:
    """A sentence on all available cases, after a sentence on the sampled ones; empty if all were used."""
    if cases is None or cases == n or not accepted or errors is None:
        return ""
    disagree = f"{errors:,} of these disagree ({percent(errors / accepted)})"
    return f" Of all {cases:,} cases {accepted:,} are accepted, and {disagree}."


def percent(proportion: float) -> str:
    """A proportion in [0, 1] in percent, three digits.

    Example:
        >>> percent(0.1), percent(0.9512), percent(0)
        ('10 %', '95.1 %', '0 %')
    """
    return f"{100 * proportion:.3g} %"
