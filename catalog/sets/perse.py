"""The samples of PerSE: movie plots with a reviewer's history (Wang et al. 2023, arXiv 2310.03304)."""

import re
from pathlib import Path

from ..public_set import PublicSet, SourceFile, pinned_files, register
from ..rows import Paths, Rows, jsonl

PLOTS = re.compile(r"\[The Start of Plot A\]\n(.*?)\n\[The End of Plot A\]\s+"
                   r"\[The Start of Plot B\]\n(.*?)\n\[The End of Plot B\]", re.S)  # fmt: skip
CHOICE = re.compile(r'"Choice": "(Plot A|Plot B|[^"]*)"')
CHOICES = {"Plot A": "a", "Plot B": "b"}  # any other, such as "N/A", is no preference
ASPECTS = {
    "I": "Interestingness", "A": "Adaptability", "S": "Surprise", "C": "Character Development", "E": "Ending",
}  # fmt: skip
FULL = "https://dl.fbaipublicfiles.com/perse"


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
    """Plots and earlier choices are cut out of the prompt; the last pair is the one to judge. The files are of
    the aspects in their order; rows without a preference are left out, and so are earlier choices without one."""
    for path, aspect in zip(paths, ASPECTS.values(), strict=False):
        yield from _choices(path, aspect)


def _choices(path: Path, aspect: str) -> Rows:
    for line, item in enumerate(jsonl(path)):
        *earlier, last = PLOTS.findall(item["prompt"][0])
        choices = [CHOICES.get(choice) for choice in CHOICE.findall(item["prompt"][0])]
        label = CHOICES.get(CHOICE.findall(item["completion"])[0])
        if label is None:
            continue
        yield {
            "id": f"perse/doc_{aspect.lower().replace(' ', '_')}/{item['idx']}-{line}",
            "kind": "profile_pairwise",
            "reviewer": item["review_id"],
            "comparisons": [
                {"response_a": a, "response_b": b, "label": choice}
                for (a, b), choice in zip(earlier, choices, strict=True)
                if choice is not None
            ],
            "response_a": last[0],
            "response_b": last[1],
            "label": label,
            "aspect": aspect,
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
    PublicSet(
        name="perse-mpst-full",
        title="PerSE, PerMPST, your copy of a whole file",
        kind="profile",
        size=None,
        labels="Human: reviewers' scores of movie plots, 1 to 10, with k earlier reviews each.",
        licence="CC-BY-NC-4.0",
        files=(SourceFile("facebookresearch/PerSE", "PerMPST.jsonl", "any", url=f"{FULL}/PerMPST.tar.gz"),),
        own_copy=f"unpack {FULL}/PerMPST.tar.gz and take one file of it, such as the validation file of k=3",
        citation="Wang et al. 2023, arXiv 2310.03304",
        read_original=read_perse_mpst,
        converted="perse/permpst_full.jsonl",
        task="plot",
        cautions=(
            "Not pinned by digest: its rows are checked to have the form of the public sample, and nothing else.",
        ),
    ),
    PublicSet(
        name="perse-doc-full",
        title="PerSE, PerDOC, your copy of the files of five aspects",
        kind="profile_pairwise",
        size=None,
        labels="Human: readers' choices between two plots of one premise, by five aspects, one earlier choice each.",
        licence="CC-BY-NC-4.0",
        files=tuple(
            SourceFile("facebookresearch/PerSE", f"PerDOC.{initial}.jsonl", "any", url=f"{FULL}/PerDOC.tar.gz")
            for initial in ASPECTS
        ),
        own_copy=f"unpack {FULL}/PerDOC.tar.gz, choose the file of each aspect, and put the five into a folder as "
        f"{', '.join(f'PerDOC.{initial}.jsonl' for initial in ASPECTS)}",
        citation="Wang et al. 2023, arXiv 2310.03304",
        read_original=read_perse_doc,
        converted="perse/perdoc_full.jsonl",
        aspects=tuple(ASPECTS.values()),
        task="plot",
        cautions=(
            "Not pinned by digest: its rows are checked to have the form of the public sample, and nothing else.",
            "Rows without a preference (neither plot, or both) are left out.",
        ),
    ),
)
