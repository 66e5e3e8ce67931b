"""The probability readout: a decision LM that reads next-token probabilities instead of text.

Each Choice, Score or Noul field of a signature is one question and costs one token (two where 10 is a level): the
options are named by letters, the levels of a score by the numbers that they are, and the probabilities of those tokens
are read, whatever their case and leading spaces. The probability mass on the options is reported as `mass_read`. Works
with every server that returns log-probabilities. The implicit score of arXiv 2304.00723 and the weighted
score of G-Eval (arXiv 2303.16634) are this.
"""

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dspy.clients.base_lm import BaseLM
from dspy.lm15 import Config, Message, Request, Response
from dspy.utils.callback import with_callbacks

from ..errors import NoTokenProbabilities
from .adapter import heading, sections, text_of
from .reply import NO_PROBABILITIES

PROMPT = "prompt"  # of the evidence of a question: the messages that ask for its mark
TOP = 20  # alternatives asked for; 20 is the most that OpenAI's API gives
SHOWN = 3  # of the most probable tokens, to say what a model gave in place of the options
YES, NO = ("Yes", "YES", "yes"), ("No", "NO", "no")  # arXiv 2304.00723, section 3.1; with or without a space before
TEN = "10"  # one token of some models; others write 1, then 0
DECORATION = string.whitespace + "()[]{}*\"'`.:,Ġ▁"


@dataclass(frozen=True)
class MarkPrompt:
    """A request for one mark.

    Attributes:
        text: of the user's message.
    """

    system: str
    text: str

    @property
    def messages(self) -> tuple[dict[str, str], ...]:
        """The messages of the request, as {"role", "content"}."""
        system = ({"role": "system", "content": self.system},) if self.system else ()
        return (*system, {"role": "user", "content": self.text})

    def request(self, model: str, config: Config) -> Request:
        return Request(model=model, system=self.system, messages=(Message.user(self.text),), config=config)


@dataclass(frozen=True)
class OptionReading:
    """What was read of a question.

    Attributes:
        distribution: the probability of each mark, in order; they add up to 1.
        mass_read: the probability mass on the marks, in [0, 1].
        tokens: what the model answers, with probabilities, the most probable first.
        prompt: which asks for one of the marks, where no one request gave the distribution as its answer.
    """

    distribution: Sequence[float]
    mass_read: float
    tokens: Sequence[tuple[str, float]]
    prompt: MarkPrompt | None = None

    @property
    def evidence(self) -> dict[str, Any]:
        """What is known of the reading beside the distribution."""
        prompt = {} if self.prompt is None else {PROMPT: [*self.prompt.messages]}
        return {"mass_read": self.mass_read, "tokens": self.tokens, **prompt}


class ProbabilityLM(BaseLM):
    """Answers DSPy decision requests (`lm(state=..., questions=...)`) from an LM's token probabilities.

    Args:
        inner: the LM that is asked, one request of one token per question.
    """

    supports_decision_requests = True
    has_floor = True  # a question of which the options hold too little counts as unread

    def __init__(self, inner: Any) -> None:
        super().__init__(model=f"probability/{inner.model}", cache=inner.cache)
        self.inner = inner

    @with_callbacks
    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {name: self._ask(state, question) for name, question in questions.items()}

    def _ask(self, state: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
        marks, options = options_of(question)
        reading = self._read(state, question, marks, options)
        by_option = dict(zip(options, reading.distribution, strict=True))
        if question["type"] == "noul":
            return {"noul": by_option["true"], **reading.evidence}
        return {"probabilities": by_option, "confidence": max(reading.distribution), **reading.evidence}

    def _read(
        self, state: Mapping[str, Any], question: Mapping[str, Any], marks: Sequence[str], options: Mapping[str, Any]
    ) -> OptionReading:
        """The distribution over the marks."""
        config = Config(max_tokens=len(max(marks, key=len)), temperature=0.0, logprobs=TOP)
        response = self.inner(prompt_of(state, question, marks, options).request(self.inner.model, config))
        distribution, mass_read = read_options(response, marks)
        return OptionReading(distribution, mass_read, top_tokens(response)[:SHOWN])

    def __deepcopy__(self, memo: dict[int, Any]) -> "ProbabilityLM":
        return self


class YesNoLM(ProbabilityLM):
    """Answers a Noul question with the words Yes and No, not with letters (the implicit score of arXiv 2304.00723).

    Its evidence holds `words`: the probability of each yes- and no-word among the `TOP` most probable tokens, by rank.
    The paper scores whatever mass the words have, which is often little.
    """

    has_floor = False

    def _ask(self, state: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
        config = Config(max_tokens=1, temperature=0.0, logprobs=TOP)
        tokens = top_tokens(self.inner(yes_no_prompt(state, question).request(self.inner.model, config)))
        words = [(rank, token.strip(" Ġ▁"), p) for rank, (token, p) in enumerate(tokens, 1)]
        said = [(rank, word, p) for rank, word, p in words if word in (*YES, *NO)]
        p_yes, p_no = yes_no_mass(said)
        total = p_yes + p_no
        read = {"mass_read": min(1.0, total), "tokens": tokens[:SHOWN]}
        return {"noul": p_yes / total if total else 0.5, "words": said, **read}


def yes_no_mass(words: Sequence[tuple[int, str, float]], top: int = TOP) -> tuple[float, float]:
    """The probability on yes-words and on no-words among the `top` most probable tokens; words are (rank, word, p)."""
    yes = math.fsum(p for rank, word, p in words if word in YES and rank <= top)
    no = math.fsum(p for rank, word, p in words if word in NO and rank <= top)
    return yes, no


def options_of(question: Mapping[str, Any]) -> tuple[Sequence[str], dict[str, Any]]:
    """The marks (A, B, ... or 1, 2, ...; see `level_marks`) and the options with their descriptions, in order.

    Example:
        >>> options_of({"type": "score", "criteria": ["poor", "good"]})
        (('1', '2'), {'0': 'poor', '1': 'good'})
    """
    criteria = question.get("criteria")
    if question["type"] == "score":
        levels = {str(level): _meaning(criterion) for level, criterion in enumerate(criteria or ())}
        return level_marks(criteria or ()), levels
    if question["type"] == "noul":
        texts = criteria or {}
        options = {"true": texts.get("true") or "yes", "false": texts.get("false") or "no"}
    else:
        options = dict(criteria or {})
    return string.ascii_uppercase[: len(options)], options


def level_marks(criteria: Sequence[Any]) -> tuple[str, ...]:
    """The marks of a score's levels, lowest first: the scores themselves, or letters where one is not in 0..10.

    Args:
        criteria: one for each level: a text for the scores 1, 2, ...; {"score": ..., "meaning": ...} for others.

    Example:
        >>> level_marks(["poor", "good"]), level_marks([{"score": 0, "meaning": "no"}, {"score": 1, "meaning": "yes"}])
        (('1', '2'), ('0', '1'))
    """
    scores = [
        criterion["score"] if isinstance(criterion, Mapping) else number for number, criterion in enumerate(criteria, 1)
    ]
    marks = map(str, scores) if all(0 <= score <= 10 for score in scores) else string.ascii_uppercase[: len(scores)]
    return tuple(marks)


def _meaning(criterion: Any) -> Any:
    return criterion["meaning"] if isinstance(criterion, Mapping) else criterion


def read_options(response: Response, marks: Sequence[str]) -> tuple[list[float], float]:
    """The distribution over the marks and the probability mass on them (`mass_read`).

    A mark outside the returned top tokens gets the probability 0; with no mark among them the answer is uniform with
    mass 0. The token 1 may begin a 10: see `_share_of_ten`.

    Raises:
        NoTokenProbabilities: the server returned no token probabilities.
    """
    mass = dict.fromkeys(marks, 0.0)
    for token, p in top_tokens(response):
        mark = token.strip(DECORATION).upper()
        if mark in mass:
            mass[mark] += p
    if "1" in mass and mass.get(TEN) == 0:
        share = _share_of_ten(response, mass)
        mass |= {"1": mass["1"] * (1 - share), TEN: mass["1"] * share}
    mass_read = min(1.0, math.fsum(mass.values()))
    if mass_read <= 0:
        return [1 / len(marks)] * len(marks), 0.0
    return [p / math.fsum(mass.values()) for p in mass.values()], mass_read


def _share_of_ten(response: Response, mass: Mapping[str, float]) -> float:
    """The part of the probability of the token 1, in [0, 1], that belongs to 10 where 10 is two tokens.

    After a first token 1 the second one says it. After any other nothing does, and the part is that of 9 among 2 and 9:
    a distribution over scores seldom has its peaks at both ends.
    """
    if response.logprobs and response.logprobs[0].token.strip(DECORATION) == "1":
        second = top_tokens(response, 1)
        zero = math.fsum(p for token, p in second if token.strip(DECORATION).startswith("0"))
        return zero / math.fsum(p for _, p in second) if zero else 0.0
    low, high = mass.get("2", 0.0), mass.get("9", 0.0)
    return high / (low + high) if high else 0.0


def top_tokens(response: Response, place: int = 0) -> list[tuple[str, float]]:
    """The alternatives of the first token, or of that at another place from 0, with their probabilities, the most
    probable first; none where the answer is shorter.

    Raises:
        NoTokenProbabilities: the server returned no token probabilities.
    """
    if not response.logprobs:
        raise NoTokenProbabilities(f"model {response.model!r}: {NO_PROBABILITIES}")
    listed = [token for at in response.logprobs[place : place + 1] for token in (*at.top, at)]
    tokens = {token.token: token.logprob for token in listed}
    return sorted(((token, math.exp(logprob)) for token, logprob in tokens.items()), key=lambda pair: -pair[1])


def prompt_of(
    state: Mapping[str, Any], question: Mapping[str, Any], marks: Sequence[str], options: Mapping[str, Any]
) -> MarkPrompt:
    """The system prompt, and the inputs first, the question last, so that questions about one case share a prefix."""
    inputs = demos_text(state.get("demos", ())) + sections(state["inputs"])
    return MarkPrompt(str(state["instructions"]), f"{inputs}\n\n{_question_text(question, marks, options)}")


def yes_no_prompt(state: Mapping[str, Any], question: Mapping[str, Any]) -> MarkPrompt:
    """The prompt of a Noul question that is answered with Yes or No."""
    text = f"{sections(state['inputs'])}\n\n{question['instructions']} Answer with Yes or No.\nAnswer:"
    return MarkPrompt(str(state["instructions"]), demos_text(state.get("demos", ())) + text)


def _question_text(question: Mapping[str, Any], marks: Sequence[str], options: Mapping[str, Any]) -> str:
    """The question and its options; options that are named by their marks and have no description need no list."""
    lines = [str(question["instructions"])]
    for mark, (option, description) in zip(marks, options.items(), strict=True):
        if description is not None or option != mark:
            lines.append(f"{mark}. {description if description is not None else option}")
    kind = "number" if TEN in marks else "digit" if marks[0].isdigit() else "letter"
    return "\n".join([*lines, f"Answer with one {kind}."])


def demos_text(demos: Sequence[Mapping[str, Any]]) -> str:
    """Demos as they are shown before a question; empty without any."""
    examples = [
        f"Example {number}:\n" + "\n".join(f"{heading(name)}: {text_of(value)}" for name, value in demo.items())
        for number, demo in enumerate(demos, start=1)
    ]
    return "\n\n".join([*examples, "Now judge this:\n"]) if examples else ""
