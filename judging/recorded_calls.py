"""What the LM calls of a judgment were sent and answered, while `recording` is on; it is off otherwise.

Messages are noted where the LM receives them (DSPy's callbacks), so that they are those of the try that was used, and
stored answers are noted like new ones. `Stage` is the only caller.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.experimental import Choice, Noul, Score
from dspy.lm15 import Request
from dspy.utils.callback import BaseCallback

from ..engines.token_probabilities import NO, YES, YesNoLM, options_of

JUDGES = ("judgment", "score")  # roles whose calls are about one text or about two
MEANINGS = {"A": "a", "B": "b", "C": "tie", "tie": "tie"}  # option -> the preference that it means


@dataclass(frozen=True)
class SentCall:
    """One request as the LM received it.

    Attributes:
        messages: {"role", "content"}, the system's first.
        text: what the LM wrote.
    """

    messages: tuple[dict[str, str], ...]
    text: str


@dataclass(frozen=True)
class RecordedCall:
    """One question of a judgment and its answer.

    Attributes:
        stage: the role of the stage.
        task: what is asked: "pairwise" or "single" for a judgment, else the stage's own word, else its role.
        model: that answered.
        sent: the request, and the text that the LM wrote.
        inputs: the inputs as the program gave them, in the order of the prompt.
        shown: the same as they appear in the prompt.
        outputs: the typed answer, as JSON.
        question: the output that was read from one token; empty for a written answer.
        probabilities: token -> its probability among the options; empty for a written answer.
        meanings: token -> what it says: a, b or tie of the texts as shown, yes or no, a score, an option's name.
    """

    stage: str
    task: str
    model: str
    sent: SentCall
    inputs: Mapping[str, Any]
    shown: Mapping[str, Any]
    outputs: Mapping[str, Any]
    question: str = ""
    probabilities: Mapping[str, float] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)


_calls: ContextVar[list[RecordedCall] | None] = ContextVar("dicast_recorded_calls", default=None)


@contextmanager
def recording() -> Iterator[list[RecordedCall]]:
    """The calls of this context and its threads, in order of completion; recordings nest, the innermost counts.

    Example:
        >>> with recording() as calls:
        ...     pass  # verdict = judge(case)
        >>> calls
        []
    """
    calls: list[RecordedCall] = []
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


def is_recording() -> bool:
    """Whether calls of this context are recorded."""
    return _calls.get() is not None


def note_call(call: RecordedCall) -> None:
    """Add a call to the recording of this context, if there is one."""
    calls = _calls.get()
    if calls is not None:
        calls.append(call)


class SentCalls(BaseCallback):
    """The requests of one stage, in order; a request that failed is not among them."""

    def __init__(self) -> None:
        self.calls: list[SentCall] = []
        self._messages: dict[str, tuple[dict[str, str], ...]] = {}

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if messages := _messages_of(inputs):
            self._messages[call_id] = messages

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        messages = self._messages.pop(call_id, None)
        if messages and outputs is not None and exception is None:
            self.calls.append(SentCall(messages, _text_of(outputs)))


@contextmanager
def listening() -> Iterator[SentCalls | None]:
    """What LMs are sent inside; None where nothing is recorded, which costs nothing."""
    if not is_recording():
        yield None
        return
    sent = SentCalls()
    with dspy.context(callbacks=[*dspy.settings.callbacks, sent]):
        yield sent


def task_name(role: str, inputs: Mapping[str, Any]) -> str:
    """What a stage asks, by its role and inputs.

    Example:
        >>> task_name("judgment", {"response_a": "", "response_b": ""}), task_name("guideline", {})
        ('pairwise', 'guideline')
    """
    if role not in JUDGES:
        return role
    return "pairwise" if any(name.endswith("_a") and f"{name[:-1]}b" in inputs for name in inputs) else "single"


def read_tokens(kind: Any, answer: Mapping[str, Any], reader: Any) -> tuple[dict[str, float], dict[str, str]]:
    """The probability of each token of a question that was read, and what each token says.

    Args:
        kind: the decision type of the output.
        answer: what the reader returned for the question.
        reader: makes the decision LM of the stage.
    """
    if issubclass(kind, Noul):
        yes, no = (YES[0], NO[0]) if isinstance(reader, type) and issubclass(reader, YesNoLM) else ("A", "B")
        return {yes: float(answer["noul"]), no: 1 - float(answer["noul"])}, {yes: "yes", no: "no"}
    name = "score" if issubclass(kind, Score) else "choice"
    marks, options = options_of({"type": name, "criteria": kind.criteria()})
    shares = {str(option): float(p) for option, p in answer["probabilities"].items()}
    probabilities = {mark: shares[option] for mark, option in zip(marks, options, strict=True)}
    if issubclass(kind, Choice) and {"A", "B"} <= set(options) <= set(MEANINGS):
        return probabilities, {mark: MEANINGS[option] for mark, option in zip(marks, options, strict=True)}
    meanings = marks if name == "score" else options
    return probabilities, dict(zip(marks, map(str, meanings), strict=True))


def _messages_of(inputs: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """The messages of an LM call: of a typed request, or of a list of messages; none of a question to a reader."""
    request = inputs.get("prompt")
    if isinstance(request, Request):
        system = [{"role": "system", "content": str(request.system)}] if request.system else []
        return (*system, *({"role": message.role, "content": message.text or ""} for message in request.messages))
    messages = inputs.get("messages")
    if not isinstance(messages, list):
        return ()
    return tuple({"role": str(message["role"]), "content": _content(message["content"])} for message in messages)


def _content(content: Any) -> str:
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def _text_of(outputs: Any) -> str:
    """The text of an LM's outputs: of a typed response, or the first of a list."""
    if isinstance(outputs, Sequence) and not isinstance(outputs, str):
        outputs = outputs[0] if outputs else ""
    if isinstance(outputs, Mapping):
        return str(outputs.get("text") or "")
    return outputs if isinstance(outputs, str) else str(getattr(outputs, "text", "") or "")
