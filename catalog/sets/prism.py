"""PRISM pairs with their annotator's persona (Kirk et al. 2024, arXiv 2404.16019; Dong et al. 2024, 2406.11657)."""

from typing import Any

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, jsonl, sha256_hex

# In this order, for a pair keeps the order in which its first run showed it. The repository has three more runs (all
# features by gpt-4o, gpt-3.5-turbo and llama3-70b), which would add pairs; they are not part of this set.
PRISM = """
8d23a0d16c48edec5b0026b694fd25f1c5f38f73d5a30ac4f32a3aacd3716077  prism_all_features_command-r-plus.jsonl
ae4b7f50b60e070c95019cc9e8f904a972339d8d141fba2568678dffda3285ea  prism_all_features_key_features_command-r-plus.jsonl
650207d50b5f9841e1ac31b0b64b41186ad2d4c3f9a416d45e21f6c2f7c069d9  prism_all_features_key_features_gpt-4o.jsonl
155c0ba07f74d33d7e719a65006eab62061ffdec201df61e101eff7296564a92  prism_all_features_key_features_gpt-4o_jun5.jsonl
669b8d09cd99c94f9422f337370ecd47fd70dc23fec425ae7cda07fd62007c86  prism_all_features_least_imp_feature_command-r-plus.jsonl
6e5c73cf93e0e042326ea3fbe21b5c2e2e071a6ee03d650c69142f01b0611202  prism_all_features_least_imp_feature_gpt-4o.jsonl
3048de67d5ef24fb8809c09f88be65ca99caa85e58ce83176fae66de76165dc4  prism_no_persona_command-r-plus_new.jsonl
475e38d520b9a59bbe39d1ae51699320a335c993f6bf7005596b6abb2cd5e277  prism_all_features_with_tie_all_features_command-r-plus.jsonl
2cc7a58a45aebc26ec0be3203f194516bb2edd520c896cd9ee389d87a546bac6  prism_all_features_with_tie_all_features_gpt-3.5-turbo.jsonl
d052714ccc3776ffcca90a94e0b67df12d118d0674962eb951b3fcfae45027ca  prism_all_features_with_tie_all_features_gpt-4o.jsonl
eb61740b640d60a6f2e799e226865e9a5e16134306299586b43b740222d99e0a  prism_all_features_with_tie_all_features_meta-llama_Meta-Llama-3-70B-Instruct_jun5.jsonl
"""  # noqa: E501


def read_prism(paths: Paths) -> Rows:
    """The union of the pairs met in all runs, each as the first run showed it.

    Records with gold C are left out: the source shows the previous question's responses there. So are pairs of two
    equal responses.
    """
    items: dict[str, dict[str, Any]] = {}
    for path in paths:
        features = next((name for name in ("key_features", "least_imp_feature") if name in path.name), "all_features")
        for run in jsonl(path):
            pair = (run["asst_A"], run["asst_B"])
            if run["ground_truth"] not in ("A", "B") or pair[0] == pair[1]:
                continue
            name = "personalized/prism/" + sha256_hex("\x1f".join((run["question"], *sorted(pair))))[:12]
            row = items.setdefault(
                name,
                {
                    "id": name,
                    "kind": "persona_pairwise",
                    "persona": {},
                    "question": run["question"],
                    "response_a": pair[0],
                    "response_b": pair[1],
                    "label": run["ground_truth"].lower(),
                    "meta": {"conversation_type": run["conversation_type"]},
                },
            )
            row["persona"].setdefault(features, run["user_info"])
    yield from items.values()


register(
    PublicSet(
        name="prism",
        title="Personalized Judge, PRISM pairs",
        kind="persona_pairwise",
        size=2643,
        labels="Human: the user scored both answers 1 to 100; gold is the higher one, at least 10 points apart.",
        licence="not stated in the copy; PRISM: human text CC-BY-4.0, model text CC-BY-NC-4.0",
        files=pinned_files(
            "dong-river/Personalized-Judge", "4d93fde111cbdaba7c3f8a439435dadee1acbd50", PRISM, "outputs/"
        ),
        citation="Kirk et al. 2024, PRISM (NeurIPS), arXiv 2404.16019; pairs: Dong et al. 2024, arXiv 2406.11657",
        read_original=read_prism,
        converted="personalized_prism/items.jsonl",
        cautions=(
            "The longer response wins .655.",
            "No user ids: people of equal education, ethnicity and countries share a group.",
            "The source's records with gold C show the previous question's responses and are left out.",
        ),
    )
)
