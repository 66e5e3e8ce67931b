"""The report of runs: one HTML page to look at, or the same figures as Markdown."""

from .markdown import markdown
from .page import page
from .records import Disagreement, RunReport

__all__ = ["Disagreement", "RunReport", "markdown", "page"]
