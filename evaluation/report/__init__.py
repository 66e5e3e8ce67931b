"""The report of runs, and of a compilation: one HTML page to look at, or the same figures as Markdown."""

from .compilation import (
    Attempt,
    Compilation,
    Contender,
    Guarantee,
    Rewording,
    Search,
    Tested,
    Weights,
)
from .compiled import compiled_markdown, compiled_page
from .markdown import markdown
from .page import page
from .records import Disagreement, RunReport

__all__ = [
    "Attempt",
    "Compilation",
    "Contender",
    "Disagreement",
    "Guarantee",
    "Rewording",
    "RunReport",
    "Search",
    "Tested",
    "Weights",
    "compiled_markdown",
    "compiled_page",
    "markdown",
    "page",
]
