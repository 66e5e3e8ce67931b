"""The records of agreement between judges, as JSON."""

from pydantic import Field

from ..data.case import Record
from .results import Measure


class TwoJudges(Record):
    """Two judges on the cases that all judges scored."""

    first: str = Field(description="name of a judge")
    second: str = Field(description="name of another judge")
    measures: tuple[Measure, ...] = Field(description="same verdict and kappa of verdicts; spearman of scores")


class JudgeRow(Record):
    """One judge among the others."""

    judge: str = Field(description="its name")
    answers: dict[str, float] = Field(
        default_factory=dict, description="of verdicts: the proportion of each label; of scores: lowest, mean, highest"
    )
    measures: tuple[Measure, ...] = Field(
        description="of three judges or more: agreement with the others; alpha without this judge; how far it is apart"
    )


class AgreementOfValue(Record):
    """The judges' agreement on the cases of one value of a field."""

    field: str = Field(description="aspect, or an attribute of the cases")
    value: str = Field(description="of the field")
    measures: tuple[Measure, ...] = Field(description="as of all cases")


class DisputedCase(Record):
    """A case on which the judges disagree."""

    id: str = Field(description="of the case")
    group: str | None = Field(default=None, description="its group")
    aspect: str | None = Field(default=None, description="its aspect")
    answers: tuple[str | float, ...] = Field(description="each judge's verdict or score, in the order of the judges")
    disagreement: float = Field(
        description="proportion of the pairs of judges that differ; of scores the deviation of their ranks, in [0, 0.5]"
    )


class WeightedJudge(Record):
    """A judge against the labels of a sample, weighted to be of all cases."""

    judge: str = Field(description="its name")
    measures: tuple[Measure, ...] = Field(description="accuracy or error, and its difference from the first judge")


class JudgeAgreement(Record):
    """How far judges agree with each other; no human label enters it, but for `labelled`."""

    format: int = Field(default=1, description="version of this record")
    judges: tuple[str, ...] = Field(description="names, in the order of the runs")
    of_scores: bool = Field(description="the judges give scores, not verdicts")
    cases: int = Field(description="cases that all judges scored")
    groups: int = Field(description="independent groups (prompts, persons) of these cases")
    unshared: dict[str, int] = Field(default_factory=dict, description="judge: cases that it scored, another judge not")
    measures: tuple[Measure, ...] = Field(description="of all judges together")
    pairs: tuple[TwoJudges, ...] = Field(description="every two judges")
    by_judge: tuple[JudgeRow, ...] = Field(description="every judge among the others")
    odd_one_out: str | None = Field(default=None, description="the judge that agrees least; None: not clear")
    by_field: tuple[AgreementOfValue, ...] = Field(default=(), description="by aspect and field, least agreement first")
    disputed: tuple[DisputedCase, ...] = Field(default=(), description="the cases of the greatest disagreement first")
    labelled: tuple[WeightedJudge, ...] = Field(default=(), description="each judge against the labels of a sample")
    sample: str | None = Field(default=None, description="the file that was written of cases to label")
    warnings: tuple[str, ...] = Field(default=(), description="why figures may be worth little, and what to do")
