"""How results look on a terminal."""

from .agreement import judge_agreement
from .brief import brief
from .console import console, errors, heading, indented, say, status, table
from .evaluation import comparison, evaluation
from .experiment import experiment, experiment_result, overview_lines
from .judgment import judgment, outcome, spent, stage_lines
from .measures import interval_text, number, p_value
from .progress import BarProgress, Compiling, ExperimentProgress, PrepareProgress, RunProgress, download_progress
from .summary import summary
from .unscored import warning_lines

__all__ = [
    "BarProgress",
    "Compiling",
    "ExperimentProgress",
    "PrepareProgress",
    "RunProgress",
    "brief",
    "comparison",
    "console",
    "download_progress",
    "errors",
    "evaluation",
    "experiment",
    "experiment_result",
    "heading",
    "indented",
    "interval_text",
    "judge_agreement",
    "judgment",
    "number",
    "outcome",
    "overview_lines",
    "p_value",
    "say",
    "spent",
    "stage_lines",
    "status",
    "summary",
    "table",
    "warning_lines",
]
