"""Many verdicts evaluated and reported: seconds and memory, whole processes, on made-up runs of a known agreement.

    python benchmarks/evaluating.py
    python benchmarks/evaluating.py --verdicts 10000

The verdicts are drawn, not judged: 70 % agree with people, in groups of four, with findings, votes and token counts as
a run has them. The limit is the time to read the same file's lines as JSON alone.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def verdicts(n: int, *, texts: bool) -> Iterator[dict[str, Any]]:
    """Lines of `verdicts.jsonl`: of pairs, or of single texts with scores."""
    rng = np.random.default_rng(0)
    for number in range(n):
        common = {"case_id": f"case/{number}", "group": f"prompt {number // 4}", "usage": {"calls": 4, "seconds": 0.5}}
        yield common | (text(rng) if texts else pair(rng))


def pair(rng: np.random.Generator) -> dict[str, Any]:
    label = str(rng.choice(["a", "b", "tie"], p=[0.45, 0.45, 0.1]))
    p = float(rng.beta(5, 2))
    winner = label if rng.random() < 0.7 else "b" if label == "a" else "a"
    other = "b" if winner == "a" else "a"
    shares = {winner: p, other: 1 - p} if winner != "tie" else {"a": (1 - p) / 2, "b": (1 - p) / 2, "tie": p}
    orders = {"ab": winner, "ba": winner if rng.random() < 0.8 else "a"}
    finding = {"criterion": "overall", "distribution": shares, "mass_read": 0.99}
    return {
        "winner": winner, "distribution": {"a": 0.0, "b": 0.0, "tie": 0.0} | shares, "certainty": p,
        "findings": [finding | {"order": order} for order in orders], "order_winners": orders,
        "consistent": orders["ab"] == orders["ba"], "label": {"value": label},
        "votes": [{"value": label}, {"value": label}, {"value": "a"}], "lengths": rng.integers(20, 900, 2).tolist(),
        "systems": rng.choice([f"system {i}" for i in range(8)], 2, replace=False).tolist(),
    }  # fmt: skip


def text(rng: np.random.Generator) -> dict[str, Any]:
    label = int(rng.integers(1, 6))
    score = float(np.clip(label + rng.normal(), 1, 5))
    on = {"lo": 1, "hi": 5}
    return {
        "scores": [score], "findings": [{"criterion": "overall", "scores": [score]}], "label": {"values": [label]} | on,
        "votes": [{"values": [vote]} | on for vote in np.clip(label + rng.integers(-1, 2, 3), 1, 5).tolist()],
        "lengths": [int(rng.integers(20, 900))], "systems": [f"system {rng.integers(16)}"],
    }  # fmt: skip


def write_run(folder: Path, n: int, *, texts: bool) -> None:
    folder.mkdir()
    identity = {"judge": "made up", "settings": {}, "lm": "none", "data": "0" * 64}
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "identity": identity, "scale": [1, 5]}))
    with (folder / "verdicts.jsonl").open("w") as file:
        for line in verdicts(n, texts=texts):
            file.write(json.dumps(line) + "\n")


def seconds_to_read(path: Path) -> float:
    started = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.perf_counter() - started


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds and the most memory in MB of one process."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "dicast", *command], check=True, stdout=subprocess.DEVNULL)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return time.perf_counter() - started, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verdicts", type=int, default=100_000)
    arguments = parser.parse_args()
    print(
        "| run | command | seconds | times reading the JSON | most memory so far, MB |\n| --- | --- | --- | --- | --- |"
    )
    with tempfile.TemporaryDirectory() as name:
        for kind in ("pairs", "texts"):
            run = Path(name) / kind
            write_run(run, arguments.verdicts, texts=kind == "texts")
            limit = seconds_to_read(run / "verdicts.jsonl")
            for command in (["evaluate", str(run)], ["report", str(run), "--out", str(run / "report.html")]):
                seconds, memory = measured(command)
                cells = f"{seconds:.1f} | {seconds / limit:.1f} | {memory:.0f}"
                print(f"| {arguments.verdicts:,} {kind} | {command[0]} | {cells} |")


if __name__ == "__main__":
    main()
