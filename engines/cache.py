"""DSPy's answer cache, set for long runs: few answers in memory, the rest on disk, and no code in what is unpickled.

DSPy keeps a million answers in memory and unpickles whatever lies in the cache folder (CVE-2025-69872 of diskcache: who
can write there can run code). Answers of the native engines are plain data, so the restricted reader takes them all.
"""

import dspy

IN_MEMORY = 10_000  # answers, a few kilobytes each


def configure_cache() -> None:
    """Use the cache folder (DSPY_CACHEDIR, default ~/.dspy_cache) in this way from now on, in this process."""
    dspy.configure_cache(memory_max_entries=IN_MEMORY, restrict_pickle=True)
