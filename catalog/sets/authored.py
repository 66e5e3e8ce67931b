"""Our own pairs for the demo and the tests (AUTHORED.md)."""

from importlib.resources import files
from pathlib import Path

from ..public_set import PublicSet, register
from ..rows import Paths, Rows, jsonl, pairwise_row

FILE = Path(str(files(__package__) / "authored.jsonl"))


def read_authored(paths: Paths) -> Rows:
    """Our own pairs: plain pairwise rows with a category and a reason."""
    for row in jsonl(paths[0]):
        pair = (row["response_a"], row["response_b"])
        yield pairwise_row(row["id"], row["query"], pair, row["label"], row["category"], meta={"reason": row["reason"]})


register(
    PublicSet(
        name="authored",
        title="Authored pairs for the demo and the tests",
        kind="pairwise",
        size=48,
        labels="By the package's authors, drafted by a language model; one label a pair.",
        licence="MIT",
        citation="dicast, catalog/sets/AUTHORED.md",
        read_original=read_authored,
        packaged=FILE,
        cautions=("Easy on purpose and too small to rank judges.", "The longer response wins .500."),
    )
)
