"""A function that takes the arguments of another one, and says so."""

from collections.abc import Callable
from inspect import signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def takes_arguments_of(function: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Decorates a function that hands its arguments on: `help`, editors and type checkers show those of `function`."""

    def decorated(other: Callable[..., T]) -> Callable[P, T]:
        vars(other)["__signature__"] = signature(function)
        return other

    return decorated
