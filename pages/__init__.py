"""Pages of runs, compilations, distillations and experiments: HTML with plots, or text and tables as Markdown."""

from .changed_cases import without_texts
from .compile_page import compilation_html, compilation_markdown
from .distil_page import distillation_html, distillation_markdown
from .experiment_page import experiment_html, experiment_markdown
from .run_page import runs_html, runs_markdown
from .run_report import Disagreement, RunReport, RunSubject

__all__ = [
    "Disagreement",
    "RunReport",
    "RunSubject",
    "compilation_html",
    "compilation_markdown",
    "distillation_html",
    "distillation_markdown",
    "experiment_html",
    "experiment_markdown",
    "runs_html",
    "runs_markdown",
    "without_texts",
]
