"""One odd case, or a refusal of a server that works, ends no run: it is an unscored verdict."""

from collections.abc import Callable

from ..data import Case, Verdict
from ..errors import (
    DeclarationError,
    ExecutionError,
    Internal,
    MissingField,
    ModelError,
    ModelRefused,
    Unreadable,
    UnscoredReason,
)
from .stop_rule import Failure

# Reasons that say, from the first case on, that nothing can work, with the error that then ends the run.
USELESS: dict[str, type[ExecutionError]] = {"internal": Internal, "unreadable": Unreadable}


class LenientJudge:
    """A judge that gives an unscored verdict where a case, or a server's refusal, makes it raise a DeclarationError.

    Args:
        judge: what it calls.
    """

    def __init__(self, judge: Callable[[Case], Verdict]) -> None:
        self._judge = judge
        self._refused: list[DeclarationError] = []

    def __call__(self, case: Case) -> Verdict:
        """The verdict.

        Raises:
            ModelError: the model cannot be used, as this side knows without asking.
        """
        try:
            return self._judge(case)
        except DeclarationError as error:
            if isinstance(error, ModelError) and not isinstance(error, ModelRefused):
                raise
            self._refused.append(error)
            reason: UnscoredReason = "infrastructure" if isinstance(error, ModelRefused) else "internal"
            reason = error.reason if isinstance(error, MissingField) else reason
            return Verdict(case_id=case.id, status="unscored", reason=reason, detail=str(error))

    def check(self, finished: int, earlier: int = 0) -> None:
        """Raise the first DeclarationError if all of the finished cases raised some.

        Args:
            finished: cases.
            earlier: verdicts of an earlier call. Where there are some, cases without a field are no reason to raise.
        """
        refused = [error for error in self._refused if not (earlier and isinstance(error, MissingField))]
        if 0 < finished <= len(refused):
            raise refused[0]


def failure_of(verdict: Verdict) -> Failure | None:
    """How a verdict failed, where that need not be the case's fault."""
    if verdict.reason == "infrastructure":
        return Failure(verdict.detail)
    if verdict.reason == MissingField.reason:
        return Failure(verdict.detail, is_server=False, counts=False)
    kind = USELESS.get(verdict.reason or "")
    return Failure(verdict.detail, is_server=False, kind=kind) if kind is not None else None
