"""Runs as a user has them: what is recorded, how `dicast.run` ended, coverage, evaluation and data frames."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..data import Usage
from ..errors import DeclarationError
from . import evaluations
from .coverage import Coverage
from .recorded_run import RecordedRun
from .run_names import shown_name
from .run_tables import flat_row

Status = Literal["complete", "stopped", "budget"]


@dataclass
class Run(RecordedRun):
    """A run folder, or a .jsonl file of verdicts of another tool.

    Attributes:
        path: the folder or file.
        where: of a file, only rows whose fields have these values.
        status: how `dicast.run` ended: "complete", "stopped", or "budget"; None for a run that was only read.
        message: why it ended, if not complete.
        usage: what `dicast.run` spent, by stage; answers from the cache cost nothing.
        unlabelled: rows without a label that `dicast.run` read.
        rejected: bad rows that `dicast.run` left out; they are in `rejects.jsonl`.
    """

    status: Status | None = None
    message: str = ""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    rejected: int = 0
    unlabelled: int = 0

    @cached_property
    def coverage(self) -> Coverage:
        """How many cases are scored, and why the others are not."""
        return Coverage.of(self)

    def require_coverage(self, minimum: float = 0.0) -> None:
        """Do nothing, or raise RunError where no case is scored, or a smaller proportion than the minimum (0..1)."""
        self.coverage.require(minimum, str(self.path))

    evaluate = evaluations.evaluate  # a method, with the run as its first argument

    def to_dicts(self) -> list[dict[str, Any]]:
        """The verdicts as dicts of JSON values, as in `verdicts.jsonl`."""
        return [judged.model_dump(mode="json") for judged in self]

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a verdict; raises DeclarationError where pandas is missing."""
        try:
            import pandas
        except ImportError:
            raise DeclarationError("to_pandas needs pandas. pip install pandas") from None
        return pandas.DataFrame(list(map(flat_row, self)))

    def to_polars(self) -> Any:
        """A polars DataFrame, one row a verdict; raises DeclarationError where polars is missing."""
        try:
            import polars
        except ImportError:
            raise DeclarationError("to_polars needs polars. pip install polars") from None
        return polars.DataFrame(list(map(flat_row, self)), infer_schema_length=None)


AnyRun = Run | str | Path


def open_run(run: AnyRun, where: Mapping[str, str] | None = None) -> Run:
    """The run of a folder or file, or of some rows of a file, as in "verdicts.jsonl:judge=gpt-4o".

    Args:
        where: of a .jsonl file of verdicts of another tool, only rows whose fields have these values; fields in the
            name of the run count before these.

    Raises:
        RunError: there is no such folder or file.
    """
    return run if isinstance(run, Run) else Run.named(run, where)


def run_titles(runs: Sequence[Run]) -> list[str]:
    """The runs' names; of rows of one file the values that differ; with their whole paths where two are the same."""
    if len({run.path for run in runs}) == 1 and len(runs) > 1:
        fields = [name for name in runs[0].where if len({run.where.get(name) for run in runs}) > 1]
        values = [", ".join(run.where[name] for name in fields if name in run.where) for run in runs]
        if all(values) and len(set(values)) == len(runs):
            return values
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [shown_name(run.path, run.where) for run in runs]


def listed_runs(who: str, runs: Any) -> list[AnyRun]:
    """One run or several as a list; raises DeclarationError for what is neither."""
    if isinstance(runs, Run | str | Path):
        return [runs]
    if not isinstance(runs, Iterable):
        raise DeclarationError(f"{who}: {runs!r} is no run. Give runs, their folders, or .jsonl files of verdicts.")
    return list(runs)
