"""Answers of a network: the log-probabilities of the next tokens, and texts written token by token.

Several prompts are answered at once. An answer ends with the chat turn, after its most tokens or at a stop text. It is
greedy without a temperature. Equal seeds draw equal answers where the rounding is equal, which depends on what is read
together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .batches import batch_size, plan, prefix_tokens
from .chat import Prompt
from .network import Network, Prefix

TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<turn|>", "<|endoftext|>", "</s>")


@dataclass(frozen=True)
class AnswerForm:
    """How an answer is written.

    Attributes:
        most: tokens.
        temperature: 0 is greedy.
        top: how many alternatives of each token are listed with their log-probabilities; 0 lists none.
        stop: texts that end the answer, and are no part of it.
    """

    most: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    top: int = 0
    stop: tuple[str, ...] = ()


@dataclass
class Written:
    """An answer.

    Attributes:
        tokens: their ids, without that which ended the turn.
        listed: for each token, and for the end of the turn, (id, log-probability) of its alternatives, the best first,
            and its own log-probability; empty where none were asked for.
        finished: it ended by itself, and not after the most tokens.
        count: tokens that were computed, with that which ended the turn.
    """

    tokens: list[int] = field(default_factory=list)
    listed: list[tuple[int, float, list[tuple[int, float]]]] = field(default_factory=list)
    finished: bool = False
    text: str = ""
    count: int = 0


def answer(
    network: Network,
    prompts: Sequence[Prompt],
    decodings: Sequence[AnswerForm],
    on_answer: Callable[[int, Written], None],
) -> None:
    """Answer every prompt; `on_answer` takes its index and the answer as soon as there is one.

    The caller holds `network.working()`.
    """
    ids = [prompt.ids for prompt in prompts]
    bounds = [network.most_before(prompt) for prompt in ids]
    heads = [prefix_tokens(prompt.head) for prompt in prompts]
    for batch in plan(ids, batch_size(network.device, network.room), heads=heads, most=bounds):
        rows = [ids[index] for index in batch.rows]
        shared = prefix_tokens(batch.shared)
        after = network.prefix(rows[0][:shared]) if shared else None
        writer = _Writer(network, rows, [decodings[index] for index in batch.rows], after)
        for row, written in writer.run():
            on_answer(batch.rows[row], written)


class _Writer:
    """Writes the answers of one batch."""

    def __init__(
        self, network: Network, rows: Sequence[Sequence[int]], decodings: Sequence[AnswerForm], after: Prefix | None
    ) -> None:
        self.network, self.torch, self.decodings, self.after = network, network.torch, decodings, after
        start = len(after.tokens) if after else 0
        self.rest = [row[start:] for row in rows]
        self.lengths = [len(row) for row in rows]
        self.adapted = [network.adapted_from(row) - start for row in rows]
        self.answers = [Written() for _ in rows]
        self.rows = list(range(len(rows)))  # those that are still written
        self.generators = [np.random.default_rng(decoding.seed) for decoding in decodings]
        self.ends = _turn_ends(network)

    def run(self) -> Any:
        """(row, answer) of each, as they end."""
        torch, network = self.torch, self.network
        goes_on = any(decoding.most > 1 for decoding in self.decodings)
        first = network.forward(self.rest, after=self.after, keep=goes_on, adapted=self.adapted)
        start = len(self.after.tokens) if self.after else 0
        last = torch.tensor([len(rest) - 1 for rest in self.rest], device=network.device)
        states = first.states[network.depth][torch.arange(len(self.rest), device=network.device), last]
        places = torch.tensor(self.lengths, device=network.device)[:, None]
        mask = torch.arange(start + max(map(len, self.rest)), device=network.device)[None] < places
        cache = first.cache
        while True:
            chosen = self._choose(states)
            staying = []
            for position, (row, token) in enumerate(zip(self.rows, chosen, strict=True)):
                if self._goes_on(row, token):
                    staying.append(position)
                else:
                    yield row, self.answers[row]
            if not staying:
                return
            if len(staying) < len(self.rows):
                kept_rows = torch.tensor(staying, device=network.device)
                cache.batch_select_indices(kept_rows)
                mask, places = mask[kept_rows], places[kept_rows]
                self.rows = [self.rows[position] for position in staying]
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1)
            tokens = [chosen[position] for position in staying]
            adapted = [int(self.adapted[row] == len(self.rest[row])) for row in self.rows]
            states = network.step(tokens, mask, places, cache, adapted=adapted)
            places = places + 1

    def _choose(self, states: Any) -> list[int]:
        """The next token of each row, which is listed where its request asks for alternatives."""
        decodings = [self.decodings[row] for row in self.rows]
        if all(decoding.temperature == 0 and not decoding.top for decoding in decodings):
            return [int(token) for token in self.network.candidates(states)[0][:, 0]]
        log_p = self.torch.log_softmax(self.network.logits(states), dim=-1)
        chosen = []
        for row, decoding, values in zip(self.rows, decodings, log_p, strict=True):
            best = values.topk(max(decoding.top, 1))
            token = int(best.indices[0])
            if decoding.temperature > 0:
                token = draw(values.cpu().numpy(), decoding, self.generators[row])
            if decoding.top:
                pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
                self.answers[row].listed.append((token, float(values[token]), list(pairs)))
            chosen.append(token)
        return chosen

    def _goes_on(self, row: int, token: int) -> bool:
        """Add a token to an answer; whether another one follows."""
        written, decoding = self.answers[row], self.decodings[row]
        written.count += 1
        if token in self.ends:
            written.finished = True
        else:
            written.tokens.append(token)
        if written.finished or len(written.tokens) >= decoding.most or decoding.stop:
            written.text = self.network.chat.words(written.tokens)
        if not written.finished and (
            stops := [place for text in decoding.stop if (place := written.text.find(text)) >= 0]
        ):
            written.text, written.finished = written.text[: min(stops)], True
        return not written.finished and len(written.tokens) < decoding.most


def draw(log_p: np.ndarray, decoding: AnswerForm, generator: np.random.Generator) -> int:
    """A token drawn at a temperature among the most probable ones that together have `top_p`.

    Args:
        log_p: of every token, float32.
    """
    logits = log_p.astype(np.float64) / decoding.temperature
    p = np.exp(logits - logits.max())
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    reached = np.cumsum(p[order])
    count = int(np.searchsorted(reached, decoding.top_p)) + 1 if decoding.top_p < 1 else len(p)
    chances = p[order[:count]]
    return int(generator.choice(order[:count], p=chances / chances.sum()))


def _turn_ends(network: Network) -> frozenset[int]:
    """The tokens that end an answer: what the model's files say, and the marks that end a turn of known templates."""
    tokenizer, settings = network.chat.tokenizer, getattr(network.model, "generation_config", None)
    listed = getattr(settings, "eos_token_id", None)
    ends = set(listed if isinstance(listed, list) else [listed]) | {tokenizer.eos_token_id}
    ends |= {tokenizer.convert_tokens_to_ids(mark) for mark in TURN_ENDS if mark in network.chat.special}
    return frozenset(ends - {None})
