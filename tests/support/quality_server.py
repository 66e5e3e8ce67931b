"""A server whose models prefer the text of the higher quality, each right on a proportion of the pairs."""

import hashlib
import re
from typing import Any

from dicast.data import Case
from dicast.testing import MockServer

SKILL = {"teacher": 0.97, "student": 0.97, "base": 0.6, "poor": 0.1}
QUALITY = re.compile(r"quality (\d)")


def quality_server() -> MockServer:
    return MockServer(token_probabilities=preferred)


def preferred(body: dict[str, Any]) -> dict[str, float]:
    """A or B by the qualities in the order shown; wrong on the pairs that the model's name draws, in both orders."""
    text = "\n".join(str(message["content"]) for message in body["messages"])
    shown = [int(level) for level in QUALITY.findall(text)[-2:]]
    if len(shown) == 1:  # the score of one text: nothing is known of it
        return {"3": 0.4, "2": 0.3, "4": 0.3}
    model = str(body["model"])
    drawn = hashlib.sha256(f"{model if SKILL[model] < 0.9 else 'good'} {sorted(shown)} {topic(text)}".encode()).digest()
    better = "A" if shown[0] > shown[-1] else "B"
    if drawn[0] / 256 > SKILL[model]:
        better = "BA"["AB".index(better)]
    certainty = 0.6 + 0.3 * drawn[1] / 256
    return {better: certainty, "BA"["AB".index(better)]: 1 - certainty}


def topic(text: str) -> str:
    match = re.search(r"topic \d+", text)
    return match[0] if match else ""


def quality_pairs(n: int, *, labelled: bool = True, start: int = 0) -> list[Case]:
    """Pairs whose label is the text of the higher quality."""
    cases = []
    for number in range(start, start + n):
        first, second = 1 + number * 7 % 9, 1 + (number * 7 + 1 + number % 8) % 9
        label = {"value": "a" if first > second else "b" if second > first else "tie"}
        cases.append(
            Case(
                id=f"{number:04}", query=f"Write about topic {number}.",
                candidates=[{"text": f"{number}, quality {first}"}, {"text": f"{number}, quality {second}"}],
                label=label if labelled else None,
            )
        )  # fmt: skip
    return cases
