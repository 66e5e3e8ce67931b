"""Runs, read from their folders or from files of other tools: their verdicts, their identity, their tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..data import Judged, Usage
from ..data.readers import file_digest
from ..engines.batch import RunFolder, read_manifest, read_verdicts
from ..engines.last_lines import LastLines
from ..errors import DeclarationError, RunError
from ..evaluation import RunArrays, run_arrays
from ..evaluation.external_verdicts import ExternalVerdicts
from ..evaluation.judged_row import RowFacts
from ..evaluation.results import Evaluation
from ..evaluation.verdict_rules import AS_THE_RUN_HAS_IT, VerdictRules
from ..paths import path_of
from .case_source import CaseSource
from .coverage import Coverage
from .learnt_labels import LearntLabels
from .run_names import parse_run_name, shown_name
from .run_tables import flat_row

Status = Literal["complete", "stopped", "budget"]


@dataclass
class Run:
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

    path: Path
    where: Mapping[str, str] = field(default_factory=dict)
    status: Status | None = None
    message: str = ""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    rejected: int = 0
    unlabelled: int = 0
    _arrays: dict[VerdictRules, RunArrays] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return shown_name(Path(self.path.name or str(self.path)), self.where)

    def __iter__(self) -> Iterator[Judged]:
        """The verdicts with their human labels, one a case: the last one, where a case of a run folder has several."""
        if self.path.is_dir():
            return read_verdicts(self.path)
        return iter(self.external)

    @cached_property
    def external(self) -> ExternalVerdicts:
        """The rows of a file of another tool."""
        return ExternalVerdicts.of_file(self.path, self.where)

    @cached_property
    def repeated(self) -> int:
        """Lines that do not count, because another line is of the same case: a later one, or in a file an equal one."""
        if not self.path.is_dir():
            return self.external.repeated
        folder = RunFolder(self.path)
        return LastLines(folder.verdicts, "case_id").repeated if folder.verdicts.exists() else 0

    def verdicts(self) -> list[Judged]:
        """The verdicts with their human labels, in the order in which they were judged."""
        return list(self)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The run's manifest; that of a file says "elsewhere" for the model."""
        if self.path.is_dir():
            manifest = read_manifest(self.path)
            for name in ("judge", "settings", "lm", "data"):
                if manifest["identity"].get(name) is None:
                    raise RunError(f"{self.path}: the identity in its manifest has no {name!r}. Restore the manifest.")
            return manifest
        judge = ",".join(self.where.values()) or self.path.stem
        identity = {"judge": judge, "settings": {}, "lm": "elsewhere", "data": file_digest(self.path)}
        return {"identity": identity, "scale": self.external.facts.scale}

    @property
    def identity(self) -> dict[str, Any]:
        """Judge, settings, models, data and selection."""
        identity: dict[str, Any] = self.manifest["identity"]
        return identity

    @property
    def source(self) -> CaseSource | None:
        """Where the cases were read from; None for a file of verdicts."""
        source = self.manifest.get("source")
        return CaseSource.from_json(source) if source else None

    @property
    def arrays(self) -> RunArrays:
        """The verdicts as arrays for evaluation, read once."""
        return self.arrays_by(AS_THE_RUN_HAS_IT)

    def arrays_by(self, rules: VerdictRules) -> RunArrays:
        """The verdicts as arrays, as these rules count them; read once for each."""
        if rules not in self._arrays:
            scale = self.manifest.get("scale")
            arrays = run_arrays(self.measured, tuple(scale) if scale else None, place=self.place, rules=rules)
            self._arrays[rules] = replace(arrays, repeated=self.repeated)
        return self._arrays[rules]

    @cached_property
    def learnt(self) -> LearntLabels:
        """The labelled cases that the judge was compiled on."""
        return LearntLabels.of(self, self.manifest.get("compiled_on"))

    @property
    def measured(self) -> Iterator[Judged]:
        """The verdicts that count: without labels that the judge was compiled on, where there are others."""
        return filter(self.learnt.counts, self)

    def identity_by(self, rules: VerdictRules) -> dict[str, Any]:
        """The identity with the rules that count: those that a user named, and of another tool's winners all."""
        is_external = not self.path.is_dir() and bool(self.arrays_by(rules).labels)
        return self.identity | identity_of_rules(rules, self.external.facts if is_external else None)

    @property
    def notices(self) -> tuple[str, ...]:
        """How the rows of another tool were read, where the rows do not say it themselves, and which labels do not
        count."""
        if not self.path.is_dir():
            return self.external.facts.notices
        return tuple(filter(None, [self.learnt.notice]))

    def place(self, case_id: str) -> str:
        """Where the verdict of a case is written: file and line."""
        if self.path.is_dir():
            file = RunFolder(self.path).verdicts
            line = LastLines(file, "case_id").line_of(case_id)
        else:
            file, line = self.path, self.external.line_of(case_id)
        return f"{file} line {line}" if line else str(file)

    @cached_property
    def coverage(self) -> Coverage:
        """How many cases are scored, and why the others are not."""
        return Coverage.of(self)

    def require_coverage(self, minimum: float = 0.0) -> None:
        """Do nothing, or raise RunError where no case is scored, or a smaller proportion than the minimum (0..1)."""
        self.coverage.require(minimum, str(self.path))

    def evaluate(self, **options: Any) -> Evaluation:
        """`dicast.evaluate` of this run."""
        from .evaluations import evaluate

        return evaluate(self, **options)

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


def identity_of_rules(rules: VerdictRules, facts: RowFacts | None = None) -> dict[str, str]:
    """The rules that the signature line names: those that a user gave, and of another tool's winners all.

    Args:
        facts: of the rows of another tool, where they name winners.
    """
    merge = {"merge": "sum"} if facts and facts.both_orders else {}
    return {**merge, **({"unreadable": "out"} if facts else {}), **rules.named}


def open_run(run: AnyRun, where: Mapping[str, str] | None = None) -> Run:
    """The run of a folder or file, or of some rows of a file, as in "verdicts.jsonl:judge=gpt-4o".

    Args:
        where: of a .jsonl file of verdicts of another tool, only rows whose fields have these values; fields in the
            name of the run count before these.

    Raises:
        RunError: there is no such folder or file.
    """
    if isinstance(run, Run):
        return run
    path, chosen = parse_run_name(str(path_of(run, "run")))
    return Run(path, {**(where or {}), **chosen})


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


def check_where(runs: Sequence[Run]) -> None:
    """Raises DeclarationError where rows are to be chosen of run folders, which have none to choose."""
    if runs and runs[0].where and all(run.path.is_dir() for run in runs):
        raise DeclarationError(
            f"--where: {runs[0].path} is a run folder, of which every verdict counts. Leave --where out; it is for a "
            ".jsonl file of another tool."
        )


def check_rows(run: Run) -> None:
    """Raises RunError where no row of a file has the chosen values."""
    if run.where and not run.arrays.cases:
        raise RunError(run.external.no_row)


def check_seed(seed: int | None) -> None:
    """Raises DeclarationError for a seed that is neither None nor a whole number of at least 0."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise DeclarationError(f"seed: {seed!r} is not a whole number of at least 0. Give one.")
