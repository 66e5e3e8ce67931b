"""A structural parameter of a program: saved in its state, visible to a search, untouched by prompt optimizers."""

import copy
from collections.abc import Sequence
from typing import Any

from dspy.predict.parameter import Parameter


class HParam(Parameter):
    """One value with the values it may take.

    DSPy saves it with the program's state and lists it in `named_parameters()`. `reset()` keeps the value: DSPy's
    demo optimizers reset copies of a program to clear its demos, and a searched structure must survive that.

    Args:
        value: the value to begin with.
        choices: all values it may take; None means any number, or any text where the first value is a text.
        least: the lowest number it may take.
    """

    def __init__(self, value: Any, choices: Sequence[Any] | None = None, *, least: float | None = None) -> None:
        self.choices, self.least = choices if isinstance(choices, range | None) else tuple(choices), least
        self.is_text = choices is None and isinstance(value, str)
        self.value = self._checked(value)

    def _checked(self, value: Any) -> Any:
        if self.choices is not None and value not in self.choices:
            told = (
                f"{self.choices[0]} to {self.choices[-1]}"
                if len(self.choices) > 30
                else ", ".join(map(str, self.choices))
            )
            raise ValueError(f"must be one of {told}, got {value!r}")
        if self.is_text:
            return str(value)
        if self.choices is None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"must be a number, got {value!r}")
        if self.least is not None and not value >= self.least:
            raise ValueError(f"must be at least {self.least:g}, got {value!r}")
        return value

    def set(self, value: Any) -> None:
        """Change the value; raises ValueError when it is not among the choices."""
        self.value = self._checked(value)

    def reset(self) -> None:
        """Keep the value (see the class)."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"value": copy.deepcopy(self.value)}

    def load_state(self, state: dict[str, Any], **_: Any) -> None:
        self.set(state["value"])
