"""PrefEval: a choice among options for a person with a preference (Zhao et al. 2025, arXiv 2502.09597).

The classification task of its authors: the same questions and options in all three sets, in the same order, so that
their cases can be compared one by one. They differ in what is known of the person: the stated preference, a
conversation in which the person chose among options, or the conversation of a persona.
"""

import random
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import DataError
from ..public_set import PublicSet, pinned_files, register
from ..rows import Paths, Rows, json_list, jsonl, seed_of

REPOSITORY = ("amazon-science/PrefEval", "50795054b5ff5f418d2b768a331d71e480f93331")
LABELS = "Not human: model-written preferences, questions and options, filtered by the authors."
CITATION = "Zhao et al. 2025, Do LLMs Recognize Your Preferences? (ICLR), arXiv 2502.09597"
CAUTIONS = (
    "The source's first option is always the right one; options are shuffled here with a seed from the id.",
    "No person chose the right option: agreement with it is not agreement with people.",
    "The source has no split. PREF reports 200 questions, a 20 % test part whose list is not at hand: "
    "--limit 200 --seed 1 draws as many, by a seed of ours.",
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

CHOICE = """
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

PERSONA = """
d1d3b514095e5aa952c9ec1fcd87a8b5359d27bd7f212746698643857379494f  education_learning_styles.json
b2a17a544a294343ee47f9c85d0f3267aeaa7085cec5ce08b75c8b9dc43c4a3b  education_resources.json
7e2459846826319ef8159e850c741be2fbb2bc24a310b8a834af88528e3fac10  entertain_games.json
95590c301a9eb584f48ba7037d796ec663e99f20afd1c8a03ef3ba3b09b839e6  entertain_music_book.json
8a25974fe32a602846d82f486517b78245e3650038f8e2e8526e7011046229f9  entertain_shows.json
b9e1c7cc8b2d9e7d875d99b7a2bf1aaa2a25aa2bb57a160e675a0b993bfcac8f  entertain_sports.json
1849363e66f1200e89a0dba468143656aaba7bfe03fb5edb0b7464871eb76305  lifestyle_beauty.json
786a0d33f39115851f10c3f6159908bb031c539514306dacb2176570caced708  lifestyle_dietary.json
314cc68a4ab0ee60ed4e7b3bb38473959e989065c9193826873c3349701d5ae6  lifestyle_fit.json
c86287aa40162fccc2f7f33ef6a948a04be314b2743cfdf1a45e30e8ba436aae  lifestyle_health.json
b1952faab503bdadc7e40d0883a9018b805c449a03d58705d6dbb225035bc245  pet_ownership.json
061a70852e0caafbb7cb5ee0cfb5c4fd4581d735f5223cb734c1546cb124cacf  professional_work_location_style.json
fe2cb8e71daef28c639f6536677871362e74ab0beb278292966233b208cbfd3e  shop_fashion.json
0258a682a707ebc576be225b25b01929334a9d2ac1d1dfae3139220141656c57  shop_home.json
c53f5634c1d4b2ce66d7bb271f2b7d39517b27bc513fe3132a83bd4b459d52e6  shop_motors.json
8e2e4930fc4ffa54ab9ca93ea2aac29682c18f6882d6637f50c3d9c7a0b741c1  shop_technology.json
9f2a631c49f855ee3b0f574c905dcf5c6fca3c7a8373429e7145524cba9130f0  travel_activities.json
953b6a83f029dca137aeb450a7b2b59a02e36b8ee3f56f75d89aa5fde32219bd  travel_hotel.json
c09733b16ce4633272f5bd605cb3d3f71d110756a7960ccdfce73d01f565abdb  travel_restaurant.json
8a9b067187b58e87bad9da826865cf310be14544f3c0694ba31658de6a439c10  travel_transportation.json
"""


def read_mcq(paths: Paths) -> Rows:
    """One file a topic. The source's first option is the right one, so options are shuffled, seeded by the id."""
    for path in paths:
        for index, item in enumerate(json_list(path)):
            yield _mcq_row(path.stem, index, item)


def _mcq_row(topic: str, index: int, item: Mapping[str, Any]) -> dict[str, Any]:
    name, options = f"prefeval/mcq/{topic}/{index}", item["classification_task_options"]
    order = list(range(len(options)))
    random.Random(seed_of(name)).shuffle(order)
    return {
        "id": name,
        "kind": "choice",
        "question": item["question"],
        "preference": item["preference"],
        "options": [options[place] for place in order],
        "label": order.index(0),
        "explanation": item.get("explanation"),
        "meta": {
            "topic": topic,
            "violation_probability": item.get("violation_probability"),
            "source_permutation": order,
        },
    }


def read_implicit(paths: Paths, *, form: str) -> Rows:
    """The files of the conversations by topic, then those of the options: item by item they have one question."""
    topics = len(paths) // 2
    for said, mcq_file in zip(paths[:topics], paths[topics:], strict=True):
        for index, (item, mcq) in enumerate(zip(json_list(said), json_list(mcq_file), strict=True)):
            if item["question"] != mcq["question"]:
                raise ValueError(f"{said.stem}, item {index}: its question is not that of the options")
            turns = turns_of(item["conversation"], form)
            meta = {"persona": item["persona"]} if form == "persona" else {}
            yield with_conversation(_mcq_row(mcq_file.stem, index, mcq), turns, form, meta)


def turns_of(conversation: Mapping[str, Any], form: str) -> list[dict[str, str]]:
    """The conversation as turns of {role, content}: the four of a choice, or those of a persona in their order."""
    if form == "choice":
        user, assistant = ("query", "user_selection"), ("assistant_options", "assistant_acknowledgment")
        said = [conversation[name] for pair in zip(user, assistant, strict=True) for name in pair]
    else:
        said = [turn[role] for turn in conversation.values() for role in ("user", "assistant")]
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]


def with_conversation(
    row: Mapping[str, Any], turns: list[dict[str, str]], form: str, meta: Mapping[str, Any]
) -> dict[str, Any]:
    """The row of the options with a conversation as the profile; no judge sees the stated preference."""
    return {
        **row,
        "id": row["id"].replace("prefeval/mcq/", f"prefeval/implicit-{form}/"),
        "earlier_conversation": turns,
        "meta": {**row["meta"], **meta, "preference": row["preference"]},
    }


def join_converted(path: Path) -> Iterator[dict[str, Any]]:
    """Rows that have the conversation; rows that lack it, of the first question, joined with `mcq.jsonl` beside them.

    Raises:
        DataError: there is no `mcq.jsonl`, or it has not the question of a row.
    """
    options = path.with_name("mcq.jsonl")
    mcq_rows: dict[str, dict[str, Any]] = {}
    for row in jsonl(path):
        if "earlier_conversation" in row:
            yield row
            continue
        if not mcq_rows and options.is_file():
            mcq_rows = {mcq["id"].removeprefix("prefeval/mcq/"): mcq for mcq in jsonl(options)}
        mcq = mcq_rows.get(row["id"].removeprefix("prefeval/implicit_choice/"), {})
        if mcq.get("question") != row["meta"]["followup_question"]:
            raise DataError(
                f"{path}: row {row['id']!r} is of the first question, and {options.name} beside it has no options of "
                "the question that followed. Copy both files, or take the original."
            )
        yield with_conversation(mcq, turns_of(row["meta"]["conversation"], "choice"), "choice", {})


SET = partial(PublicSet, kind="choice", size=1000, labels=LABELS, licence="CC-BY-NC-4.0", citation=CITATION)
OPTIONS = pinned_files(*REPOSITORY, MCQ, "benchmark_dataset/mcq_options/")
CHOICE_BASED = pinned_files(*REPOSITORY, CHOICE, "benchmark_dataset/implicit_preference/choice-based/")
PERSONA_DRIVEN = pinned_files(*REPOSITORY, PERSONA, "benchmark_dataset/implicit_preference/persona-driven/")

register(
    SET(
        name="prefeval-mcq",
        title="PrefEval, stated preference, multiple choice",
        files=OPTIONS,
        read_original=read_mcq,
        converted="prefeval/mcq.jsonl",
        cautions=CAUTIONS,
    ),
    SET(
        name="prefeval-implicit",
        title="PrefEval, preference implied by an earlier choice",
        files=CHOICE_BASED + OPTIONS,
        read_original=partial(read_implicit, form="choice"),
        converted="prefeval/implicit_choice.jsonl",
        read_converted=join_converted,
        cautions=CAUTIONS,
    ),
    SET(
        name="prefeval-persona",
        title="PrefEval, preference implied by a persona's conversation",
        files=PERSONA_DRIVEN + OPTIONS,
        read_original=partial(read_implicit, form="persona"),
        converted="prefeval/implicit_persona.jsonl",
        cautions=CAUTIONS,
    ),
)
