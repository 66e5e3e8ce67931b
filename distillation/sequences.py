"""Rows as sequences for the trainer: several short rows share one, and none attends to another.

Packing is trl's best fit by decreasing length (`bfd`, arXiv 2404.10830), and so is the collator, whose position ids
begin anew with each row: from them transformers and FlashAttention make a mask that is block-diagonal.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .learnt_tokens import LearntTokens

NO_TARGET = -1


@dataclass(frozen=True)
class Sequences:
    """What a trainer iterates over.

    Attributes:
        dataset: of the package datasets; each entry a sequence.
        count: of sequences.
        rows: how many rows they hold.
        tokens: in all of them.
    """

    dataset: Any
    count: int
    rows: int
    tokens: int


def sequences(rows: Sequence[LearntTokens], *, length: int, packing: bool, weights: Mapping[bool, float]) -> Sequences:
    """The rows as sequences of at most `length` tokens.

    Args:
        rows: none longer than `length`.
        packing: else each row is a sequence.
        weights: of a learnt token, by whether it is a label; times the row's weight.
    """
    from datasets import Dataset
    from trl import pack_dataset

    columns = {
        "input_ids": [list(row.ids) for row in rows],
        "labels": [list(row.labels) for row in rows],
        "weights": [[row.weight * weights[bool(row.target)]] * len(row.ids) for row in rows],
        # The row whose distribution is learnt there, token by token, so that it survives packing.
        "targets": [
            [NO_TARGET] * (len(row.ids) - 1) + [index if row.target else NO_TARGET] for index, row in enumerate(rows)
        ],
    }
    dataset = Dataset.from_dict(columns)
    if packing:
        dataset = pack_dataset(dataset, length, "bfd", {"batch_size": len(rows), "load_from_cache_file": False})
    else:
        dataset = dataset.add_column("seq_lengths", [[len(row.ids)] for row in rows])
    return Sequences(dataset, len(dataset), len(rows), sum(len(row.ids) for row in rows))


def collator(pad: int) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """Makes a batch, which is one sequence of all its rows: ids, labels and position ids as trl does, (1, tokens);
    with weights and targets where the sequences have them."""
    import torch
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    collate = DataCollatorForLanguageModeling(pad_token_id=pad, padding_free=True)

    def batch(entries: list[dict[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = collate(entries)
        for name in ("weights", "targets"):
            if name in entries[0]:
                result[name] = torch.tensor([[value for entry in entries for value in entry[name]]])
        return result

    return batch
