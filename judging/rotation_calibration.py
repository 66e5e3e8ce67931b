"""What some cases of a run say, without labels, about the letters and the noise of its readings (`stats.rotations`).

The cases are drawn by their texts, so that neither the order of the cases nor that of their options matters. They are
read when the first verdict needs them, at its cost; their own verdicts then find the answers in the store.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from ..data import Case
from ..data.text_digest import case_text_digest
from ..engines.parallel import concurrently
from ..errors import ContextOverflow, ParseFailure, Refusal, Unreadable
from ..stats.rotations import RotationModel, fit_rotations

UNUSABLE = (ContextOverflow, ParseFailure, Refusal, Unreadable)  # what one case alone can meet

Readings = Sequence[Sequence[float]]


class RotationCalibration:
    """Models of the readings of a run, by number of options.

    Args:
        cases: of the run; labels are not looked at.
        most: cases of one number of options that are read at most.
        error: that of the stopping rule.
    """

    def __init__(self, cases: Iterable[Case], most: int, error: float) -> None:
        self._cases: dict[int, list[Case]] = defaultdict(list)
        for case in sorted(cases, key=case_text_digest):
            drawn = self._cases[len(case.candidates)]
            if len(drawn) < most:
                drawn.append(case)
        self._most, self._error, self._lock = most, error, threading.Lock()
        self._models: dict[int, RotationModel | None] = {}

    def model(self, options: int, read: Callable[[Case], Readings]) -> RotationModel | None:
        """The model of cases of so many options; None where too few can be read.

        Args:
            read: the readings of a case in all rotations.
        """
        with self._lock:
            if options not in self._models:
                readings = concurrently(lambda case: _readings(case, read), self._cases[options])
                self._models[options] = fit_rotations([case for case in readings if case], self._error)
            return self._models[options]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """The cases without the models: a copy may ask in other words."""
        cases = [case for drawn in self._cases.values() for case in drawn]
        return type(self)(cases, self._most, self._error)


def _readings(case: Case, read: Callable[[Case], Readings]) -> Readings:
    """Of a case that cannot be read, none."""
    try:
        return read(case)
    except UNUSABLE:
        return ()
