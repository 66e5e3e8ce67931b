"""When a run ends early: the first replies, or many in a row, say that nothing can work."""

from dataclasses import dataclass

from ..errors import ExecutionError, Infrastructure

FIRST = 5  # failures at the server, before any case was judged, that end a run of few workers
MANY = 20  # failures in a row that end it, also after other cases were judged; at 30 % of faults, once in 10^10 cases


@dataclass(frozen=True)
class Failure:
    """Why a case could not be judged, where that need not be the case's fault.

    Attributes:
        message: one line.
        is_server: the server failed; else the answers were of no use, which can be the case's fault.
        kind: the error that ends a run for it.
        counts: False where no model was asked, so that nothing is known of it.
    """

    message: str
    is_server: bool = True
    kind: type[ExecutionError] = Infrastructure
    counts: bool = True


class StopRule:
    """Counts failures of a run. Whatever was answered before, many failures of the server in a row end it; failures of
    any kind end it only before a case was judged.

    Args:
        workers: cases in flight, all of which one incident can fail.
    """

    def __init__(self, workers: int) -> None:
        self._first, self._many = max(FIRST, workers), max(MANY, 2 * workers)
        self._any_judged = False
        self._failures = self._of_server = 0  # in a row

    def add(self, failure: Failure | None) -> str:
        """Count the next finished case, which may have failed: why the run must end, "" if it goes on."""
        if failure is None:
            self._any_judged, self._failures, self._of_server = True, 0, 0
            return ""
        if not failure.counts:
            return ""
        self._failures += 1
        self._of_server = self._of_server + 1 if failure.is_server else 0
        if not self._any_judged and (self._of_server >= self._first or self._failures >= self._many):
            return f"{_sentence(failure.message)} The first {self._failures} cases failed so. Run again to continue."
        if self._of_server >= self._many:
            return f"{_sentence(failure.message)} {self._of_server} cases in a row failed so. Run again to continue."
        return ""


def _sentence(text: str) -> str:
    """The text with a full stop at its end; a server's own words often have none."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
