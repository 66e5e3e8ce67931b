"""Runs, read from their folders: their verdicts as tables, measured against human labels and against each other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..data import Judged, Usage
from ..data.readers import file_digest
from ..engines.batch import RunFolder, read_manifest, read_verdicts
from ..engines.last_lines import LastLines
from ..errors import DeclarationError, RunError
from ..evaluation import RunArrays, run_arrays
from ..evaluation import compare as compare_arrays
from ..evaluation import evaluate as evaluate_arrays
from ..evaluation.external_verdicts import external_verdicts, read_external_verdicts
from ..evaluation.metric import THRESHOLD
from ..evaluation.repeated_verdicts import last_verdicts, repeated_cases
from ..evaluation.results import Branch, Evaluation, Measure, RunComparison
from ..evaluation.sections import section_title
from ..parsing import parse_record_json
from ..paths import path_of
from .branch_ablation import sweep
from .case_source import CaseSource, json_row, rows_of
from .coverage import Coverage
from .run_texts import named_source, texts_of

ROWS_OF_A_RUN = "Give the rows of Run.to_dicts()."
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

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    def __iter__(self) -> Iterator[Judged]:
        """The verdicts with their human labels, one a case: the last one, where a case has several."""
        if self.path.is_dir():
            return read_verdicts(self.path)
        return last_verdicts(read_external_verdicts(self.path, self.where), self._repeated_cases[0])

    @cached_property
    def _repeated_cases(self) -> tuple[dict[int, int], int]:
        return repeated_cases(read_external_verdicts(self.path, self.where))

    @cached_property
    def repeated(self) -> int:
        """Lines that do not count, because a later line is of the same case."""
        if not self.path.is_dir():
            return self._repeated_cases[1]
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
        return {"identity": {"judge": judge, "settings": {}, "lm": "elsewhere", "data": file_digest(self.path)}}

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

    @cached_property
    def arrays(self) -> RunArrays:
        """The verdicts as arrays for evaluation, read once."""
        scale = self.manifest.get("scale")
        return run_arrays(self, tuple(scale) if scale else None, repeated=self.repeated)

    @cached_property
    def coverage(self) -> Coverage:
        """How many cases are scored, and why the others are not."""
        return Coverage.of(self)

    def require_coverage(self, minimum: float = 0.0) -> None:
        """Do nothing, or raise RunError where no case is scored, or a smaller proportion than the minimum (0..1)."""
        self.coverage.require(minimum, str(self.path))

    def evaluate(self, **options: Any) -> Evaluation:
        """`dicast.evaluate` of this run."""
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


def flat_row(judged: Judged) -> dict[str, Any]:
    """A verdict as one row of a table: no nested value, the same columns for every verdict."""
    pair = len(judged.scores or ()) == 2
    scores = dict(enumerate(judged.scores or ()))
    label = judged.label.value if judged.label is not None and hasattr(judged.label, "value") else None
    distribution = judged.distribution or {}
    return {
        "case_id": judged.case_id,
        "status": judged.status,
        "reason": judged.reason,
        "winner": None if judged.winner is None else str(judged.winner),
        "label": None if label is None else str(label),
        "certainty": judged.certainty,
        "consistent": judged.consistent,
        "score": None if pair else scores.get(0),
        "score_a": scores.get(0) if pair else None,
        "score_b": scores.get(1) if pair else None,
        "label_score": judged.label.values[0] if judged.label is not None and hasattr(judged.label, "values") else None,
        "p_a": distribution.get("a"),
        "p_b": distribution.get("b"),
        "p_tie": distribution.get("tie"),
        "rationale": judged.rationale,
        "group": judged.group,
        "aspect": judged.aspect,
        **judged.usage.model_dump(include={"calls", "prompt_tokens", "completion_tokens", "cost"}),
    }


AnyRun = Run | str | Path


def open_run(run: AnyRun, where: Mapping[str, str] | None = None) -> Run:
    """The run of a folder or file.

    Args:
        where: of a .jsonl file of verdicts of another tool, only rows whose fields have these values.

    Raises:
        RunError: there is no such folder or file.
    """
    if isinstance(run, Run):
        return run
    path = path_of(run, "run")
    if not path.exists():
        raise RunError(f"{run}: there is no such run. Give a folder of dicast.run, or a .jsonl file of verdicts.")
    return Run(path, where or {})


def listed_runs(who: str, runs: Any) -> list[AnyRun]:
    """One run or several as a list; raises DeclarationError for what is neither."""
    if isinstance(runs, Run | str | Path):
        return [runs]
    if not isinstance(runs, Iterable):
        raise DeclarationError(f"{who}: {runs!r} is no run. Give runs, their folders, or .jsonl files of verdicts.")
    return list(runs)


def evaluate(
    run: AnyRun | Iterable[Judged],
    *,
    threshold: float = THRESHOLD,
    judge_systems: Sequence[str] = (),
    texts: str | None = None,
    cases: "CaseSource | str | Path | None" = None,
    seed: int = 0,
    where: Mapping[str, str] | None = None,
) -> Evaluation:
    """Every metric of a run that applies to it, each with its 95 % interval.

    Args:
        run: a run, its folder, or a .jsonl file of verdicts of another tool; or verdicts of `Run.verdicts()` or
            `Run.to_dicts()`; or the rows of such a file as a list of dicts or a pandas or polars DataFrame.
        threshold: the certainty from which a verdict counts as sure.
        judge_systems: systems that are the judge itself, for self-preference.
        texts: measures of generated against written texts, as in "bleu,rouge,bertscore=MODEL".
        cases: for `texts`: where the cases are, if not where the run read them in this project.
        seed: of everything that is resampled.
        where: of verdicts of another tool, only rows whose fields have these values.

    Raises:
        RunError: there is no verdict in it.
        DataError: a row that is not a verdict.
        DeclarationError: a threshold outside of 0..1, a seed below 0, a system that no text is of, or `where` for a run
            folder.
    """
    if not 0 <= threshold <= 1:
        raise DeclarationError(f"threshold: {threshold!r} is not a certainty. Give a number from 0 to 1.")
    check_seed(seed)
    judge_systems = (judge_systems,) if isinstance(judge_systems, str) else tuple(judge_systems)
    if not isinstance(run, Run | str | Path):
        return _evaluate_list(_verdicts(run, where), threshold=threshold, judge_systems=judge_systems, seed=seed)
    run = open_run(run, where)
    if where:
        check_where([run])
    _check_systems(run, judge_systems)
    evaluation = evaluate_arrays(run.arrays, run.identity, threshold=threshold, judge_systems=judge_systems, seed=seed)
    if not evaluation.cases:
        raise RunError(f"{run.path}: holds no verdict. Run dicast judge --out {run.path} first.")
    if texts:
        sections = evaluation.sections | {"explanations": _text_metrics(run, texts, cases, seed)}
        titles = evaluation.titles | {"explanations": section_title("explanations")}
        evaluation = evaluation.model_copy(update={"sections": sections, "titles": titles})
    return evaluation.model_copy(update={"branches": _branches(run, evaluation, seed)})


def _verdicts(rows: Any, where: Mapping[str, str] | None) -> list[Judged]:
    """The verdicts of a list or data frame: verdicts, dicts of verdicts, or rows of another tool's verdicts."""
    listed = list(rows_of(rows, "evaluate", "a run, its folder, a file, or a list of verdicts or dicts"))
    lines = [row if isinstance(row, Judged) else json_row("evaluate", n, row) for n, row in enumerate(listed, start=1)]
    if any(isinstance(row, Mapping) and "case_id" not in row for row in listed):
        return list(external_verdicts("evaluate", map(str, lines), where))
    return [
        line
        if isinstance(line, Judged)
        else parse_record_json(Judged, line, f"evaluate: row {number} is not a verdict", advice=ROWS_OF_A_RUN)
        for number, line in enumerate(lines, start=1)
    ]


def check_where(runs: Sequence[Run]) -> None:
    """Raises DeclarationError where rows are to be chosen of run folders, which have none to choose."""
    if runs and runs[0].where and all(run.path.is_dir() for run in runs):
        raise DeclarationError(
            f"--where: {runs[0].path} is a run folder, of which every verdict counts. Leave --where out; it is for a "
            ".jsonl file of another tool."
        )


def _check_systems(run: Run, systems: Sequence[str]) -> None:
    """Raises DeclarationError for a system that no judged pair has a text of."""
    known = run.arrays.systems
    for system in systems:
        if system not in known:
            some = ", ".join(sorted(known)[:10]) or "none is known"
            raise DeclarationError(
                f"--judge-system {system}: no judged text is of this system. The systems: {some}. Give one as it is "
                "written there."
            )


def _evaluate_list(verdicts: list[Judged], **options: Any) -> Evaluation:
    if not verdicts:
        raise RunError("evaluate: there is no verdict. Give verdicts of a run.")
    last, repeated = repeated_cases(verdicts)
    arrays = run_arrays(last_verdicts(verdicts, last), repeated=repeated)
    identity = {"judge": "verdicts", "settings": {}, "lm": "unknown", "data": "memory"}
    return evaluate_arrays(arrays, identity, **options)


def compare(
    runs: Sequence[AnyRun],
    *,
    names: Sequence[str] = (),
    seed: int = 0,
    where: Mapping[str, str] | None = None,
) -> tuple[RunComparison, ...]:
    """The first run compared with each other one, on the labelled cases of both, by paired tests.

    Args:
        runs: as of `evaluate`, without lists; one run has no comparison.
        names: what the runs are called; by default their folders' names.
        seed: of everything that is resampled.
        where: as of `evaluate`.
    """
    if isinstance(runs, Run | str | Path):
        raise DeclarationError("compare: one run was given. Give a list of runs.")
    check_seed(seed)
    opened = [open_run(run, where) for run in listed_runs("compare", runs)]
    titles = names or [run.name for run in opened]
    if len(titles) != len(opened):
        raise DeclarationError(f"compare: {len(opened)} runs have {len(titles)} names. Give one name for each run.")
    if len(opened) < 2:
        return ()
    return compare_arrays([(name, run.arrays) for name, run in zip(titles, opened, strict=True)], seed)


def check_seed(seed: int | None) -> None:
    """Raises DeclarationError for a seed that is neither None nor a whole number of at least 0."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise DeclarationError(f"seed: {seed!r} is not a whole number of at least 0. Give one.")


def _branches(run: Run, evaluation: Evaluation, seed: int) -> tuple[Branch, ...]:
    """Verdicts from fewer criteria, for pairs whose verdict is the sum over two criteria or more."""
    if evaluation.confusion is None:
        return ()
    try:
        return sweep(run.verdicts(), seed=seed, tie_threshold=float(run.identity["settings"].get("tie_threshold", 0.0)))
    except DeclarationError:  # verdicts that are not the sum over their findings: of a panel, or a fitted head
        return ()


def _text_metrics(run: Run, texts: str, cases: "CaseSource | str | Path | None", seed: int) -> tuple[Measure, ...]:
    from ..text_metrics.embedding import BartScore, BertScore
    from ..text_metrics.overlap import measures, pairs

    source = texts_of(run.path, run.source, None if cases is None else named_source(cases))
    if source is None:
        raise RunError(f"{run.path}: its manifest names no cases, so there are no written texts. Give a run folder.")
    named = [name.strip().partition("=") for name in texts.split(",")]
    readers = {"bertscore": BertScore, "bartscore": BartScore}
    models = [readers[name](model) for name, _, model in named if name in readers and model]
    overlaps = [name for name, _, model in named if not (name in readers and model)]
    text_pairs, groups = pairs(run, source.cases())
    if not text_pairs:
        raise RunError(f"{run.path}: no case has both a generated and a written text. Leave --texts out.")
    return measures(text_pairs, groups, overlaps, models=models, seed=seed)
