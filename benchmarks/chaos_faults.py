"""Rows of `benchmarks/chaos.py` about servers with faults and disks that are full."""

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from dicast.benchmarks.chaos_scratch import Row, Scratch, SmallDisk, paid_twice, reasons
from dicast.testing import FAULTS, MockServer

FULL = 200  # kB, the size of the full disk
SINGLE = 0.03  # how often a fault comes alone


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
