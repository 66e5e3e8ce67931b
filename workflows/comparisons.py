"""Runs compared with each other on the cases of both."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import DeclarationError
from ..evaluation import compare as compare_arrays
from ..evaluation.results import RunComparison
from ..evaluation.verdict_rules import Merge, Unreadable, VerdictRules
from .run_attributes import arrays_with_fields
from .run_checks import check_rows, check_seed
from .run_results import AnyRun, Run, listed_runs, open_run, run_titles


def compare(
    runs: Sequence[AnyRun],
    *,
    names: Sequence[str] = (),
    seed: int = 0,
    where: Mapping[str, str] | None = None,
    merge: Merge | None = None,
    unreadable: Unreadable = "out",
    by: Sequence[str] = (),
) -> tuple[RunComparison, ...]:
    """The first run compared with each other one, on the labelled cases of both, by paired tests.

    Args:
        runs: as of `evaluate`, without lists; one run has no comparison.
        names: what the runs are called; by default their folders' names.
        seed: of everything that is resampled.
        where: as of `evaluate`.
        merge: as of `evaluate`, of all runs.
        unreadable: as of `evaluate`, of all runs.
        by: fields of the first run's cases, for whose values the main figures are compared too.
    """
    rules = VerdictRules(merge, unreadable)
    if isinstance(runs, Run | str | Path):
        raise DeclarationError("compare: one run was given. Give a list of runs.")
    check_seed(seed)
    opened = [open_run(run, where) for run in listed_runs("compare", runs)]
    titles = names or run_titles(opened)
    if len(titles) != len(opened):
        raise DeclarationError(f"compare: {len(opened)} runs have {len(titles)} names. Give one name for each run.")
    if len(opened) < 2:
        return ()
    for run in opened:
        check_rows(run)
    by = (by,) if isinstance(by, str) else tuple(by)
    arrays = [run.arrays_by(rules) for run in opened]
    arrays[0] = arrays_with_fields(opened[0], arrays[0], by)
    return compare_arrays(list(zip(titles, arrays, strict=True)), seed, by=by)
