"""PrefEval: a choice among options for a person with a preference (Zhao et al. 2025, arXiv 2502.09597)."""

import random
from functools import partial

from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, seed_of

REPOSITORY = ("amazon-science/PrefEval", "50795054b5ff5f418d2b768a331d71e480f93331")
LABELS = "Not human: model-written preferences, questions and options, filtered by the authors."
CITATION = "Zhao et al. 2025, Do LLMs Recognize Your Preferences? (ICLR), arXiv 2502.09597"
CAUTIONS = (
    "The source's first option is always the right one; options are shuffled here with a seed from the id.",
    "No person chose the right option: agreement with it is not agreement with people.",
)


MCQ = """
36c1f9d9121c88ae8d5534e13a7eca43b8659367f76816d34d6dc89b203b3ba0  education_learning_styles.json
96d2c922f331a497290ac1fedee3dcb950fe1139f3009173969130fccc3cf4ba  education_resources.json
d60a04b77ad82d338e3182d9717ef3ae36425b9c9f12a735e526548ca0bfbf1b  entertain_games.json
3aad8ca57fc3596bf4765bff4f31e53b90e83ab9df1b769777ad130077a6e0c4  entertain_music_book.json
1d1365624dd4379a4c194bfd12bfd7329e6b26715c3eef89b41673e956b10287  entertain_shows.json
1357603248b8b60b2358f8ee3bbfeaab907ac2de7706739ccbe85a2957c9fbab  entertain_sports.json
51f7ec952061df585f510c222e51c29ad80b96540404b984fb55085ec38a81d0  lifestyle_beauty.json
d3201163475aae5dd49021190838d81952913b86d1b7dd45a06a90ad7c49fb4c  lifestyle_dietary.json
e1af67c5e6458d7bbaed6836ee0ce2c5c53bdba766e3aa117083573b59f22b02  lifestyle_fit.json
8c4162e63abb8daaced2bdd3547797401189f45ad537b387f53f8b9d9ee28be6  lifestyle_health.json
2beb37b0735284d5bdc75d47f8182e498b71dc034c2679a74083592adb90673a  pet_ownership.json
938a6c2c7a8a035e3ec4239a24e42d17a40d7b6bd5c221ae4f5fb050da52a197  professional_work_location_style.json
b3576f8387e85e7792007fa39152ea9dcb5bede2d370d9d92514a78b2b78d27b  shop_fashion.json
081cba1d648168f427d165e30d68e338aa026a0bf340aa1a65c3f21e36a36777  shop_home.json
f061cb93ec682a8b40d0bac737cf8469b6d37da953a22640fb93c027a01b1318  shop_motors.json
473c8959ed218c3e1d40ed47b4e0b95f202e5302b7948772868b1aa10088d970  shop_technology.json
4403e3761eccee1a55135b4aad924b68557696c198dfcba18807ddda27d2da04  travel_activities.json
ce5cb3bb4003dcb1f720c12a31a519ea070440cbea46e670dc44b22763d1b56b  travel_hotel.json
06e9c60a783ebd9e0b4691504e14e2b94a5c9574b7f4ed567d1dc154cdc902d6  travel_restaurant.json
d836ada6b28f42c3f1394a49308dedbeeb1f587cd1721c93998cd6a545d7772f  travel_transportation.json
"""

IMPLICIT = """
cdc856b918c679c3090f12f52742905db878fed05839c0eff87cf586b2b7ea2f  education_learning_styles.json
75614c5caf3ca4b32bea991b212a96fecdb2047d53e5c91395504a2d24c4c561  education_resources.json
14f19fd424b2310aead670afc0ee2e7c39f1e0150340793e4fbe9763fe11e4a9  entertain_games.json
68361e3a360f6b2e8f0527fdb98dd1d8814421fa9a45dad49767121da4f9a74c  entertain_music_book.json
00a604a7a841eac822a6e4bf0f861a6fc82e7ad0915d09cbbfff0216f11cba2b  entertain_shows.json
c7c3ba3522bb1e22a11408d2f049fa637aca00aa8924d7172d7691cc0d74b299  entertain_sports.json
e51980935ebb1806f8577239d9a314081edc733cda9b8741723f53657e1ac0c8  lifestyle_beauty.json
9d4cc71e1e2d99c3755b9b435054dced973a11ca9de5668dbcc4a0dbed1bce3a  lifestyle_dietary.json
3562e18a3862344d15434518ac1b2523988fa535b93cbbfa388a9453a7a90988  lifestyle_fit.json
9ebc21071470f21e6dce8258337741b19a44cb5c40375237b5e8fee35c9a8789  lifestyle_health.json
6e17f111c6de8c58b1a03deae8087ee53eed48d3a6f162b9051a4299b4ce98ac  pet_ownership.json
340dbb1f4e6b6e176e493df22a9f8157b73ea612fd39a934df45543fc0b6984d  professional_work_location_style.json
6900618a2da89302e8f83aac1197fbfc3dd2db41f0b357760987002727965aed  shop_fashion.json
c6c8cdf64f39d3742871b5b3ecde1a256e69e876158da40ffbc796598d83f519  shop_home.json
728bc539b1d38e9cbfd4f56df28e2e73eeb3d21c934393380cad91d74e2c8f2c  shop_motors.json
6944b6416e1fdbbaca7fe0e2b2cb10d88cd994568e968e0367e34631a47ff106  shop_technology.json
24973fd7875bbc88109b09f6cd91ba89cddb5da87b6e024fdd067e38b93cc76a  travel_activities.json
679e5f4b54e5646f2757bf0053b0150ff4ac86544f9d099cf8c774abc043cb66  travel_hotel.json
cddb4a9fdbe51f7cb5002d0f9ef971cced10010ddd81a7f72193e1ea772f4b8d  travel_restaurant.json
53ae6dd9bdf8cfcbc89edf23fb9a2fecd8604a8af61b6a91027dfe7311f7074e  travel_transportation.json
"""


def read_prefeval(paths: Paths, *, form: str) -> Rows:
    """One file a topic. The source's first option is the right one, so options are shuffled, seeded by the id."""
    for path in paths:
        for index, item in enumerate(json_list(path)):
            name, mcq = f"prefeval/{form}/{path.stem}/{index}", form == "mcq"
            options = item["classification_task_options" if mcq else "options"]
            order = list(range(len(options)))
            random.Random(seed_of(name)).shuffle(order)
            if mcq:
                extra = {"violation_probability": item.get("violation_probability")}
            else:
                extra = {"followup_question": item["question"]}
                extra |= {field: item[field] for field in ("conversation", "aligned_op")}
            yield {
                "id": name,
                "kind": "choice",
                "question": item["question" if mcq else "implicit_query"],
                "preference": item["preference"],
                "options": [options[place] for place in order],
                "label": order.index(0),
                "explanation": item.get("explanation"),
                "meta": {"topic": path.stem, **extra, "source_permutation": order},
            }


register(
    PublicSet(
        name="prefeval-mcq",
        title="PrefEval, multiple choice",
        kind="choice",
        size=1000,
        labels=LABELS,
        licence="CC-BY-NC-4.0",
        files=pinned_files(*REPOSITORY, MCQ, "benchmark_dataset/mcq_options/"),
        citation=CITATION,
        read_original=partial(read_prefeval, form="mcq"),
        converted="prefeval/mcq.jsonl",
        cautions=CAUTIONS,
    ),
    PublicSet(
        name="prefeval-implicit",
        title="PrefEval, implicit preference by a choice",
        kind="choice",
        size=1000,
        labels=LABELS,
        licence="CC-BY-NC-4.0",
        files=pinned_files(*REPOSITORY, IMPLICIT, "benchmark_dataset/implicit_preference/choice-based/"),
        citation=CITATION,
        read_original=partial(read_prefeval, form="implicit_choice"),
        converted="prefeval/implicit_choice.jsonl",
        cautions=CAUTIONS,
    ),
)
