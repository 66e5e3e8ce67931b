"""A run measured against human labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data import Judged
from ..errors import DeclarationError, RunError
from ..evaluation import evaluate as evaluate_arrays
from ..evaluation import run_arrays
from ..evaluation.external_verdicts import ExternalVerdicts
from ..evaluation.metric import THRESHOLD
from ..evaluation.repeated_verdicts import RepeatedRows
from ..evaluation.results import Branch, Evaluation, Measure
from ..evaluation.sections import section_title
from ..evaluation.verdict_rules import Merge, Unreadable, VerdictRules
from ..parsing import parse_record_json
from .branch_ablation import sweep
from .case_source import CaseSource
from .memory_rows import json_row, rows_of
from .recorded_run import RecordedRun, identity_of_rules
from .run_attributes import arrays_with_fields
from .run_checks import check_rows, check_seed, check_where
from .run_texts import named_source, texts_of

ROWS_OF_A_RUN = "Give the rows of Run.to_dicts()."


def evaluate(
    run: RecordedRun | str | Path | Iterable[Judged | Mapping[str, Any]],
    *,
    threshold: float = THRESHOLD,
    judge_systems: Sequence[str] = (),
    texts: str | None = None,
    cases: "CaseSource | str | Path | None" = None,
    seed: int = 0,
    where: Mapping[str, str] | None = None,
    by: Sequence[str] = (),
    merge: Merge | None = None,
    unreadable: Unreadable = "out",
) -> Evaluation:
    """Every metric of a run that applies to it, each with its 95 % interval.

    Args:
        run: a run, its folder, or a .jsonl file of verdicts of another tool; or verdicts of `Run.verdicts()` or
            `Run.to_dicts()`; or the rows of such a file as a list of dicts or a pandas or polars DataFrame.
        threshold: the certainty from which a verdict counts as sure.
        judge_systems: systems that are the judge itself, for self-preference.
        texts: measures of generated against written texts, as in "bleu,rouge,bertscore=MODEL".
        cases: for `texts` and `by`: where the cases are, if not where the run read them in this project.
        seed: of everything that is resampled.
        where: of verdicts of another tool, only rows whose fields have these values.
        by: fields of the cases, as in ("subset", "language"): the main figure of each value, and where it is lowest.
        merge: how the two orders of a pair make a verdict: "sum" of the letters, "tie" where they differ, or "half",
            each order counts by one half; None: the run's own verdict, of another tool the sum.
        unreadable: whether a verdict without an answer is left "out" of every measure but coverage, or is "wrong".

    Raises:
        RunError: there is no verdict in it.
        DataError: a row that is not a verdict.
        DeclarationError: a threshold outside of 0..1, a seed below 0, a system that no text is of, `where` for a run
            folder, or a field of `by` that no case has.
    """
    if not 0 <= threshold <= 1:
        raise DeclarationError(f"threshold: {threshold!r} is not a certainty. Give a number from 0 to 1.")
    check_seed(seed)
    judge_systems = (judge_systems,) if isinstance(judge_systems, str) else tuple(judge_systems)
    by = (by,) if isinstance(by, str) else tuple(by)
    options: dict[str, Any] = {"threshold": threshold, "judge_systems": judge_systems, "seed": seed, "by": by}
    rules = VerdictRules(merge, unreadable)
    if not isinstance(run, RecordedRun | str | Path):
        return _evaluate_list(_verdicts(run, where), rules, **options)
    run = run if isinstance(run, RecordedRun) else RecordedRun.named(run, where)
    if where:
        check_where([run])
    check_rows(run)
    _check_systems(run, judge_systems)
    named = None if cases is None else named_source(cases)
    arrays = arrays_with_fields(run, run.arrays_by(rules), by, named)
    evaluation = evaluate_arrays(arrays, run.identity_by(rules), **options)
    if not evaluation.cases:
        advice = f"Run dicast judge --out {run.path} first." if run.path.is_dir() else "Give one verdict a line."
        raise RunError(f"{run.path}: holds no verdict. {advice}")
    if texts:
        sections = evaluation.sections | {"explanations": _text_metrics(run, texts, cases, seed)}
        titles = evaluation.titles | {"explanations": section_title("explanations")}
        evaluation = evaluation.model_copy(update={"sections": sections, "titles": titles})
    branches = () if rules.named else _branches(run, evaluation, seed)  # which are of the run's own verdicts
    return evaluation.model_copy(update={"branches": branches, "notices": (*run.notices, *evaluation.notices)})


@dataclass(frozen=True)
class _Listed:
    """The verdicts of a list or data frame, how many rows repeat another, and the rows of another tool."""

    verdicts: list[Judged]
    repeated: int
    external: ExternalVerdicts | None = None


def _verdicts(rows: Any, where: Mapping[str, str] | None) -> _Listed:
    """The verdicts of verdicts, dicts of verdicts, or rows of another tool's verdicts."""
    listed = list(rows_of(rows, "evaluate", "a run, its folder, a file, or a list of verdicts or dicts"))
    is_external = any(isinstance(row, Mapping) and "case_id" not in row for row in listed)
    nulls = ("prediction",) if is_external else ()
    lines = [
        row if isinstance(row, Judged) else json_row("evaluate", n, row, nulls=nulls)
        for n, row in enumerate(listed, start=1)
    ]
    if is_external:
        external = ExternalVerdicts("evaluate", list(map(str, lines)), where or {})
        return _Listed(list(external), external.repeated, external)
    verdicts = [
        line
        if isinstance(line, Judged)
        else parse_record_json(Judged, line, f"evaluate: row {number} is not a verdict", advice=ROWS_OF_A_RUN)
        for number, line in enumerate(lines, start=1)
    ]
    repeated = RepeatedRows("evaluate")
    distinct = [judged for number, judged in enumerate(verdicts, start=1) if repeated.is_new(number, judged)]
    return _Listed(distinct, repeated.count)


def _check_systems(run: RecordedRun, systems: Sequence[str]) -> None:
    """Raises DeclarationError for a system that no judged pair has a text of."""
    known = run.arrays.systems
    for system in systems:
        if system not in known:
            some = ", ".join(sorted(known)[:10]) or "none is known"
            raise DeclarationError(
                f"--judge-system {system}: no judged text is of this system. The systems: {some}. Give one as it is "
                "written there."
            )


def _evaluate_list(listed: _Listed, rules: VerdictRules, **options: Any) -> Evaluation:
    if not listed.verdicts:
        if listed.external is not None and listed.external.where:
            raise RunError(listed.external.no_row)
        raise RunError("evaluate: there is no verdict. Give verdicts of a run.")
    facts = listed.external.facts if listed.external else None
    scale = facts.scale if facts else None
    arrays = run_arrays(listed.verdicts, scale, repeated=listed.repeated, rules=rules)
    identity = {"judge": "verdicts", "settings": {}, "lm": "unknown", "data": "memory"}
    identity |= identity_of_rules(rules, facts if arrays.labels else None)
    evaluation = evaluate_arrays(arrays, identity, **options)
    return evaluation.model_copy(update={"notices": (*(facts.notices if facts else ()), *evaluation.notices)})


def _branches(run: RecordedRun, evaluation: Evaluation, seed: int) -> tuple[Branch, ...]:
    """Verdicts from fewer criteria, for pairs whose verdict is the sum over two criteria or more."""
    if evaluation.confusion is None or not run.path.is_dir():  # rows of other tools have no criteria
        return ()
    try:
        return sweep(run.verdicts(), seed=seed, tie_threshold=float(run.identity["settings"].get("tie_threshold", 0.0)))
    except DeclarationError:  # verdicts that are not the sum over their findings: of a panel, or a fitted head
        return ()


def _text_metrics(
    run: RecordedRun, texts: str, cases: "CaseSource | str | Path | None", seed: int
) -> tuple[Measure, ...]:
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
