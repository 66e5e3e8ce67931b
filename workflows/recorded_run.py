"""What is recorded of a run, in its folder or in a file of another tool: verdicts, identity, arrays for evaluation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ..data import Judged
from ..data.readers import file_digest
from ..engines.batch import RunFolder, read_manifest, read_verdicts
from ..engines.last_lines import LastLines
from ..errors import RunError
from ..evaluation import RunArrays, run_arrays
from ..evaluation.external_verdicts import ExternalVerdicts
from ..evaluation.judged_row import RowFacts
from ..evaluation.verdict_rules import AS_THE_RUN_HAS_IT, VerdictRules
from ..paths import path_of
from .case_source import CaseSource
from .learnt_labels import LearntLabels
from .run_names import parse_run_name, shown_name


@dataclass
class RecordedRun:
    """A run folder, or a .jsonl file of verdicts of another tool.

    Attributes:
        path: the folder or file.
        where: of a file, only rows whose fields have these values.
    """

    path: Path
    where: Mapping[str, str] = field(default_factory=dict)
    _arrays: dict[VerdictRules, RunArrays] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def named(cls, name: str | Path, where: Mapping[str, str] | None = None) -> Self:
        """The run of a folder or file, or of some rows of a file, as in "verdicts.jsonl:judge=gpt-4o".

        Args:
            where: of a .jsonl file of verdicts of another tool, only rows whose fields have these values; fields in
                the name of the run count before these.

        Raises:
            RunError: there is no such folder or file.
        """
        path, chosen = parse_run_name(str(path_of(name, "run")))
        return cls(path, {**(where or {}), **chosen})

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


def identity_of_rules(rules: VerdictRules, facts: RowFacts | None = None) -> dict[str, str]:
    """The rules that the signature line names: those that a user gave, and of another tool's winners all.

    Args:
        facts: of the rows of another tool, where they name winners.
    """
    merge = {"merge": "sum"} if facts and facts.both_orders else {}
    return {**merge, **({"unreadable": "out"} if facts else {}), **rules.named}
