"""FED: turns and whole dialogs (Mehri and Eskenazi 2020, arXiv 2006.12719)."""

from functools import partial
from statistics import fmean

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, pointwise_row

FED_TOPS = {"overall": 4, "understandable": 1, "consistent": 1}  # the highest score; 2 for every other aspect


def read_fed(paths: Paths, *, level: str) -> Rows:
    """Entries with a response are turns, the others whole dialogs; a score is the mean of the numeric votes."""
    for index, item in enumerate(json_list(paths[0])):
        if ("response" in item) != (level == "turn"):
            continue
        votes = {aspect.lower(): answers for aspect, answers in item["annotations"].items()}
        numbers = {aspect: [vote for vote in answers if not isinstance(vote, str)] for aspect, answers in votes.items()}
        scores = {aspect: round(fmean(values), 6) for aspect, values in numbers.items() if values}
        scale = {aspect: [0, FED_TOPS.get(aspect, 2)] for aspect in votes}
        context, text = (item["context"], item["response"]) if level == "turn" else ("", item["context"])
        yield pointwise_row(
            f"fed/{level}/{index}",
            text,
            scores,
            scale,
            context=context,
            system=item["system"],
            annotators=votes,
            meta={"level": level, "source_index": index},
        )


def _fed(level: str, size: int, aspects: tuple[str, ...], more: str) -> PublicSet:
    return PublicSet(
        name=f"fed-{level}",
        title=f"FED, {level} level",
        kind="pointwise",
        size=size,
        labels="Human: five annotators an item and aspect, all kept; the label is the mean of the numeric ones.",
        licence="not stated",
        files=pinned_files(
            "DSincerity/FED_Replication",
            "f0a9a675ffcd134e9cb606c46afc8e0c7ad31ba4",
            "69a608314d982e202c46a095ea99f4174332745b513034f6244f7551556e7e46  fed_data.json",
        ),
        citation="Mehri and Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with DialoGPT (SIGDIAL), "
        "arXiv 2006.12719",
        read_original=partial(read_fed, level=level),
        converted=f"fed/{level}_level.jsonl",
        task="dialogue" if level == "turn" else "dialogue-whole",
        aspects=aspects,
        cautions=(
            'Votes "N/A (...)" are left out and counted in meta.votes_not_numeric.',
            "The paper drops each item's furthest annotation first; here all stay.",
            "Three turns and one whole dialog come from one conversation: they share a group.",
            more,
        ),
    )


register(
    _fed(
        "turn",
        375,
        (
            "interesting",
            "engaging",
            "specific",
            "relevant",
            "correct",
            "semantically appropriate",
            "understandable",
            "fluent",
            "overall",
        ),
        "Scales differ: understandable 0..1, overall 0..4, the others 0..2.",
    ),
    _fed(
        "dialog",
        125,
        (
            "coherent",
            "error recovery",
            "consistent",
            "diverse",
            "depth",
            "likeable",
            "understanding",
            "flexible",
            "informative",
            "inquisitive",
            "overall",
        ),
        "Scales differ: consistent 0..1, overall 0..4, the others 0..2; one dialog has no error recovery.",
    ),
)
