"""Which cases people should label, so that the labels tell judges apart and still measure them on all cases.

Where judges agree, a label cannot tell them apart; where they differ, it must. So half of the sample follows the
disagreement and half is uniform: every case has a known probability, and figures weighted by its inverse are of all
cases. A case's expected contribution to the squared difference of two judges is the proportion of the pairs of judges
that differ on it, so the targeted part follows its square root (Neyman allocation, see `stats.unequal_sampling`). The
sample is spread over groups: cases of one prompt or person tell less together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from ..data.category_words import match
from ..data.lines import lines_of
from ..data.rows import bad_row
from ..errors import DataError, DeclarationError
from ..parsing import parse_object, shown
from ..stats.unequal_sampling import inclusion_probabilities, systematic_sample, weighted_mean
from .agreement_results import WeightedJudge
from .answer_table import AnswerTable
from .measure_factories import clip_interval, to_measure
from .results import Measure

UNIFORM = 0.5  # of the sample


@dataclass(frozen=True)
class SampledCase:
    """A case to label.

    Attributes:
        probability: with which it came into the sample, in (0, 1].
    """

    id: str
    group: str | None
    aspect: str | None
    probability: float

    @property
    def weight(self) -> float:
        """The cases that its label is for."""
        return 1 / self.probability


def sample_for_labels(table: AnswerTable, n: int, *, uniform: float = UNIFORM, seed: int = 0) -> list[SampledCase]:
    """The cases to label, in the order of ids.

    Args:
        table: the judges' answers.
        n: how many.
        uniform: the proportion of the sample that is drawn uniformly, in (0, 1].
        seed: of the draw.

    Raises:
        DeclarationError: n or `uniform` out of range.
    """
    sizes = table.disagreement if table.of_scores else np.sqrt(table.disagreement)
    probabilities = inclusion_probabilities(sizes, n, uniform)
    random = np.random.default_rng(seed)
    places = random.permutation(int(table.group.max()) + 1)[table.group]
    order = np.lexsort((np.arange(len(sizes)), places, -sizes))
    chosen = sorted(order[systematic_sample(probabilities[order], random.random())].tolist())
    several = table.strata.several
    return [
        SampledCase(
            id=table.ids[row],
            group=table.group_names[row],
            aspect=table.strata.names[table.strata.codes[row]] if several else None,
            probability=float(probabilities[row]),
        )
        for row in chosen
    ]


class LabelledRow(BaseModel):
    """A sampled case with people's label; null where nobody has labelled it yet."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="ignore")

    id: Annotated[str, Field(validation_alias=AliasChoices("id", "item_id"), coerce_numbers_to_str=True)]
    label: Annotated[str | int | float | None, Field(validation_alias=AliasChoices("label", "score"))] = None
    inclusion_probability: Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True)
class SampleLabels:
    """The labels of a sample.

    Attributes:
        labels: by case id.
        probabilities: with which each labelled case was sampled.
        missing: rows without a label.
    """

    labels: Mapping[str, str | float]
    probabilities: Mapping[str, float]
    missing: int


def read_sample_labels(path: Path, table: AnswerTable) -> SampleLabels:
    """The labels that people wrote into a sample of this table.

    Raises:
        DataError: a row that cannot be read, a case that the runs do not have, a repeated case, or a label of another
            kind (file, line, field, value).
        DeclarationError: no row has a label.
    """
    labels, probabilities, missing, known = dict[str, str | float](), dict[str, float](), 0, set(table.ids)
    for number, raw in enumerate(lines_of(path), start=1):
        if not raw.strip():
            continue
        content = parse_object(raw, f"{path} line {number}", advice="Give one labelled case a line.")
        try:
            row = LabelledRow.model_validate(content)
        except ValidationError as error:
            raise bad_row(str(path), number, error) from None
        if row.id not in known or row.id in labels:
            why = "is repeated" if row.id in labels else "is no case that all judges scored"
            raise DataError(f"{path} line {number}: field 'id' is {row.id!r}, which {why}. Give rows of --sample.")
        if row.label in (None, ""):
            missing += 1
            continue
        labels[row.id], probabilities[row.id] = (
            _label(row.label, table, f"{path} line {number}"),
            row.inclusion_probability,
        )
    if not labels:
        raise DeclarationError(f"{path}: no row has a label. Write people's labels into the field label.")
    return SampleLabels(labels, probabilities, missing)


def weighted_judges(table: AnswerTable, sample: SampleLabels) -> tuple[WeightedJudge, ...]:
    """Each judge against the labels of a sample, weighted to be of all cases."""
    rows = np.array([row for row, name in enumerate(table.ids) if name in sample.labels], dtype=np.intp)
    chances = np.array([sample.probabilities[table.ids[row]] for row in rows])
    if table.of_scores:
        people = np.array([float(sample.labels[table.ids[row]]) for row in rows])
        values = np.abs(table.answers[:, rows] - people)
    else:
        answers = [[table.answer(judge, row) for row in rows] for judge in range(len(table.judges))]
        people_labels = [str(sample.labels[table.ids[row]]) for row in rows]
        values = np.array([[float(a == b) for a, b in zip(line, people_labels, strict=True)] for line in answers])

    def measure(name: str, of_cases: Any, description: str, **options: Any) -> Measure:
        estimate = weighted_mean(of_cases, chances, table.group[rows])
        if name == "accuracy":
            estimate = clip_interval(estimate, 0, 1)
        return to_measure(name, estimate, description + ", weighted to be of all cases", **options)

    name, words = (
        ("error", "mean distance from people's score") if table.of_scores else ("accuracy", "verdict as people's")
    )
    shares = not table.of_scores
    return tuple(
        WeightedJudge(
            judge=judge,
            measures=(
                measure(name, values[number], words, is_proportion=shares),
                *(
                    [measure(f"{name} less {table.judges[0]}", values[number] - values[0], "difference",
                             is_proportion=shares, null_value=0.0)]
                    if number else []
                ),
            ),
        )
        for number, judge in enumerate(table.judges)
    )  # fmt: skip


def _label(label: str | int | float, table: AnswerTable, place: str) -> str | float:
    if table.of_scores:
        if isinstance(label, str):
            raise DataError(f"{place}: field 'label' is {shown(label)}, but the judges give scores. Give a number.")
        return float(label)
    if table.of_categories:
        category = match(label, table.labels)
        if category is None:
            listed = ", ".join(table.labels)
            raise DataError(f"{place}: field 'label' is {shown(label)}. Give one of the categories {listed}.")
        return category
    letters = {"a", "b", "tie"} <= set(table.labels)
    if (letters and label not in ("a", "b", "tie")) or (not letters and not isinstance(label, int)):
        form = "a, b or tie" if letters else "the index of an option"
        raise DataError(f"{place}: field 'label' is {shown(label)}. Give {form}.")
    return str(label)
