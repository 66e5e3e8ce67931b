"""The loss of labels: the cross-entropy of a distribution over label tokens at the position of the answer.

A row's target may be the votes of people, the probabilities of a teacher or a mixture of both. The logits of the label
tokens are computed in fp32 from the state: in bf16 they step by .125, too coarse for a margin. The other tokens count
in the normaliser, so that the student also learns to answer with a label at all.
"""

from collections.abc import Sequence
from typing import Any

from .learnt_tokens import IGNORED, LearntTokens
from .sequences import NO_TARGET


def target_matrix(rows: Sequence[LearntTokens]) -> tuple[tuple[int, ...], Any]:
    """(label tokens of all rows, ascending; probabilities as fp32 (rows, label tokens), 0 where a row has none)."""
    import torch

    tokens = tuple(sorted({token for row in rows for token in row.target}))
    matrix = torch.tensor([[row.target.get(token, 0.0) for token in tokens] for row in rows], dtype=torch.float32)
    return tokens, matrix.reshape(len(rows), len(tokens))


def exact_rows(output_matrix: Any, tokens: Any) -> Any:
    """A forward hook on the module of the output matrix: its logits in fp32, those of `tokens` computed in fp32.

    The model's scaling and capping of logits come after it, as for other logits. Returns the hook's handle.
    """
    import torch

    def hook(module: Any, inputs: tuple[Any, ...], logits: Any) -> Any:
        with torch.autocast(logits.device.type, enabled=False):
            state = inputs[0].float()
            columns = tokens.to(logits.device)
            exact = state @ module.weight[columns].float().T
            if getattr(module, "bias", None) is not None:
                exact = exact + module.bias[columns].float()
            return logits.float().index_copy(-1, columns, exact)

    return output_matrix.register_forward_hook(hook)


def token_losses(logits: Any, labels: Any, targets: Any, tokens: Any, matrix: Any) -> Any:
    """The loss of each learnt token, fp32 (learnt,).

    Args:
        logits: of the positions before them, fp32 (learnt, vocabulary).
        labels: their ids (learnt,).
        targets: the row of `matrix` that is learnt there, or -1: the id itself (learnt,).
        tokens: label tokens (label tokens,).
        matrix: of `target_matrix`.
    """
    import torch

    log_p = torch.log_softmax(logits, dim=-1)
    words = -log_p.gather(-1, labels[:, None])[:, 0]
    if not len(tokens):
        return words
    label_p = matrix[targets.clamp(min=0)]
    soft = -(label_p * log_p[:, tokens]).sum(dim=-1)
    return torch.where(targets == NO_TARGET, words, soft)


def learnt_positions(labels: Any) -> Any:
    """The positions of learnt tokens in a sequence of labels (1, tokens), without the first, which nothing predicts."""
    return (labels[0, 1:] != IGNORED).nonzero()[:, 0] + 1
