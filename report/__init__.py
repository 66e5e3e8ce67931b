"""The report of runs, and of a compilation: one HTML page to look at, or the same figures as Markdown."""

from .compilation import Attempt, Compilation, Contender, Guarantee, Rewording, Search, Tested, Weights
from .compile_page import compiled_markdown, compiled_page
from .markdown import markdown
from .run_page import render_runs
from .run_report import Disagreement, RunReport

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
    "render_runs",
]
