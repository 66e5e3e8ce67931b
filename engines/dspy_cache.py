"""DSPy's own cache, which an LM that a user gives to `dspy.configure(lm=)` reads: never unpickled without restriction.

The cache is a folder of pickles (DSPY_CACHEDIR, default ~/.dspy_cache; CVE-2025-69872 of diskcache: whoever can write
there can run code). The models that dicast makes itself do not use it.
"""

import threading
from typing import Any

import dspy

IN_MEMORY = 10_000  # answers; DSPy's default is a million, some 24 GB

_lock = threading.Lock()


def guarded(lm: Any) -> Any:
    """The LM; if it uses DSPy's cache, which nobody has built yet, the cache will read plain data alone."""
    if getattr(lm, "cache", False) and getattr(lm, "uses_dspy_cache", True):
        with _lock:
            if "cache" not in vars(dspy):
                dspy.configure_cache(memory_max_entries=IN_MEMORY, restrict_pickle=True)
    return lm
