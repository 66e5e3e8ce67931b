"""States of a model that torch runs: several layers from one pass, batches, and prefixes that are read once.

The requests of several threads are read together. Texts with the same beginning, such as the summaries of an article,
are read after its keys and values. Layers above the highest that is asked for are not computed; with options the whole
model is, and the log-probabilities of the next token come from the same pass, in fp32.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ContextOverflow, DeclarationError
from ..ledger import current_deadline
from ..model_string import ModelString
from ..pace import LOCAL_TIMEOUT, WHOLE, current_pace
from ..torch_models.batches import Batch, batch_size, plan, prefix_tokens
from ..torch_models.collector import Collector, Job
from ..torch_models.torch_import import dtype_name, torch_and_transformers
from ..torch_models.weights import TorchWeights, find_torch_weights
from .chat_frame import ChatFrame
from .cut_gguf import sha256_of
from .reader import StateAnswer, StateRequest, check_layer

if TYPE_CHECKING:
    from ..torch_models.network import Network

CAUSAL = "AutoModelForCausalLM"

Layered = dict[int, StateAnswer]  # by layer


@dataclass(frozen=True)
class Passage:
    """A request as token ids.

    Attributes:
        start, end: of the text's tokens among them.
        options: the tokens of the options.
    """

    ids: tuple[int, ...]
    start: int
    end: int
    options: tuple[int, ...]


class TransformersReader:
    """Reads states of a `transformers/` or `local/` model with torch: see `StateReader`.

    Args:
        layer: 1 to the depth; None: 70 % of the depth; a negative one counts from the end: -1 is the last.
        kind: the class of transformers that loads the model.

    Raises:
        ModelError: no such model or layer.
        DeclarationError: torch is not installed.
    """

    engine, batch, slots, timeout, takes_history = "transformers", 64, 64, LOCAL_TIMEOUT, True

    def __init__(self, model: ModelString, layer: int | None = None, *, kind: str = CAUSAL) -> None:
        torch, transformers = torch_and_transformers("the states of a transformers/ model")
        self.model, self._name, self._kind = model.identity, model.model, kind
        config = transformers.AutoConfig.from_pretrained(self.weights.folder()).get_text_config()
        self.depth, self._width = int(config.num_hidden_layers), int(config.hidden_size)
        self.layer = check_layer(self.model, self.depth + 1 + layer if layer and layer < 0 else layer, self.depth)
        self.frame = dtype_name(torch)  # the digest covers the template, and not the number type
        self.gives_options = kind == CAUSAL
        self._collector: Collector[StateRequest, Layered] = Collector(self._read_jobs)

    @cached_property
    def weights(self) -> TorchWeights:
        """The files; an adapter's base, where the adapter acts on the ends of prompts alone."""
        weights = find_torch_weights(self._name)
        return weights.base if weights.base and weights.adapter and weights.adapter.marker else weights

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the weights: the same as llama.cpp's reader gives for a GGUF file."""
        if self.weights.path.name == self.weights.name and self.weights.is_gguf:
            return sha256_of(self.weights.path)
        return self.weights.digest

    @property
    def width(self) -> int:
        return self._width

    @cached_property
    def network(self) -> "Network":
        """The model, loaded at its first use."""
        from ..torch_models.network import open_network

        return open_network(self.weights.folder(), self._kind, self.weights.adapter)

    def prepare(self) -> None:
        self.network  # noqa: B018  loads it

    def read(self, requests: Sequence[StateRequest]) -> list[StateAnswer]:
        return [answers[self.layer] for answers in self._ask(requests)]

    def read_layers(self, requests: Sequence[StateRequest], layers: Sequence[int]) -> list[Layered]:
        """The answers at several layers, by layer, from one pass; of the last alone where none is named."""
        with self.network.working():
            passages = [self._passage(request) for request in requests]
            return self._read(passages, requests, sorted(set(layers)) or [self.depth])

    def _ask(self, requests: Sequence[StateRequest]) -> list[Layered]:
        """Hand the requests to the thread that reads those of all threads."""
        until = min(time.monotonic() + WHOLE * (current_pace().timeout or self.timeout), current_deadline())
        return [future.result() for future in self._collector.ask_all(requests, until)]

    def _read_jobs(self, jobs: Sequence[Job[StateRequest, Layered]]) -> None:
        with self.network.working():
            usable: list[tuple[Job[StateRequest, Layered], Passage]] = []
            for job in jobs:
                try:
                    usable.append((job, self._passage(job.request)))
                except Exception as error:
                    job.answer.set_exception(error)
            if usable:
                passages, requests = [passage for _, passage in usable], [job.request for job, _ in usable]
                for (job, _), answers in zip(usable, self._read(passages, requests, [self.layer]), strict=True):
                    job.answer.set_result(answers)

    def _passage(self, request: StateRequest) -> Passage:
        if request.options and not self.gives_options:
            raise DeclarationError(f"model {self.model!r}: a {self._kind} writes no tokens, so it has no options.")
        ids, start, end = self._dialogue(request) if request.form == "dialogue" else self._turn(request)
        if not ids:
            raise DeclarationError(f"model {self.model!r}: there is nothing to read: an empty text and no template.")
        if len(ids) > self.network.most_tokens:
            raise ContextOverflow(
                f"the prompt has {len(ids):,} tokens, {end - start:,} of them the text's, and model {self.model!r} "
                f"reads at most {self.network.most_tokens:,}. Shorten the text."
            )
        options: list[int] = []
        for option in request.options:
            tokens = self.network.chat.text_ids(option)
            if len(tokens) != 1:
                raise DeclarationError(
                    f"model {self.model!r}: the option {option!r} is {len(tokens)} tokens. Give options of one token."
                )
            options += tokens
        return Passage(tuple(ids), start, end, tuple(options))

    def _turn(self, request: StateRequest) -> tuple[list[int], int, int]:
        """Each part is tokenised apart, so that what is before a text is the same for every text."""
        chat = self.network.chat
        parts = self._frame.around(request)
        ids = [chat.template_ids(text) if special else chat.text_ids(text) for text, special in parts]
        start = sum(map(len, ids[: ChatFrame.TEXT]))
        return [token for part in ids for token in part], start, start + len(ids[ChatFrame.TEXT])

    def _dialogue(self, request: StateRequest) -> tuple[list[int], int, int]:
        """As the template renders both turns, without padding tokens at the end, which classifiers do not read."""
        turns = [*request.history, ("user", request.before)]
        ids, empty = (self._rendered([*turns, ("assistant", text)]) for text in (request.text, ""))
        start = _common(ids, empty)
        return ids, start, len(ids) - _common(ids[start:][::-1], empty[start:][::-1])

    def _rendered(self, turns: Sequence[tuple[str, str]]) -> list[int]:
        messages = [{"role": role, "content": text} for role, text in turns]
        ids = list(self.network.chat.prompt(messages, answer=False).ids)
        padding = self.network.config.pad_token_id
        while len(ids) > 1 and ids[-1] == padding:
            del ids[-1]
        return ids

    @cached_property
    def _frame(self) -> ChatFrame:
        return ChatFrame(self.network.chat.rendered)

    def _read(
        self, passages: Sequence[Passage], requests: Sequence[StateRequest], layers: Sequence[int]
    ) -> list[Layered]:
        """The answers at these layers, by request."""
        answers: list[Layered] = [{} for _ in passages]
        prompts = [passage.ids for passage in passages]
        shares = self.network.shares_prefixes
        bounds = [_most_before(passage) if shares else 0 for passage in passages]
        for batch in plan(prompts, batch_size(self.network.device, self.network.room), most=bounds):
            self._read_batch(batch, passages, requests, layers, answers)
        return answers

    def _read_batch(
        self,
        batch: Batch,
        passages: Sequence[Passage],
        requests: Sequence[StateRequest],
        layers: Sequence[int],
        answers: list[Layered],
    ) -> None:
        network = self.network
        chosen = [passages[row] for row in batch.rows]
        has_options = any(passage.options for passage in chosen)
        needed = sorted({*layers, network.depth}) if has_options else list(layers)
        shared = prefix_tokens(batch.shared)
        after = network.prefix(chosen[0].ids[:shared], needed[-1]) if shared else None
        states = network.forward([passage.ids[shared:] for passage in chosen], after=after, layers=needed).states
        for place, (row, passage) in enumerate(zip(batch.rows, chosen, strict=True)):
            end = len(passage.ids) - shared - 1
            following = self._next(states[network.depth][place, end], passage, requests[row]) if passage.options else {}
            for layer in layers:
                read = states[layer][place].float()
                text = read[passage.start - shared : passage.end - shared]
                mean = text.double().mean(0) if len(text) else read[max(passage.start - 1 - shared, 0)]
                answers[row][layer] = StateAnswer(
                    mean=_array(mean),
                    last=_array(read[end]),
                    tokens=passage.end - passage.start,
                    prompt_tokens=len(passage.ids),
                    next=following,
                )

    def _next(self, state: Any, passage: Passage, request: StateRequest) -> dict[str, float]:
        log_p = self.network.torch.log_softmax(self.network.logits(state), dim=-1)
        return dict(zip(request.options, log_p[list(passage.options)].tolist(), strict=True))


def _array(state: Any) -> NDArray[np.float32]:
    return np.asarray(state.float().cpu().numpy(), dtype=np.float32)


def _most_before(passage: Passage) -> int:
    """How many tokens may be read before the rest: those before the text, whose states are needed; before an empty
    text one fewer, since its state is that of the token before."""
    return max(0, min(passage.start, len(passage.ids) - 1) - (passage.start == passage.end))


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many first tokens are the same."""
    for place, (first, second) in enumerate(zip(left, right, strict=False)):
        if first != second:
            return place
    return min(len(left), len(right))
