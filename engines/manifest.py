"""The manifest beside a JSON Lines file, read strictly: what later steps use of it has the type that they expect."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ..errors import RunError
from ..parsing import parse_record, read_object, shown

FORMAT = 1

Finite = Annotated[float, Field(allow_inf_nan=False)]


class ManifestIdentity(BaseModel):
    """What verdicts depend on; fields that a manifest lacks are None, others are kept."""

    model_config = ConfigDict(extra="allow", strict=True)

    judge: str | None = Field(default=None, description="the judge, with the digest of its file")
    settings: dict[str, Any] | None = Field(default=None, description="the judge's parameters")
    lm: str | None = Field(default=None, description="its models")
    data: str | None = Field(default=None, description="the digest of the cases")
    seed: int | None = Field(default=None, description="of the sample")
    limit: int | None = Field(default=None, description="the size of the sample")
    aspect: str | None = Field(default=None, description="the aspect that was chosen")
    no_ties: bool | None = Field(default=None, description="whether cases labelled as ties were left out")


class Manifest(BaseModel):
    """A manifest as a file holds it."""

    model_config = ConfigDict(extra="allow")

    identity: ManifestIdentity = Field(description="what the lines depend on")
    scale: tuple[Finite, Finite] | None = Field(default=None, description="of the judge's scores")
    source: dict[str, Any] | None = Field(default=None, description="where the cases were read from")


def read_manifest_file(path: Path, lines: Path) -> dict[str, Any]:
    """The content of a manifest.

    Args:
        lines: the file that it describes, for messages.

    Raises:
        RunError: it is damaged, or of an unknown format.
    """
    lost = f"What {lines.name} holds is not lost"
    advice = f"{lost}: restore {path.name} from a copy, or give another --out and keep this one."
    content = read_object(path, error=RunError, advice=advice, nan=True)
    parse_record(Manifest, content, f"{path}: is not a manifest", error=RunError, advice=advice)
    if content.get("format") != FORMAT:
        raise RunError(f"{path}: format {shown(content.get('format'))} is not {FORMAT}. Use the dicast that wrote it.")
    return content
