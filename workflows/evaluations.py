"""Runs measured against human labels, and against each other."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data import Judged
from ..errors import DeclarationError, RunError
from ..evaluation import compare as compare_arrays
from ..evaluation import evaluate as evaluate_arrays
from ..evaluation.metric import THRESHOLD
from ..evaluation.results import Branch, Evaluation, Measure, RunComparison
from ..evaluation.sections import section_title
from .branch_ablation import sweep
from .runs import Run

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
    if not Path(run).exists():
        raise RunError(f"{run}: there is no such run. Give a folder of dicast.run, or a .jsonl file of verdicts.")
    return Run(Path(run), where or {})


def evaluate(
    run: AnyRun | Iterable[Judged],
    *,
    threshold: float = THRESHOLD,
    judge_systems: Sequence[str] = (),
    texts: str | None = None,
    seed: int = 0,
    where: Mapping[str, str] | None = None,
) -> Evaluation:
    """Every metric of a run that applies to it, each with its 95 % interval.

    Args:
        run: a run, its folder, a .jsonl file of verdicts of another tool, or verdicts with their human labels.
        threshold: the certainty from which a verdict counts as sure.
        judge_systems: systems that are the judge itself, for self-preference.
        texts: measures of generated against written texts, as in "bleu,rouge,bertscore=MODEL".
        seed: of everything that is resampled.
        where: of a .jsonl file, only rows whose fields have these values.

    Raises:
        RunError: there is no verdict in it.
    """
    if not isinstance(run, Run | str | Path):
        return _evaluate_list(list(run), threshold=threshold, judge_systems=judge_systems, seed=seed)
    run = open_run(run, where)
    evaluation = evaluate_arrays(run.arrays, run.identity, threshold=threshold, judge_systems=judge_systems, seed=seed)
    if not evaluation.cases:
        raise RunError(f"{run.path}: holds no verdict. Run dicast judge --out {run.path} first.")
    if texts:
        sections = evaluation.sections | {"explanations": _text_metrics(run, texts, seed)}
        titles = evaluation.titles | {"explanations": section_title("explanations")}
        evaluation = evaluation.model_copy(update={"sections": sections, "titles": titles})
    return evaluation.model_copy(update={"branches": _branches(run, evaluation, seed)})


def _evaluate_list(verdicts: list[Judged], **options: Any) -> Evaluation:
    if not verdicts:
        raise RunError("evaluate: there is no verdict. Give verdicts of a run.")
    identity = {"judge": "verdicts", "settings": {}, "lm": "unknown", "data": "memory"}
    return evaluate_arrays(verdicts, identity, **options)


def compare(
    runs: Sequence[AnyRun],
    *,
    names: Sequence[str] = (),
    seed: int = 0,
    where: Mapping[str, str] | None = None,
) -> tuple[RunComparison, ...]:
    """The first run compared with each other one, on the labelled cases of both, by paired tests.

    Args:
        names: what the runs are called; by default their folders' names.
        seed: of everything that is resampled.
        where: as of `evaluate`.
    """
    opened = [open_run(run, where) for run in runs]
    if len(opened) < 2:
        return ()
    titles = names or [run.name for run in opened]
    return compare_arrays([(name, run.arrays) for name, run in zip(titles, opened, strict=True)], seed)


def _branches(run: Run, evaluation: Evaluation, seed: int) -> tuple[Branch, ...]:
    """Verdicts from fewer criteria, for pairs whose verdict is the sum over two criteria or more."""
    if evaluation.confusion is None:
        return ()
    try:
        return sweep(run.verdicts(), seed=seed, tie_threshold=float(run.identity["settings"].get("tie_threshold", 0.0)))
    except DeclarationError:  # verdicts that are not the sum over their findings: of a panel, or a fitted head
        return ()


def _text_metrics(run: Run, texts: str, seed: int) -> tuple[Measure, ...]:
    from ..text_metrics.embedding import BartScore, BertScore
    from ..text_metrics.overlap import measures, pairs

    source = run.source
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
