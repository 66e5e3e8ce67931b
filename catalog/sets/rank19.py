"""Rank19: correct and incorrect summary sentences (Falke et al. 2019, aclanthology.org/P19-1213)."""

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, pairwise_row, seed_of


def read_rank19(paths: Paths) -> Rows:
    """Triples of a source sentence with a correct and an incorrect summary; the order follows from the id."""
    for index, item in enumerate(json_list(paths[0])):
        name = f"rank19/{index}"
        pair = (item["correct_sent"], item["incorrect_sent"])
        swapped = seed_of(name) % 2
        responses = pair[::-1] if swapped else pair
        yield pairwise_row(name, item["article_sent"], responses, "ab"[swapped], "factual-consistency")


register(
    PublicSet(
        name="rank19",
        title="Rank19: correct and incorrect summary sentences",
        kind="pairwise",
        size=373,
        labels="Human: crowd workers marked summary sentences correct or incorrect; single votes are not released.",
        licence="CC-BY-SA-4.0 (the authors' release); none stated in the copy",
        files=pinned_files(
            "tagoyal/dae-factuality",
            "e191ecacf3878b580ecbeb56ca9bcf20e1ed9426",
            "cd12359b5a6f1e3e9916a63aed911bacee74f501ce9f4a0331266a668ae4e310  resources/summary_pairs.json",
        ),
        citation="Falke et al. 2019, Ranking Generated Summaries by Correctness (ACL), aclanthology.org/P19-1213",
        read_original=read_rank19,
        converted="rank19/test.jsonl",
        aspects=("consistency",),
        task="summary",
        cautions=(
            "The longer response wins about .61.",
            "The copy in neulab/BARTScore is a pickle and is never read. Its texts are tokenised and truecased; these "
            "are lower-case. Ids name the same triples in both, but which response is a may differ.",
            "3 duplicate pairs.",
        ),
    )
)
