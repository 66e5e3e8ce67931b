"""The product as functions: what each command of `dicast` does, for Python. Nothing here prints.

run, run_async    judge cases into a run folder that can be continued
explain           judge one case
evaluate          measure a run against human labels
compare           paired tests between runs
agreement         how far judges agree, and which cases to label
write_corrected   the texts that a run rewrote, beside their originals
report            write a page
why               reasons for verdicts that were read from probabilities
collect_traces    keep every LM call of a teacher, to learn from
bridge_set        published judgments, with criterion and guideline
training_set      a training set of both
history_sets      training sets of reviewers' histories
train_student     a student of a training set
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreements import agreement
    from .bridgings import BridgeRun, bridge_set
    from .cascades import CascadeRun, cascade
    from .case_source import CaseSource
    from .checks import CheckItem, check
    from .comparisons import compare
    from .compilations import CompileRun, compile
    from .corrected_texts import write_corrected
    from .coverage import Coverage
    from .distillations import DistilRun, distill
    from .evaluations import evaluate
    from .judge_checks import DriftReport
    from .judge_spec import JudgeSpec
    from .judging_estimates import estimate_run
    from .preparations import PrepareRun, prepare
    from .progress import Progress
    from .reasons import WhyRun, why
    from .reports import Page, report
    from .requirements import CheckedRequirement, Requirement
    from .run_results import Run, open_run
    from .runs import CaseJudgment, RunSpec, explain, run, run_async
    from .trace_collections import TraceRun, collect_traces
    from .training_sets import history_sets, training_set
    from .trainings import TrainingRun, train_student

__all__ = [
    "BridgeRun",
    "CascadeRun",
    "CaseJudgment",
    "CaseSource",
    "CheckItem",
    "CheckedRequirement",
    "CompileRun",
    "Coverage",
    "DistilRun",
    "DriftReport",
    "JudgeSpec",
    "Page",
    "PrepareRun",
    "Progress",
    "Requirement",
    "Run",
    "RunSpec",
    "TraceRun",
    "TrainingRun",
    "WhyRun",
    "agreement",
    "bridge_set",
    "cascade",
    "check",
    "collect_traces",
    "compare",
    "compile",
    "distill",
    "estimate_run",
    "evaluate",
    "explain",
    "history_sets",
    "open_run",
    "prepare",
    "report",
    "run",
    "run_async",
    "train_student",
    "training_set",
    "why",
    "write_corrected",
]

_MODULES = {
    "agreements": ("agreement",),
    "bridgings": ("BridgeRun", "bridge_set"),
    "cascades": ("CascadeRun", "cascade"),
    "checks": ("CheckItem", "check"),
    "judge_checks": ("DriftReport",),
    "comparisons": ("compare",),
    "corrected_texts": ("write_corrected",),
    "compilations": ("CompileRun", "compile"),
    "coverage": ("Coverage",),
    "distillations": ("DistilRun", "distill"),
    "evaluations": ("evaluate",),
    "preparations": ("PrepareRun", "prepare"),
    "case_source": ("CaseSource",),
    "judge_spec": ("JudgeSpec",),
    "judging_estimates": ("estimate_run",),
    "progress": ("Progress",),
    "reasons": ("WhyRun", "why"),
    "reports": ("Page", "report"),
    "requirements": ("CheckedRequirement", "Requirement"),
    "run_results": ("Run", "open_run"),
    "runs": ("CaseJudgment", "RunSpec", "explain", "run", "run_async"),
    "trace_collections": ("TraceRun", "collect_traces"),
    "training_sets": ("history_sets", "training_set"),
    "trainings": ("TrainingRun", "train_student"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dicast.workflows' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
