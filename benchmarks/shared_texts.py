"""How many test cases share a text with the parts that a judge learns from, with splits by groups and by joined groups?

Each public set under --data is split with 20 seeds into the default parts of a compilation. A test case counts if its
conversation, or one of its candidate texts, is in another part too, in normalised form and at any length. Two more sets
are of PandaLM: its pairs again under another annotator's group, and its pairs again with a space after the query.

    python benchmarks/shared_texts.py --data FOLDER
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dicast.catalog import DATA_SETS, read
from dicast.data import Case, split
from dicast.data.joined_groups import JoinedGroups, join_groups
from dicast.data.text_digest import conversation, normalised
from dicast.errors import DataError
from dicast.optimizers.recipe import Parts

SEEDS = 20


def sets(root: Path | None) -> Iterator[tuple[str, list[Case]]]:
    """The sets that lie on the machine, each text once, and two made ones."""
    for entry in DATA_SETS:
        try:
            cases = list(read(entry.name, root))
        except DataError:
            continue
        by_text = {case.id.partition("#")[0]: case for case in cases}
        yield entry.name, list(by_text.values())
        if entry.name == "pandalm":
            pairs = cases[:200]
            copies = [case.model_copy(update={"id": f"{case.id} again"}) for case in pairs]
            named = [case.model_copy(update={"group": f"first {case.split_key}"}) for case in pairs]
            again = [case.model_copy(update={"group": f"second {case.split_key}"}) for case in copies]
            yield "200 pairs of two annotators", named + again
            first = [case.model_copy(update={"group": None}) for case in pairs]
            spaced = [case.model_copy(update={"group": None, "query": case.query + " "}) for case in copies]
            yield "200 pairs, again with a space", first + spaced


def shares(cases: list[Case], keys: tuple[str, ...]) -> tuple[float, float]:
    """The percentages of test cases that share their conversation, and a candidate text, with the other parts."""
    regrouped = [case.model_copy(update={"group": key}) for case, key in zip(cases, keys, strict=True)]
    counts = np.zeros(3)
    for seed in range(SEEDS):
        parts = split(regrouped, parts=Parts().proportions(certify=True), seed=seed, join=False)
        learnt = [case for name in ("train", "select") for case in parts[name]]
        queries = {normalised(conversation(case)) for case in learnt} - {""}
        texts = {normalised(candidate.text) for case in learnt for candidate in case.candidates} - {""}
        counts += np.array([
            len(parts["test"]),
            sum(normalised(conversation(case)) in queries for case in parts["test"]),
            sum(any(normalised(c.text) in texts for c in case.candidates) for case in parts["test"]),
        ])  # fmt: skip
    total, query, text = counts
    return 100 * query / total, 100 * text / total


def row(name: str, cases: list[Case]) -> str:
    """A line of the table."""
    start = time.perf_counter()
    groups: JoinedGroups = join_groups(cases)
    seconds = time.perf_counter() - start
    before_joining = tuple(case.split_key for case in cases)
    try:
        before, after = shares(cases, before_joining), shares(cases, groups.keys)
    except DataError:
        return ""
    figures = [f"{first:.1f} -> {second:.1f}" for first, second in zip(before, after, strict=True)]
    counts = [len(cases), len(set(before_joining)), len(set(groups.keys)), groups.equal, groups.near]
    return f"| {' | '.join([name, *map('{:,}'.format, counts), *figures, f'{seconds:.1f}'])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of public sets [default: $DICAST_DATA]")
    heads = ("set", "cases", "groups", "joined groups", "cases joined by equal texts", "only by near duplicates")
    print(f"| {' | '.join([*heads, 'test cases with a learnt query, %', 'with a learnt text, %', 'seconds'])} |")
    print("| --- " * 9 + "|")
    for name, cases in sets(parser.parse_args().data):
        if len({case.split_key for case in cases}) >= 10:
            print(row(name, cases), flush=True)


if __name__ == "__main__":
    main()
