"""Verdicts of other tools as rows of JSON Lines, to be measured like a run.

    {"id": "17", "prediction": "a", "label": "b"}                                   a pair; also "tie"
    {"id": "17", "prediction": "a", "prediction_swapped": "b", "label": "b"}        asked in both orders
    {"id": "17", "prediction": 3.5, "label": 4}                                     a text's score
    {"id": "17", "prediction": 2, "label": 0, "options": 4}                         a choice, by index

A file holds verdicts of one kind.
`prediction` null is unscored. `prediction_swapped` is the verdict with the two texts exchanged, in the row's own
letters; where the two differ, the verdict is a tie. `certainty` may be 0..1 or 0..100. Optional: `group`, `votes`,
`aspect`, `system`, `lengths`; `judge` and `setting` name whose verdicts they are. `item_id` is another name of `id`.
Other short fields are attributes.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, model_validator

from ..data import Judged, Scores, Winner
from ..data.attributes import attributes_of
from ..data.case import MOST_SCORE, Label, Letter
from ..data.lines import lines_of
from ..data.rows import bad_row
from ..errors import DataError
from ..parsing import parse_object, shown
from .repeated_verdicts import RepeatedRows

LETTERS = ("a", "b", "tie")
NAMES = ("judge", "setting")
MOST_OPTIONS = 10_000

Kind = Literal["letters", "scores", "indexes of options"]


def _value(value: Any) -> Any:
    """A letter or a finite number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -MOST_SCORE <= value <= MOST_SCORE
    if is_number or (isinstance(value, str) and value in LETTERS):
        return value
    raise ValueError("must be 'a', 'b' or 'tie', a score, or the index of an option")


Value = Annotated[Letter | int | float, PlainValidator(_value)]


class ExternalVerdict(BaseModel):
    """One verdict; other fields are attributes where they are short."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="allow")

    id: Annotated[str, Field(validation_alias=AliasChoices("id", "item_id"), coerce_numbers_to_str=True)]
    prediction: Value | None
    prediction_swapped: Letter | None = None
    label: Value | None = None
    options: Annotated[int, Field(ge=2, le=MOST_OPTIONS)] | None = None
    certainty: Annotated[float, Field(ge=0, le=100)] | None = None
    votes: tuple[Letter, ...] = ()
    group: str | None = None
    aspect: str | None = None
    system: str | None = None
    lengths: tuple[Annotated[int, Field(ge=0, le=10**12)], ...] = ()
    judge: str = ""
    setting: str = ""

    @property
    def kind(self) -> Kind | None:
        """What the verdict and the label are; None where both are missing."""
        if self.options is not None:
            return "indexes of options"
        values = [value for value in (self.prediction, self.label) if value is not None]
        if not values:
            return "letters" if self.prediction_swapped or self.votes else None
        return "letters" if isinstance(values[0], str) else "scores"

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        for name, value in (("prediction", self.prediction), ("label", self.label)):
            if value is None:
                continue
            if isinstance(value, str) != (self.kind == "letters"):
                raise ValueError(f"{name} is {shown(value)}, but the row's verdicts are {self.kind}")
            if self.options is not None and (not isinstance(value, int) or not 0 <= value < self.options):
                raise ValueError(f"{name} is {shown(value)}, which is not the index of one of {self.options} options")
        if self.kind != "letters" and (self.prediction_swapped or self.votes):
            name = "prediction_swapped" if self.prediction_swapped else "votes"
            raise ValueError(f"{name} is for pairs, but the row's verdicts are {self.kind}")
        count = self.options or {"letters": 2, "scores": 1, None: len(self.lengths)}[self.kind]
        if self.lengths and len(self.lengths) != count:
            raise ValueError(f"lengths are of {len(self.lengths)} texts, but there are {count}")
        return self


def read_external_verdicts(
    path: Path, where: Mapping[str, str] | None = None, repeated: RepeatedRows | None = None
) -> Iterator[Judged]:
    """The verdicts of a file, one at a time; equal rows of one case count once.

    Args:
        where: only rows whose fields have these values.
        repeated: counts the rows that are left out.

    Raises:
        DataError: a row that is no verdict (file, line, field, value), rows of several judges or settings, or different
            rows of one case.
    """
    yield from external_verdicts(str(path), lines_of(path), where, repeated)


def external_verdicts(
    source: str,
    lines: Iterable[str | bytes],
    where: Mapping[str, str] | None = None,
    repeated: RepeatedRows | None = None,
) -> Iterator[Judged]:
    """The verdicts of JSON rows, one at a time.

    Args:
        source: what messages call the rows.
        lines: one row of JSON each.
        where: only rows whose fields have these values.
        repeated: counts the rows that are left out.

    Raises:
        DataError: as of `read_external_verdicts`.
    """
    repeated = repeated or RepeatedRows(source)
    names: dict[str, str] = {}
    kinds: dict[str, int] = {}
    for number, raw in enumerate(lines, start=1):
        if raw.strip() and (row := _row(source, number, raw, where or {})):
            _check_same(source, names, row)
            if row.kind:
                kinds.setdefault(row.kind, number)
            if len(kinds) > 1:
                (first, line), (second, _) = kinds.items()
                raise DataError(
                    f"{source} line {number}: the verdicts are {second}, those of line {line} {first}. Give "
                    "one file for each kind."
                )
            judged = _judged(row)
            if repeated.is_new(number, judged):
                yield judged


def values_of(path: Path, name: str) -> set[str]:
    """The values that the rows of a file have in a field."""
    rows = (parse_object(raw, str(path), advice="Give one verdict a line.", nan=True) for raw in lines_of(path) if raw)
    return {str(row[name]) for row in rows if row.get(name) is not None}


def line_of(path: Path, case_id: str, where: Mapping[str, str]) -> int | None:
    """The line of a case in a file that was read before; None: there is none."""
    for number, raw in enumerate(lines_of(path), start=1):
        if raw.strip() and (row := _row(str(path), number, raw, where)) and _judged(row).case_id == case_id:
            return number
    return None


def _row(source: str, number: int, raw: str | bytes, where: Mapping[str, str]) -> ExternalVerdict | None:
    content = parse_object(raw, f"{source} line {number}", advice="Give one verdict a line.", nan=True)
    if any(str(content.get(name)) != value for name, value in where.items()):
        return None
    try:
        return ExternalVerdict.model_validate(content)
    except ValidationError as error:
        raise bad_row(source, number, error) from None


def _check_same(source: str, names: dict[str, str], row: ExternalVerdict) -> None:
    for name in NAMES:
        value = getattr(row, name)
        if names.setdefault(name, value) != value:
            raise DataError(
                f"{source}: holds verdicts of {name} {names[name]!r} and {value!r}. Give --where {name}={value!r}, or "
                f"name one as in FILE.jsonl:{name}={value}"
            )


def _judged(row: ExternalVerdict) -> Judged:
    single = row.kind == "scores"
    verdict: dict[str, Any] = {"case_id": row.id if row.aspect is None else f"{row.id}#{row.aspect}"}
    if row.prediction is None:
        verdict |= {"status": "unscored", "reason": "parse_failure"}
    elif single:
        verdict |= {"scores": (float(row.prediction),)}
    else:
        verdict |= _winner(row)
    certainty = row.certainty if row.certainty is None or row.certainty <= 1 else row.certainty / 100
    return Judged(
        **verdict,
        certainty=certainty,
        label=_label(row, single),
        votes=tuple(Winner(value=vote) for vote in row.votes),
        group=row.group or (None if row.aspect is None else row.id),  # all aspects of a text are one group
        aspect=row.aspect,
        attributes=attributes_of(row.model_extra or {}),
        systems=(row.system,) if row.system and single else (),
        lengths=row.lengths,
    )


def _winner(row: ExternalVerdict) -> dict[str, Any]:
    if row.prediction_swapped is None:
        return {"winner": row.prediction}
    agreed = row.prediction == row.prediction_swapped
    return {
        "winner": row.prediction if agreed else "tie",
        "order_winners": {"ab": row.prediction, "ba": row.prediction_swapped},
        "consistent": agreed,
    }


def _label(row: ExternalVerdict, single: bool) -> Label | None:
    if row.label is None:
        return None
    if single:
        return Scores(values=(float(row.label),), lo=-MOST_SCORE, hi=MOST_SCORE)
    return Winner(value=row.label)
