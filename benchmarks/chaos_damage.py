"""Rows of `benchmarks/chaos.py` about run folders that were damaged after the run."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dicast.benchmarks.chaos_scratch import Row, Scratch
from dicast.testing import MockServer

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
