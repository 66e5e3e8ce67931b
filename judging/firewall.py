"""A failed case is an unscored verdict: what an unexpected error becomes, and what a verdict must be to be kept."""

import logging
import traceback
from pathlib import Path

from pydantic import ValidationError

from ..data import Case, Verdict
from ..errors import ExecutionError, Internal
from ..parsing import explain
from ..redaction import clean

PACKAGE = Path(__file__).resolve().parent.parent
MOST = 240  # characters of an error's own text
# The answers of a case that failed so are no use again. Not of "infrastructure": a bad reply is never stored, and the
# answers of earlier stages are paid for.
FORGOTTEN = ("unreadable", "parse_failure", "refusal", "internal")

log = logging.getLogger(__name__)


def unscored(case: Case, failure: ExecutionError) -> Verdict:
    """The verdict of a case that failed."""
    return Verdict(case_id=case.id, status="unscored", reason=failure.reason, detail=str(failure))


def as_failure(error: Exception, who: str, module: str = "") -> ExecutionError:
    """The error as an unscored verdict can carry it; what nobody expected is `Internal`.

    The whole traceback goes to the log at the level DEBUG.

    Args:
        who: what failed, as messages name it.
        module: the name of the module that defines it, whose lines may be named although they are not dicast's.
    """
    if isinstance(error, ExecutionError):
        return error
    if log.isEnabledFor(logging.DEBUG):
        log.debug("%s", clean("".join(traceback.format_exception(error))))
    text = explain(error) if isinstance(error, ValidationError) else str(error)
    text = " ".join(text.split())
    text = text if len(text) <= MOST else text[: MOST - 3] + "..."
    said = f": {text}" if text else ""
    return Internal(f"{who}: {type(error).__name__}{said} ({place_of(error, module)}).")


def place_of(error: Exception, module: str = "") -> str:
    """The innermost line of dicast or of `module` that the error passed through, as in `judging/stage.py:12`.

    A path is within the package, or a bare file name: where things lie on a machine is nobody's business.
    """
    place = "place unknown"
    frame = error.__traceback__
    while frame is not None:
        code, line = frame.tb_frame.f_code, frame.tb_lineno
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE):
            place = f"{path.relative_to(PACKAGE).as_posix()}:{line}"
        elif module and frame.tb_frame.f_globals.get("__name__") == module:
            place = f"{path.name}:{line}"
        frame = frame.tb_next
    return place


def sound(verdict: object, case: Case) -> Verdict:
    """The verdict with every field checked anew, since a copy of a record may hold anything.

    Raises:
        TypeError: no verdict.
        ValueError: a verdict of another case, or a value that a file could not hold, such as a score that is no number.
    """
    if not isinstance(verdict, Verdict):
        raise TypeError(f"gave a {type(verdict).__name__}, not a Verdict")
    if verdict.case_id != case.id:
        raise ValueError(f"gave a verdict of case {verdict.case_id!r} for case {case.id!r}")
    return type(verdict).model_validate(verdict.model_dump(warnings=False))
