"""A decoder on this machine: states and next-token log-probabilities of token ids, with exact reuse of prefixes.

Rows of a batch are padded on the right. The attention is causal, so a row's states do not depend on what follows it,
and no mask is needed where nothing was read before. Log-probabilities are computed in fp32 from the last state and the
rows of the output matrix: logits in bf16 step by .125, too coarse for a margin.

An adapter is used on the tokens that it acts on, and shares the weights of its base; where it acts on the ends of
prompts alone, it shares the base's keys and values, too.
"""

import atexit
import copy
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ModelError
from .adapter_files import AdapterFiles
from .chat import Chat
from .low_rank import LowRank, last_place, load_low_rank
from .torch_import import device_name, dtype_name, quiet, threads, torch_and_transformers

HEAD_ROWS = 16384  # of the output matrix that are in fp32 at a time
CANDIDATES = 64  # most probable tokens of a written answer whose logits are computed in fp32
PREFIX_TOKENS = 8192  # of kept prefixes
DEPTH = "model {!r}: has {} layers, so layer {} cannot be read. Give one from 1 to {}."

log = logging.getLogger(__name__)
_networks: "dict[tuple[Path, str, str], Network]" = {}
_lock = threading.Lock()
_process_ends = threading.Event()
LAST_PASS = 60.0  # seconds that the end of the process waits for the pass that is being computed


class ProcessEnds(RuntimeError):
    """No further pass is begun."""


@atexit.register
def _end_passes() -> None:
    """torch aborts a process that ends while another thread computes, as after Ctrl-C: wait for its pass."""
    _process_ends.set()
    for network in list(_networks.values()):
        network.lock.acquire(timeout=LAST_PASS)


@dataclass(frozen=True)
class Prefix:
    """Keys and values of the first tokens of prompts.

    Attributes:
        tokens: their ids.
        layers: (keys, values) of each layer, (1, heads, tokens, width of a head).
    """

    tokens: tuple[int, ...]
    layers: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Pass:
    """What a forward pass gives.

    Attributes:
        states: by layer, the states after it with the final norm: (rows, longest row, width).
        cache: keys and values, where they were asked for.
    """

    states: dict[int, Any]
    cache: Any


class Network:
    """A decoder with its tokenizer, on the device and in the number type that this machine is fast in.

    Args:
        folder: in transformers' format.
        kind: the class of transformers that loads it: AutoModelForCausalLM or AutoModelForSequenceClassification.

    Raises:
        ModelError: the folder holds no such model.
        DeclarationError: torch or transformers is not installed.
    """

    def __init__(self, folder: Path, kind: str = "AutoModelForCausalLM") -> None:
        self.torch, transformers = torch_and_transformers("transformers/")
        self.name, self._transformers = folder.name, transformers
        self.device, self.dtype = device_name(self.torch), dtype_name(self.torch)
        try:
            with quiet(transformers):
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
                model = getattr(transformers, kind).from_pretrained(
                    folder, dtype=getattr(self.torch, self.dtype), use_safetensors=True
                )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ModelError(f"{folder}: transformers cannot load it ({reason}). Is the folder whole?") from None
        self.model = model.eval().to(self.device)
        self.decoder = self.model.base_model
        self.config = self.model.config.get_text_config()
        self.chat = Chat(tokenizer)
        self.lock = threading.RLock()  # one pass at a time
        self.adapter: LowRank | None = None
        self.marker: tuple[int, ...] = ()
        self._is_warned = False
        self._prefixes: OrderedDict[tuple[int, ...], Prefix] = OrderedDict()
        if not hasattr(self.decoder, "layers") or not hasattr(self.decoder, "norm"):
            raise ModelError(f"{folder}: {type(self.model).__name__} has no layers that can be read one by one.")

    def with_adapter(self, files: AdapterFiles) -> "Network":
        """The same weights with an adapter.

        Raises:
            ModelError: the adapter is of another model.
        """
        other = copy.copy(self)
        other.name, other.adapter, other.marker = files.folder.name, load_low_rank(self.model, files), files.marker
        if not files.marker:
            other._prefixes = OrderedDict()  # its keys and values are not the base's
        return other

    def adapted_from(self, tokens: Sequence[int]) -> int:
        """The first token of a prompt that the adapter acts on; the number of tokens where it acts on none."""
        if self.adapter is None:
            return len(tokens)
        if not self.marker:
            return 0
        start = last_place(tuple(tokens), self.marker)
        if start == len(tokens) and not self._is_warned:
            self._is_warned = True
            log.warning("model %r: a prompt without the words that its adapter acts on is the base's", self.name)
        return start

    def most_before(self, tokens: Sequence[int]) -> int:
        """How many first tokens of a prompt may be read before the rest, so that others share their keys and values."""
        if not self.shares_prefixes:
            return 0
        return self.adapted_from(tokens) if self.marker else len(tokens)

    @property
    def depth(self) -> int:
        return len(self.decoder.layers)

    @property
    def width(self) -> int:
        return int(self.config.hidden_size)

    @property
    def most_tokens(self) -> int:
        return int(getattr(self.config, "max_position_embeddings", 0) or 1 << 20)

    @property
    def room(self) -> int:
        """Tokens whose keys and values fit into half of the free memory of a GPU; a processor's batches are small."""
        if self.device == "cpu":
            return 1 << 20
        heads = getattr(self.config, "num_key_value_heads", None) or self.config.num_attention_heads
        width = getattr(self.config, "head_dim", None) or self.width // self.config.num_attention_heads
        size: int = 2 * self.depth * heads * width * self.torch.finfo(self.model.dtype).bits // 8
        return int(max(1, self.torch.cuda.mem_get_info()[0] // 2 // size))

    @property
    def shares_prefixes(self) -> bool:
        """Whether every layer looks back at all tokens, so that a prefix's keys and values can be used again."""
        kinds = getattr(self.config, "layer_types", None) or ["full_attention"]
        return set(kinds) == {"full_attention"} and not getattr(self.config, "sliding_window", None)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Inside, this thread runs the network, on as many threads as it may."""
        with self.lock, self.torch.inference_mode():
            if self.device == "cpu":
                self.torch.set_num_threads(threads())
            yield

    def forward(
        self,
        rows: Sequence[Sequence[int]],
        *,
        after: Prefix | None = None,
        layers: Sequence[int] = (),
        keep: bool = False,
        adapted: Sequence[int] = (),
    ) -> Pass:
        """The states of the rows' tokens.

        Args:
            rows: token ids, at least one a row; what follows the prefix.
            after: a prefix that all rows have.
            layers: the numbers of layers, from 1; the last one of the model where none is named.
            keep: whether the pass gives the keys and values too.
            adapted: for each row the first of its tokens that the adapter acts on; by default none for an adapter that
                acts on the ends of prompts, which prefixes have not, and else all.
        """
        numbers = sorted(set(layers)) or [self.depth]
        if numbers[0] < 1 or numbers[-1] > self.depth:
            raise ModelError(DEPTH.format(self.name, self.depth, layers, self.depth))
        longest = max(map(len, rows))
        padded = [[*row, *[0] * (longest - len(row))] for row in rows]
        ids = self.torch.tensor(padded, device=self.device)
        _check_process()
        cache = self._cache(after, len(rows)) if after or keep else None
        states: dict[int, Any] = {}
        decoder = self._cut(numbers[-1])
        hooks = [self._catch(decoder, layer, states) for layer in numbers[:-1]]
        try:
            with self._adapting(adapted or [longest] * len(rows), longest):
                output = decoder(ids, past_key_values=cache, use_cache=cache is not None)
        finally:
            for hook in hooks:
                hook.remove()
        states[numbers[-1]] = output.last_hidden_state
        return Pass(states, cache)

    def step(self, tokens: Sequence[int], mask: Any, places: Any, cache: Any, *, adapted: Sequence[int] = ()) -> Any:
        """The last states of the rows after one more token each, (rows, width).

        Args:
            mask: which tokens of the cache, and this one, count: (rows, tokens), booleans.
            places: of the tokens in their rows, (rows, 1).
            cache: of `forward`; it takes the tokens in.
            adapted: as of `forward`: 0 where the adapter acts on a row's token, 1 where it does not.
        """
        _check_process()
        ids = self.torch.tensor([[token] for token in tokens], device=self.device)
        with self._adapting(adapted or [1] * len(tokens), 1):
            output = self.decoder(
                ids, attention_mask=mask.long(), position_ids=places, past_key_values=cache, use_cache=True
            )
        return output.last_hidden_state[:, 0]

    def prefix(self, tokens: Sequence[int], layers: int | None = None) -> Prefix:
        """The prefix of these tokens, kept for later calls.

        Args:
            layers: how many are needed; all by default.
        """
        key, needed = tuple(tokens), layers or self.depth
        stored = self._prefixes.get(key)
        if stored is None or len(stored.layers) < needed:
            shorter = [
                prefix
                for other, prefix in self._prefixes.items()
                if len(other) < len(key) and key[: len(other)] == other and len(prefix.layers) >= needed
            ]
            start = max(shorter, key=lambda prefix: len(prefix.tokens), default=None)
            rest = key[len(start.tokens) :] if start else key
            cache = self.forward([rest], after=start, layers=[needed], keep=True).cache
            read = tuple((layer.keys, layer.values) for layer in cache.layers[:needed])
            stored = self._prefixes[key] = Prefix(key, read)
        self._prefixes.move_to_end(key)
        while len(self._prefixes) > 1 and sum(map(len, self._prefixes)) > PREFIX_TOKENS:
            self._prefixes.popitem(last=False)
        return stored

    def logits(self, states: Any, tokens: Sequence[int] | None = None) -> Any:
        """Logits in fp32, of all tokens or of these.

        Args:
            states: after the last layer, with the final norm: (..., width).
        """
        matrix, bias = self.model.get_output_embeddings().weight, self.model.get_output_embeddings().bias
        if tokens is not None:
            matrix, bias = matrix[list(tokens)], None if bias is None else bias[list(tokens)]
        states = states.float()
        parts = [states @ matrix[start : start + HEAD_ROWS].float().T for start in range(0, matrix.shape[0], HEAD_ROWS)]
        logits = self.torch.cat(parts, dim=-1)
        return self._scaled(logits if bias is None else logits + bias.float())

    def candidates(self, states: Any) -> tuple[Any, Any]:
        """(tokens, logits in fp32) of the most probable tokens, the best first, each (rows, `CANDIDATES`): cheaper than
        `logits` of all."""
        rough = self.model.get_output_embeddings()(states).float()
        tokens = rough.topk(min(CANDIDATES, rough.shape[-1]), dim=-1).indices
        rows = [self.logits(state, chosen.tolist()) for state, chosen in zip(states, tokens, strict=True)]
        logits, order = self.torch.stack(rows).sort(dim=-1, descending=True)
        return tokens.gather(-1, order), logits

    def _adapting(self, starts: Sequence[int], longest: int) -> AbstractContextManager[None]:
        """Inside, the adapter acts on the rows' tokens from these on."""
        if self.adapter is None:
            return nullcontext()
        if not self.marker:
            return self.adapter.acting()
        if min(starts) >= longest:
            return nullcontext()
        places = self.torch.arange(longest, device=self.device)
        return self.adapter.acting(places[None] >= self.torch.tensor(starts, device=self.device)[:, None])

    def _scaled(self, logits: Any) -> Any:
        """As the model's own forward pass scales them."""
        if scale := getattr(self.config, "logit_scale", None):  # Cohere
            logits = logits * scale
        if scale := getattr(self.config, "logits_scaling", None):  # Granite
            logits = logits / scale
        if cap := getattr(self.config, "final_logit_softcapping", None):  # Gemma 2 and later
            logits = (logits / cap).tanh() * cap
        return logits

    def _cut(self, layers: int) -> Any:
        """The decoder without the layers above; its last state then has the final norm."""
        if layers == self.depth:
            return self.decoder
        decoder = copy.copy(self.decoder)
        decoder._modules = {**self.decoder._modules, "layers": self.decoder.layers[:layers]}
        decoder.config = copy.copy(self.decoder.config)
        decoder.config.num_hidden_layers = layers
        if getattr(decoder.config, "layer_types", None):
            decoder.config.layer_types = decoder.config.layer_types[:layers]
        return decoder

    def _catch(self, decoder: Any, layer: int, states: dict[int, Any]) -> Any:
        def keep(module: Any, inputs: Any, output: Any) -> None:
            state = output[0] if isinstance(output, tuple) else output
            states[layer] = self.decoder.norm(state)

        return decoder.layers[layer - 1].register_forward_hook(keep)

    def _cache(self, after: Prefix | None, rows: int) -> Any:
        cache = self._transformers.DynamicCache(config=self.config)
        for number, (keys, values) in enumerate(after.layers if after else ()):
            cache.update(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1), number)
        return cache


def _check_process() -> None:
    if _process_ends.is_set():
        raise ProcessEnds("the process ends")


def open_network(folder: Path, kind: str = "AutoModelForCausalLM", adapter: AdapterFiles | None = None) -> Network:
    """The network of a folder, loaded when it is first used; every user of the process has the same.

    Args:
        adapter: of this base.
    """
    with _lock:
        base = _opened((folder.resolve(), kind, ""), lambda: Network(folder, kind))
        if adapter is None:
            return base
        return _opened((folder.resolve(), kind, adapter.digest), lambda: base.with_adapter(adapter))


def _opened(key: tuple[Path, str, str], load: Callable[[], Network]) -> Network:
    if key not in _networks:
        _networks[key] = load()
    return _networks[key]
