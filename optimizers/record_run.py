"""Evidence: a judge run over labelled cases once, kept as a run folder, so that nothing is paid twice.

The folder is like one of `dicast judge`: a kill loses nothing, `dicast evaluate` reads it, and running again goes on.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..data import Case, Judged
from ..engines.batch import RunFolder, read_verdicts, run_cases
from ..judging.judge import Judge
from ..judging.judge_record import to_record

OnVerdict = Callable[[Judged], None]


def record(
    judge: Judge,
    cases: Sequence[Case],
    folder: Path,
    *,
    workers: int = 2,
    on_verdict: OnVerdict | None = None,
    stop: threading.Event | None = None,
) -> list[Judged]:
    """The verdicts of these cases, in their order; those that the folder already holds are not judged again.

    A folder belongs to one judge: another one's verdicts are refused. Cases may be added later. When `stop` was set,
    the cases that were not judged are missing.

    Raises:
        RunError: the folder holds verdicts of another judge.
        BudgetSpent, Infrastructure: see `engines.batch.run_cases`; what is done is kept.
    """
    run = RunFolder(folder)
    with run.locked():
        run.open({"identity": identity(judge), "scale": judge.score_scale})
        run_cases(judge, cases, run, workers=workers, on_verdict=on_verdict or _silent, stop=stop)
        verdicts = {judged.case_id: judged for judged in read_verdicts(folder)} if run.verdicts.exists() else {}
    return [verdicts[case.id] for case in cases if case.id in verdicts]


def identity(judge: Judge) -> dict[str, Any]:
    """What evidence depends on: all that a judge file holds of the judge but its own head and threshold; the files that
    its settings name count by what they hold."""
    told = to_record(judge).model_dump_json(exclude={"head", "threshold"})
    return {
        "judge": judge.name,
        "settings": judge.settings(),
        "lm": " + ".join(dict.fromkeys(stage.model for stage in judge.stages())) or "none",
        "data": hashlib.sha256(told.encode()).hexdigest(),
    }


def _silent(judged: Judged) -> None:
    """Tell nobody."""
