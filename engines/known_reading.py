"""How distributions are read from a model with `--readout auto`, as far as this machine knows it from earlier calls."""

from typing import Literal

from ..errors import DicastError
from .capabilities import KeptCard
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
    try:
        card = KeptCard.of(card_identity(parsed)).now
    except DicastError:  # what the run will say
        return None
    if card.way is not None:
        return card.way
    if "logprobs" in card.refuses:
        return "stated" if card.thinks else "sampled"
    return "tokens" if "logprobs" in card.accepts and not (card.thinks and card.next_switch is None) else None
