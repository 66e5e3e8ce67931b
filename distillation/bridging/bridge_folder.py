"""A folder of bridged judgments: a line each, written as it comes, so that a kill or a stop loses nothing.

bridged.jsonl    one `Bridged` a line; judgments that failed at the server are bridged again
manifest.json    the set, the digest of its file, the models and the prompts: what must stay the same to continue
read.json        what was read of the set's file: rows, judgments, and rows that cannot be used
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ...data import Usage
from ...data.case import Record
from ...engines.batch import RETRIED
from ...engines.jsonl import ResumableJsonl, key, write_whole
from ...engines.last_lines import LastLines
from ...engines.ledger import Budget, Ledger, charge_to, current_ledger
from ...errors import BudgetSpent, DataError, RunError
from ...parsing import parse_record_json, read_bytes
from ...paths import private_folder
from .bridge import Bridging, bridged_judgments
from .bridged import Bridged
from .bridged_rows import BridgedRows, rows_of_bridged
from .judgment import ReadCounts, SetJudgment

LINES, READ = "bridged.jsonl", "read.json"
DELETE = "Delete the line; the judgment is bridged again."


class SetRead(Record):
    """What was read of a set's file."""

    source: str = Field(description="the set")
    rows: int = Field(description="rows that were read")
    judgments: int = Field(description="judgments in them")
    left_out: dict[str, int] = Field(default_factory=dict, description="rows that cannot be used, by the reason")


@dataclass(frozen=True)
class BridgeCollected:
    """What a call of `collect` has done.

    Attributes:
        folder: holds the judgments.
        status: "complete", "stopped", or "budget".
        message: why it ended, if by the budget.
        usage: what it spent, by stage; answers from the store cost nothing.
    """

    folder: Path
    status: Literal["complete", "stopped", "budget"]
    message: str
    usage: Mapping[str, Usage]


class BridgeFolder(ResumableJsonl):
    """The files of a folder of bridged judgments."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path / LINES, path / "manifest.json", path / ".lock", location=path, content="bridged judgments"
        )
        self.path = path

    def bridged(self) -> Iterator[Bridged]:
        """The judgments in order of completion; of several lines of one judgment the last counts.

        Raises:
            RunError: there are none, or a damaged line.
        """
        if not self.lines.is_file():
            raise RunError(
                f"{self.path}: has no {LINES}, so no judgments were bridged here. Bridge them with this --out."
            )
        for number, line in LastLines(self.lines, "id"):
            where = f"{self.lines} line {number}: not a bridged judgment"
            yield parse_record_json(Bridged, line, where, error=RunError, advice=DELETE)

    def finished(self) -> Iterator[tuple[str, str]]:
        return ((done.id, done.digest) for done in self.bridged() if done.failure not in RETRIED)

    def read_counts(self) -> dict[str, ReadCounts]:
        """What was read of the set, by its name; empty where a collection was killed."""
        path = self.path / READ
        if not path.is_file():
            return {}
        read = parse_record_json(SetRead, read_bytes(path), str(path), error=RunError, advice="Bridge again.")
        return {read.source: ReadCounts(read.rows, read.judgments, Counter(read.left_out))}

    def rows(self) -> BridgedRows:
        """The rows of the judgments that are confirmed, and the statistics."""
        return rows_of_bridged(self.bridged(), self.read_counts())


def collect(
    judgments: Iterable[SetJudgment],
    program: Bridging,
    folder: Path,
    *,
    name: str,
    counts: ReadCounts,
    data: str = "",
    workers: int = 1,
    budget: Budget | None = None,
    on_start: Callable[[int], None] | None = None,
    on_bridged: Callable[[Bridged], None] | None = None,
    stop: threading.Event | None = None,
) -> BridgeCollected:
    """Bridge the judgments of a set that the folder does not hold yet; more may be given later.

    Args:
        program: bound to its models.
        folder: a folder of this set and program, or a new one.
        name: of the set.
        counts: what was read of the set, filled in as the judgments are read.
        data: the digest of what they are read from; the folder is continued with the same alone.
        workers: judgments bridged at once.
        on_start: called with the number of judgments that are done.
        on_bridged: called with each new judgment.
        stop: once set, no further judgment is bridged.

    Raises:
        DataError: a row of another shape, or two judgments of one id.
        DeclarationError: a model cannot be used.
        RunError: the folder holds something else, or is in use.
        Infrastructure: judgment after judgment failed at the server; what is done is stored.
    """
    stop, message = stop or threading.Event(), ""
    private_folder(folder)
    file, ledger = BridgeFolder(folder), Ledger(budget=budget or Budget(), parent=current_ledger())
    with file.locked():
        before = file.open({"identity": _identity(name, program, data)})
        if on_start:
            on_start(before)
        with file.append() as lines, charge_to(ledger):
            try:
                for bridged in bridged_judgments(_missing(judgments, file), program, workers=workers, stop=stop):
                    file.add(lines, bridged.id, bridged.model_dump_json())
                    if on_bridged:
                        on_bridged(bridged)
            except BudgetSpent as error:
                message = str(error)
        read = SetRead(source=name, rows=counts.rows, judgments=counts.judgments, left_out=dict(counts.left_out))
        write_whole(folder / READ, read.model_dump_json(indent=1) + "\n")
    status: Literal["complete", "stopped", "budget"]
    status = "budget" if message else "stopped" if stop.is_set() else "complete"
    return BridgeCollected(folder, status, message, ledger.stages)


def _missing(judgments: Iterable[SetJudgment], file: BridgeFolder) -> Iterator[SetJudgment]:
    """The judgments that the folder does not hold.

    Raises:
        RunError: it holds another one of this id.
        DataError: two judgments have one id.
    """
    seen: set[int] = set()
    for judgment in judgments:
        if (number := key(judgment.id)) in seen:
            raise DataError(f"{judgment.source}: two judgments have the id {judgment.id!r}. Give each row once.")
        seen.add(number)
        if any(True for _ in file.missing([judgment.case])):
            yield judgment


def _identity(name: str, program: Bridging, data: str) -> dict[str, Any]:
    prompts = "\0".join(stage.ask.signature.instructions for stage in program.stages())
    return {
        "set": name,
        "data": data,
        "models": program.resolved_models(),
        "tolerance": program.tolerance,
        "prompts": hashlib.sha256(prompts.encode()).hexdigest()[:16],
    }
