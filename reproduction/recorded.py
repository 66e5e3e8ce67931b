"""Read recorded judgments: one JSON object a line is one verdict of one judge; docs/reproduce.md has the fields."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ..data.lines import lines_of
from ..errors import DataError
from ..parsing import parse_record_json

Letter = Literal["a", "b", "tie"]


class Judgment(BaseModel):
    """The fields of every row; other fields are ignored."""

    model_config = ConfigDict(frozen=True)

    dataset_id: str
    item_id: str
    judge: str
    setting: str


class RecordedPreference(Judgment):
    """The better of two responses; None if the judge's answer could not be parsed."""

    prediction: Letter | None
    prediction_swapped: Letter | None = Field(
        default=None, description="with the responses swapped; the letter is of the original order"
    )
    label: Letter
    certainty: Annotated[float, Field(ge=0, le=100)] | None = None


class RecordedScore(Judgment):
    """A score of one text by one aspect."""

    aspect: str
    prediction: float = Field(allow_inf_nan=False)
    label: float | None = Field(description="None: no annotator gave a number", allow_inf_nan=False)
    label_outlier_removed: float | None = Field(
        default=None, description="mean without the furthest annotation", allow_inf_nan=False
    )


Kind = TypeVar("Kind", bound=BaseModel)


def read(path: Path, kind: type[Kind]) -> Iterator[Kind]:
    """The rows of a file, in order; blank lines are skipped.

    Raises:
        DataError: the file cannot be read, holds no row, or a row is damaged (file, line, field, value).
    """
    line = 0
    for number, raw in enumerate(lines_of(path), start=1):
        if raw.strip():
            yield parse_record_json(kind, raw, f"{path} line {number}")
            line = number
    if not line:
        raise DataError(f"{path}: there are no rows in it. Copy it again.")


def folder(path: Path | None = None) -> Path:
    """The folder of recorded judgments: `path`, else DICAST_RECORDED, else `recorded` beside DICAST_DATA.

    Raises:
        DataError: no folder is named, or it does not exist.
    """
    recorded, sets = os.environ.get("DICAST_RECORDED"), os.environ.get("DICAST_DATA")
    if path is None and not recorded and not sets:
        raise DataError("reproduce: no recorded judgments are named. Give --data DIR or set DICAST_RECORDED.")
    if path is None:
        beside = Path(str(sets)).expanduser().absolute().parent / "recorded"
        path = Path(recorded).expanduser() if recorded else beside
    if not path.is_dir():
        raise DataError(f"reproduce: {path} is no folder. Give --data DIR; docs/reproduce.md lists its files.")
    return path
