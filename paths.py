"""Where dicast keeps what it downloads, and how private files are made.

Texts of people and answers of models are private: folders that dicast makes for them are 0700 and files 0600, on POSIX.
"""

import os
from pathlib import Path

from .errors import DeclarationError


def home() -> Path:
    """The cache folder: DICAST_HOME, else XDG_CACHE_HOME/dicast, else ~/.cache/dicast; it may not exist yet.

    Raises:
        DeclarationError: none of them is set, and the user has no home folder, as in a container.
    """
    folder, cache = os.environ.get("DICAST_HOME"), os.environ.get("XDG_CACHE_HOME")
    try:
        if folder:
            return Path(folder).expanduser()
        return (Path(cache) if cache else Path.home() / ".cache") / "dicast"
    except RuntimeError as error:
        raise DeclarationError(
            f"no home folder ({error}). Set DICAST_HOME to a folder for models and answers."
        ) from None


def path_of(value: object, name: str = "--out") -> Path:
    """The path that a user gives as a file or folder.

    Args:
        name: of the option or argument, for the message.

    Raises:
        DeclarationError: no text and no path, an empty text, or a NUL in it.
    """
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str):
        raise DeclarationError(f"{name}: {value!r} is no path. Give a text or a pathlib.Path.")
    if not text or "\0" in text:
        raise DeclarationError(f"{name}: {text!r} is no name of a file or folder. Give another.")
    return Path(text)


def private_folder(path: Path) -> Path:
    """The folder, made with mode 0700 where it does not exist; its missing parents are made as usual."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def private_opener(path: str, flags: int) -> int:
    """The `opener` of `open` that makes a new file with mode 0600.

    Example:
        >>> import tempfile
        >>> with open(Path(tempfile.mkdtemp()) / "x", "w", opener=private_opener) as file:
        ...     oct(os.fstat(file.fileno()).st_mode & 0o777)
        '0o600'
    """
    return os.open(path, flags, 0o600)


def fresh_opener(path: str, flags: int) -> int:
    """As `private_opener`; a symbolic link in the place of the file is refused, where the system can tell."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
