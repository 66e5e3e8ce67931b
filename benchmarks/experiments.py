"""One experiment of each paper on a few cases, stopped once in the middle: the tables of docs/results/experiments.md.

    python benchmarks/experiments.py --out runs/experiments            # all; about an hour on two cores
    python benchmarks/experiments.py --only fennec
    python benchmarks/experiments.py --report                          # the Markdown of what is there; nothing is run

Each experiment is started, gets a Ctrl-C (SIGINT) after some verdicts, is continued by the same command, and is
called a third time when it is complete. Beside its experiment.json, stop.json says what the stop changed. The sets
come from `dicast data get NAME` or $DICAST_DATA.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from dicast.data import Usage
from dicast.data.case import Record
from dicast.engines.batch import read_verdicts
from dicast.experiments.results import ExperimentResult
from dicast.pages import markdown
from dicast.pages.experiment_page import command_of
from dicast.pages.experiment_table import HEADS, rows_of

STOPS: dict[str, tuple[str, int]] = {  # arguments, and verdicts before the Ctrl-C
    "benchmarks/fennec-two-branches.yaml": ("--limit 2 --seed 1", 1),  # Table 2 with fewer branches
    "pref-table-1": ("--limit 2 --seed 1", 1),
    "perse-table-2": ("--limit 3 --seed 1 --cases perse-mpst-full=perse-mpst", 4),
    "persona-table-2": ("--only prism --limit 20 --seed 1", 10),
    "reference-free-openmeva": ("--limit-groups 3 --seed 1", 20),
}
AT_WORK = 5.0  # seconds after the last of these verdicts, so that the stop meets a case that is under way


class Call(Record):
    """One call of the command."""

    exit: int = Field(description="exit status")
    seconds: int = Field(ge=0, description="wall-clock time")
    verdicts: int = Field(ge=0, description="lines in all verdict files after it")


class Stop(Record):
    """What a stop in the middle changed."""

    began: str = Field(description="day")
    commit: str = Field(description="of the code, short; empty: not from a repository")
    calls: tuple[Call, ...] = Field(description="the stopped one, the continued one, and one when all was complete")
    unchanged: bool = Field(description="whether every verdict file begins with the bytes that it had at the stop")
    twice: int = Field(ge=0, description="cases that a run has more than one verdict of")
    same: bool = Field(description="whether the third call left the verdict files as they were")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/experiments"))
    parser.add_argument("--lm", default="local/qwen2.5-coder-1.5b")
    parser.add_argument("--only", default="", help="experiments whose name begins so")
    parser.add_argument("--report", action="store_true", help="print the Markdown of what is there; run nothing")
    options = parser.parse_args()
    folders = {name: options.out / Path(name).stem for name in STOPS if Path(name).stem.startswith(options.only)}
    for name, folder in folders.items():
        if not options.report:
            stopped = run(name, options.lm, folder)
            (folder / "stop.json").write_text(stopped.model_dump_json(indent=1) + "\n", encoding="utf-8")
    print("\n\n".join(section(folder) for folder in folders.values() if (folder / "stop.json").is_file()))
    return 0


def run(name: str, lm: str, folder: Path) -> Stop:
    """Run an experiment with one stop in the middle, to its end, and once more."""
    arguments, stop_after = STOPS[name]
    words = [sys.executable, "-m", "dicast", "experiment", "run", name, "--lm", lm, *arguments.split()]
    words += ["--out", str(folder)]
    began, commit = datetime.now(UTC).date().isoformat(), _commit()
    first = call(words, folder, stop_after)
    stopped = verdict_files(folder)
    second = call(words, folder, None)
    complete = verdict_files(folder)
    third = call(words, folder, None)
    return Stop(
        began=began,
        commit=commit,
        calls=(first, second, third),
        unchanged=all(complete.get(path, b"").startswith(text) for path, text in stopped.items()),
        twice=judged_twice(folder),
        same=verdict_files(folder) == complete,
    )


def call(words: Sequence[str], folder: Path, stop_after: int | None) -> Call:
    """Call the command; with `stop_after` it gets a SIGINT when so many verdicts are written."""
    start = time.monotonic()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` hands on that it is ignored
    process = subprocess.Popen(words)
    while stop_after is not None and process.poll() is None:
        if sum(text.count(b"\n") for text in verdict_files(folder).values()) >= stop_after:
            time.sleep(AT_WORK)
            process.send_signal(signal.SIGINT)
            stop_after = None
        time.sleep(0.2)
    exit_status = process.wait()
    lines = sum(text.count(b"\n") for text in verdict_files(folder).values())
    return Call(exit=exit_status, seconds=round(time.monotonic() - start), verdicts=lines)


def verdict_files(folder: Path) -> Mapping[str, bytes]:
    """The verdict file of every run, by the name of its folder."""
    return {path.parent.name: path.read_bytes() for path in sorted(folder.glob("runs/*/verdicts.jsonl"))}


def judged_twice(folder: Path) -> int:
    runs = [[json.loads(line)["case_id"] for line in text.splitlines()] for text in verdict_files(folder).values()]
    return sum(len(cases) - len(set(cases)) for cases in runs)


def section(folder: Path) -> str:
    """The part of docs/results/experiments.md about one experiment; every number is read from its files."""
    result = ExperimentResult.model_validate_json((folder / "experiment.json").read_bytes())
    stop = Stop.model_validate_json((folder / "stop.json").read_bytes())
    usage = sum((verdict.usage for path in folder.glob("runs/*") for verdict in read_verdicts(path)), Usage())
    judged = f"{stop.calls[1].verdicts} verdicts, {usage.calls} calls, {usage.cached} answers from the cache"
    tokens = f"{usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} written tokens"
    seconds = stop.calls[0].seconds + stop.calls[1].seconds
    blocks = [
        f"## {result.name}: {markdown.escape(result.title)}",
        f"{result.place}. {stop.began}, commit {stop.commit}, {', '.join(result.models)}.",
        f"```sh\n{command_of(result)}\n```",
        markdown.table(HEADS, rows_of(result.lines, several_models=len(result.models) > 1)),
        f"{judged}, {tokens}, {seconds // 60} min {seconds % 60} s. {_stop_text(stop)}",
    ]
    missing = [f"{cases} takes the place of {name}." for name, cases in result.cases.items()]
    missing += [f"{lacking.name} was not on this machine." for lacking in result.missing]
    not_at_hand = [f"Printed figures not at hand: {result.not_at_hand}"] if result.not_at_hand else []
    blocks += ["\n".join(f"- {markdown.escape(line)}" for line in (*result.differs, *missing, *not_at_hand))]
    return "\n\n".join(blocks)


def _stop_text(stop: Stop) -> str:
    first, second, third = stop.calls
    unchanged = "are unchanged" if stop.unchanged else "HAVE CHANGED"
    twice = "no case was judged twice" if not stop.twice else f"{stop.twice} CASES WERE JUDGED TWICE"
    same = "changed nothing" if stop.same and third.verdicts == second.verdicts else "CHANGED VERDICTS"
    return (
        f"Stopped after {first.verdicts} verdicts (exit {first.exit}), continued by the same command "
        f"(exit {second.exit}): the verdicts of before {unchanged}, {twice}. "
        f"A third call took {third.seconds} s and {same}."
    )


def _commit() -> str:
    words = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
