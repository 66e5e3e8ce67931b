"""Whether anything is lost: a server with every fault, kills, full disks, damaged folders, two writers, signals.

    python benchmarks/chaos.py [SECTION ...] [--cases 400] [--minutes 6] [--write]

Sections: storm, store, faults, damage, compile, twice, models, signals.

Each row says what was tried and whether dicast survived it: every case has one verdict in the end, nothing that was
written is lost, a refusal is one line and exit code 3, and no output holds the key or a terminal escape. The last row
searches every file and terminal output of the rows before it. Servers listen on loopback; nothing is fetched. A full
disk is a small tmpfs for root on Linux, else a limit on the size of files. Exit status 1 when a row did not survive.
"""

import argparse
import datetime
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dicast._version import __version__
from dicast.benchmarks.chaos_damage import damage
from dicast.benchmarks.chaos_faults import faults, store, storm
from dicast.benchmarks.chaos_processes import compile_kills, models, signals, twice
from dicast.benchmarks.chaos_scratch import KEY, Row, Scratch

ESCAPES = re.compile("[\x1b\x07\x80-\x9f]")


def search(scratch: Scratch) -> Row:
    """Every file and terminal output, searched for the key and for terminal escapes in texts."""
    files = [path for path in scratch.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    leaks, escapes = [], []
    for path in files:
        content = path.read_bytes()
        if KEY.encode() in content or KEY[3:].encode() in content:
            leaks.append(path.name)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue  # no text: a database, a damaged file
        if "\0" not in text and ESCAPES.search(text):
            escapes.append(path.name)
    remark = f"{len(files):,} files; with the key: {leaks[:5] or 0}, with an escape: {escapes[:5] or 0}"
    return Row(
        "every file and terminal output of these rows, searched for the key and for escapes",
        not leaks + escapes,
        remark,
    )


SECTIONS: Mapping[str, Callable[[Scratch], Iterator[Row]]] = {
    "storm": storm,
    "store": store,
    "faults": faults,
    "damage": damage,
    "compile": compile_kills,
    "twice": twice,
    "models": models,
    "signals": signals,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[], metavar="SECTION")
    parser.add_argument("--cases", type=int, default=400, help="of the storm [default: 400]")
    parser.add_argument("--minutes", type=float, default=6.0, help="most, of the storm [default: 6]")
    parser.add_argument("--write", action="store_true", help="write docs/results/DATE-chaos.md")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folder and print its path")
    options = parser.parse_args()
    started, rows = time.monotonic(), []
    folder = Path(tempfile.mkdtemp(prefix="dicast-chaos-"))
    print("| tried | survived | remark |\n|---|---|---|", flush=True)
    for section in options.sections or SECTIONS:
        minutes = options.minutes if section == "storm" else 10.0
        scratch = Scratch(folder, options.cases, time.monotonic() + 60 * minutes)
        scratch.logs = len(list((folder / "terminal").glob("*"))) if (folder / "terminal").exists() else 0
        for row in SECTIONS[section](scratch):
            rows.append(row)
            print(row, flush=True)
    rows.append(search(scratch))
    print(rows[-1])
    minutes = (time.monotonic() - started) / 60
    lost = [row for row in rows if not row.survived]
    print(f"{len(rows)} rows, {len(rows) - len(lost)} survived, {minutes:.1f} minutes")
    if options.write:
        write(rows, minutes)
    if options.keep:
        print(folder)
    else:
        shutil.rmtree(folder)
    sys.exit(1 if lost else 0)


def write(rows: list[Row], minutes: float) -> None:
    """The page of results."""
    today = datetime.date.today()
    path = Path(__file__).parents[1] / "docs" / "results" / f"{today}-chaos.md"
    command = f"python benchmarks/chaos.py {' '.join(sys.argv[1:])}".strip()
    survived = sum(row.survived for row in rows)
    lines = [
        "# Chaos: what dicast survives",
        "",
        f"{today}, dicast {__version__}, {os.cpu_count()} CPU cores, {minutes:.0f} minutes. "
        f"**{survived} of {len(rows)} rows survived.** Faults are those of `dicast.testing.FAULTS`.",
        "",
        "| tried | survived | remark |",
        "| --- | --- | --- |",
        *map(str, rows),
        "",
        "An answer is paid twice when a kill or a restart loses it in flight, and when its usage is negative,",
        "which is asked for again. `rc`: the exit code; `infrastructure`, `unreadable`: reasons of unscored verdicts.",
        "",
        "```sh",
        command,
        "```",
    ]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
