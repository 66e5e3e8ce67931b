"""Agreement between judges without human labels, and the sample of cases that people should label."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..data import Case
from ..errors import DeclarationError, RunError
from ..evaluation.agreement_results import JudgeAgreement
from ..evaluation.answer_table import answer_table
from ..evaluation.judge_agreement import judge_agreement
from ..evaluation.label_sample import UNIFORM, SampledCase, read_sample_labels, sample_for_labels, weighted_judges
from ..evaluation.verdict_rules import VerdictRules
from ..paths import fresh_opener, path_of
from .case_source import CaseSource
from .run_checks import check_rows, check_seed, check_where
from .run_results import AnyRun, Run, listed_runs, open_run, run_titles
from .run_texts import named_source, texts_of


def agreement(
    runs: Sequence[AnyRun],
    *,
    names: Sequence[str] = (),
    by: Sequence[str] = (),
    sample: int | None = None,
    out: str | Path | None = None,
    uniform: float = UNIFORM,
    labels: str | Path | None = None,
    cases: "CaseSource | str | Path | None" = None,
    most: int = 20,
    seed: int = 0,
    where: Mapping[str, str] | None = None,
    merge: Literal["sum", "tie"] | None = None,
) -> JudgeAgreement:
    """How far two judges or more agree with each other on the cases that all of them scored.

    Args:
        runs: as of `dicast.compare`.
        names: what the judges are called; by default the runs' names.
        by: fields of the cases, as in ("subset",), for the agreement on each of their values.
        sample: write this many cases to `out` that people should label.
        out: a .jsonl file that does not exist.
        uniform: the proportion of the sample that is drawn uniformly, in (0, 1]; the rest follows the disagreement.
        labels: such a file with people's labels: each judge is measured against them, weighted to be of all cases.
        cases: for `sample`: where the texts are, if not where the first run read them in this project.
        most: disputed cases listed.
        seed: of everything that is drawn.
        where: of verdicts of another tool, only rows whose fields have these values.
        merge: how the two orders of a pair make a verdict, as of `dicast.evaluate`.

    Raises:
        DataError: an id is not the same case in two runs, or no case is shared; a bad row of `labels`.
        DeclarationError: under two runs, or a value out of range.
        RunError: `out` exists or cannot be written.
    """
    check_seed(seed)
    opened = [open_run(run, where) for run in listed_runs("agreement", runs)]
    check_where(opened)
    for run in opened:
        check_rows(run)
    if len(opened) < 2:
        raise DeclarationError(f"agreement: {len(opened)} run was given. Give two or more, of the same cases.")
    titles = list(names) or run_titles(opened)
    if len(names) == 0 and len(set(titles)) != len(opened):
        raise DeclarationError(f"agreement: {_repeated(titles)} was given twice. Give each run once.")
    if len(set(titles)) != len(opened):
        raise DeclarationError(f"agreement: the names {titles} are not one for each run. Give {len(opened)} names.")
    if (sample is None) != (out is None):
        raise DeclarationError("agreement: a sample needs both a number of cases and a file. Give --sample and --out.")
    if merge not in (None, "sum", "tie"):
        raise DeclarationError(f"merge: {merge!r} does not make one verdict of both orders. Give sum or tie.")
    rules = VerdictRules(merge)
    table = answer_table([(title, run.arrays_by(rules)) for title, run in zip(titles, opened, strict=True)])
    result = judge_agreement(table, by=(by,) if isinstance(by, str) else by, most=most, seed=seed)
    if sample is not None and out is not None:
        chosen = sample_for_labels(table, sample, uniform=uniform, seed=seed)
        _write(path_of(out), chosen, _texts(opened, chosen, cases))
        result = result.model_copy(update={"sample": str(out)})
    if labels is not None:
        read = read_sample_labels(path_of(labels, "labels"), table)
        missing = [f"{labels}: {read.missing:,} rows have no label yet"] if read.missing else []
        update = {"labelled": weighted_judges(table, read), "warnings": (*result.warnings, *missing)}
        result = result.model_copy(update=update)
    return result


def _repeated(titles: Sequence[str]) -> str:
    return next(title for title in titles if titles.count(title) > 1)


def _texts(
    runs: Sequence[Run], chosen: Sequence[SampledCase], cases: "CaseSource | str | Path | None"
) -> dict[str, Case]:
    """The sampled cases with their texts; none for files of other tools without `cases`."""
    ids = {case.id for case in chosen}
    run = next((run for run in runs if run.source), runs[0])
    source = texts_of(run.path, run.source, None if cases is None else named_source(cases))
    return {case.id: case for case in source.cases() if case.id in ids} if source else {}


def _write(out: Path, chosen: Sequence[SampledCase], texts: Mapping[str, Case]) -> None:
    """Write the rows for people: texts, an empty label, and how likely the case was sampled; no judge's verdict, which
    would bias them."""
    if out.exists():
        raise RunError(f"--out {out}: exists already, perhaps with people's labels. Give another file.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with open(out, "x", encoding="utf-8", opener=fresh_opener) as file:
            for case in chosen:
                file.write(json.dumps(_row(case, texts.get(case.id)), ensure_ascii=False) + "\n")
    except OSError as error:
        raise RunError(f"--out {out}: cannot be written ({error.strerror}). Give another file.") from None


def _row(sampled: SampledCase, case: Case | None) -> dict[str, Any]:
    row: dict[str, Any] = {"id": sampled.id}
    if case is not None:
        texts = [candidate.text for candidate in case.candidates]
        if case.history:
            row["history"] = [turn.model_dump(mode="json") for turn in case.history]
        row["query"] = case.query
        if len(texts) == 2:
            row |= {"response_a": texts[0], "response_b": texts[1]}
        else:
            row |= {"response": texts[0]} if len(texts) == 1 else {"options": texts}
    aspect = sampled.aspect or (case.aspect if case else None)
    row |= {name: value for name, value in (("aspect", aspect), ("group", sampled.group)) if value is not None}
    return row | {
        "label": None,
        "inclusion_probability": sampled.probability,
        "weight": sampled.weight,
    }
