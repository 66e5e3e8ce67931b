"""Damaged files through the command line: what a file holds never ends in a traceback.

    python benchmarks/fuzz_files.py [--inputs 10000] [--seed 0] [--seconds 3600]

Valid files are written once: cases in all formats, a run folder, verdicts of another tool, judge files, YAML judges and
recipes. Each input is one of them, damaged once or a few times: bytes exchanged, cut off, lines dropped or repeated,
JSON values replaced by values of other types, by deep lists or by huge numbers. A command then reads it, in this
process. Every input must be handled (exit code 0, 1 or 2) or end with code 3 and one line; the table counts them.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
YAML_JUDGE = """\
judges: texts
instructions: You judge replies of a support desk.
scale: 1..5
criteria:
  - name: correct
    description: nothing in it is wrong
    weight: 2
  - polite
tie_threshold: 0.5
readout: generate
"""
RECIPE = "objective: accuracy\nparts: {train: 0.3, select: 0.2, certify: 0.2, test: 0.3}\ntrials: 0\nbaseline: longer\n"
DEEP: Any = []
for _ in range(150):
    DEEP = [DEEP]
ODD_VALUES: list[Any] = [
    None, True, False, -1, 0, 1.5, 99, 10**400, 1e308, -1e308, "", "a", "text", "x" * 5000, "\ud83d", "\n\x1b[31m",
    [], {}, [[]], {"": {}}, {"a": None}, [1, "a"], DEEP, float("nan"), float("inf"), "2001-99-99", ["a"] * 5000,
]  # fmt: skip
ODD_BYTES = [
    b"\0", b"\xff", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"'", b"\\", b"\\ud83d", b"{", b"[" * 2000, b"}", b"]", b",",
    b"\r", b"\n", b"\n\n", b"9" * 5000, b"1e999", b"NaN", b"null", b": ", b"- ", b"&a ", b"*a", b"!!", b"\xef\xbb\xbf",
]  # fmt: skip


def write_corpus(folder: Path) -> None:
    """The valid files, in a folder."""
    pairs: list[dict[str, Any]] = [
        {"id": f"c{n}", "query": f"question {n}, of a kind", "response_a": "x" * n, "response_b": 'y "z"\n' * (n % 4),
         "label": ("a", "b", "tie")[n % 3], "votes": ["a", "b"], "group": f"g{n % 4}", "system_a": "s", "system_b": "t",
         "persona": {"age": "30"}, "meta": {"n": n}}
        for n in range(12)
    ]  # fmt: skip
    texts: list[dict[str, Any]] = [
        {"query": "q", "response": f"text {n}", "score": 1 + n % 5, "aspect": "good"} for n in range(12)
    ]
    choices: list[dict[str, Any]] = [
        {"query": "q", "options": ["x", "yy", "zzz"], "label": n % 3, "preference": "short"} for n in range(12)
    ]
    lines = {name: _lines(rows) for name, rows in {"pairs": pairs, "texts": texts, "choices": choices}.items()}
    for name, text in lines.items():
        (folder / f"{name}.jsonl").write_text(text)
    (folder / "pairs.jsonl.gz").write_bytes(gzip.compress(lines["pairs"].encode()))
    _write_csv(folder / "pairs.csv", pairs)
    with contextlib.suppress(ImportError):
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.Table.from_pylist(pairs), folder / "pairs.parquet")
    letters = [
        {"id": n, "prediction": "ab"[n % 2], "label": "a", "certainty": 70, "lengths": [3, n]} for n in range(12)
    ]
    scores = [{"id": n, "prediction": n / 2, "label": n / 3, "system": f"s{n % 3}"} for n in range(12)]
    (folder / "letters.verdicts.jsonl").write_text(_lines(letters))
    (folder / "scores.verdicts.jsonl").write_text(_lines(scores))
    (folder / "desk.yaml").write_text(YAML_JUDGE)
    (folder / "recipe.yaml").write_text(RECIPE)
    for path in sorted((ROOT / "tests" / "judging" / "old_files").glob("*.judge.json")):
        shutil.copy(path, folder)
    many = [
        pairs[n % 12] | {"id": f"m{n}", "query": f"question {n}", "label": "ab"[n % 2], "group": f"m{n}"}
        for n in range(120)
    ]
    (folder / "many.jsonl").write_text(_lines(many))
    for command in (
        ["judge", "--judge", "majority", "--cases", "pairs.jsonl", "--out", "run-majority"],
        ["judge", "--judge", "longer", "--cases", "choices.jsonl", "--out", "run-longer"],
        ["compile", "longer", "--cases", "many.jsonl", "--out", "compiled", "--trials", "0"],
    ):
        code, said = run_quietly(command)
        if code not in (0, 1, 2):
            raise SystemExit(f"the corpus cannot be written: {said}")


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        cells = (
            {name: json.dumps(value) if isinstance(value, list | dict) else value for name, value in row.items()}
            for row in rows
        )
        writer.writerows(cells)


def run_quietly(arguments: list[str]) -> tuple[int, str]:
    """The exit code of a command of dicast in this process, and what it wrote to standard error."""
    from dicast.cli import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, err.getvalue()


# damage


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with one to three faults."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice(DAMAGES)(content, chance)
    return content


def _flip(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 20))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted((chance.randrange(len(content) + 1), chance.randrange(len(content) + 1)))
    return chance.choice((content[:end], content[start:], content[:start] + content[end:]))


def _insert(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content) + 1)
    return content[:place] + chance.choice(ODD_BYTES) + content[place:]


def _shuffle_lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if lines:
        place = chance.randrange(len(lines))
        lines[place : place + 1] = chance.choice(([], [lines[place]] * 2, [lines[place], lines[0]]))
    return b"".join(lines)


def _exchange_value(content: bytes, chance: random.Random) -> bytes:
    """A JSON file or line with one value replaced, one key dropped, renamed or repeated."""
    lines = content.split(b"\n")
    whole = _parsed(content)
    if whole is not None:
        return json.dumps(_changed(whole, chance)).encode() + b"\n"
    place = chance.randrange(len(lines))
    value = _parsed(lines[place])
    if value is None:
        return _insert(content, chance)
    lines[place] = json.dumps(_changed(value, chance)).encode()
    return b"\n".join(lines)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        kind = chance.random()
        rest = {key: item for key, item in value.items() if key != name}
        if kind < 0.1:
            return rest
        if kind < 0.2:
            return rest | {chance.choice(("", "x", "\ud83d", "id", name.upper())): value[name]}
        return value | {name: _changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], _changed(value[place], chance), *value[place + 1 :]]
    return chance.choice(ODD_VALUES)


DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [
    _flip, _cut, _insert, _shuffle_lines, _exchange_value, _exchange_value, _exchange_value, _exchange_value,
]  # fmt: skip


# readers


@dataclass(frozen=True)
class Reader:
    """A command, and the files of the corpus that it reads; {} is the damaged file or folder."""

    files: tuple[str, ...]
    command: tuple[str, ...]
    weight: int = 10
    lines: int = 1  # that say why a command ended with code 3


CASES = ("pairs.jsonl", "pairs.csv", "texts.jsonl", "choices.jsonl", "pairs.jsonl.gz", "pairs.parquet")
RUNS = tuple(f"run-{name}/{file}" for name in ("majority", "longer") for file in ("manifest.json", "verdicts.jsonl"))
READERS = (
    Reader(CASES, ("judge", "--judge", "longer", "--cases", "{}", "--out", "out")),
    Reader(CASES, ("judge", "--judge", "longer", "--cases", "{}", "--out", "out", "--skip-bad")),
    Reader(CASES, ("check", "--cases", "{}"), lines=0),
    Reader(RUNS, ("evaluate", "{}"), 12),
    Reader(RUNS, ("judge", "--judge", "majority", "--cases", "pairs.jsonl", "--out", "{}"), 5),
    Reader(RUNS, ("report", "{}", "--out", "out.md"), 3),
    Reader(RUNS, ("report", "{}", "--out", "out.html"), 1),
    Reader(("letters.verdicts.jsonl", "scores.verdicts.jsonl"), ("evaluate", "{}"), 10),
    Reader(("letters.verdicts.jsonl", "scores.verdicts.jsonl"), ("report", "{}", "--out", "out.md"), 2),
    Reader(("*.judge.json",), ("show", "{}"), 15),
    Reader(("*.judge.json",), ("check", "--judge", "{}", "--cases", "pairs.jsonl", "--lm", "{lm}"), 3),
    Reader(("*.judge.json",), ("judge", "--judge", "{}", "--cases", "pairs.jsonl", "--out", "out", "--lm", "{lm}"), 3),
    Reader(("compiled/*.json",), ("report", "{}", "--out", "out.md"), 4),
    Reader(("compiled/*.json",), ("compile", "longer", "--cases", "many.jsonl", "--out", "{}", "--trials", "0"), 2),
    Reader(("desk.yaml",), ("judge", "--judge", "{}", "--cases", "texts.jsonl", "--out", "out", "--lm", "{lm}"), 5),
    Reader(("recipe.yaml",), ("compile", "longer", "--cases", "pairs.jsonl", "--recipe", "{}", "--out", "out"), 5),
)  # fmt: skip


@dataclass
class Tally:
    """How the inputs of one command ended."""

    codes: Counter[int] = field(default_factory=Counter)
    unexpected: int = 0
    several_lines: int = 0
    slowest: float = 0.0


def prepare_input(corpus: Path, work: Path, reader: Reader, chance: random.Random) -> Path:
    """Copy the file, or its folder, into `work` and damage it; the path that the command gets."""
    name = chance.choice(reader.files)
    if "*" in name:
        name = chance.choice(sorted(str(path.relative_to(corpus)) for path in corpus.glob(name)))
    source = corpus / name
    if not source.exists():  # Parquet without pyarrow
        source, name = corpus / "pairs.csv", "pairs.csv"
    if "/" in name:
        shutil.copytree(source.parent, work / source.parent.name)
        target, argument = work / name, work / source.parent.name
    else:
        target = argument = work / f"damaged-{name}"
    target.write_bytes(damaged(source.read_bytes(), chance))
    return argument


def attack(corpus: Path, work: Path, reader: Reader, chance: random.Random, lm: str) -> tuple[int, str, float]:
    """Run one command on one damaged input: exit code, standard error, seconds."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name in ("pairs.jsonl", "texts.jsonl", "many.jsonl"):
        shutil.copy(corpus / name, work)
    argument = prepare_input(corpus, work, reader, chance)
    before = Path.cwd()
    os.chdir(work)
    started = time.perf_counter()
    try:
        values = {"{}": str(argument), "{lm}": lm}
        code, said = run_quietly([values.get(part, part) for part in reader.command])
    finally:
        os.chdir(before)
    return code, said, time.perf_counter() - started


Attack = tuple[int, Reader, random.Random]


def inputs(count: int, seed: int) -> Iterator[Attack]:
    """The number, the reader and the generator of each input, the same for the same seed."""
    weights = [reader.weight for reader in READERS]
    for number in range(count):
        chance = random.Random(f"{seed}:{number}")
        (reader,) = chance.choices(READERS, weights)
        yield number, reader, chance


def fuzz(folder: Path, count: int, seed: int, seconds: float) -> tuple[dict[str, Tally], list[str]]:
    """The tally by command, and the lines of what ended wrongly."""
    from dicast.testing import MockServer

    corpus = folder / "corpus"
    corpus.mkdir()
    before = Path.cwd()
    os.chdir(corpus)
    try:
        write_corpus(corpus)
    finally:
        os.chdir(before)
    with MockServer() as server:
        return _attacks(corpus, folder / "work", f"openai/m@{server.url}", inputs(count, seed), seconds)


def _attacks(
    corpus: Path, work: Path, lm: str, attacks: Iterable[Attack], seconds: float
) -> tuple[dict[str, Tally], list[str]]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    problems: list[str] = []
    end = time.monotonic() + seconds
    for number, reader, chance in attacks:
        if time.monotonic() > end:
            break
        code, said, took = attack(corpus, work, reader, chance, lm)
        tally = tallies[" ".join(reader.command)]
        tally.codes[code] += 1
        tally.slowest = max(tally.slowest, took)
        lines = [line for line in said.splitlines() if line.strip()]
        if "unexpected error" in said or "Traceback" in said or code not in (0, 1, 2, 3):
            tally.unexpected += 1
            problems.append(f"input {number}: {said.strip()[-500:]}")
        elif code == 3 and sum(line.startswith("dicast:") for line in lines) != reader.lines:
            tally.several_lines += 1
            problems.append(f"input {number}: not one line: {said.strip()[:500]!r}")
    return tallies, problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3_600, help="the time after which it ends early")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DICAST_HOME"] = str(folder / "home")
        started = time.monotonic()
        tallies, problems = fuzz(folder, arguments.inputs, arguments.seed, arguments.seconds)
    total = Tally()
    print(f"{'inputs':>7} {'0':>6} {'1':>5} {'2':>5} {'3':>6}  tracebacks  slowest  command")
    for command, tally in sorted(tallies.items()):
        _print_row(command, tally)
        total.codes += tally.codes
        total.unexpected += tally.unexpected
        total.several_lines += tally.several_lines
        total.slowest = max(total.slowest, tally.slowest)
    _print_row("all", total)
    print(f"{total.several_lines} errors of more or less than one line; {time.monotonic() - started:.0f} s")
    for problem in problems[:50]:
        print(problem)
    sys.exit(bool(problems))


def _print_row(command: str, tally: Tally) -> None:
    codes = tally.codes
    print(
        f"{codes.total():>7} {codes[0]:>6} {codes[1]:>5} {codes[2]:>5} {codes[3]:>6}  {tally.unexpected:>10}"
        f"  {tally.slowest:>6.1f}s  {command}"
    )


if __name__ == "__main__":
    main()
