"""SummEval, the 12 abstractive systems (Fabbri et al. 2021, arXiv 2007.12626)."""

from pathlib import Path
from statistics import fmean

from ..public_set import PublicSet, SourceFile, pinned_files, register
from ..rows import Paths, Rows, json_list, jsonl, pointwise_row, with_references

SUMMEVAL = """
97fcbe959263a1194c12ec68de0779d121aa0d8b626355406dad332d97cdb647  M10_outputs_annotations.jsonl
316d600477d1ddcc734a2e0495414befa7f9561fe272e16a007bf1adadd9dd85  M11_outputs_annotations.jsonl
41e1fabd1326f4e6dbfaee5df74abbd3f93abb4aa70d80b06201ba64518a61a8  M12_outputs_annotations.jsonl
6e54a047c75810271ce2ffe67351d0739f71976ef634583e5ab3564594d988de  M13_outputs_annotations.jsonl
f340a99d998602c1f7a044c0cc8d7115a3ed6ffe940c1c5174eb35da6a051b40  M14_outputs_annotations.jsonl
853c9d61f904bfdfa43fea7c22a2b7b54460484a47cff8fcc127c6434d1ed6d0  M15_outputs_annotations.jsonl
9186137414e04595b3974a191c0cc590508087bc9ccd3f9edca891539308e75d  M17_outputs_annotations.jsonl
b8a7d20201445c37b0351b587d5918fbe5501910f088bb752d14adcf86e272a6  M20_outputs_annotations.jsonl
055c5ca4e051b95697a85332a2d43bd4cc49a7b20db44297fded88edec4db3b3  M22_outputs_annotations.jsonl
a6c765629284a22731ceda3bf0bf2316dc60371a0d9def141ba7f4b688dbdd60  M23_outputs_annotations.jsonl
42fc0beefc741046a45d6b0b275f53d4a8dacf6d8fad61018dd2749cf6cae55f  M8_outputs_annotations.jsonl
d535fd61bc458e738d4bbeeb9b99306e6c5305f8895bd7d9e7cc919d4092b1ff  M9_outputs_annotations.jsonl
"""


ASPECTS = ("coherence", "consistency", "fluency", "relevance")


def read_summeval(paths: Paths) -> Rows:
    """One file a system; the label is the mean of three experts, five crowd workers stay in meta. Of the eleven
    references of an article the first is the newspaper's own."""
    for item in (item for path in paths for item in jsonl(path)):
        aspects = sorted(item["expert_annotations"][0])
        experts, crowd = (
            {aspect: [vote[aspect] for vote in item[f"{who}_annotations"]] for aspect in aspects}
            for who in ("expert", "turker")
        )
        doc_id = Path(item["filepath"]).stem
        name = f"summeval/{doc_id[:8]}/{item['model_id']}"
        means = {aspect: fmean(votes) for aspect, votes in experts.items()}
        scale = {aspect: [1, 5] for aspect in aspects}
        yield pointwise_row(
            name,
            item["decoded"],
            means,
            scale,
            context=item["text"],
            system=item["model_id"],
            group=doc_id[:8],
            annotators=experts,
            references=item.get("references", ()),
            meta={"doc_id": item["id"], "crowd_annotators": crowd},
        )


def read_converted(path: Path) -> Rows:
    """Converted rows; references lie beside them, {group, references} a line."""
    return with_references(jsonl(path), path.with_name("references.jsonl"))


def read_summeval_16(paths: Paths) -> Rows:
    """One row a summary of one of the 16 systems; the label is the mean of the three experts."""
    for item in json_list(paths[0]):
        group = item["doc_id"].rpartition("-")[2][:8]
        yield pointwise_row(
            f"summeval-16/{group}/{item['system_id']}",
            item["system_output"],
            {aspect: item["scores"][aspect] for aspect in ASPECTS},
            {aspect: [1, 5] for aspect in ASPECTS},
            context=item["source"],
            system=item["system_id"],
            group=group,
            references=[item["reference"]],
            meta={"doc_id": item["doc_id"]},
        )


register(
    PublicSet(
        name="summeval",
        title="SummEval, the 12 abstractive systems",
        kind="pointwise",
        size=1200,
        labels="Human: three experts a summary and aspect, all kept, and five crowd workers in meta.",
        licence="MIT (SummEval); not stated in the copy; the articles are CNN/DailyMail's",
        files=pinned_files(
            "DAMO-NLP-SG/LLM_summeval",
            "bd7dde15817a88940c17574973ff03e750356daa",
            SUMMEVAL,
            "model_output_annotations/",
        ),
        citation="Fabbri et al. 2021, SummEval (TACL), arXiv 2007.12626; copy: Shen et al. 2023, arXiv 2305.13091",
        read_original=read_summeval,
        read_converted=read_converted,
        converted="summeval/test.jsonl",
        task="summary",
        aspects=ASPECTS,
        cautions=(
            "Consistency and fluency are very skewed towards 5.",
            "The source annotated the 12 abstractive systems; summeval-16 has M0, M1, M2 and M5 too, with means alone.",
        ),
    ),
    PublicSet(
        name="summeval-16",
        title="SummEval, all 16 systems",
        kind="pointwise",
        size=1600,
        labels="Human: the mean of three experts a summary and aspect; single ratings are not in this copy.",
        licence="MIT (the UniEval repository; SummEval); the articles are CNN/DailyMail's",
        files=(
            SourceFile(
                "maszhongming/UniEval",
                "reproduce/data/summarization/summeval.json",
                "d33e7b6cfebe97b2bafe435adbd818230d5a416a",
                git_blob="812a51e6727b4a64e661603fa350d76586ef7de0",
            ),
        ),
        citation="Fabbri et al. 2021, SummEval (TACL), arXiv 2007.12626; copy: Zhong et al. 2022, arXiv 2210.07197",
        read_original=read_summeval_16,
        task="summary",
        aspects=ASPECTS,
        cautions=(
            "Consistency and fluency are very skewed towards 5.",
            "One reference a summary, the newspaper's own; summeval has eleven. Its texts may be cased otherwise.",
        ),
    ),
)
