"""LLMBar: one response follows the instruction, the other one does not (Zeng et al. 2024, arXiv 2310.07641)."""

from functools import partial

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, pairwise_row


def read_llmbar(paths: Paths, *, subset: str) -> Rows:
    """1/2 -> a/b."""
    for index, item in enumerate(json_list(paths[0])):
        pair = (item["output_1"], item["output_2"])
        yield pairwise_row(f"llmbar/{subset}/{index}", item["input"], pair, ("a", "b")[item["label"] - 1], subset)


def _llmbar(subset: str, folder: str, size: int, sha256: str, longer: str) -> PublicSet:
    caution = () if subset == "natural" else ("Built to fool judges that like style over following the instruction.",)
    return PublicSet(
        name=f"llmbar-{subset}",
        title=f"LLMBar, {folder.rpartition('/')[2]}",
        kind="pairwise",
        size=size,
        labels="Gold by the authors: one response is objectively better; no single annotators, no ties.",
        licence="MIT",
        files=pinned_files(
            "princeton-nlp/LLMBar",
            "900616bff90b6c6c8e1681f7d079250637c55992",
            f"{sha256}  Dataset/LLMBar/{folder}/dataset.json",
        ),
        citation="Zeng et al. 2024, Evaluating Large Language Models at Evaluating Instruction Following (ICLR), "
        "arXiv 2310.07641",
        read_original=partial(read_llmbar, subset=subset),
        converted=f"llmbar/{subset}.jsonl",
        cautions=(f"The longer response wins {longer}.", *caution),
    )


register(
    _llmbar("natural", "Natural", 100, "f7127b7aa78104cb8e03a2b1b3ac0077e95b125714dd441a8ee63666145a3375", ".560"),
    _llmbar(
        "neighbor",
        "Adversarial/Neighbor",
        134,
        "6712c7eda6342602e0bc7c06c282fa95e2110d4e741a284026a62d937f9780a0",
        ".119",
    ),
    _llmbar(
        "gptinst", "Adversarial/GPTInst", 92, "1002425f73c2cf54b6e6de99bce3f6c60fa2a17d13194772e37d7481c1351d42", ".130"
    ),
    _llmbar(
        "gptout", "Adversarial/GPTOut", 47, "1ff56e520d7607750a9866a3be0f5b850392ca4477a1f69d80f32bd3e310f561", ".447"
    ),
    _llmbar(
        "manual", "Adversarial/Manual", 46, "0d9598769a39cdbbd265778c37e49939d41d5f76dcfb17bd75dcfa07516d3837", ".174"
    ),
)
