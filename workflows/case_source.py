"""Where labelled cases come from: a file, a public set, or the Hugging Face hub."""

import hashlib
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..data import Case, Rejects, read_cases
from ..data.layout import PLAIN, Layout
from ..data.readers import HUB, file_digest, parsed_rows
from ..data.refusal_detection import RefusalFilter
from ..data.rows import BadRow, Scale
from ..errors import DataError, RunError
from ..parsing import explain, kind_of_special
from .case_filters import ExcludedCases

NO_ROW = "{}: there is no row. Export it again, with a header and a row for each case."
ROWS = "cases.jsonl"  # rows of memory, in the folder of what reads them
COUNT_UP_TO = 32 * 2**20  # bytes of a file whose cases are counted: about two seconds of reading


@dataclass(frozen=True)
class CaseSource:
    """Cases and which of them are used.

    Attributes:
        source: a .jsonl, .json, .csv, .tsv, .xlsx or .parquet file (.gz too), `hf:NAME[:SPLIT]`, or a set of
            `dicast data list`.
        root: the folder of public sets; None for $DICAST_DATA.
        fields: our column name -> theirs, or several of theirs.
        scale: lowest and highest score, where a row names none.
        categories: what texts without a score are labelled with, of two the positive one last; () for the words of all
            labels.
        aspect: only cases of this aspect.
        max_chars: only cases of at most so many characters in all.
        no_ties: leave out cases whose human label is a tie.
        refusals: leave out cases with a response that opens as a refusal does ("opening"), or that names an AI, a
            language model or a chatbot ("ai-words"); "keep" none; None: as the judge asks for, of which `persona` asks
            for "ai-words" (arXiv 2406.11657).
        not_by: leave out cases with a response by one of these systems, as in ("gpt-4o", "gpt-3.5*").
        layout: how the rows of the file are arranged beside that, as `dicast init` wrote it to dicast.toml.
    """

    source: str
    root: Path | None = None
    fields: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    scale: Scale = (1, 5)
    categories: tuple[str, ...] = ()
    aspect: str | None = None
    max_chars: int | None = None
    no_ties: bool = False
    refusals: RefusalFilter | None = None
    not_by: tuple[str, ...] = ()
    layout: Layout = PLAIN

    def __post_init__(self) -> None:
        systems: object = self.not_by
        is_list = isinstance(systems, list | tuple)
        if not (is_list and all(isinstance(name, str) and name.strip() for name in self.not_by)):
            raise DataError(f"not_by: {self.not_by!r} is no list of systems. Give their names, as in ['gpt-4o'].")

    @property
    def stem(self) -> str:
        """The name of the file or set without endings, for the names of folders."""
        return Path(self.source.replace(":", "-")).name.split(".")[0]

    @property
    def task(self) -> str | None:
        """What the texts of a public set are, by a name of data/tasks.yaml; None for any other cases."""
        from ..catalog import DATA_SETS

        return DATA_SETS.find(self.source).task if self.source in DATA_SETS else None

    def to_json(self) -> dict[str, Any]:
        """As JSON, for a run's manifest; paths are absolute."""
        file, root = Path(self.source), self.root or os.environ.get("DICAST_DATA")
        values = asdict(self) | {
            "source": str(file.absolute()) if file.is_file() else self.source,
            "root": str(Path(root).absolute()) if root else None,
            "fields": self._fields(),
            "scale": list(self.scale),
            "categories": list(self.categories),
        }
        del values["layout"]
        return values | self._layout()

    def reading(self) -> dict[str, Any]:
        """How rows become cases, and which are selected, for the identity of a run."""
        return {
            "fields": self._fields(),
            "scale": [float(end) for end in self.scale],
            "no_ties": self.no_ties,
            "aspect": self.aspect,
            **({"refusals": self.refusals} if self.refusals not in (None, "keep") else {}),
            **({"not_by": list(self.not_by)} if self.not_by else {}),
            **({"max_chars": self.max_chars} if self.max_chars else {}),
            **({"categories": list(self.categories)} if self.categories else {}),
            **self._layout(),
        }

    def _fields(self) -> dict[str, Any]:
        return {ours: theirs if isinstance(theirs, str) else list(theirs) for ours, theirs in self.fields.items()}

    def _layout(self) -> dict[str, Any]:
        """What of the layout is said, as JSON; {} for a plain table."""
        stated = {name: value for name, value in asdict(self.layout).items() if value}
        lists = {name: list(value) for name, value in stated.items() if isinstance(value, tuple)}
        return {"layout": stated | lists} if stated else {}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "CaseSource":
        """Read back from a manifest; raises RunError for a field that is missing or wrong."""
        earlier = {"refusals": "opening" if value["no_refusals"] else "keep"} if "no_refusals" in value else {}
        known = {name: part for name, part in value.items() if name != "no_refusals"}
        try:
            return TypeAdapter(cls).validate_python({**known, **earlier, "root": value["root"] or None})
        except ValidationError as error:
            reason = explain(error)
        except KeyError as error:
            reason = f"it has no field {error}."
        raise RunError(f"manifest: its field 'source' says no cases to read: {reason} Give --cases.")

    def cases(self, rejects: Rejects | None = None, left_out: ExcludedCases | None = None) -> Iterator[Case]:
        """The selected cases, one at a time; bad rows go to `rejects`, or the first one raises.

        Args:
            left_out: counts the cases that `refusals` and `not_by` leave out.
        """
        from ..catalog import DATA_SETS, catalog

        self.path()
        if self.source in DATA_SETS:
            cases = catalog.read(self.source, root=self.root)
        else:
            cases = read_cases(
                self.source,
                fields=self.fields,
                scale=self.scale,
                categories=self.categories,
                rejects=rejects,
                layout=self.layout,
            )
        left_out = left_out or ExcludedCases()
        return (case for case in self._read(cases) if self._selects(case, left_out))

    def _read(self, cases: Iterator[Case]) -> Iterator[Case]:
        """The cases; where a file is read wrongly, the error names what finds out how it is to be read."""
        is_first, path = True, Path(self.source)
        try:
            for case in cases:
                is_first = False
                yield case
        except DataError as error:
            is_misread = (is_first and isinstance(error, BadRow)) or "not UTF-8" in str(error)
            if is_misread and self.layout == PLAIN and path.is_file() and path.name != ROWS:
                advice = f"`dicast init {shlex.quote(self.source)}` finds out how the file is read."
                raise DataError(f"{error} {advice}") from None
            raise

    def _selects(self, case: Case, left_out: ExcludedCases) -> bool:
        return (
            (self.aspect is None or case.aspect == self.aspect)
            and (self.max_chars is None or characters(case) <= self.max_chars)
            and not (self.no_ties and is_tie(case))
            and not left_out.reason(case, self.refusals or "keep", self.not_by)
        )

    def path(self) -> Path | None:
        """The file or folder of the data; None on the hub.

        Raises:
            DataError: neither a file, nor a set of the catalogue, nor on the hub.
        """
        from ..catalog import DATA_SETS, catalog

        if self.source in DATA_SETS:
            return catalog.locate(self.source, self.root)
        if self.source.startswith(HUB):
            return None
        if Path(self.source).is_file():
            return Path(self.source)
        is_path = os.sep in self.source or "." in self.source
        reason = "there is no such file" if is_path else "no such file and no such set"
        if os.path.isdir(self.source):
            reason = "is a folder"
        elif kind := kind_of_special(Path(self.source)):
            reason = f"is {kind}, and cases are read more than once"
        raise DataError(
            f"--cases {self.source}: {reason}. Give a .jsonl, .csv, .xlsx or .parquet file, hf:NAME, or a set "
            "of `dicast data list`."
        )

    def digest(self) -> str:
        """SHA-256 of the data; the name of what is on the hub."""
        path = self.path()
        if path is None:
            return self.source
        if path.is_file():
            return file_digest(path)
        digests = [file_digest(file) for file in sorted(path.rglob("*")) if file.is_file()]
        return hashlib.sha256("".join(digests).encode()).hexdigest()

    def has_row(self) -> bool:
        """Whether a file holds a row, good or bad; True of a public set and of what is on the hub."""
        from ..catalog import DATA_SETS

        is_file = self.source not in DATA_SETS and Path(self.source).is_file()
        return not is_file or any(True for _ in parsed_rows(self.source, self.layout))

    def count(self) -> int | None:
        """The number of selected cases; None where counting would take long."""
        path = self.path()
        if path is None or (path.is_file() and path.stat().st_size > COUNT_UP_TO):
            return None
        with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects") as rejects:
            return sum(1 for _ in self.cases(rejects))


def characters(case: Case) -> int:
    """Characters of the request, the turns before it, the context, and all candidates."""
    before = (case.query, case.context, *(turn.text for turn in case.history))
    return sum(map(len, (*before, *(candidate.text for candidate in case.candidates))))


def is_tie(case: Case) -> bool:
    """Whether the human label says that neither of the two is better."""
    return case.label is not None and case.label.winner == "tie"
