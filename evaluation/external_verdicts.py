"""Verdicts of other tools as rows of JSON Lines, to be measured like a run.

    {"id": "17", "prediction": "a", "label": "b"}                                   a pair; also "tie"
    {"id": "17", "prediction": "a", "prediction_swapped": "b", "label": "b"}        asked in both orders
    {"id": "17", "prediction": 3.5, "label": 4}                                     a text's score
    {"id": "17", "prediction": 2, "label": 0, "options": 4}                         a choice, by index

`prediction` null is unscored. `prediction_swapped` is the verdict with the two texts exchanged, in the row's own
letters; where the two differ, the verdict is a tie. `certainty` may be 0..1 or 0..100. Optional: `group`, `votes`,
`aspect`, `system`, `lengths`; `judge` and `setting` name whose verdicts they are. `item_id` is another name of `id`.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from ..data import Judged, Scores, Winner
from ..data.case import Label, Letter
from ..data.rows import bad_row
from ..errors import DataError

LETTERS = ("a", "b", "tie")
ANY = (float("-inf"), float("inf"))  # the scale of a score that names none
NAMES = ("judge", "setting")


def _value(value: Any) -> Any:
    """A letter or a finite number."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if value in LETTERS or number:
        return value
    raise ValueError("must be 'a', 'b' or 'tie', a score, or the index of an option")


Value = Annotated[Letter | int | float, PlainValidator(_value)]


class ExternalVerdict(BaseModel):
    """One verdict; other fields are passed over."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    id: Annotated[str, Field(validation_alias=AliasChoices("id", "item_id"), coerce_numbers_to_str=True)]
    prediction: Value | None
    prediction_swapped: Letter | None = None
    label: Value | None = None
    options: int | None = None
    certainty: Annotated[float, Field(ge=0, le=100)] | None = None
    votes: tuple[Letter, ...] = ()
    group: str | None = None
    aspect: str | None = None
    system: str | None = None
    lengths: tuple[int, ...] = ()
    judge: str = ""
    setting: str = ""


def read_external_verdicts(path: Path, where: Mapping[str, str] | None = None) -> Iterator[Judged]:
    """The verdicts of a file, one at a time.

    Args:
        where: only rows whose fields have these values.

    Raises:
        DataError: a row that is no verdict (file, line, field, value), or rows of several judges or settings.
    """
    try:
        with path.open("rb") as file:
            yield from external_verdicts(str(path), file, where)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Give a run folder or a .jsonl file.") from None


def external_verdicts(
    source: str, lines: Iterable[str | bytes], where: Mapping[str, str] | None = None
) -> Iterator[Judged]:
    """The verdicts of JSON rows, one at a time.

    Args:
        source: what messages call the rows.
        lines: one row of JSON each.
        where: only rows whose fields have these values.

    Raises:
        DataError: as of `read_external_verdicts`.
    """
    names: dict[str, str] = {}
    for number, raw in enumerate(lines, start=1):
        if raw.strip() and (row := _row(source, number, raw, where or {})):
            _check_same(source, names, row)
            yield _judged(row)


def _row(source: str, number: int, raw: str | bytes, where: Mapping[str, str]) -> ExternalVerdict | None:
    try:
        if where and any(str(json.loads(raw).get(name)) != value for name, value in where.items()):
            return None
        return ExternalVerdict.model_validate_json(raw)
    except ValidationError as error:
        raise bad_row(source, number, error) from None
    except (json.JSONDecodeError, AttributeError):
        raise DataError(f"{source} line {number}: not a JSON object. Give one verdict a line.") from None


def _check_same(source: str, names: dict[str, str], row: ExternalVerdict) -> None:
    for name in NAMES:
        value = getattr(row, name)
        if names.setdefault(name, value) != value:
            raise DataError(
                f"{source}: holds verdicts of {name} {names[name]!r} and {value!r}. Give --where {name}={value!r}"
            )


def _judged(row: ExternalVerdict) -> Judged:
    single = isinstance(row.prediction, int | float) and row.options is None
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
        group=row.group,
        aspect=row.aspect,
        systems=(row.system,) if row.system else (),
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
        return Scores(values=(float(row.label),), lo=ANY[0], hi=ANY[1])
    return Winner(value=row.label)
