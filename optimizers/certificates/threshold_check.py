"""The record of a certified threshold on other labelled cases, and its sentence."""

from pydantic import Field

from .certificate import CertificateRecord, Weighting
from .wording import case_counts, counted, percent


class ThresholdCheck(CertificateRecord):
    """A certified threshold on other labelled cases."""

    weighting: Weighting = Field(default="drawn", description="of the certificate")
    risk: float = Field(description="of the certificate")
    n: int = Field(description="independent groups of labelled cases; cases, where every case is alone")
    accepted: int = Field(description="groups with an accepted verdict")
    errors: float = Field(
        description="sum over these groups of the proportion of accepted verdicts that disagree with people"
    )
    cases: int | None = Field(default=None, description="labelled cases that were available; None: not known")
    accepted_of_all: int | None = Field(default=None, description="accepted verdicts; None: not known")
    errors_of_all: int | None = Field(
        default=None, description="accepted verdicts that disagree with people; None: not known"
    )
    disagreement: float | None = Field(description="errors / accepted; None if nothing is accepted")
    low: float | None = Field(
        description="lower limit of the disagreement at 1 - delta, two-sided: exact where every case is alone (Clopper "
        "& Pearson 1934), else Bentkus' (2004)"
    )
    high: float | None = Field(description="the upper limit")
    holds: bool | None = Field(
        description="whether these cases are compatible with the certificate (`low` is not above `risk`); None if "
        "nothing is accepted"
    )

    def summary(self) -> str:
        """The sentence that a user reads."""
        units = counted(self.n, self.cases, self.weighting, "other ")
        if self.disagreement is None or self.low is None or self.high is None:
            return f"Of {units} none is accepted, so the certificate is not checked."
        interval = f"{percent(self.disagreement)} [{percent(self.low)}, {percent(self.high)}]"
        verb = "is compatible with" if self.holds else "contradicts"
        if self.weighting == "drawn" or self.n == self.cases:
            sentence = (
                f"Of {units} {self.accepted:,} are accepted, and {self.errors:,.0f} of these disagree with people: "
                f"{interval}, which {verb} the certified {percent(self.risk)}."
            )
        else:
            sentence = (
                f"Of {units} {self.accepted:,} have accepted verdicts, of which {interval} disagree with people, each "
                f"such group weighted equally; this {verb} the certified {percent(self.risk)}."
            )
        return sentence + case_counts(self.n, self.cases, self.accepted_of_all, self.errors_of_all)
