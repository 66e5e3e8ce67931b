"""182 short pairs of the PandaLM test set, which its licence lets us copy (PANDALM-SHORT.md)."""

from importlib.resources import files
from pathlib import Path

from ..public_set import PublicSet, register

FILE = Path(str(files(__package__) / "pandalm-short.jsonl"))

register(
    PublicSet(
        name="pandalm-short",
        title="PandaLM test set, 182 short pairs of 99 prompts, in the package",
        kind="pairwise",
        size=182,
        labels="Human: three annotators a pair, all three kept; the label is their majority.",
        licence="Apache-2.0",
        citation="Wang et al. 2024, PandaLM (ICLR), arXiv 2306.05087; catalog/sets/PANDALM-SHORT.md",
        packaged=FILE,
        cautions=(
            "A part of `pandalm`: do not compile on one and test on the other.",
            "The longer response wins .683.",
        ),
    )
)
