"""What is refused before runs are measured: rows that nobody chose or that do not exist, and seeds below 0."""

from collections.abc import Sequence

from ..errors import DeclarationError, RunError
from .recorded_run import RecordedRun


def check_where(runs: Sequence[RecordedRun]) -> None:
    """Raises DeclarationError where rows are to be chosen of run folders, which have none to choose."""
    if runs and runs[0].where and all(run.path.is_dir() for run in runs):
        raise DeclarationError(
            f"--where: {runs[0].path} is a run folder, of which every verdict counts. Leave --where out; it is for a "
            ".jsonl file of another tool."
        )


def check_rows(run: RecordedRun) -> None:
    """Raises RunError where no row of a file has the chosen values."""
    if run.where and not run.arrays.cases:
        raise RunError(run.external.no_row)


def check_seed(seed: int | None) -> None:
    """Raises DeclarationError for a seed that is neither None nor a whole number of at least 0."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise DeclarationError(f"seed: {seed!r} is not a whole number of at least 0. Give one.")
