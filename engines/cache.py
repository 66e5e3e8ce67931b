"""DSPy's answer cache, configured for long runs: few answers in memory, the rest on disk, and no code is unpickled.

DSPy keeps a million answers in memory and unpickles every file in the cache folder (CVE-2025-69872 of diskcache:
whoever can write there can run code). Answers of the native engines are plain data, which the restricted reader
accepts.
"""

import dspy

IN_MEMORY = 10_000  # answers, a few kilobytes each


def configure_cache() -> None:
    """Configure the cache folder (DSPY_CACHEDIR, default ~/.dspy_cache) of this process."""
    dspy.configure_cache(memory_max_entries=IN_MEMORY, restrict_pickle=True)
