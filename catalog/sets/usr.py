"""USR, Topical-Chat (Mehri and Eskenazi 2020, arXiv 2005.00456)."""

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, pointwise_row, sha256_hex

USR_SCALES = {"understandability": [0, 1], "groundedness": [0, 1], "overall": [1, 5]}  # 1..3 for every other aspect


def read_usr_topical_chat(paths: Paths) -> Rows:
    """Six responses to each of 60 dialog histories; the fact to talk about stays in meta."""
    for index, item in enumerate(json_list(paths[0])):
        scale = {aspect: USR_SCALES.get(aspect, [1, 3]) for aspect in item["scores"]}
        group = sha256_hex(item["source"])[:10]
        yield pointwise_row(
            f"topical_chat_usr/{index}",
            item["system_output"],
            item["scores"],
            scale,
            context=item["source"],
            system=item["system_id"],
            group=group,
            meta={"fact": item["context"]},
        )


register(
    PublicSet(
        name="usr-topical-chat",
        title="USR, Topical-Chat",
        kind="pointwise",
        size=360,
        labels="Human: the mean of three annotators; single ratings are not in this copy.",
        licence="MIT (the UniEval repository)",
        files=pinned_files(
            "maszhongming/UniEval",
            "d33e7b6cfebe97b2bafe435adbd818230d5a416a",
            "f6361daa6fe162f636d2071a60322a784acd770be0bf3a6920ac949d751b978a  "
            "reproduce/data/dialogue/topical_chat.json",
        ),
        citation="Mehri and Eskenazi 2020, USR (ACL), arXiv 2005.00456; copy: Zhong et al. 2022, arXiv 2210.07197",
        read_original=read_usr_topical_chat,
        converted="topical_chat_usr/test.jsonl",
        task="dialogue",
        aspects=("understandability", "naturalness", "coherence", "engagingness", "groundedness", "overall"),
        cautions=("Scales differ: understandability and groundedness 0..1, overall 1..5, the others 1..3.",),
    )
)
