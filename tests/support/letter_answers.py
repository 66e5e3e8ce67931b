"""What an engine answers to training rows' questions, as the probability readout asks them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from dspy.lm15 import Config, Message, Request

from dicast.distillation.row import TrainingRow
from dicast.engines import models


def answers(model: str, rows: Sequence[TrainingRow]) -> list[dict[str, float]]:
    """{token: log-probability} of each row's question, of the twenty most probable tokens."""
    lm = models.get_lm(model, cache=False)

    def ask(row: TrainingRow) -> dict[str, float]:
        system, user = (message.content for message in row.prompt)
        config = Config(max_tokens=1, temperature=0.0, logprobs=20)
        reply = lm(Request(model=lm.model, system=system, messages=(Message.user(user),), config=config))
        return {top.token: top.logprob for top in reply.logprobs[0].top}

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, rows))
