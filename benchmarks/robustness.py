"""Whether every judgment ends: cases through several judges on a weak model, with and without an enforced JSON schema.

    python benchmarks/robustness.py --out robustness.jsonl [--count 200] [--cases authored pandalm] [--lm MODEL]

A case must end as scored, or as unscored with a reason; anything else is an exception that escaped the judge, counted
as raised, shown, and the exit status is then 1. Each case is judged twice: the server enforces the form of the answer,
and it does not (the same server behind an LM that says it cannot, so that the form is asked for in words alone). Sets
that are not on this machine are left out; `authored` is always there. The answer cache is off: every call is generated.
Running again goes on where it stopped; what raised stays so, and a fixed judge needs a new file. Seconds are the
model's, summed over calls. Where other programs want the cores too, DICAST_LOCAL_THREADS=1 is much the fastest.
"""

import argparse
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import dspy

from dicast import catalog
from dicast.data import Case
from dicast.data.split import sample
from dicast.engines.ledger import Ledger, charge_to
from dicast.engines.lm import MeteredLM, Transport
from dicast.engines.models import get_lm
from dicast.errors import DataError, DicastError
from dicast.judging import build
from dicast.stats.proportions import Proportion

TELL_EVERY = 10.0  # seconds between progress lines


@dataclass(frozen=True)
class Setup:
    """A judge, and the sets whose cases suit it, the most suitable first."""

    judge: str
    settings: Mapping[str, Any]
    sets: tuple[str, ...]


SETUPS = (
    Setup("direct", {"readout": "generate"}, ("pandalm", "authored")),
    Setup("fennec-single", {"branches": 1}, ("pandalm", "authored")),
    Setup("pref", {"factors": 3}, ("prefeval-mcq", "authored")),
    Setup("persona", {}, ("prism", "authored")),
    Setup("explicit", {}, ("summeval", "authored")),
    Setup("pairwise", {}, ("pandalm", "authored")),
    Setup("perse", {"k": 1}, ("perse-mpst",)),
    Setup("perse-pairwise", {"k": 1}, ("perse-doc",)),
)


@dataclass(frozen=True)
class Task:
    """A case for one judge; `source` is the set it comes from."""

    setup: Setup
    source: str
    case: Case
    enforced: bool

    @property
    def key(self) -> tuple[str, str, bool]:
        return self.setup.judge, self.case.id, self.enforced


@dataclass(frozen=True)
class Outcome:
    """How one judgment ended: scored, unscored (`reason`) or raised (`reason` is the exception's name)."""

    judge: str
    source: str
    case: str
    enforced: bool
    status: str
    reason: str = ""
    detail: str = ""
    calls: int = 0
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, bool]:
        return self.judge, self.case, self.enforced


@dataclass
class Journal:
    """A JSONL file: what is run, then one outcome a line, written as it comes. A line that a kill cut off is dropped.

    Raises:
        DataError: the file holds a run of something else.
    """

    path: Path
    run: dict[str, Any]
    outcomes: list[Outcome] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Journal":
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        first, *rest = map(json.loads, whole.splitlines() or ["{}"])
        return cls(path, first, [Outcome(**row) for row in rest])

    @classmethod
    def open(cls, path: Path, run: dict[str, Any]) -> "Journal":
        journal = cls.read(path)
        if journal.run and journal.run != run:
            raise DataError(f"{path}: holds the run {journal.run}, now it is {run}. Give another --out, or delete it.")
        journal.run = run
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in (run, *map(asdict, journal.outcomes)))
        return journal

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")


def unenforced(lm: MeteredLM) -> MeteredLM:
    """An LM on the same server that says the server enforces no JSON schema."""
    transport = lm.transport
    transport = Transport(
        transport.inner,
        wire_model=transport.wire_model,
        pricing=None,
        schema=False,
        max_in_flight=transport.limiter.max_in_flight,
    )
    return MeteredLM(f"{lm.model}-free", transport, cache=lm.cache)


def deal(sets: Mapping[str, Sequence[Case]], count: int, seed: int, setups: Sequence[Setup] = SETUPS) -> list[Task]:
    """`count` cases, dealt evenly to the setups and each asked both ways; what a small set lacks goes to the others."""
    suited = [(setup, next((name for name in setup.sets if name in sets), None)) for setup in setups]
    sizes = {setup.judge: len(sets[name]) for setup, name in suited if name}
    shares: dict[str, int] = {}
    for left, judge in zip(range(len(sizes), 0, -1), sorted(sizes, key=lambda judge: sizes[judge]), strict=True):
        shares[judge] = min(sizes[judge], -(-(count - sum(shares.values())) // left))
    return [
        Task(setup, name, case, enforced)
        for setup, name in suited
        if name
        for case in sample(sets[name], shares[setup.judge], seed)
        for enforced in (True, False)
    ]


def judge_one(task: Task, judge: Any, lm: MeteredLM) -> Outcome:
    """How the judgment of a task ended, whatever happened."""
    ledger = Ledger()
    with charge_to(ledger), dspy.context(lm=lm):
        try:
            verdict = judge(task.case)
            status, reason, detail = verdict.status, verdict.reason or "", verdict.detail
        except Exception as error:  # any at all: that none escapes is what is measured
            status, reason, detail = "raised", type(error).__name__, "".join(traceback.format_exception(error)[-3:])
    used = ledger.total
    return Outcome(
        task.setup.judge, task.source, task.case.id, task.enforced, status, reason, detail,
        calls=used.calls, seconds=round(used.seconds, 3),
    )  # fmt: skip


def judge_all(tasks: Sequence[Task], lm: MeteredLM, *, workers: int = 1) -> Iterator[Outcome]:
    """The outcomes, in order of completion."""
    judges = {task.setup.judge: build(task.setup.judge, **task.setup.settings) for task in tasks}
    lms = {True: lm, False: unenforced(lm)}
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(judge_one, task, judges[task.setup.judge], lms[task.enforced]) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def counted(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The counts of some outcomes, for JSON."""
    ends = Counter(outcome.status for outcome in outcomes)
    return {
        "cases": len(outcomes),
        "scored": ends["scored"],
        "unscored": dict(Counter(o.reason for o in outcomes if o.status == "unscored")),
        "raised": ends["raised"],
        "generations": sum(outcome.calls for outcome in outcomes),
        "share scored": Proportion(ends["scored"], len(outcomes)).as_dict(),
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 1),
    }


def rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One row a judge and enforcement, then one for each enforcement and one for all."""

    def row(judge: str, source: str, schema: str, some: Iterable[Outcome]) -> dict[str, Any]:
        return {"judge": judge, "set": source, "schema": schema, **counted(list(some))}

    modes = {True: "enforced", False: "not enforced"}
    groups = dict.fromkeys((outcome.judge, outcome.source, outcome.enforced) for outcome in outcomes)
    rows = [
        row(
            judge,
            source,
            modes[way],
            (o for o in outcomes if (o.judge, o.source, o.enforced) == (judge, source, way)),
        )
        for judge, source, way in sorted(groups, key=lambda group: (group[0], group[1], not group[2]))
    ]
    ways = [row("all", "", modes[way], (o for o in outcomes if o.enforced == way)) for way in (True, False)]
    return [*rows, *ways, row("all", "", "", outcomes)]


def table(counts: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| judge | set | schema | cases | scored | unscored | raised | generations | share scored | seconds |",
        "| --- | --- | --- | --: | --: | --- | --: | --: | --- | --: |",
    ]
    for row in counts:
        share, unscored = row["share scored"], ", ".join(f"{n} {why}" for why, n in row["unscored"].items())
        interval = f"{share['value']:.3f} [{share['low']:.3f}, {share['high']:.3f}]" if share["n"] else "-"
        cells = [row["judge"], row["set"], row["schema"], row["cases"], row["scored"], unscored or "0", row["raised"]]
        lines.append("| " + " | ".join(map(str, [*cells, row["generations"], interval, row["seconds"]])) + " |")
    return "\n".join(lines)


def present(names: Sequence[str] | None) -> dict[str, list[Case]]:
    """The cases of the wanted sets, or of all sets of the setups that are on this machine.

    Raises:
        DataError: a wanted set is not there.
    """
    sets: dict[str, list[Case]] = {}
    for name in names or dict.fromkeys(name for setup in SETUPS for name in setup.sets):
        try:
            sets[name] = list(catalog.read(name))
        except DataError:
            if names:
                raise
            print(f"robustness: the set {name} is not on this machine and is left out", file=sys.stderr)
    return sets


def run(arguments: argparse.Namespace) -> Journal:
    sets = present(arguments.cases)
    tasks = deal(sets, arguments.count, arguments.seed)
    for setup in SETUPS:
        if setup not in [task.setup for task in tasks]:
            needed = f"a case of {' or '.join(setup.sets)}, and a --count that reaches it"
            print(f"robustness: {setup.judge} is left out; it needs {needed}", file=sys.stderr)
    identity = {"lm": arguments.lm, "count": arguments.count, "seed": arguments.seed, "sets": sorted(sets)}
    journal = Journal.open(arguments.out, identity)
    done = {outcome.key for outcome in journal.outcomes}
    waiting = [task for task in tasks if task.key not in done]
    started = reported = time.monotonic()
    for number, outcome in enumerate(
        judge_all(waiting, get_lm(arguments.lm, cache=False), workers=arguments.workers), start=1
    ):
        journal.add(outcome)
        if (now := time.monotonic()) - reported > TELL_EVERY or number == len(waiting):
            reported, mean_seconds = now, (now - started) / number
            left = (len(waiting) - number) * mean_seconds
            spot = f"{len(done) + number} of {len(tasks)}"
            print(f"{spot} judged, {mean_seconds:.1f} s each, {left / 60:.0f} min left", file=sys.stderr)
    return journal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("robustness.jsonl"))
    parser.add_argument("--count", type=int, default=200, help="cases in all, each judged both ways")
    parser.add_argument("--cases", nargs="+", metavar="SET", help="only these sets [default: all available]")
    parser.add_argument("--lm", default="local/smollm2-135m")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="judge nothing, report what is written")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    try:
        journal = Journal.read(arguments.out) if arguments.report else run(arguments)
    except DicastError as error:
        sys.exit(f"robustness: {error}")
    counts = rows(journal.outcomes)
    if arguments.json:
        print(json.dumps({"run": journal.run, "rows": counts}, indent=1))
    else:
        print(json.dumps(journal.run), table(counts), sep="\n\n")
    raised = [outcome for outcome in journal.outcomes if outcome.status == "raised"]
    for outcome in raised:
        print(f"\nraised: {outcome.judge}, case {outcome.case}\n{outcome.detail}", file=sys.stderr)
    sys.exit(1 if raised else 0)


if __name__ == "__main__":
    main()
