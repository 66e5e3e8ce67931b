"""The face of every engine that reads hidden states: a text and what is around it in, its state out.

A state is the vector that a model holds for a token after its layer k, with the model's final norm applied. Published
probes read it at about 70 % of the depth (Maiya et al. 2025, https://arxiv.org/abs/2503.17755, read the last layer; 16
to 20 of 28 were best here, docs/evidence.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import DeclarationError, ModelError

DEPTH = 0.7  # the part of a model's layers below the state that is read by default
ENGINES = ("auto", "llama.cpp", "transformers", "server")

EngineName = Literal["auto", "llama.cpp", "transformers", "server"]
Form = Literal["turn", "dialogue"]


@dataclass(frozen=True)
class StateRequest:
    """A text to read. Its parts are tokenised apart, so that what is before a text is the same for every text; no part
    can spell a control token.

    Attributes:
        before: what is read before the text.
        text: the text whose tokens are averaged.
        after: is read after the text; the turn is then ended and the model's answer begun.
        options: texts of one token each, whose log-probabilities as the next token are returned, where the reader
            `gives_options`.
        form: the parts are one turn of a user; or a dialogue, `before` the turn of the user and `text` the ended turn
            of the assistant, as reward models read it.
        history: (role, text) of the turns before a dialogue, for readers that take them.

    Raises:
        DeclarationError: a dialogue with something after it.
    """

    before: str
    text: str
    after: str = ""
    options: tuple[str, ...] = ()
    form: Form = "turn"
    history: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.form == "dialogue" and self.after:
            raise DeclarationError("a state request: a dialogue has nothing after its text. Leave `after` empty.")


@dataclass(frozen=True)
class StateAnswer:
    """What was read.

    Attributes:
        mean: the mean over the tokens of the text, float32 (width,); for an empty text the state of the token before.
        last: the state of the last token that was read, float32 (width,).
        tokens: of the text.
        prompt_tokens: read in all.
        next: the natural logarithm of the probability of each of the request's options, of all tokens.
    """

    mean: NDArray[np.float32]
    last: NDArray[np.float32]
    tokens: int
    prompt_tokens: int
    next: Mapping[str, float] = field(default_factory=dict)


class StateReader(Protocol):
    """Reads states of one model at one layer; without a store, without a budget (`KeptReader` has both).

    Attributes:
        model: the model string.
        engine: "llama.cpp", "transformers" or "server".
        layer: the state is that after so many of the model's layers; 0 where the server decides.
        depth: the layers of the model; 0 where that is not known.
        gives_options: whether `StateRequest.options` are answered.
        batch: requests that are read together at most.
        slots: batches that are read at once at most.
        timeout: seconds that a batch may take where the run does not say.
    """

    model: str
    engine: str
    layer: int
    depth: int
    gives_options: bool
    batch: int
    slots: int
    timeout: float

    @property
    def digest(self) -> str:
        """SHA-256 of the weights, in hex; of the model's name and address where a server has them."""

    @property
    def width(self) -> int:
        """Numbers that a state has."""

    @property
    def frame(self) -> str:
        """What the chat template puts around the parts of a request; "" where the digest covers the template too."""

    def prepare(self) -> None:
        """Make the model ready: fetch it, cut it, start it."""

    def read(self, requests: Sequence[StateRequest]) -> list[StateAnswer]:
        """The states, in the requests' order; each depends on its request alone.

        Raises:
            ContextOverflow: more tokens than the model holds.
            Infrastructure: the model's server failed.
            ModelError: the model cannot be used at all.
        """


def default_layer(depth: int) -> int:
    """The layer that is read where nobody says: 70 % of the depth.

    Example:
        >>> default_layer(28), default_layer(30), default_layer(1)
        (20, 21, 1)
    """
    return max(1, round(DEPTH * depth))


def check_layer(model: str, layer: int | None, depth: int) -> int:
    """The layer, the default where None.

    Raises:
        ModelError: the model has no such layer.
    """
    if layer is None:
        return default_layer(depth)
    if not 1 <= layer <= depth:
        raise ModelError(f"model {model!r}: has the layers 1 to {depth}, not {layer}. Give one of these.")
    return layer
