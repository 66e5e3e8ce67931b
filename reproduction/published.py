"""The registry of published tables: the published values (published.yaml) and the function that recomputes them.

Every module of `tables/` registers its tables; packages add theirs by the entry-point group `dicast.published_tables`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import Field

from ..data.case import Record
from ..parsing import parse_yaml
from ..registry import Registry
from .comparison import Explanation, PublishedValue, Recomputed, TableRow, compare

Recompute = Callable[[Path], Mapping[str, Recomputed]]
ReadPublished = Callable[[Path], Mapping[str, PublishedValue]]


class Publication(Record):
    """The content of a published table."""

    title: str = Field(description="what the table measures")
    source: str = Field(description="paper, table and repository")
    values: dict[str, Decimal] = Field(
        default_factory=dict, description="as printed; empty if the recorded files hold the printed values"
    )
    explained: dict[str, Explanation] = Field(default_factory=dict, description="of values that cannot be recomputed")

    def published_values(self) -> dict[str, PublishedValue]:
        """The values with the number of decimals that were printed."""
        return {
            name: PublishedValue(float(value), len(f"{value:f}".partition(".")[2]))
            for name, value in self.values.items()
        }


@dataclass(frozen=True)
class PublishedTable:
    """A published table, and how it is recomputed from a folder of recorded judgments.

    Attributes:
        files: relative to the folder.
        recompute: folder -> values by name.
        read_published: reads the published values from the folder; None takes those of the publication.
    """

    name: str
    publication: Publication
    files: tuple[str, ...]
    recompute: Recompute
    read_published: ReadPublished | None = None

    def missing(self, root: Path) -> list[Path]:
        """The files that the folder lacks."""
        return [path for path in (root / file for file in self.files) if not path.is_file()]

    def rows(self, root: Path) -> list[TableRow]:
        """Every value, recomputed and published.

        Raises:
            DataError: a file cannot be read or a row of it is damaged.
        """
        published = self.read_published(root) if self.read_published else self.publication.published_values()
        return list(compare(self.name, self.recompute(root), published, self.publication.explained))


TABLES: Registry[PublishedTable] = Registry("published table", ".reproduction.tables", "dicast.published_tables")


def register(
    name: str,
    files: tuple[str, ...],
    recompute: Recompute,
    read_published: ReadPublished | None = None,
) -> None:
    """Register a table that published.yaml holds."""
    TABLES.add(name, PublishedTable(name, publications()[name], files, recompute, read_published))


@cache
def publications() -> dict[str, Publication]:
    """The content of published.yaml by table."""
    text = (files(__package__) / "published.yaml").read_text(encoding="utf-8")
    tables = parse_yaml(text, "published.yaml", strings=True)  # so that 0.630 keeps its zero
    return {name: Publication.model_validate(table) for name, table in tables.items()}
