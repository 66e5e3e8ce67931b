"""The score row of a reward model: a linear head on the last state, which gives one number a text.

A sequence classifier of transformers with one label is such a row (`score.weight`, 1 x width), and so is the tensor
`cls.output.weight` of a GGUF file. llama.cpp's own ranking pools with a softmax in some architectures, which makes
every score of one label 1 (ggml-org/llama.cpp, pull request 14029); so the state is read, and the row applied here.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import DeclarationError, ModelError, install_hint

IN_FOLDER = "score.weight"
IN_GGUF = ("cls.output.weight", "score.weight")
NO_ROW = "{}: is no reward model: it has no score row. Name one, as in reward=skywork-qwen3-0.6b."


def score_row(path: Path) -> NDArray[np.float32]:
    """The row, float32 (width,).

    Args:
        path: a folder in transformers' format, or a .gguf file.

    Raises:
        ModelError: there is none, or the model gives several numbers a text.
        DeclarationError: the package that reads the file is not installed.
    """
    matrix = _of_gguf(path) if path.suffix == ".gguf" else _of_folder(path)
    if matrix is None:
        raise ModelError(NO_ROW.format(path.name))
    if matrix.ndim == 2 and len(matrix) != 1:
        raise ModelError(f"{path.name}: gives {len(matrix)} numbers a text. Name a reward model, which gives one.")
    return np.asarray(matrix, dtype=np.float32).reshape(-1)


def _of_folder(folder: Path) -> NDArray[np.float32] | None:
    from safetensors import safe_open

    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:  # numpy knows no bf16
            if IN_FOLDER in file.keys():  # noqa: SIM118  it is no mapping
                return np.asarray(file.get_tensor(IN_FOLDER).float().numpy())
    return None


def _of_gguf(path: Path) -> NDArray[np.float32] | None:
    try:
        from gguf import GGUFReader, dequantize
    except ImportError:
        raise DeclarationError(f"the score row of a GGUF file needs gguf. {install_hint('local')}") from None
    try:
        tensors = {tensor.name: tensor for tensor in GGUFReader(path).tensors}
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: is no GGUF file that can be read ({error}).") from None
    tensor = next((tensors[name] for name in IN_GGUF if name in tensors), None)
    return None if tensor is None else np.asarray(dequantize(tensor.data, tensor.tensor_type))
