"""How fast cases are read, and in how much memory: rows a second, peak memory, and time against plain `json.loads`.

    python benchmarks/reading.py [--rows 1000000]

Writes pairwise rows of about 300 bytes to a temporary file and streams it twice, each time in a separate process:
once as lines through `json.loads`, once as cases through `dicast.data.read_cases`. Nothing is kept of either.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write_rows(path: Path, count: int) -> None:
    question = "What is the sum of the first numbers, and how is it found without adding them one by one? "
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = {
                "query": f"{number}: {question}",
                "response_a": f"Take half of {number} times its successor, as the young Gauss did.",
                "response_b": f"Add the numbers up to {number} one after the other.",
                "label": ("a", "b", "tie")[number % 3],
            }
            file.write(json.dumps(row) + "\n")


def loads(path: Path) -> int:
    count = 0
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
            count += 1
    return count


def cases(path: Path) -> int:
    from dicast.data import read_cases

    return sum(1 for _ in read_cases(path))


READERS = {"loads": loads, "cases": cases}


def measure(reader: str, path: Path) -> dict[str, float]:
    """Rows, seconds (without start-up and imports) and peak memory in MB, of a separate process."""
    command = [sys.executable, __file__, "--reader", reader, str(path)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def read_and_report(reader: str, path: Path) -> None:
    if reader == "cases":
        import dicast.data  # noqa: F401  # its start-up is not measured

    started = time.perf_counter()
    count = READERS[reader](path)
    seconds = time.perf_counter() - started
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # macOS counts bytes, Linux kilobytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps({"rows": count, "seconds": seconds, "peak": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--reader", choices=list(READERS), help=argparse.SUPPRESS)
    parser.add_argument("path", type=Path, nargs="?", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.reader:
        read_and_report(arguments.reader, arguments.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        write_rows(path, arguments.rows)
        print(f"{arguments.rows:,} rows, {path.stat().st_size / arguments.rows:.0f} bytes each")
        loads, read = measure("loads", path), measure("cases", path)
    print(f"json.loads  {loads['rows'] / loads['seconds']:>9,.0f} rows/s  peak {loads['peak']:.0f} MB")
    print(f"read_cases  {read['rows'] / read['seconds']:>9,.0f} rows/s  peak {read['peak']:.0f} MB")
    print(f"read_cases takes {read['seconds'] / loads['seconds']:.1f} times as long as json.loads")


if __name__ == "__main__":
    main()
