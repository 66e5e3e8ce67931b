"""OpenMEVA, ROC stories (Guan et al. 2021, arXiv 2105.08920)."""

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, pointwise_row


def read_openmeva(paths: Paths) -> Rows:
    """One row a prompt and system; only the mean of the five raters is released."""
    for item in json_list(paths[0]):
        for system, story in item["gen"].items():
            name, doc_id = f"openmeva_roc/{item['doc_id']}/{system}", str(item["doc_id"])
            scores = {"overall": story["score"]["human"]}
            yield pointwise_row(
                name,
                story["text"],
                scores,
                {"overall": [1, 5]},
                context=item["prompt"],
                system=system,
                group=doc_id,
                references=[item["reference"]],
                meta={"reference": item["reference"]},
            )


register(
    PublicSet(
        name="openmeva",
        title="OpenMEVA, ROC stories",
        kind="pointwise",
        size=1000,
        labels="Human: the mean of five annotators, 1 to 5; single ratings are not in this copy.",
        licence="not stated",
        files=pinned_files(
            "krystalan/chatgpt_as_nlg_evaluator",
            "982e7867eb27d0971b4cf8f7cb50f7cda5c5bdf1",
            "75b44ae616438d3be415b7fed0d1c6bc447b02ac4b01467be8416712b02ab58e  data/openmeva.json",
        ),
        citation="Guan et al. 2021, OpenMEVA (ACL), arXiv 2105.08920; copy: Wang et al. 2023, arXiv 2303.04048",
        read_original=read_openmeva,
        converted="openmeva_roc/test.jsonl",
        task="story",
        aspects=("overall",),
    )
)
