"""What the base computes of prompts before their tails, once and for all epochs: keys, values, and states.

Of each prompt a file holds the keys and values of the tokens before the tail, in the layers from the first with an
adapter on, and the states that enter that layer at the tail's tokens. It is mapped into memory, so that what fits there
stays there. Rows that were read before a kill are not read again.
"""

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..engines.jsonl import drop_unfinished_line, write_whole
from ..engines.torch_models.batches import Batch, batch_size, plan, prefix_tokens
from ..engines.torch_models.chat import Prompt
from ..engines.torch_models.network import Network
from ..errors import DeclarationError, ModelError
from ..optimizers.evidence import Interrupted
from ..parsing import read_object

ROOM_LEFT = 1 << 28  # bytes of the disk that stay free

OnReading = Callable[[int, int], None]  # prompts that were read, and all


@dataclass(frozen=True)
class TailBatch:
    """Tails of equal length after prefixes of several, padded on the left.

    Attributes:
        states: that enter the first layer with an adapter: (rows, tail, width).
        layers: keys and values of the prefixes in each layer from that on, (rows, heads, longest, width of a head).
        mask: to add to the scores of attention: (rows, 1, tail, longest + tail), 0 or the least number.
        places: of the tail's tokens in their prompts, (rows, tail).
        ids: of the tail's tokens, (rows, tail).
    """

    states: Any
    layers: Sequence[tuple[Any, Any]]
    mask: Any
    places: Any
    ids: Any


class KeptPrefixes:
    """Reads prompts with the base, and gives what it keeps of them.

    Args:
        network: of the base.
        folder: for the file; one of other prompts is replaced.
        prompts: that end with the tail.
        tail: how many tokens the tail has.
        first: the first layer with an adapter, from 0.
        digest: of the base's weights.

    Raises:
        DeclarationError: the disk has no room for the file.
        ModelError: the model's layers do not look back at all tokens.
    """

    def __init__(
        self, network: Network, folder: Path, prompts: Sequence[Prompt], tail: int, first: int, digest: str
    ) -> None:
        if not network.shares_prefixes:
            raise ModelError(
                f"model {network.name!r}: its layers do not look back at all tokens, so that keys and values of a "
                "prefix cannot be kept. Train an adapter of all tokens (method lora)."
            )
        self.network, self.folder, self.prompts, self.tail, self.first = network, folder, prompts, tail, first
        config = network.config
        self._heads = int(getattr(config, "num_key_value_heads", None) or config.num_attention_heads)
        self._head = int(getattr(config, "head_dim", None) or network.width // config.num_attention_heads)
        self._number = getattr(network.torch, network.dtype)
        self._places = np.cumsum([0, *(self._numbers(prompt) for prompt in prompts)])
        self._open(digest)

    @property
    def bytes(self) -> int:
        """Of the file."""
        return int(self._places[-1] * self._number.itemsize)

    @property
    def _depth(self) -> int:
        return self.network.depth - self.first

    def read(self, on_reading: OnReading | None = None, stop: threading.Event | None = None) -> None:
        """Read the prompts that were not read yet.

        Raises:
            Interrupted: `stop` was set; what was read stays.
        """
        network = self.network
        rows = [row for row in range(len(self.prompts)) if row not in self._done]
        ids = [self.prompts[row].ids for row in rows]
        heads = [prefix_tokens(self.prompts[row].head) for row in rows]
        bounds = [len(prompt) - self.tail for prompt in ids]
        for batch in plan(ids, batch_size(network.device, network.room), heads=heads, most=bounds):
            if stop is not None and stop.is_set():
                raise Interrupted
            with network.working():
                self._read_batch([rows[index] for index in batch.rows], batch)
            if on_reading is not None:
                on_reading(len(self._done), len(self.prompts))

    def remove(self) -> None:
        """Remove the file."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def batch(self, rows: Sequence[int]) -> TailBatch:
        """What is kept of these rows, as the pass over their tails takes it."""
        torch, device = self.network.torch, self.network.device
        starts = [len(self.prompts[row].ids) - self.tail for row in rows]
        longest, tail = max(starts), self.tail
        states = torch.empty(len(rows), tail, self.network.width, dtype=self._number)
        layers = torch.zeros(self._depth, 2, len(rows), self._heads, longest, self._head, dtype=self._number)
        mask = torch.full((len(rows), 1, tail, longest + tail), torch.finfo(self._number).min, dtype=self._number)
        mask[..., longest:] = mask[..., longest:].triu(1)
        for place, (row, start) in enumerate(zip(rows, starts, strict=True)):
            numbers = torch.from_numpy(np.array(self._row(row))).view(self._number)
            split = tail * self.network.width
            states[place] = numbers[:split].view(tail, -1)
            shape = (self._depth, 2, self._heads, start, self._head)
            layers[:, :, place, :, longest - start :] = numbers[split:].view(shape)
            mask[place, :, :, longest - start : longest] = 0
        places = torch.tensor(starts)[:, None] + torch.arange(tail)
        ids = torch.tensor([self.prompts[row].ids[-tail:] for row in rows])
        moved = layers.to(device)
        return TailBatch(
            states=states.to(device),
            layers=[(moved[layer, 0], moved[layer, 1]) for layer in range(self._depth)],
            mask=mask.to(device),
            places=places.to(device),
            ids=ids.to(device),
        )

    def _numbers(self, prompt: Prompt) -> int:
        """How many numbers are kept of a prompt."""
        before = len(prompt.ids) - self.tail
        return self.tail * self.network.width + self._depth * 2 * self._heads * before * self._head

    def _row(self, row: int) -> Any:
        size = self._number.itemsize
        return self._file[int(self._places[row]) * size : int(self._places[row + 1]) * size]

    def _open(self, digest: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file, manifest = self.folder / "prefixes.bin", self.folder / "prefixes.json"
        self._done_file = self.folder / "prefixes.done"
        identity = {"of": self._identity(digest)}
        if not (file.is_file() and manifest.is_file() and read_object(manifest) == identity):
            self._done_file.unlink(missing_ok=True)
            file.unlink(missing_ok=True)
            free = shutil.disk_usage(self.folder).free
            if self.bytes + ROOM_LEFT > free:
                raise DeclarationError(
                    f"{self.folder}: keys and values of {len(self.prompts):,} prompts take {self.bytes / 1e9:.1f} GB, "
                    f"and {free / 1e9:.1f} GB of the disk are free. Give another folder, fewer rows or fewer layers."
                )
            with file.open("wb") as new:
                new.truncate(self.bytes)
            write_whole(manifest, json.dumps(identity))
        self._file = np.memmap(file, dtype=np.uint8, mode="r+", shape=(self.bytes,))
        drop_unfinished_line(self._done_file)
        lines = self._done_file.read_text(encoding="utf-8").split("\n")[:-1] if self._done_file.is_file() else []
        self._done = {int(line) for line in lines}

    def _identity(self, digest: str) -> str:
        text = f"{digest} {self.network.dtype} {self.first} {self.tail} {[prompt.ids for prompt in self.prompts]}"
        return hashlib.sha256(text.encode()).hexdigest()

    def _read_batch(self, rows: Sequence[int], batch: Batch) -> None:
        network, ids = self.network, [self.prompts[row].ids for row in rows]
        shared = prefix_tokens(batch.shared)
        after = network.prefix(ids[0][:shared]) if shared else None
        with self._entering() as entered:
            cache = network.forward([row[shared:] for row in ids], after=after, keep=True).cache
        layers = cache.layers[self.first :]
        for place, row in enumerate(rows):
            end, start = len(ids[place]) - shared, len(ids[place]) - self.tail
            parts = [entered[0][place, end - self.tail : end]]
            parts += [part[place, :, :start] for layer in layers for part in (layer.keys, layer.values)]
            self._write(row, parts)
        self._file.flush()
        with self._done_file.open("a", encoding="utf-8") as file:
            file.write("".join(f"{row}\n" for row in rows))
        self._done |= set(rows)

    def _write(self, row: int, parts: Sequence[Any]) -> None:
        torch, place, target = self.network.torch, 0, self._row(row)
        for part in parts:
            numbers = part.to("cpu", self._number).contiguous().view(torch.uint8).reshape(-1).numpy()
            target[place : place + len(numbers)] = numbers
            place += len(numbers)
        if place != len(target):
            raise ModelError(f"model {self.network.name!r}: keys and values have other sizes than its config says.")

    @contextmanager
    def _entering(self) -> Iterator[list[Any]]:
        """The states that enter the first layer with an adapter, in passes inside."""
        entered: list[Any] = []

        def keep(module: Any, inputs: tuple[Any, ...]) -> None:
            entered[:] = inputs[:1]

        hook = self.network.decoder.layers[self.first].register_forward_pre_hook(keep)
        try:
            yield entered
        finally:
            hook.remove()


class PartOfPrefixes:
    """Some prompts of kept prefixes under other numbers, so that several trainings read each prompt once.

    Args:
        prefixes: of all prompts.
        rows: the numbers in `prefixes` of the prompts 0, 1, ...
    """

    def __init__(self, prefixes: KeptPrefixes, rows: Sequence[int]) -> None:
        self.prefixes, self.rows = prefixes, rows

    def read(self, on_reading: OnReading | None = None, stop: threading.Event | None = None) -> None:
        """Read every prompt of `prefixes` that was not read yet; raises as `KeptPrefixes.read`."""
        self.prefixes.read(on_reading, stop)

    def batch(self, rows: Sequence[int]) -> TailBatch:
        """What is kept of these prompts."""
        return self.prefixes.batch([self.rows[row] for row in rows])

    def remove(self) -> None:
        """Nothing: other trainings use the file."""
