"""The records of a certificate, and the sentences that a user reads."""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from ...data.case import Record
from ...data.counting import ordinal
from .averaged_binomial_test import exact_limits
from .wording import case_counts, counted, percent

OLD_NAMES = {"accepted": "kept", "accepted_of_all": "kept_of_all", "reached": "asked", "disagreement": "rate"}
Weighting = Literal["drawn", "accepted groups"]
EQUAL_WEIGHT: dict[Weighting, str] = {
    "drawn": "each group (a prompt, a person) with equal weight",
    "accepted groups": "each group (a prompt, a person) with accepted verdicts weighted equally",
}


class CertificateRecord(Record):
    """A record that also reads the field names of earlier judge files."""

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        renamed = {old: name for name, old in OLD_NAMES.items() if name in cls.model_fields}
        return {renamed.get(name, name): content for name, content in value.items()}


class TestedPoint(CertificateRecord):
    """What the tests of a threshold and of a cascade's thresholds have in common."""

    accepted: int = Field(description="groups with an accepted verdict; verdicts, where every case is alone")
    errors: float = Field(
        description="sum over these groups of the proportion of accepted verdicts that disagree with people; the "
        "number of such verdicts, where every case is alone"
    )
    p: float = Field(description="p-value against a disagreement of `risk` or more")
    coverage: float | None = Field(
        default=None,
        description="proportion of the cases that are accepted, groups weighted equally; None: accepted / n, as in "
        "certificates of earlier versions",
    )


class CertificatePoint(TestedPoint):
    """A threshold and its test."""

    threshold: float = Field(description="a verdict is accepted if its certainty is at or above")


class CascadePoint(TestedPoint):
    """A threshold for every judge of a cascade, and their test."""

    thresholds: tuple[float | None, ...] = Field(description="of each judge; None: this judge is left out")


class RiskCertificate(CertificateRecord):
    """What the certificates of a judge and of a cascade have in common."""

    weighting: Weighting = Field(
        default="drawn",
        description="whose disagreement is certified: each group with accepted verdicts weighted equally; or, in "
        "certificates of earlier versions, that of one case drawn of each group",
    )
    risk: float = Field(description="the disagreement that is allowed among accepted verdicts")
    delta: float = Field(description="the probability that the certificate does not hold")
    cases: int = Field(description="labelled cases that were available")
    n: int = Field(description="independent groups of them: prompts, persons; cases, where every case is alone")
    accepted: int = Field(description="groups with an accepted verdict; 0 without a threshold")
    errors: float = Field(
        description="sum over these groups of the proportion of accepted verdicts that disagree with people"
    )
    accepted_of_all: int | None = Field(default=None, description="accepted verdicts; None: not known")
    errors_of_all: int | None = Field(
        default=None, description="accepted verdicts that disagree with people; None: not known"
    )
    of_all_low: float | None = Field(
        default=None,
        description="lower limit, at 95 %, of errors_of_all / accepted_of_all: the disagreement with every case "
        "weighted equally, which is not certified",
    )
    of_all_high: float | None = Field(default=None, description="the upper limit")
    coverage: float = Field(description="proportion of the cases that are accepted, groups weighted equally")
    coverage_low: float = Field(description="lower limit of the coverage at 95 %")
    coverage_high: float = Field(description="upper limit of the coverage at 95 %")
    bound: float | None = Field(
        description="upper limit of the disagreement at this threshold at 1 - delta, as if no other threshold had been "
        "tested; what is guaranteed is `risk`. None without a threshold"
    )
    needed: int | None = Field(
        description="without a threshold: groups of labelled cases for an 80 % chance of a certificate, at the "
        "disagreement where the test stopped; None if 5,000 accepted ones are too few, or with a threshold"
    )
    needed_low: int | None = Field(
        default=None, description="the same at `stopped_low`, the least disagreement that these labels leave possible"
    )
    stopped_low: float | None = Field(
        default=None,
        description="without a threshold: lower limit, at 95 %, of the disagreement where the test stopped",
    )
    stopped_high: float | None = Field(default=None, description="the upper limit")
    seed: int | None = Field(
        default=None, description="of the draw of one case of each group, in certificates of earlier versions"
    )
    looks: int = Field(
        default=1,
        ge=1,
        description="tests on this machine that share cases with this one, which included; each can give a certificate",
    )

    @property
    def _promise(self) -> str:
        weight = f", {EQUAL_WEIGHT[self.weighting]}" if self._grouped else ""
        return f"in at most {percent(self.risk)} of cases{weight}, with {percent(1 - self.delta)} confidence"

    @property
    def _grouped(self) -> bool:
        return self.n != self.cases

    @property
    def _weighed(self) -> bool:
        """Whether all cases of groups are weighed."""
        return self._grouped and self.weighting != "drawn"

    def _granted(self, verdicts: str) -> str:
        coverage = f"{percent(self.coverage)} [{percent(self.coverage_low)}, {percent(self.coverage_high)}]"
        sentence = f"{verdicts} disagree with people {self._promise}: "
        units = counted(self.n, self.cases, self.weighting)
        if not self._weighed:
            sentence += f"of {units} {self.accepted:,} are accepted ({coverage}), "
            sentence += f"and {self.errors:,.0f} of these disagree."
        else:
            sentence += f"of {units} {self.accepted:,} have accepted verdicts, of which "
            sentence += f"{percent(self.errors / self.accepted)} disagree; {coverage} of a group's cases are accepted."
        limits = None if self.of_all_low is None or self.of_all_high is None else (self.of_all_low, self.of_all_high)
        of_all = case_counts(self.n, self.cases, self.accepted_of_all, self.errors_of_all, limits)
        return sentence + of_all + self._repeated

    @property
    def _repeated(self) -> str:
        """A sentence on certificates of earlier tests of these cases; empty at the first test."""
        if self.looks == 1:
            return ""
        chance = percent(min(1.0, self.looks * self.delta))
        return (
            f" This is the {ordinal(self.looks)} test of these cases: of {self.looks} such certificates one or more "
            f"fails with a probability of up to {chance}, so do not choose the loosest."
        )

    def _refused(self, stopped: TestedPoint, verdicts: str = "") -> str:
        have = "have accepted verdicts" if self._weighed else "are accepted"
        sentence = (
            f"No threshold{verdicts} can be certified to disagree with people {self._promise}: of "
            f"{counted(self.n, self.cases, self.weighting)} {stopped.accepted:,} {have} where the test starts"
        )
        if not stopped.accepted:
            return f"{sentence}."
        low, high = self._limits(stopped)
        seen = f"{percent(stopped.errors / stopped.accepted)} [{percent(low)}, {percent(high)}]"
        errors = "" if self._weighed else f", and {stopped.errors:,.0f} of these disagree"
        sentence += f"{errors}: a disagreement of {seen}."
        if low > self.risk:
            return f"{sentence} That is above {percent(self.risk)}, so more labels of the same kind would not help."
        units = "groups of labelled cases" if self._grouped else "labelled cases"
        observed = percent(stopped.errors / stopped.accepted)
        if self.needed is None:
            most = f"At {observed} no number of {units} gives an 80 % chance of a certificate"
        else:
            most = f"At {observed} an 80 % chance of a certificate takes {self.needed:,} {units}"
        least = self.needed if low == stopped.errors / stopped.accepted else self.needed_low
        best = "" if least in (None, self.needed) else f"; at {percent(low)}, the least that these allow, {least:,}"
        return f"{sentence} These labels are too few to tell. {most}{best}."

    def _limits(self, stopped: TestedPoint) -> tuple[float, float]:
        """The interval of the disagreement where the test stopped; that of earlier versions is of single verdicts."""
        if self.stopped_low is None or self.stopped_high is None:
            return exact_limits(round(stopped.errors), stopped.accepted, 0.05)
        return self.stopped_low, self.stopped_high


class Certificate(RiskCertificate):
    """A certified threshold of one judge, or the result that none could be certified."""

    part: str | None = Field(
        default=None, description="of a compilation: the part whose labels are the evidence; None: not known"
    )
    out_of_fold: int = Field(
        default=0,
        description="cases among `cases` to which the head was fitted, each judged by a head that was fitted without "
        "it and its group",
    )
    threshold: float | None = Field(
        description="a verdict is accepted if its certainty is at or above; None: no threshold could be certified"
    )
    stopped: CertificatePoint | None = Field(
        description="the first threshold that was tested and not rejected; None if all were rejected"
    )
    curve: tuple[CertificatePoint, ...] = Field(
        description="every threshold at which a count changes, the strictest first, tested or not"
    )

    said: str | None = Field(default=None, description="the category that these verdicts name; None: any answer")
    of_answers: tuple["Certificate", ...] = Field(
        default=(),
        description="where texts have two categories: a certificate of the verdicts that name each, by themselves",
    )

    @property
    def accepts_any(self) -> bool:
        """Whether there is a threshold, of all verdicts or of those that name a category."""
        return any(certificate.threshold is not None for certificate in (self, *self.of_answers))

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; of other labels than two categories as before there were any."""
        fields: dict[str, Any] = serialize(self)
        return {name: value for name, value in fields.items() if value or name not in ("said", "of_answers")}

    def summary(self) -> str:
        """The sentences that a user reads."""
        if not self.of_answers:
            return self._sentence()
        sentences = " ".join(certificate.summary() for certificate in self.of_answers)
        return f"{self._sentence()} Of each category by itself: {sentences}"

    def _sentence(self) -> str:
        said = f" {self.said!r}" if self.said else ""
        if self.threshold is None and self.stopped is not None:
            return self._refused(self.stopped, f" of verdicts{said}" if said else "") + self._folds
        return self._granted(f"Verdicts{said} of certainty {self.threshold:g} or more") + self._folds

    @property
    def _folds(self) -> str:
        """A sentence on verdicts out of fold; empty without any."""
        if not self.out_of_fold:
            return ""
        return (
            f" {self.out_of_fold:,} of the {self.cases:,} labelled cases also fitted the head; each of them was judged "
            "by a head that was fitted without it and its group."
        )


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
