"""What is registered of a program: how it is built, what it does, where it comes from, what it takes and costs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Program:
    """One registered judge or preparation; `calls` is for one case with the default settings."""

    name: str
    build: Callable[..., Any]
    summary: str
    source: str
    inputs: str
    calls: str
