"""The tables by name: what was published (published.yaml), and the function that recomputes it."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from ..data.case import Record
from ..errors import DeclarationError
from . import autoj, fed, llmbar, openmeva, pandalm, personalized_judge, unieval
from .table import Explained, Figure, Printed, Row, compare


class Published(Record):
    """One published table; `figures` is empty where the source's own output lies among the recorded files."""

    title: str
    source: str
    figures: dict[str, Decimal] = {}
    explained: dict[str, Explained] = {}

    def printed(self) -> dict[str, Printed]:
        """The figures with the decimals that they were printed with."""
        return {
            name: Printed(float(value), len(f"{value:f}".partition(".")[2])) for name, value in self.figures.items()
        }


@dataclass(frozen=True)
class Table:
    """A published table and how it is recomputed from files under a folder of recorded judgments."""

    name: str
    published: Published
    files: tuple[str, ...]
    recompute: Callable[[Path], Mapping[str, Figure]]
    printed: Callable[[Path], Mapping[str, Printed]] | None = None

    def missing(self, root: Path) -> list[Path]:
        """The files that are not there."""
        return [path for path in (root / file for file in self.files) if not path.is_file()]

    def rows(self, root: Path) -> list[Row]:
        """Every figure, recomputed and published.

        Raises:
            DataError: a file cannot be read or a row of it is damaged.
        """
        printed = self.printed(root) if self.printed else self.published.printed()
        return list(compare(self.name, self.recompute(root), printed, self.published.explained))


@cache
def _published() -> dict[str, Published]:
    text = (files(__package__) / "published.yaml").read_text(encoding="utf-8")
    told = yaml.load(text, Loader=yaml.BaseLoader)  # all scalars are texts, so that 0.630 keeps its zero
    return {name: Published.model_validate(table) for name, table in told.items()}


def _table(
    name: str,
    files: tuple[str, ...],
    recompute: Callable[[Path], Mapping[str, Figure]],
    printed: Callable[[Path], Mapping[str, Printed]] | None = None,
) -> Table:
    return Table(name, _published()[name], files, recompute, printed)


TABLES = {
    table.name: table
    for table in (
        _table("personalized-judge-table-1", personalized_judge.FILES, personalized_judge.accuracy),
        _table("personalized-judge-table-2", personalized_judge.FILES, personalized_judge.certainty),
        _table("personalized-judge-table-3", personalized_judge.FILES[:1], personalized_judge.without_persona),
        _table(
            "personalized-judge-notebook",
            personalized_judge.FILES,
            personalized_judge.notebook,
            personalized_judge.notebook_printed,
        ),
        _table("autoj", autoj.FILES, autoj.figures),
        _table("pandalm", pandalm.FILES, pandalm.figures),
        _table("llmbar", llmbar.FILES, llmbar.figures, llmbar.printed),
        _table("unieval", unieval.FILES, unieval.figures),
        _table("openmeva-chatgpt", openmeva.FILES, openmeva.figures),
        _table("fed-replication", fed.FILES, fed.figures),
    )
}


def find(name: str) -> Table:
    """The table of that name.

    Raises:
        DeclarationError: there is none; names the close ones.
    """
    if name in TABLES:
        return TABLES[name]
    close = difflib.get_close_matches(name, TABLES, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(close)}?" if close else "dicast reproduce --list has all."
    raise DeclarationError(f"reproduce: there is no table {name!r}. {hint}")
