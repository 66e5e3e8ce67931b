"""The samples of PerSE: movie plots with a reviewer's history (Wang et al. 2023, arXiv 2310.03304)."""

import re

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, jsonl

PLOTS = re.compile(r"\[The Start of Plot A\]\n(.*?)\n\[The End of Plot A\]\s+"
                   r"\[The Start of Plot B\]\n(.*?)\n\[The End of Plot B\]", re.S)  # fmt: skip
CHOICE = re.compile(r'"Choice": "Plot ([AB])"')


def read_perse_mpst(paths: Paths) -> Rows:
    """The last example is the text to score, those before it are the reviewer's history."""
    for line, item in enumerate(jsonl(paths[0])):
        *history, last = item["examples"]
        names = {"text": "summ_plot", "review": "clean_review", "score": "score", "title": "movie_title"}
        yield {
            "id": f"perse/mpst/{item['idx']}-{item['review_index']}-{line}",
            "kind": "profile",
            "reviewer": last["reviewer_name"],
            "reviews": [{ours: example[theirs] for ours, theirs in names.items()} for example in history],
            **{ours: last[names[ours]] for ours in ("text", "review", "score")},
            "scale": [1, 10],
            "meta": {"movie_id": last["movie_id"], "movie_title": last["movie_title"], "k": len(history)},
        }


def read_perse_doc(paths: Paths) -> Rows:
    """Plots and earlier choices are cut out of the prompt; the last pair is the one to judge."""
    for line, item in enumerate(jsonl(paths[0])):
        *earlier, last = PLOTS.findall(item["prompt"][0])
        choices = CHOICE.findall(item["prompt"][0])
        yield {
            "id": f"perse/doc_interestingness/{item['idx']}-{line}",
            "kind": "profile_pairwise",
            "reviewer": item["review_id"],
            "comparisons": [
                {"response_a": a, "response_b": b, "label": choice.lower()}
                for (a, b), choice in zip(earlier, choices, strict=True)
            ],
            "response_a": last[0],
            "response_b": last[1],
            "label": CHOICE.findall(item["completion"])[0].lower(),
            "aspect": "Interestingness",
            "meta": {"source_idx": item["idx"]},
        }


register(
    PublicSet(
        name="perse-mpst",
        title="PerSE, PerMPST sample",
        kind="profile",
        size=10,
        labels="Human: one reviewer's scores of movie plots, 1 to 10.",
        licence="CC-BY-NC-4.0",
        files=pinned_files(
            "facebookresearch/PerSE",
            "cbe1b4890179c3f50e01e5203cc3b4b207c2cffb",
            "b693f5c9f1c2d210186cb899693f6ac82db6d5f6023b7db2da04a33cbdac42f6  data/PerMPST.k3.sample.jsonl",
        ),
        citation="Wang et al. 2023, Learning Personalized Alignment for Evaluating Open-ended Text Generation, "
        "arXiv 2310.03304",
        read_original=read_perse_mpst,
        converted="perse/permpst_k3_sample.jsonl",
        task="plot",
        cautions=(
            "A smoke test, no evidence: 10 records of one reviewer, scores 5 to 8. The full set is not in the "
            "repository.",
        ),
    ),
    PublicSet(
        name="perse-doc",
        title="PerSE, PerDOC sample (interestingness)",
        kind="profile_pairwise",
        size=10,
        labels="Human: four reviewers' choices between two plots, one earlier choice each.",
        licence="CC-BY-NC-4.0",
        files=pinned_files(
            "facebookresearch/PerSE",
            "cbe1b4890179c3f50e01e5203cc3b4b207c2cffb",
            "e5abf8b9e1774debbf2e2b74e67de060527a160c9d4fa6a5e6e7032951eeb723  data/PerDOC.I.sample.jsonl",
        ),
        citation="Wang et al. 2023, arXiv 2310.03304",
        read_original=read_perse_doc,
        converted="perse/perdoc_interestingness_sample.jsonl",
        task="plot",
        aspects=("Interestingness",),
        cautions=("A smoke test, no evidence: 10 records, of which 8 are b.", "Cut out of prompt strings."),
    ),
)
