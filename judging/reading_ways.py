"""How distributions are read from a model: from token probabilities, from sampled letters, or as the model says.

`--readout auto` reads token probabilities where the model gives them. Else it samples as many answers as `letters`
says, or, of a model that thinks before each answer, asks for one stated distribution. What a model allows is decided
once and kept on its card (`engines.capabilities`), so that all cases are read in one way; verdicts say so in notes.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from dspy.lm15 import Config, Message, Request
from dspy.utils.exceptions import LMUnsupportedFeatureError

from ..engines.asked_distributions import LETTERS, SampledLM, SampledYesNoLM, StatedLM, StatedYesNoLM
from ..engines.capabilities import Card, KeptCard
from ..engines.model_string import IN_PROCESS
from ..engines.token_probabilities import YesNoLM
from ..errors import NoTokenProbabilities, Unreadable
from .hparam import HParam

Way = Literal["tokens", "auto", "sampled", "stated"]
WAYS: tuple[Way, ...] = ("tokens", "auto", "sampled", "stated")
MOST_LETTERS = 100
SIMPLE = "Which number is smaller, 2 or 7? Answer with the number alone."

Result = TypeVar("Result")


@dataclass
class _Reading:
    way: str = "tokens"
    letters: int = LETTERS
    notes: dict[str, None] = field(default_factory=dict)


_reading: ContextVar[_Reading | None] = ContextVar("dicast_reading_way", default=None)
_cards: "WeakKeyDictionary[Any, KeptCard]" = WeakKeyDictionary()


def way_parameter() -> HParam:
    """The parameter `reading` of a judge; `--readout auto` and the like set it."""
    about = (
        "how a probability is read: from tokens; from `letters` sampled letters; stated by the model; or auto, the "
        "first of these that the model can do. `readout=auto`, `sampled` and `stated` set it"
    )
    return HParam("tokens", WAYS, search=(), implied=True, about=about)


def letters_parameter() -> HParam:
    """The parameter `letters` of a judge: how many letters are sampled for a distribution."""
    about = "how many letters are sampled for one distribution, where `reading` samples them"
    return HParam(LETTERS, range(1, MOST_LETTERS + 1), search=(), implied=True, about=about)


def with_ways(values: dict[str, Any]) -> dict[str, Any]:
    """Settings with `readout=auto`, `sampled` or `stated` as they mean it: `readout=probability`, read in this way."""
    settings = dict(values)
    for name, value in values.items():
        path, _, last = name.rpartition(".")
        if last != "readout":
            continue
        reading = f"{path}.reading" if path else "reading"
        if value in WAYS[1:]:
            settings |= {name: "probability", reading: value}
        elif value == "probability":
            settings.setdefault(reading, WAYS[0])
    return settings


def read_by_student(settings: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The changes that a judge's settings need where a model in this process answers in place of the present one: its
    token probabilities are read, as it gives them.

    Example:
        >>> read_by_student({"reading": "sampled", "letters": 5, "members[0].reading": "auto"}, "transformers/student")
        {'reading': 'tokens'}
    """
    if model.partition("/")[0] not in IN_PROCESS:
        return {}
    ways = {name: way for name, way in settings.items() if name.rpartition(".")[2] == "reading"}
    return {name: WAYS[0] for name, way in ways.items() if way in ("sampled", "stated")}


@contextmanager
def reading_in_way(way: str, letters: int) -> Iterator[list[str]]:
    """Inside, distributions are read in this way; the list holds, after the block, notes on what was done."""
    reading, notes = _Reading(way, letters), list[str]()
    token = _reading.set(reading)
    try:
        yield notes
    finally:
        _reading.reset(token)
        notes += reading.notes


def read_in_way(lm: Any, reader: Callable[[Any], Any], ask: Callable[[Any], Result]) -> Result:
    """What `ask` makes of the decision LM that reads from this LM in the way of the context.

    Args:
        reader: makes the decision LM that reads token probabilities.
        ask: asks it.

    Raises:
        Unreadable, NoTokenProbabilities: the way cannot be read.
    """
    reading = _reading.get()
    if reading is None or reading.way == "tokens":
        return ask(reader(lm))
    way = reading.way
    if way == "auto":
        kept_card = card_of(lm)
        if kept_card.now.way is None and "logprobs" not in kept_card.now.refuses:
            try:
                return ask(reader(lm))
            except (NoTokenProbabilities, LMUnsupportedFeatureError, Unreadable) as error:
                if not gives_no_tokens(error, kept_card.now):
                    raise
        way = kept_card.now.way or _decided(lm, kept_card)
        reading.notes[f"{_why(kept_card.now)}, so {_how(way, reading.letters)}"] = None
    else:
        reading.notes[_how(way, reading.letters)] = None
    words = isinstance(reader, type) and issubclass(reader, YesNoLM)
    if way == "stated":
        return ask((StatedYesNoLM if words else StatedLM)(lm))
    return ask((SampledYesNoLM if words else SampledLM)(lm, reading.letters))


def card_of(lm: Any) -> KeptCard:
    """The card of an LM; of another LM than dicast's, a card for the LM's life."""
    transport = getattr(lm, "transport", None)
    if transport is not None and isinstance(getattr(transport, "card", None), KeptCard):
        card: KeptCard = transport.card
        return card
    return _cards.setdefault(lm, KeptCard())


def gives_no_tokens(error: Exception, card: Card) -> bool:
    """Whether no token probabilities can be read from the model at all, and not of one reply only.

    Args:
        error: what a question that reads them raised.
        card: of the model, after that question.
    """
    if isinstance(error.__cause__, LMUnsupportedFeatureError):
        error = error.__cause__
    if isinstance(error, Unreadable):
        return card.thinks and card.next_switch is None
    if isinstance(error, LMUnsupportedFeatureError):
        return getattr(error, "feature", None) == "logprobs"
    return isinstance(error, NoTokenProbabilities) and "logprobs" not in card.accepts


def _decided(lm: Any, kept_card: KeptCard) -> Literal["sampled", "stated"]:
    """How a model without token probabilities is read: a short question shows whether it thinks."""
    if not kept_card.now.thinks:
        lm(Request(model=lm.model, messages=(Message.user(SIMPLE),), config=Config(max_tokens=64)))
    way = kept_card.now.way_without_tokens
    kept_card.learn(lambda card: card.model_copy(update={"way": way}))
    return way


def _why(card: Card) -> str:
    if card.thinks and "logprobs" not in card.refuses and "logprobs" in card.accepts:
        return "the model thinks before every answer and cannot be stopped"
    return "the model gives no token probabilities"


def _how(way: str, letters: int) -> str:
    return "read as the model states it" if way == "stated" else f"read from {letters} sampled answers"
