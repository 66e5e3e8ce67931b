"""Everything that a command writes to standard output and standard error beside what `render` draws.

Keys are removed and control characters made visible at this place, so that no text of a case, a file or a server
controls the terminal. A reader that has gone (`| head -1`) is no error: the rest goes nowhere, and the command ends as
it would have. Standard output that is closed or full is one.
"""

import json
import logging
import os
import re
import select
import shutil
import sys
import textwrap
import warnings
from functools import partial
from typing import IO, Any

from ..redaction import CONTROLS, clean, redact
from .exit_codes import ERROR

FULL = "dicast: standard output: {}. Make room, or send it elsewhere."
UNPRINTABLE = re.compile(f"{CONTROLS.pattern[:-1]}\ud800-\udfff]")  # in JSON these are escaped, not replaced


def echo(text: object) -> None:
    """Print a line of a result."""
    _write(sys.stdout, clean(str(text)) + "\n")


def error(text: object) -> None:
    """Print a line on standard error, on a terminal between words; nothing happens where it cannot be written."""
    try:
        _write(sys.stderr, _wrapped(clean(str(text)), sys.stderr) + "\n")
    except OSError:
        discard(sys.stderr)


def wrapped(text: str, stream: IO[str]) -> str:
    """The text, of which a terminal breaks no line within a word; unchanged where the stream is no terminal."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = [
        textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) if len(line) > width else [line]
        for line in text.splitlines()
    ]
    return "\n".join(part for parts in lines for part in parts)


def print_json(value: object) -> None:
    """Print a JSON value without keys; control characters and lone surrogates in its texts are escaped."""
    is_unicode = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    text = json.dumps(redacted(value), indent=1, ensure_ascii=not is_unicode)
    _write(sys.stdout, UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n")


def redacted(value: Any) -> Any:
    """The same JSON value with every text redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(name)): redacted(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(item) for item in value]
    return value


def discard(stream: IO[str]) -> None:
    """From now on, what is written to the stream goes nowhere."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):  # a stream without a file, as in a test
        pass


def prepare_streams() -> bool:
    """Make the standard streams usable; False, with a line on standard error, where standard output is closed.

    A closed stream gets the null device, since the next opened file would take its number, and with it whatever a
    library prints.
    """
    is_open = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a lone surrogate, or a narrow encoding
    _clean_logs()
    if not is_open:
        error("dicast: standard output is closed. Send it to a file, or to /dev/null.")
    return is_open


def close_streams(code: int) -> int:
    """Write what is buffered; the exit code, 3 where standard output takes no more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as failure:
        discard(sys.stdout)
        error(FULL.format(failure.strerror or failure))
        return ERROR
    return code


def reader_has_gone() -> bool:
    """Whether standard output or standard error is a pipe that nobody reads any more."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def write_text(stream: IO[str], text: str) -> None:
    """Write a text as it is but for keys and control characters; line ends within rows stay."""
    _write(stream, UNPRINTABLE.sub("\ufffd", redact(text)))


def _wrapped(text: str, stream: IO[str]) -> str:
    """The text as lines of a terminal's width; elsewhere the text. A word that is wider stays whole."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    wrap = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(line if len(line) <= width else wrap(line) for line in text.split("\n"))


def _write(stream: IO[str], text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        discard(stream)


def _clean_logs() -> None:
    """Clean what libraries log and warn of: it quotes servers."""
    make, show = logging.getLogRecordFactory(), warnings.formatwarning

    def cleaned(*arguments: Any, **options: Any) -> logging.LogRecord:
        record = make(*arguments, **options)
        try:
            message = record.getMessage()
        except Exception:  # a wrong format, of which logging would print a traceback
            message = f"{record.msg} {record.args}"
        record.msg, record.args = clean(message), ()
        if record.exc_info:
            record.exc_text = clean(logging.Formatter().formatException(record.exc_info))
        return record

    logging.setLogRecordFactory(cleaned)
    warnings.formatwarning = lambda *arguments, **options: clean(show(*arguments, **options))
