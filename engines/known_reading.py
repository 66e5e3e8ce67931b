"""How distributions are read from a model with `--readout auto`, as far as this machine knows it from earlier calls."""

from typing import Literal

from ..errors import DicastError
from .capabilities import Card, KeptCard
from .model_string import IN_PROCESS, ModelString
from .models import card_identity

KnownWay = Literal["tokens", "sampled", "stated"]


def known_way(model: str) -> KnownWay | None:
    """The way in which a model is read; None where it was never asked for token probabilities.

    Args:
        model: a model string; a model in this process gives token probabilities.
    """
    if not model:
        return None
    parsed = ModelString.parse(model)
    if parsed.provider in IN_PROCESS:
        return "tokens"
    card = _card(parsed)
    if card.way is not None:
        return card.way
    if "logprobs" in card.refuses:
        return card.way_without_tokens
    if "logprobs" not in card.accepts:
        return None
    return "stated" if card.thinks and card.next_switch is None else "tokens"


def way_without_tokens(model: str) -> KnownWay:
    """The way in which a model is read if it gives no token probabilities, as far as this machine knows it."""
    return _card(ModelString.parse(model)).way_without_tokens if model else "sampled"


def _card(model: ModelString) -> Card:
    try:
        return KeptCard.of(card_identity(model)).now
    except DicastError:  # what the run will say
        return Card()
