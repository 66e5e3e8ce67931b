"""How results look on a terminal."""

from .agreement import judge_agreement
from .console import console, errors, heading, indented, say, status, table
from .evaluation import comparison, evaluation
from .judgment import judgment, outcome, spent, stage_lines
from .measures import interval_text, number, p_value
from .progress import BarProgress, Compiling, PrepareProgress, RunProgress, download_progress
from .summary import summary
from .unscored import warning_lines

__all__ = [
    "BarProgress",
    "Compiling",
    "PrepareProgress",
    "RunProgress",
    "comparison",
    "console",
    "download_progress",
    "errors",
    "evaluation",
    "heading",
    "indented",
    "interval_text",
    "judge_agreement",
    "judgment",
    "number",
    "outcome",
    "p_value",
    "say",
    "spent",
    "stage_lines",
    "status",
    "summary",
    "table",
    "warning_lines",
]
