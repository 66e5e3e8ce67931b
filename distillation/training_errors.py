"""Errors of training libraries in words: out of memory, a full disk; others pass as they are."""

import contextlib
import errno
import re
from collections.abc import Iterator
from pathlib import Path

from ..engines.torch_models.torch_import import torch_and_transformers
from ..errors import DeclarationError, RunError

MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|cannot allocate memory", re.IGNORECASE)
DISK = re.compile(r"no space left|file too large|disk quota|read-only file system", re.IGNORECASE)
DISK_CODES = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS}


@contextlib.contextmanager
def errors_in_words(folder: Path) -> Iterator[None]:
    """What cannot go on inside is raised as what the user can change.

    Args:
        folder: of the training; its checkpoints stay, so that the same call continues.

    Raises:
        DeclarationError: out of memory.
        RunError: the disk is full.
    """
    torch, _ = torch_and_transformers("A training", "train")
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not isinstance(error, torch.OutOfMemoryError):
            if DISK.search(str(error)):  # torch's writer of checkpoints
                raise _full(folder, str(error)) from None
            if not MEMORY.search(str(error)):
                raise
        raise DeclarationError(
            f"{folder}: the training ran out of memory. Set gradient_checkpointing, a shorter length or a lower rank "
            "in another --out, use qlora on a GPU, or take a smaller base."
        ) from None
    except Exception as error:  # safetensors raises an error of its kind where the system cannot write
        is_disk = isinstance(error, OSError) and error.errno in DISK_CODES
        if isinstance(error, RunError) or not (is_disk or DISK.search(str(error))):
            raise
        raise _full(folder, str(error)) from None


def _full(folder: Path, reason: str) -> RunError:
    first = (reason.strip().splitlines() or ["the disk is full"])[0]
    return RunError(
        f"{folder}: cannot be written ({first}). Make room and run again: it continues after the last whole checkpoint."
    )
