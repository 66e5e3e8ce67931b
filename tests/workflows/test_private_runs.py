"""Run folders are for their owner alone, follow no link that somebody else laid, and survive a full disk."""

import json
import os
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import dicast
from dicast.engines.batch import read_verdicts
from dicast.engines.jsonl import write_whole
from dicast.errors import DataError, DicastError, RunError
from dicast.testing import MockServer

ROWS = [
    {"id": f"r{n}", "query": f"q{n}", "response_a": f"left {n}", "response_b": f"right {n}", "label": "ab"[n % 2]}
    for n in range(60)
]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    before = os.umask(0o022)
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


def modes(folder):
    """The modes of the folder and of all that it holds."""
    paths = [Path(folder), *Path(folder).rglob("*")]
    return {str(path): oct(mode(path)) for path in paths if mode(path) & 0o077 and path.name != "report.html"}


def test_a_new_run_folder_is_for_its_owner_alone():
    rows = [*ROWS[:5], {"id": "bad", "query": "q"}]
    run = dicast.run("longer", rows, out="runs/out", skip_bad=True)
    assert run.rejected == 1
    names = {path.name for path in Path("runs/out").iterdir()}
    assert names >= {"manifest.json", "verdicts.jsonl", "cases.jsonl", "rejects.jsonl", ".lock"}
    assert mode("runs/out") == 0o700
    assert modes("runs/out") == {}


def test_folders_of_compilations_cascades_and_preparations_are_private_too():
    rows = [row | {"id": f"{n}-{row['id']}", "group": f"{n}-{row['id']}"} for n in range(2) for row in ROWS]
    dicast.compile("longer", rows, out="compiled", trials=0)
    with pytest.raises(DataError, match="no verdict with a certainty"):
        dicast.cascade(["longer"], rows, out="cascade.judge.json")
    assert [mode(name) for name in ("compiled", "cascade.evidence")] == [0o700, 0o700]
    assert modes("compiled") | modes("cascade.evidence") == {}
    with MockServer(answer="some text") as server:
        dicast.prepare("summarise", rows[:2], "prepared.jsonl", lm=server.model_string())
    assert mode("prepared.jsonl") == mode("prepared.manifest.json") == 0o600
    assert modes("prepared") == {}


def test_what_exists_keeps_its_mode():
    Path("out").mkdir(mode=0o755)
    dicast.run("longer", ROWS[:3], out="out")
    assert mode("out") == 0o755
    Path("out/verdicts.jsonl").chmod(0o640)
    Path("out/manifest.json").chmod(0o644)
    write_whole(Path("out/manifest.json"), Path("out/manifest.json").read_text())
    dicast.run("longer", ROWS, out="out")
    assert (mode("out/verdicts.jsonl"), mode("out/manifest.json")) == (0o640, 0o644)


def test_a_link_in_the_place_of_a_new_file_is_not_followed():
    Path("victim").write_text("precious")
    for name in ("rejects.jsonl", "manifest.part"):
        Path(f"of {name}").mkdir()
        Path(f"of {name}", name).symlink_to(Path("victim").absolute())
        with pytest.raises(DicastError, match=name.replace("manifest.part", "manifest.json")):
            dicast.run("longer", [*ROWS[:5], {"id": "bad", "query": "q"}], out=f"of {name}", skip_bad=True)
        assert Path("victim").read_text() == "precious"


# a full disk

JUDGE = """
import resource, sys
from pathlib import Path
import dicast
if len(sys.argv) > 1:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
try:
    print(dicast.run("longer", "pairs.jsonl", out="out", workers=2).status)
except dicast.DicastError as error:
    print(type(error).__name__, error)
"""


def judged(*arguments):
    result = subprocess.run([sys.executable, "-c", JUDGE, *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.fault
def test_a_file_that_can_grow_no_more_ends_the_run_in_one_line_and_loses_nothing():
    output = judged("9000")
    assert output.startswith("RunError out/verdicts.jsonl: cannot be written (File too large). What it holds is kept")
    assert output.count("\n") == 1
    content = Path("out/verdicts.jsonl").read_bytes()
    done = Counter(line["case_id"] for line in map(json.loads, content.splitlines()))
    assert 0 < done.total() < len(ROWS)
    assert content.endswith(b"\n")
    assert judged() == "complete\n"
    assert Path("out/verdicts.jsonl").read_bytes().startswith(content)
    assert Counter(line.case_id for line in read_verdicts(Path("out"))) == Counter(row["id"] for row in ROWS)


@pytest.mark.fault
def test_a_full_disk_ends_the_run_in_one_line_and_more_room_finishes_it(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    try:
        with pytest.raises(RunError, match=r"verdicts.jsonl: cannot be written \(No space left on device\)"):
            dicast.run("longer", "pairs.jsonl", out=disk / "out")
        lines = (disk / "out" / "verdicts.jsonl").read_bytes()
        assert lines.endswith(b"\n")
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        assert dicast.run("longer", "pairs.jsonl", out=disk / "out").status == "complete"
        assert (disk / "out" / "verdicts.jsonl").read_bytes().startswith(lines)
        ids = Counter(line.case_id for line in read_verdicts(disk / "out"))
        assert ids == Counter(row["id"] for row in ROWS)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.fault
def test_a_manifest_that_cannot_be_written_leaves_no_half_of_it():
    assert "RunError out/manifest.json: cannot be written (File too large)" in judged("100")
    assert {path.name for path in Path("out").iterdir()} <= {".lock"}
    assert judged() == "complete\n"
