"""Distributions of models that give no token probabilities: from sampled letters, or as the model states them.

Both answer DSPy's decision requests as `ProbabilityLM` does, so that evidence, heads and certificates stay the same. Of
k sampled answers each option gets its count and one half more, the estimator of Krichevsky and Trofimov (1981),
https://doi.org/10.1109/TIT.1981.1056331: no option is ever impossible. `mass_read` is the proportion of answers that
name an option. A stated distribution (arXiv 2305.14975) is one answer, for which a model thinks once.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dspy.lm15 import Config

from ..errors import DicastError
from ..parsing import parse_json
from .parallel import concurrently
from .token_probabilities import (
    DECORATION,
    NO,
    PROMPT,
    YES,
    MarkPrompt,
    OptionReading,
    ProbabilityLM,
    YesNoLM,
    prompt_of,
    yes_no_prompt,
)

LETTERS = 10  # answers to a question by default
DRAW_TOKENS = 16  # of a sampled answer; room for a thought grows by itself
STATED_TOKENS = 240
STATED_TRIES = 3
HALF = 0.5  # added to each count
OF_STATED = 100  # what a stated distribution adds up to, in the weight of the halves
STATE = "Answer with one JSON object with the keys {}; each value is how probable that answer is, in percent."
SHOWN = 3
ANSWER = re.compile(r"(?:answer|choice|verdict|score|rating)\W+(?:is\W+)?([A-Z]|\d{1,2})\b(?!['\w])", re.IGNORECASE)
OBJECT = re.compile(r"\{[^{}]*\}")


class SampledLM(ProbabilityLM):
    """Reads a question from several sampled answers.

    Args:
        inner: the LM that is asked.
        letters: how many answers to each question.
    """

    def __init__(self, inner: Any, letters: int = LETTERS) -> None:
        super().__init__(inner)
        self.letters = letters

    def _read(
        self, state: Mapping[str, Any], question: Mapping[str, Any], marks: Sequence[str], options: Mapping[str, Any]
    ) -> OptionReading:
        return self._of_draws(prompt_of(state, question, marks, options), marks)

    def _of_draws(self, prompt: MarkPrompt, marks: Sequence[str]) -> OptionReading:
        request = prompt.request(self.inner.model, Config(max_tokens=DRAW_TOKENS, temperature=1.0))
        texts = concurrently(
            lambda number: str(self.inner(request, rollout_id=number).text or ""), range(1, self.letters + 1)
        )
        named = Counter(mark for text in texts if (mark := mark_of(text, marks)) is not None)
        shown = Counter(text.strip() for text in texts).most_common(SHOWN)
        tokens = [(text, count / self.letters) for text, count in shown]
        return OptionReading(smoothed([named[mark] for mark in marks]), named.total() / self.letters, tokens, prompt)


class SampledYesNoLM(SampledLM):
    """Reads a Noul question from several sampled answers of Yes or No, as `YesNoLM` does from their probabilities."""

    has_floor = False

    def _ask(self, state: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
        read = self._of_draws(yes_no_prompt(state, question), (YES[0], NO[0]))
        p_yes, p_no = read.distribution
        words = [(1, YES[0], p_yes), (2, NO[0], p_no)]
        return {"noul": p_yes, "words": words, **read.evidence}


class StatedLM(ProbabilityLM):
    """Reads a question from the probabilities that the model states."""

    def _read(
        self, state: Mapping[str, Any], question: Mapping[str, Any], marks: Sequence[str], options: Mapping[str, Any]
    ) -> OptionReading:
        prompt = prompt_of(state, question, marks, options)
        keys = ", ".join(f'"{mark}"' for mark in marks)
        stating = replace(prompt, text=prompt.text.rpartition("\n")[0] + f"\n{STATE.format(keys)}")
        answer = ""
        for number in range(STATED_TRIES):
            config = Config(max_tokens=STATED_TOKENS, temperature=1.0 if number else 0.0)
            request = stating.request(self.inner.model, config)
            answer = str(self.inner(request, **({"rollout_id": number} if number else {})).text or "")
            shares = stated_shares(answer, marks)
            if shares is not None:
                return OptionReading(smoothed([OF_STATED * share for share in shares]), 1.0, [], prompt)
        return OptionReading([1 / len(marks)] * len(marks), 0.0, [(answer.strip(), 1.0)], prompt)


class StatedYesNoLM(YesNoLM):
    """As `StatedLM`, for a Noul question that is answered with Yes or No."""

    def _ask(self, state: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
        read = StatedLM(self.inner)._ask(state, question)
        words = [(1, YES[0], read["noul"]), (2, NO[0], 1 - read["noul"])]
        return read | {"words": words, PROMPT: [*yes_no_prompt(state, question).messages]}


def smoothed(counts: Sequence[float]) -> list[float]:
    """The probability of each option, of the counts of the options, each with a half more.

    Example:
        >>> smoothed([10, 0])
        [0.9545454545454546, 0.045454545454545456]
    """
    total = sum(counts) + HALF * len(counts)
    return [(count + HALF) / total for count in counts]


def mark_of(text: str, marks: Sequence[str]) -> str | None:
    """The mark that a written answer names; None where it names none, or several.

    Example:
        >>> [mark_of(text, "ABC") for text in ("B", " **b**.", "A better answer is B", "The answer is: C", "A or B")]
        ['B', 'B', 'B', 'C', None]
    """
    by_fold = {mark.casefold(): mark for mark in marks}
    whole = text.strip(DECORATION)
    if whole.casefold() in by_fold:
        return by_fold[whole.casefold()]
    head = re.match(r"\W*(\w+)\W*(?:[.):\n]|$)", text)
    if head and head[1].casefold() in by_fold:
        return by_fold[head[1].casefold()]
    if said := [name.casefold() for name in ANSWER.findall(text) if name.casefold() in by_fold]:
        return by_fold[said[-1]]
    named = {mark for mark in marks if re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", text)}
    if len(named) == 2 and "A" in named and re.match(r"\W*A\s+(?!or\b|and\b)[a-z]", text):  # an article
        named.discard("A")
    return named.pop() if len(named) == 1 else None


def stated_shares(text: str, marks: Sequence[str]) -> list[float] | None:
    """The shares that an answer states for the marks, which add up to 1; None where it states none."""
    for part in reversed(OBJECT.findall(text)):
        try:
            stated = parse_json(part, "a stated distribution")
        except DicastError:
            continue
        values = [stated.get(mark, 0) for mark in marks] if isinstance(stated, dict) else []
        if not all(isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 for value in values):
            continue
        if 0 < (total := float(sum(values))) < float("inf"):
            return [value / total for value in values]
    return None
