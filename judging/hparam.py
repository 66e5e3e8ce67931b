"""A structural parameter of a judge: saved in its state, searched by a structure search, kept by prompt optimizers."""

import copy
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dspy.predict.parameter import Parameter

from ..data.case import MOST_SCORE, encodable

MOST_SEARCHED = 5  # values that a search tries where a parameter names none

SearchValues = Sequence[Any] | Callable[[Any], Sequence[Any]]


class HParam(Parameter):
    """One value with the values it may take, and how a search is to treat it.

    DSPy saves it with the program's state and lists it in `named_parameters()`. `reset()` keeps the value: DSPy's
    demo optimizers reset copies of a program to clear its demos, and a searched structure must survive that.

    Args:
        value: the initial value.
        choices: all values it may take; None means any number, or any text where the initial value is a text.
        least: the lowest number it may take.
        most: the highest number it may take.
        search: the values that a structure search tries, or a function of the judge that returns them; () for none.
            By default all choices when there are at most 5, 5 evenly spaced ones of more numbers, none of other things.
        affects_verdict: whether the value can change a verdict; a search leaves out parameters that cannot.
        idle_when: other parameters of the same judge by name, each with a value: while one has that value, this
            parameter changes nothing, and a search does not vary it.
        of_pairs: whether it changes nothing of other cases than pairs, so that a search on those does not vary it.
        about: what it does, in a sentence, where the docstring of the judge's class does not say it.
        implied: not named among a judge's settings while it has its first value, so that the records of judges that
            were made before the parameter stay the same.

    Example:
        >>> HParam(3, range(1, 101)).search_values()
        (1, 26, 51, 75, 100)
    """

    def __init__(
        self,
        value: Any,
        choices: Sequence[Any] | None = None,
        *,
        least: float | None = None,
        most: float | None = None,
        search: SearchValues | None = None,
        affects_verdict: bool = True,
        idle_when: Mapping[str, Any] | None = None,
        of_pairs: bool = False,
        implied: bool = False,
        about: str = "",
    ) -> None:
        self.about = about
        self.choices, self.least = choices if isinstance(choices, range | None) else tuple(choices), least
        self.most = most
        self.is_text = choices is None and isinstance(value, str)
        self.search, self.affects_verdict, self.idle_when = search, affects_verdict, dict(idle_when or {})
        self.of_pairs = of_pairs
        self.value = self._checked(value)
        self._implied = self.value if implied else None
        self.is_set = False  # by a user or a file, after it was made

    @property
    def is_implied(self) -> bool:
        """Whether it goes without saying: it has the value that it began with."""
        return self._implied is not None and self.value == self._implied

    def _checked(self, value: Any) -> Any:
        if self.choices is not None:
            return _choice(self.choices, value)
        if self.is_text:
            return encodable(str(value))
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"must be a number, got {reprlib.repr(value)}")
        if not -MOST_SCORE <= value <= MOST_SCORE:
            raise ValueError(f"must be a number between -{MOST_SCORE:g} and {MOST_SCORE:g}, got {reprlib.repr(value)}")
        if self.least is not None and not value >= self.least:
            raise ValueError(f"must be at least {self.least:g}, got {reprlib.repr(value)}")
        if self.most is not None and not value <= self.most:
            raise ValueError(f"must be at most {self.most:g}, got {reprlib.repr(value)}")
        return value

    def set(self, value: Any) -> None:
        """Change the value; raises ValueError when it is not among the choices."""
        self.value, self.is_set = self._checked(value), True

    def search_values(self, judge: Any = None) -> tuple[Any, ...]:
        """The values that a structure search tries.

        Args:
            judge: the judge that has the parameter, for `search` functions.
        """
        if not self.affects_verdict:
            return ()
        if callable(self.search):
            return tuple(self.search(judge))
        if self.search is not None:
            return tuple(self.search)
        if self.choices is None:
            return ()
        if len(self.choices) <= MOST_SEARCHED:
            return tuple(self.choices)
        if any(isinstance(choice, bool) or not isinstance(choice, int | float) for choice in self.choices):
            return ()
        last = len(self.choices) - 1
        return tuple(self.choices[round(step * last / (MOST_SEARCHED - 1))] for step in range(MOST_SEARCHED))

    def reset(self) -> None:
        """Keep the value (see the class)."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"value": copy.deepcopy(self.value)}

    def load_state(self, state: dict[str, Any], **_: Any) -> None:
        self.set(state["value"])


def _choice(choices: Sequence[Any], value: Any) -> Any:
    """The choice that equals the value, so that 3.0 of a file is the whole number 3."""
    if value in choices:
        return choices[choices.index(value)]
    listed = f"{choices[0]} to {choices[-1]}" if len(choices) > 30 else ", ".join(map(str, choices))
    raise ValueError(f"must be one of {listed}, got {reprlib.repr(value)}")
