"""The product as functions: what each command of `dicast` does, for Python. Nothing here prints.

run, run_async    judge cases into a run folder that can be continued
explain           judge one case
evaluate          measure a run against human labels
compare           paired tests between runs
agreement         how far judges agree, and which cases to label
write_corrected   the texts that a run rewrote, beside their originals
report            write a page
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreements import agreement
    from .cascades import CascadeRun, cascade
    from .case_source import CaseSource
    from .checks import CheckItem, check
    from .comparisons import compare
    from .compilations import CompileRun, compile
    from .corrected_texts import write_corrected
    from .coverage import Coverage
    from .evaluations import evaluate
    from .judge_checks import DriftReport
    from .judge_spec import JudgeSpec
    from .preparations import PrepareRun, prepare
    from .progress import Progress
    from .reports import Page, report
    from .requirements import CheckedRequirement, Requirement
    from .run_results import Run, open_run
    from .runs import CaseJudgment, RunSpec, explain, run, run_async

__all__ = [
    "CascadeRun",
    "CaseJudgment",
    "CaseSource",
    "CheckItem",
    "CheckedRequirement",
    "CompileRun",
    "Coverage",
    "DriftReport",
    "JudgeSpec",
    "Page",
    "PrepareRun",
    "Progress",
    "Requirement",
    "Run",
    "RunSpec",
    "agreement",
    "cascade",
    "check",
    "compare",
    "compile",
    "evaluate",
    "explain",
    "open_run",
    "prepare",
    "report",
    "run",
    "run_async",
    "write_corrected",
]

_MODULES = {
    "agreements": ("agreement",),
    "cascades": ("CascadeRun", "cascade"),
    "checks": ("CheckItem", "check"),
    "judge_checks": ("DriftReport",),
    "comparisons": ("compare",),
    "corrected_texts": ("write_corrected",),
    "compilations": ("CompileRun", "compile"),
    "coverage": ("Coverage",),
    "evaluations": ("evaluate",),
    "preparations": ("PrepareRun", "prepare"),
    "case_source": ("CaseSource",),
    "judge_spec": ("JudgeSpec",),
    "progress": ("Progress",),
    "reports": ("Page", "report"),
    "requirements": ("CheckedRequirement", "Requirement"),
    "run_results": ("Run", "open_run"),
    "runs": ("CaseJudgment", "RunSpec", "explain", "run", "run_async"),
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
