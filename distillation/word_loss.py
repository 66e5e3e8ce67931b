"""The loss of words: supervised fine-tuning by trl's SFTTrainer, on the tokens of answers alone.

trl computes it in chunks, without the logits of a whole sequence. The sequences come packed, with labels that name the
learnt tokens.
"""

from typing import Any


def word_trainer(model: Any, **arguments: Any) -> Any:
    """An SFTTrainer over sequences of `sequences.sequences`.

    Args:
        arguments: of transformers.Trainer; `args` is an SFTConfig.
    """
    from trl import SFTTrainer

    arguments["train_dataset"] = _without_weights(arguments["train_dataset"])
    if arguments.get("eval_dataset") is not None:
        arguments["eval_dataset"] = _without_weights(arguments["eval_dataset"])
    arguments.pop("data_collator", None)  # trl refuses any but its own, which ours calls
    return SFTTrainer(model=model, **arguments)


def word_arguments(length: int) -> dict[str, Any]:
    """Arguments of an SFTConfig besides those of transformers' TrainingArguments."""
    return {
        "packing": True,  # sequences without padding; they are packed already, or each holds one row
        "packing_strategy": "bfd",
        "max_length": length,
        "dataset_kwargs": {"skip_prepare_dataset": True},
    }


def _without_weights(dataset: Any) -> Any:
    return dataset.select_columns(["input_ids", "labels", "seq_lengths"])
