"""A published set of judgments, bridged into a folder that can be continued, with its statistics."""

import random
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from ..data import Usage
from ..data.readers import file_digest
from ..distillation.bridging.bridge import Bridging
from ..distillation.bridging.bridge_folder import LINES, BridgeFolder, collect
from ..distillation.bridging.bridged import Bridged
from ..distillation.bridging.judgment import SETS, ReadCounts, SetJudgment, read_judgments
from ..distillation.bridging.set_file import read_set_file
from ..distillation.bridging.statistics import SetStatistics, markdown
from ..distillation.estimate import COUNTED, JudgingEstimate, asking_estimate
from ..engines.jsonl import write_whole
from ..engines.ledger import Budget
from ..engines.models import Roles
from ..engines.pace import paced
from ..errors import DataError, RunError
from ..paths import path_of
from .interrupts import delayed_interrupt
from .preflight import admit_models, as_budget, check_count, pace_of, prepare_models, workers_of
from .progress import SILENT, Progress

STATISTICS, PAGE = "statistics.json", "statistics.md"


@dataclass(frozen=True)
class BridgeRun:
    """How a bridging ended.

    Attributes:
        folder: holds a line for each judgment, and the statistics.
        status: "complete", "stopped", "budget" or "dry run".
        message: why it ended, if by the budget.
        statistics: of all judgments in the folder; None before the first one.
        usage: what this call spent, by stage.
        estimate: of a dry run.
    """

    folder: Path
    status: Literal["complete", "stopped", "budget", "dry run"]
    message: str = ""
    statistics: SetStatistics | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)
    estimate: JudgingEstimate | None = None


def bridge_set(
    file: str | Path,
    name: str,
    *,
    out: str | Path | None = None,
    lm: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    dry_run: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> BridgeRun:
    """Find criterion and guideline of published judgments and check them by judging forward, or continue.

    Args:
        file: the set's file, as it is published.
        name: of the set, which says how its rows are read.
        out: the folder; by default bridged/NAME.
        lm: `provider/model`, or one for each role: criteria and guideline are asked backwards, judgment forward.
        limit: this many judgments: the first, or with `seed` a random sample.
        seed: of the sample.
        workers: judgments at once.
        timeout: as of `dicast.run`.
        in_flight: as of `dicast.run`.
        budget: limits, as in "calls=1000,minutes=30".
        dry_run: only estimate; no model is called and nothing is written.
        progress: callbacks; `prepared` is called for each judgment, with the number of those that failed.
        stop: once set, no new judgment starts.

    Raises:
        DeclarationError: an unknown set or model.
        DataError: a file that cannot be read, or rows of another shape.
        RunError: the folder holds something else, or is in use.
        Infrastructure: judgment after judgment failed at the server; what is done is stored.
    """
    check_count("limit", limit)
    path, title = path_of(file), SETS.find(name).name
    program = Bridging().bind(Roles.parse(lm) if lm else Roles({}))
    admit_models(program, trust=False, progress=progress)
    folder = path_of(out) if out is not None else Path("bridged") / title
    if any((folder / other).exists() for other in ("verdicts.jsonl", "card.json")):
        raise RunError(f"{folder}: holds something else than bridged judgments. Give another --out.")
    counts = ReadCounts()
    chosen = _sampled(read_judgments(title, read_set_file(path), counts), limit, seed)
    if dry_run:
        listed = list(chosen)
        return BridgeRun(folder, "dry run", estimate=asking_estimate(title, program, listed[:COUNTED], len(listed)))
    first = next(chosen, None)
    if first is None:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in counts.left_out.items())
        raise DataError(f"{path}: holds no judgment{f' ({reasons})' if reasons else ''}. Give the set's file.")
    workers, stop = workers_of(program, workers), stop or threading.Event()
    pace = pace_of(workers, timeout, in_flight, stop, progress, program)
    prepare_models(program, progress=progress)
    failures = 0

    def count(bridged: Bridged) -> None:
        nonlocal failures
        failures += bool(bridged.failure)
        progress.prepared(failures)

    with paced(pace), delayed_interrupt(stop):
        collected = collect(
            _after(first, chosen),
            program,
            folder,
            name=title,
            counts=counts,
            data=file_digest(path),
            workers=workers,
            budget=as_budget(budget),
            on_start=lambda done: progress.start(limit, done),
            on_bridged=count,
            stop=stop,
        )
    return BridgeRun(folder, collected.status, collected.message, _statistics(folder), collected.usage)


def _statistics(folder: Path) -> SetStatistics | None:
    """The statistics of the folder, which are written into it too; None before the first judgment."""
    if not (folder / LINES).stat().st_size:
        return None
    (statistics,) = BridgeFolder(folder).rows().statistics
    write_whole(folder / PAGE, f"# Bridged judgments\n\n{markdown([statistics])}")
    write_whole(folder / STATISTICS, statistics.model_dump_json(indent=1) + "\n")
    return statistics


def _sampled(judgments: Iterator[SetJudgment], limit: int | None, seed: int | None) -> Iterator[SetJudgment]:
    """The first ones, or with a seed a random sample, in the order of the file."""
    if limit is None or seed is None:
        yield from islice(judgments, limit)
        return
    listed = list(judgments)
    places = random.Random(seed).sample(range(len(listed)), min(limit, len(listed)))
    yield from (listed[place] for place in sorted(places))


def _after(first: SetJudgment, others: Iterable[SetJudgment]) -> Iterator[SetJudgment]:
    yield first
    yield from others
