"""Files are streamed: ten times the rows need hardly more memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import sys
from dicast.data import read_cases
count = sum(1 for _ in read_cases(sys.argv[1]))
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(count, int(peak.split()[1]) / 1024)
"""  # VmHWM is of this process alone; ru_maxrss begins with what its parent held


def peak(path: Path, rows: int) -> float:
    """Peak memory in MB of a process that reads so many rows of about 300 bytes."""
    row = {"response_a": "one answer " * 12, "response_b": "another " * 8, "label": "a"}
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            file.write(json.dumps({"query": f"question {number}", **row}) + "\n")
    ran = subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True, capture_output=True, text=True)
    count, megabytes = ran.stdout.split()
    assert int(count) == rows
    return float(megabytes)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_ten_times_the_rows_are_read_in_hardly_more_memory(tmp_path: Path) -> None:
    few, many = peak(tmp_path / "few.jsonl", 20_000), peak(tmp_path / "many.jsonl", 200_000)
    assert many < 300
    assert many - few < 40  # ids need about 70 bytes a row; the rows themselves would need 60 MB as bytes alone
