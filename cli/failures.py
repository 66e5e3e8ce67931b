"""What a command says, and its exit code, when it ends by an exception: one line, never a traceback.

An exception that nothing expects is 3 as well: 1 means that a judge is worse, or that a requirement does not hold. Its
traceback goes to a crash file (`crash_file`); DICAST_DEBUG=1 prints it too.
"""

import errno
import io
import os
import sys
import threading
import traceback
from pathlib import Path

import click

from ..errors import DicastError
from ..paths import home
from . import output
from .exit_codes import ERROR, STOPPED

LONGEST = 300  # characters of an unexpected error's message
PRINTERS = ("click", "rich", "output.py")  # parts of the paths of what writes to standard output
TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)


def exit_code(failure: BaseException) -> int:
    """Print the line of an exception that ended a command; the exit code."""
    if isinstance(failure, BrokenPipeError | SystemExit) and output.reader_has_gone():  # click makes a SystemExit of it
        return 0
    if isinstance(failure, click.Abort | KeyboardInterrupt):
        output.error("stopped.")
        return STOPPED
    output.error(output.wrapped(_line(failure), sys.stderr))
    return ERROR


def hide_tracebacks() -> None:
    """From now on, exceptions that nothing catches in a thread are one line as well, and those in a finaliser none."""
    threading.excepthook = _thread_failed
    sys.unraisablehook = _finaliser_failed


def _thread_failed(arguments: "threading.ExceptHookArgs") -> None:
    if arguments.exc_value is not None and not isinstance(arguments.exc_value, SystemExit):
        output.error(_line(arguments.exc_value))


def _finaliser_failed(arguments: "sys.UnraisableHookArgs") -> None:
    if _is_debugging() and arguments.exc_value is not None:
        output.error("".join(traceback.format_exception(arguments.exc_value)))


def _is_debugging() -> bool:
    return os.environ.get("DICAST_DEBUG") not in (None, "", "0")


def _line(failure: BaseException) -> str:
    if isinstance(failure, click.ClickException):
        shown = io.StringIO()
        failure.show(shown)
        return shown.getvalue().rstrip("\n")
    if isinstance(failure, DicastError):
        return f"dicast: {failure}"
    if type(failure).__module__ == "sqlite3":
        return f"dicast: a database of answers: {failure}. Make room for it, or set DICAST_HOME to another folder."
    if isinstance(failure, OSError) and (failure.errno is not None or failure.filename is not None):
        return _system_line(failure)
    return _unexpected_line(failure)


def _system_line(failure: OSError) -> str:
    """The line of an error of the operating system."""
    reason = "is no folder" if failure.errno == errno.EEXIST else failure.strerror or str(failure)
    if _was_printing(failure):
        output.discard(sys.stdout)
        return output.FULL.format(reason)
    where = f"{failure.filename}: " if failure.filename is not None else ""
    if failure.errno in TOO_MANY_FILES:
        return f"dicast: {where}{reason}. Raise the limit (ulimit -n), or use fewer --workers."
    if not where:
        return f"dicast: {reason}. Make room, and run the same command again."
    if _is_of_the_store(str(failure.filename)):
        return f"dicast: {where}{reason}. Set DICAST_HOME to a folder with room that can be written."
    return f"dicast: {where}{reason}. Give another path, or make room."


def _is_of_the_store(name: str) -> bool:
    """Whether the path is in the folder of models and answers, or is a parent of it."""
    try:
        store, path = home().absolute(), Path(name).absolute()
    except (DicastError, OSError, ValueError):
        return False
    return store.is_relative_to(path) or path.is_relative_to(store)


def _was_printing(failure: OSError) -> bool:
    """Whether standard output refused the text; standard error refuses in silence."""
    frames = traceback.extract_tb(failure.__traceback__) if failure.filename is None else []
    return bool(frames) and any(part in PRINTERS for part in Path(frames[-1].filename).parts)


def _unexpected_line(failure: BaseException) -> str:
    from . import crash_file

    if _is_debugging():
        output.error("".join(traceback.format_exception(failure)))
    text = " ".join(str(failure).split())
    text = text if len(text) <= LONGEST else text[:LONGEST] + " ..."
    error = f"{type(failure).__name__}: {text}" if text else type(failure).__name__
    place, path = crash_file.place(failure), crash_file.write(failure)
    advice = f"The traceback is in {path}" if path else "DICAST_DEBUG=1 prints the traceback"
    return f"dicast: unexpected error: {error}, at {place} of dicast. {advice}; please report it."
