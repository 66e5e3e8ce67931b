"""Where dicast keeps what it downloads: DICAST_HOME, else XDG_CACHE_HOME/dicast, else ~/.cache/dicast."""

import os
from pathlib import Path


def home() -> Path:
    """The cache folder; it may not exist yet."""
    folder = os.environ.get("DICAST_HOME")
    if folder:
        return Path(folder).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "dicast"
