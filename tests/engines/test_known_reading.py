"""How a model is read with `auto`, as its card says it before a call."""

import itertools
from typing import Any

import pytest

from dicast.engines.capabilities import SWITCHES, KeptCard
from dicast.engines.known_reading import known_way, way_without_tokens
from dicast.engines.model_string import ModelString
from dicast.engines.models import card_identity

NUMBERS = itertools.count()
LOGPROBS = frozenset({"logprobs"})
UNSTOPPABLE = {"thinks": True, "failed_switches": frozenset(SWITCHES)}


@pytest.mark.parametrize(
    ("known", "way", "otherwise"),
    [
        ({}, None, "sampled"),
        ({"thinks": True}, None, "stated"),
        ({"accepts": LOGPROBS}, "tokens", "sampled"),
        ({"accepts": LOGPROBS, "thinks": True}, "tokens", "stated"),
        ({"accepts": LOGPROBS, **UNSTOPPABLE}, "stated", "stated"),
        (UNSTOPPABLE, None, "stated"),
        ({"refuses": LOGPROBS}, "sampled", "sampled"),
        ({"refuses": LOGPROBS, "thinks": True}, "stated", "stated"),
        ({"way": "sampled", "accepts": LOGPROBS}, "sampled", "sampled"),
    ],
)
def test_the_way_is_that_of_a_run(known: dict[str, Any], way: str | None, otherwise: str) -> None:
    model = f"openai/known-{next(NUMBERS)}@http://127.0.0.1:9/v1"
    KeptCard.of(card_identity(ModelString.parse(model))).learn(lambda card: card.model_copy(update=known))
    assert (known_way(model), way_without_tokens(model)) == (way, otherwise)


def test_a_model_in_this_process_gives_tokens_and_a_model_without_a_name_is_not_known() -> None:
    assert known_way("local/smollm2-135m") == "tokens"
    assert (known_way(""), way_without_tokens("")) == (None, "sampled")
