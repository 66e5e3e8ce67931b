"""Recorded judgments: where they lie, and how their rows are read.

One JSON object a line is one verdict of one judge; docs/reproduce.md has the fields. Rows are read one at a time.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..data.rows import bad_row
from ..errors import DataError

Letter = Literal["a", "b", "tie"]


class Judgment(BaseModel):
    """What every row has: whose verdict it is, on which item. Other fields of a row are not looked at."""

    model_config = ConfigDict(frozen=True)

    dataset_id: str
    item_id: str
    judge: str
    setting: str


class Preference(Judgment):
    """Which of two responses is better; None where the judge's answer could not be read."""

    prediction: Letter | None
    prediction_swapped: Letter | None = Field(
        default=None, description="with the responses exchanged, told in the item's own order"
    )
    label: Letter
    certainty: Annotated[float, Field(ge=0, le=100)] | None = None


class Score(Judgment):
    """A score of one text by one aspect."""

    aspect: str
    prediction: float = Field(allow_inf_nan=False)
    label: float | None = Field(description="None: no annotator gave a number", allow_inf_nan=False)
    label_outlier_removed: float | None = Field(
        default=None, description="mean without the furthest annotation", allow_inf_nan=False
    )


Kind = TypeVar("Kind", bound=BaseModel)


def read(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    """The rows of a file, in order; blank lines are passed over.

    Raises:
        DataError: the file cannot be read, holds no row, or a row is damaged (file, line, field, value).
    """
    line = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if not raw.strip():
                    continue
                try:
                    yield kind.model_validate_json(raw)
                except ValidationError as error:
                    raise bad_row(str(path), number, error) from None
                line = number
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Give a folder of recorded judgments.") from None
    if not line:
        raise DataError(f"{path}: there are no rows in it. Copy it again.")


def folder(given: Path | None = None) -> Path:
    """The folder of recorded judgments: the one given, DICAST_RECORDED, or `recorded` beside DICAST_DATA.

    Raises:
        DataError: none is named, or there is no such folder.
    """
    named, sets = os.environ.get("DICAST_RECORDED"), os.environ.get("DICAST_DATA")
    if given is None and not named and not sets:
        raise DataError("reproduce: no recorded judgments are named. Give --data DIR or set DICAST_RECORDED.")
    found = given or (
        Path(named).expanduser() if named else Path(str(sets)).expanduser().absolute().parent / "recorded"
    )
    if not found.is_dir():
        raise DataError(f"reproduce: {found} is no folder. Give --data DIR; docs/reproduce.md says what lies in it.")
    return found
