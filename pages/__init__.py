"""Pages of runs, compilations and experiments: HTML with plots, or the same text and tables as Markdown."""

from .compile_page import compilation_html, compilation_markdown
from .experiment_page import experiment_html, experiment_markdown
from .run_page import runs_html, runs_markdown
from .run_report import Disagreement, RunReport

__all__ = [
    "Disagreement",
    "RunReport",
    "compilation_html",
    "compilation_markdown",
    "experiment_html",
    "experiment_markdown",
    "runs_html",
    "runs_markdown",
]
