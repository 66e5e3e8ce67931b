"""What the rows of `benchmarks/chaos.py` share: commands that run, their folder and its verdicts, a disk that fills."""

import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dicast.testing import MockServer

KEY = "sk-DUMMY-chaos-0123456789"
TIMEOUT = 2  # seconds, of --timeout: some faults never answer


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
