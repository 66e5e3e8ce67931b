"""torch and transformers, imported at their first use, and what this machine runs them on.

Matrix products in bf16 are faster than in fp32 where the processor has instructions for them (AMX, AVX512-BF16; on a
2-core Xeon with AMX 170 prompt tokens a CPU second of a 1.5B model) or on a GPU; elsewhere they are slower.
"""

import contextlib
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...errors import DeclarationError, install_hint

BF16_FLAGS = frozenset({"amx_bf16", "avx512_bf16", "bf16"})  # of /proc/cpuinfo; bf16 is that of 64-bit Arm
DTYPES = ("bfloat16", "float32")


def torch_and_transformers(who: str, extra: str = "torch") -> tuple[Any, Any]:
    """The two modules.

    Args:
        who: begins the message of the error.
        extra: what to install, as the message says: `train` where a model is trained.

    Raises:
        DeclarationError: one of them is not installed.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import torch
        import transformers
    except ImportError:
        raise DeclarationError(f"{who} needs torch and transformers. {install_hint(extra)}") from None
    return torch, transformers


@contextlib.contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """No progress bars and no advice on standard error inside."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def device_name(torch: Any) -> str:
    """cuda where there is a GPU, else cpu."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def dtype_name(torch: Any) -> str:
    """The name of the number type of weights and states: DICAST_TORCH_DTYPE, else the one this machine is fast in.

    Raises:
        DeclarationError: the variable names another type.
    """
    name = os.environ.get("DICAST_TORCH_DTYPE", "")
    if name and name not in DTYPES:
        raise DeclarationError(f"DICAST_TORCH_DTYPE: must be one of {', '.join(DTYPES)}, got {name!r}.")
    if name:
        return name
    fast = device_name(torch) == "cuda" or bool(_cpu_flags() & BF16_FLAGS)
    return "bfloat16" if fast else "float32"


def threads() -> int:
    """DICAST_LOCAL_THREADS, else the cores of the machine.

    Raises:
        DeclarationError: the variable is no whole number from 1.
    """
    value = os.environ.get("DICAST_LOCAL_THREADS", str(os.cpu_count() or 1))
    if not value.isdigit() or int(value) < 1:
        raise DeclarationError(f"DICAST_LOCAL_THREADS: must be a whole number from 1, got {value!r}.")
    return int(value)


@lru_cache(maxsize=1)
def _cpu_flags() -> frozenset[str]:
    """What the processor can do, as Linux says it; empty on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    listed = (line.partition(":")[2] for line in lines if line.lower().startswith(("flags", "features")))
    return frozenset(next(listed, "").split())
