"""The next token's probabilities from a last state: rows of the unembedding matrix times the state, dequantised.

Within .05 of the log-probabilities that llama.cpp reports (docs/evidence.md), which multiplies with the quantised rows.
The matrix stays in memory as float16: 57 MB for 49,000 tokens of 576 numbers, 470 MB for 152,000 of 1,536.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import DeclarationError, ModelError, install_hint

ROWS = 8192  # dequantised or multiplied at a time
MATRICES = ("output.weight", "token_embd.weight")  # the second is the first in models that tie them
SCALES = ("logit_scale", "logits_scaling")  # metadata of models whose logits are scaled in their own ways
CAP = "final_logit_softcapping"


class Unembedding:
    """The unembedding matrix of a GGUF file.

    Raises:
        ModelError: the file has none that can be read so.
        DeclarationError: the package gguf is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            from gguf import GGUFReader, dequantize
        except ImportError:
            raise DeclarationError(f"the probabilities of options need gguf. {install_hint('local')}") from None
        reader = GGUFReader(path)
        names = {field.rpartition(".")[2]: field for field in reader.fields}
        tensors = {tensor.name: tensor for tensor in reader.tensors}
        matrix = next((tensors[name] for name in MATRICES if name in tensors), None)
        if matrix is None or names.keys() & set(SCALES) or "output.bias" in tensors:
            raise ModelError(f"{path}: the next token's probabilities cannot be read from its states. Ask it instead.")
        self._cap = float(reader.fields[names[CAP]].contents()) if CAP in names else None
        rows = [
            dequantize(matrix.data[start : start + ROWS], matrix.tensor_type).astype(np.float16)
            for start in range(0, len(matrix.data), ROWS)
        ]
        self._matrix: NDArray[np.float16] = np.concatenate(rows)  # (vocabulary, width)

    def log_probabilities(self, state: NDArray[np.float32], tokens: Sequence[int]) -> list[float]:
        """The natural logarithm of the probability of each of the tokens, of all tokens.

        Args:
            state: after the last layer and the final norm, (width,).
        """
        parts = [
            self._matrix[start : start + ROWS].astype(np.float32) @ state for start in range(0, len(self._matrix), ROWS)
        ]
        logits = np.concatenate(parts).astype(np.float64)
        if self._cap:
            logits = self._cap * np.tanh(logits / self._cap)
        greatest = logits.max()
        total = greatest + np.log(np.exp(logits - greatest).sum())
        return [float(logits[token] - total) for token in tokens]
