"""PRISM pairs with true ties and the names of the models, made from PRISM itself by the rule of arXiv 2406.11657.

The runs that the paper's authors released show, where the gold is a tie, the responses of the question before: 902
records of 389 questions. The right texts cannot be recovered from the release. Of 320 of these questions other records
have responses, but a tied response is less than 10 points below the best, so that no other run pairs the two, and
nothing says which one it was. A copy of PRISM has all responses with their scores.
"""

import random
from collections.abc import Iterable
from typing import Any

from ..public_set import PublicSet, SourceFile, register
from ..rows import Paths, Rows, jsonl, seed_of

POINTS = 10  # of 1..100, from which on a response is better than another
FILTERED = ("language model", "AI", "chatbot")  # a response with one of these, in these letters, is left out
URL = "https://huggingface.co/datasets/HannahRoseKirk/prism-alignment/resolve/main/"
SIMPLE = ("gender", "age", "employment_status", "education", "marital_status")


def read_prism_ties(paths: Paths) -> Rows:
    """The best response to each opening question against one of the others, drawn by the question's id.

    Args:
        paths: survey.jsonl and utterances.jsonl.
    """
    survey, utterances = paths
    people = {person["user_id"]: _features(person) for person in jsonl(survey)}
    for identity, responses in sorted(_openings(jsonl(utterances)).items()):
        if len(responses) < 2:
            continue
        name = f"prism/ties/{identity}"
        draw = random.Random(seed_of(name))
        best, *others = sorted(responses, key=lambda response: -response["score"])
        other = draw.choice(others)
        pair = (best, other) if draw.random() < 0.5 else (other, best)
        is_tie = best["score"] < other["score"] + POINTS
        yield {
            "id": name,
            "kind": "persona_pairwise",
            "features": people[best["user_id"]],
            "group": best["user_id"],
            "question": best["user_prompt"],
            "response_a": pair[0]["model_response"],
            "response_b": pair[1]["model_response"],
            "label": "tie" if is_tie else "ab"[pair.index(best)],
            "meta": {
                "system_a": pair[0]["model_name"],
                "system_b": pair[1]["model_name"],
                "conversation_type": best["conversation_type"],
                "points_apart": best["score"] - other["score"],
            },
        }


def _openings(utterances: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The responses to each opening question that the filter leaves."""
    by_question: dict[str, list[dict[str, Any]]] = {}
    for said in utterances:
        if said["turn"] == 0 and not any(word in said["model_response"] for word in FILTERED):
            by_question.setdefault(said["interaction_id"], []).append(said)
    return by_question


def _features(person: dict[str, Any]) -> dict[str, str]:
    values = {name: person.get(name) for name in SIMPLE}
    values |= {name: (person.get(name) or {}).get("simplified") for name in ("ethnicity", "religion")}
    places = person.get("location") or {}
    values |= {"birth_country": places.get("birth_country"), "residence_country": places.get("reside_country")}
    return {name: str(value) for name, value in values.items() if value and "prefer not to say" not in value.lower()}


register(
    PublicSet(
        name="prism-ties",
        title="PRISM, opening questions, with ties and model names",
        kind="persona_pairwise",
        size=None,
        labels="Human: the user scored all answers 1 to 100; less than 10 points apart is a tie.",
        licence="human text CC-BY-4.0, model text CC-BY-NC-4.0",
        files=tuple(
            SourceFile("HannahRoseKirk/prism-alignment", name, "main", url=URL + name)
            for name in ("survey.jsonl", "utterances.jsonl")
        ),
        citation="Kirk et al. 2024, PRISM (NeurIPS), arXiv 2404.16019; pairs: Dong et al. 2024, arXiv 2406.11657",
        read_original=read_prism_ties,
        cautions=(
            "Made from your copy of PRISM by the paper's rule, but with other draws: not the paper's very pairs.",
            "Not pinned by digest, and never read whole by the authors of this package.",
            "The paper leaves out responses of the judge's own model before it pairs them; --not-by leaves out pairs.",
        ),
    ),
)
