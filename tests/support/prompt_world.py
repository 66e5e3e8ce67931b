"""Pairs of a polite and a rude response, and an LM that prefers the polite one once its prompt holds that lesson."""

import re
from typing import Any

from dicast.data import Case
from dicast.judging import build
from dicast.testing import Answer, answer_fields, prompt_text

LESSON = "the politer response is better"
RUDE, POLITE = "No. Find out yourself {}.", "Gladly, here is answer {}, thank you."


def cases(part: str, n: int) -> list[Case]:
    """Pairs of a polite and a rude response; people prefer the polite one, and every second pair is easy."""
    pairs = []
    for number in range(n):
        texts = [POLITE.format(f"{part}{number}"), RUDE.format(f"{part}{number}")]
        side = "ab"[number // 2 % 2]
        pairs.append(
            Case(
                id=f"{part}{number}",
                query=f"{'Easy' if number % 2 else 'Hard'} question {part}{number}",
                candidates=[{"text": text} for text in (texts if side == "a" else texts[::-1])],
                label={"value": side},
                meta={"reason": f"I think {LESSON}."},
            )
        )
    return pairs


def judge_says(prompt: str) -> str:
    """Right where the lesson or a demo is in the prompt, or the case is easy; wrong elsewhere, in either order."""
    shown = prompt[prompt.rfind("Request:\n") :]
    right = "A" if shown.find("Gladly") < shown.find("Find out") else "B"
    knows = LESSON in prompt or prompt.count("Gladly") > 1 or "Easy question" in shown
    return right if knows else "BA"["AB".index(right)]


def writes(prompt: str, fields: set[str]) -> dict[str, Any]:
    """A model that proposes the lesson once it was prompt of it."""
    text = f"Remember that {LESSON}." if LESSON in prompt else "Judge well."
    advice = dict.fromkeys(("prefer",), text)
    return {name: advice if name == "module_advice" else text for name in fields}


def world(request: Any) -> Answer:
    prompt, fields = prompt_text(request), answer_fields(request)
    if request.config.logprobs is not None:
        said = judge_says(prompt)
        return {"token_probabilities": {said: 0.8, "AB"["BA".index(said)]: 0.1, "4": 0.1}}
    if fields == {"better"}:
        return {"better": judge_says(prompt)}
    return writes(prompt, fields or set(re.findall(r'^"(\w+)":', prompt, re.MULTILINE)))


def stubborn(request: Any) -> Answer:
    """The same, but for one case to select by that nothing helps: no wording is perfect, so no search ends early."""
    prompt = prompt_text(request)
    if "question s0" not in prompt[prompt.rfind("Request:\n") :] or request.config.logprobs is None:
        return world(request)
    return {"token_probabilities": {"B" if prompt.rfind("Gladly") < prompt.rfind("Find out") else "A": 1.0}}


def plain(**settings: Any) -> Any:
    return build("direct", **({"grading": "pairwise"} | settings))
