"""The pairwise test set of Auto-J (Li et al. 2024, arXiv 2310.05470)."""

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, jsonl, pairwise_row


def read_autoj(paths: Paths) -> Rows:
    """0/1/2 -> a/b/tie."""
    for index, item in enumerate(jsonl(paths[0])):
        pair = (item["response 1"], item["response 2"])
        label = ("a", "b", "tie")[item["label"]]
        yield pairwise_row(f"autoj/{index}", item["prompt"], pair, label, item["scenario"])


register(
    PublicSet(
        name="autoj",
        title="Auto-J pairwise test set",
        kind="pairwise",
        size=1392,
        labels="Human: one label a pair; single annotators are not released.",
        licence="not stated for the data",
        files=pinned_files(
            "GAIR-NLP/auto-j",
            "2ae17a3965d933232e9cd50302aa0f176249c83b",
            "56f32fad71d9b6b33bc4d51794c324981e26355bcbf3ce4908d7f8ddcc61f80e  data/test/testdata_pairwise.jsonl",
        ),
        citation="Li et al. 2024, Generative Judge for Evaluating Alignment (ICLR), arXiv 2310.05470",
        read_original=read_autoj,
        converted="autoj_pairwise/test.jsonl",
        cautions=("The longer response wins .718.", "58 scenarios of 24 pairs; one empty response."),
    )
)
