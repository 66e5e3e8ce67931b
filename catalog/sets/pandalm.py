"""The PandaLM test set (Wang et al. 2024, arXiv 2306.05087)."""

from collections import Counter

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, pairwise_row


def read_pandalm(paths: Paths) -> Rows:
    """0/1/2 -> tie/a/b by three annotators. Six responses are the JSON boolean true: they become "True"."""
    for item in json_list(paths[0]):
        letters = [("tie", "a", "b")[item[f"annotator{n}"]] for n in (1, 2, 3)]
        meta = {name: item[name] for name in ("instruction", "input", "cmp_key")} | {"source_idx": item["idx"]}
        query = "\n\n".join(part for part in (item["instruction"], item["input"]) if part)
        pair = (str(item["response1"]), str(item["response2"]))
        label = Counter(letters).most_common(1)[0][0]
        yield pairwise_row(
            f"pandalm/{item['idx']}", query, pair, label, item["motivation_app"], meta=meta, annotators=letters
        )


register(
    PublicSet(
        name="pandalm",
        title="PandaLM test set",
        kind="pairwise",
        size=999,
        labels="Human: three annotators a pair, all three kept; the label is their majority.",
        licence="Apache-2.0",
        files=pinned_files(
            "WeOpenML/PandaLM",
            "3871806e72b4832f815ecafd24d3503c73403f48",
            "cc154f9067c7382d7ea86f8f246511a5e1ac87e1fddd845c5938d789505b07a4  data/testset-v1.json",
        ),
        citation="Wang et al. 2024, PandaLM (ICLR), arXiv 2306.05087",
        read_original=read_pandalm,
        converted="pandalm/test.jsonl",
        cautions=(
            "The longer response wins .672.",
            "999 pairs over only 170 prompts: split by group, never by row.",
            "148 rows repeat another row's prompt and pair; 54 have an empty response.",
        ),
    )
)
