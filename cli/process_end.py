"""The end of the process: at once where llama.cpp runs in it, whose threads may still answer a request given up."""

import contextlib
import os
import sys
from typing import NoReturn

LLAMA_CPP = "dicast.engines.providers.local"  # imported by commands that need it


def end_process(code: int) -> NoReturn:
    """Exit with this code, after the streams are flushed and closed.

    A server of llama.cpp in this process cannot be stopped; the destructors of a plain exit would free the memory that
    its threads use, and the process would end by a segmentation fault in place of its code.
    """
    local = sys.modules.get(LLAMA_CPP)
    if local is not None and local.is_serving():
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
