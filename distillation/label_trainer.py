"""transformers' Trainer with the loss of labels; sets of labels and words mixed are learnt by it, too.

Only the logits that a learnt token needs are computed: with one learnt token a row the output matrix, a sixth of the
work of a 1.5B model, costs nearly nothing. `word_loss.py` is for rows of words alone.
"""

from collections.abc import Sequence
from typing import Any

from .label_loss import exact_rows, learnt_positions, target_matrix, token_losses
from .learnt_tokens import LearntTokens


def label_trainer(
    model: Any, rows: Sequence[LearntTokens], validation: Sequence[LearntTokens], **arguments: Any
) -> Any:
    """A Trainer whose batches are those of `sequences.collator`.

    Args:
        rows: of the training sequences, by whose order their `targets` count.
        validation: of the validation sequences.
        arguments: other arguments of transformers.Trainer.
    """
    import torch
    import transformers

    tokens, matrix = target_matrix([*rows, *validation])

    class LabelTrainer(transformers.Trainer):
        """Weighted sum of the losses of learnt tokens, divided by how many a step has on all devices."""

        def compute_loss(
            self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            offset = 0 if model.training else len(rows)
            labels, weights, targets = (inputs.pop(name) for name in ("labels", "weights", "targets"))
            positions = learnt_positions(labels)
            outputs = model(**inputs, use_cache=False, logits_to_keep=positions - 1)
            targets = targets[0, positions]
            losses = token_losses(
                outputs.logits[0].float(),
                labels[0, positions],
                torch.where(targets >= 0, targets + offset, targets),
                token_ids.to(labels.device),
                matrix.to(labels.device),
            )
            total = (losses * weights[0, positions]).sum()
            if num_items_in_batch is None:
                loss = total / max(len(positions), 1)
            else:
                loss = total / num_items_in_batch
                if self.args.average_tokens_across_devices:
                    loss = loss * self.accelerator.num_processes
            return (loss, outputs) if return_outputs else loss

    token_ids = torch.tensor(tokens, dtype=torch.long)
    if tokens:
        exact_rows(model.get_output_embeddings(), token_ids)
    return LabelTrainer(model=model, **arguments)
