"""Bytes of a file to text. Only UTF-8 is read; what else a file may be is named in the message."""

import codecs
import stat
from pathlib import Path

from ..errors import DataError, DicastError

MOST_BYTES = 1 << 28  # of a file that is read as a whole: 256 MiB; cases and verdicts are read line by line
SAVE = "Save it as UTF-8."
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def read_bytes(
    path: Path, where: str = "", *, error: type[DicastError] = DataError, advice: str = "Give another file."
) -> bytes:
    """The bytes of a small file.

    Args:
        where: begins the message; by default the path.
        error: raised for a file that cannot be read, is no regular file, or has more than 256 MiB.
        advice: ends the message.
    """
    if kind := kind_of_special(path):  # a pipe would be waited for, and some devices have no end
        raise error(f"{where or path}: is {kind}, not a file. {advice}")
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        raise error(
            f"{where or path}: cannot be read ({getattr(problem, 'strerror', None) or problem}). {advice}"
        ) from None
    if len(raw) > MOST_BYTES:
        raise error(f"{where or path}: has more than {MOST_BYTES >> 20} MiB. {advice}")
    return raw


def kind_of_special(path: Path) -> str:
    """What lies at a path, if that is a pipe, a device or a socket; empty for files, folders, and nothing."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "a device"
    return "a socket" if stat.S_ISSOCK(mode) else ""


def read_text(path: Path, where: str = "", *, error: type[DicastError] = DataError, advice: str = SAVE) -> str:
    """The text of a small file in UTF-8, without a byte order mark.

    Args:
        where: begins the message; by default the path.
        error: raised for a file that cannot be read or decoded.
        advice: ends the message.
    """
    return decode(read_bytes(path, where, error=error, advice=advice), where or str(path), error=error, advice=advice)


def decode(raw: bytes, where: str, *, error: type[DicastError] = DataError, advice: str = SAVE) -> str:
    """The text of bytes in UTF-8, without a byte order mark; arguments as of `read_text`."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(f"{where}: {not_utf8(raw, problem)}. {advice}") from None


def not_utf8(raw: bytes, problem: UnicodeDecodeError) -> str:
    """What bytes are that are not UTF-8: another encoding by its byte order mark, or the first byte that is wrong.

    Example:
        >>> raw = "naïve".encode("latin-1")
        >>> try:
        ...     raw.decode()
        ... except UnicodeDecodeError as problem:
        ...     not_utf8(raw, problem)
        "byte 2 (0xef, 'ï' in Latin-1) is not UTF-8"
    """
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if raw.startswith(mark):
            return f"is {encoding}, not UTF-8"
    start = problem.start  # counted from the byte order mark on, where there is one
    start += 3 if problem.encoding == "utf-8-sig" and raw.startswith(codecs.BOM_UTF8) else 0
    line, before, byte = raw.count(b"\n", 0, start) + 1, raw.rfind(b"\n", 0, start) + 1, raw[start]
    place = f"line {line}, byte {start - before}" if line > 1 else f"byte {start}"
    letter = f", {chr(byte)!r} in Latin-1" if byte >= 0xA0 else ""
    return f"{place} ({byte:#x}{letter}) is not UTF-8"
