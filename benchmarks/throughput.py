"""How fast a run is at a server that takes its time: wall time and processor time of `dicast judge`, start included.

    python benchmarks/throughput.py [--pairs 600] [--delay 0.5] [--workers 16,64,128] [--package FOLDER]

The server is this process, so that only the client's processor time counts; each run has an empty cache. `--package` is
the parent folder of another version of the package, for a comparison.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dicast.testing import MockServer


def cpu_seconds() -> float:
    """Processor time of all ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(package: str, cases: Path, workers: int, delay: float) -> tuple[float, float, int, int]:
    """Wall seconds, processor seconds, calls and the most requests in flight of one run."""
    with tempfile.TemporaryDirectory() as folder, MockServer(delay=delay) as server:
        home = {"DSPY_CACHEDIR": f"{folder}/cache", "DICAST_HOME": f"{folder}/home"}
        command = [
            sys.executable, "-m", "dicast", "judge", "--judge", "direct", "--cases", str(cases),
            "--lm", server.model_string(), "--workers", str(workers), "--out", f"{folder}/out",
        ]  # fmt: skip
        environment = os.environ | home | {"PYTHONPATH": package}
        started, cpu = time.perf_counter(), cpu_seconds()
        subprocess.run(command, env=environment, check=True, capture_output=True, cwd=folder)
        wall = time.perf_counter() - started
        return wall, cpu_seconds() - cpu, len(server.requests), server.peak_concurrency


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--delay", type=float, default=0.5, help="seconds before an answer")
    parser.add_argument("--workers", default="16,64,128")
    parser.add_argument("--package", default=str(Path(__file__).resolve().parents[2]))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "pairs.jsonl"
        rows = [
            {"id": str(n), "query": f"Name number {n}.", "response_a": "left " * 40, "response_b": "right " * 40}
            for n in range(options.pairs)
        ]
        cases.write_text("".join(json.dumps(row) + "\n" for row in rows))
        print(f"{options.pairs} pairs, {options.delay:g} s an answer, load {os.getloadavg()[0]:.1f}")
        for workers in map(int, options.workers.split(",")):
            wall, cpu, calls, peak = measure(options.package, cases, workers, options.delay)
            print(
                f"{workers} workers: {wall:.1f} s, {calls} calls, {peak} in flight at most, "
                f"{1000 * cpu / calls:.2f} ms of processor time a call"
            )


if __name__ == "__main__":
    main()
