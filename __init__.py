"""dicast: LLM judges that agree with human labels.

    import dicast

    judge = dicast.judge("fennec", lm="openai/gpt-4o-mini")
    verdict = judge(dicast.Case(id="1", query="...", candidates=[{"text": "..."}, {"text": "..."}]))

    run = dicast.run(judge, "pairs.jsonl", out="runs/first")  # or rows: dicts, Cases, a DataFrame
    print(run.evaluate().measure("accuracy"))

The folder is that of `dicast judge`: either continues what the other began. Names are imported on first use, so that
`import dicast` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import catalog, data, engines, evaluation, judging, optimizers, preparation, stats, testing, workflows  # noqa: F401
    from .data import Case, Verdict, read_cases, split
    from .errors import DeclarationError, DicastError, ExecutionError
    from .judging import Judge
    from .judging.judge_file import save
    from .optimizers import Compiler, Recipe
    from .workflows import (
        CaseSource,
        JudgeSpec,
        Progress,
        Run,
        agreement,
        cascade,
        check,
        compare,
        compile,
        distill,
        evaluate,
        prepare,
        report,
        run,
        run_async,
        why,
    )

from ._version import __version__

__all__ = [
    "Case",
    "CaseSource",
    "Compiler",
    "DeclarationError",
    "DicastError",
    "ExecutionError",
    "Judge",
    "JudgeSpec",
    "Progress",
    "Recipe",
    "Run",
    "Verdict",
    "__version__",
    "agreement",
    "cascade",
    "check",
    "compare",
    "compile",
    "distill",
    "evaluate",
    "judge",
    "prepare",
    "read_cases",
    "report",
    "run",
    "run_async",
    "save",
    "split",
    "why",
]

_MODULES = {
    ".data": ("Case", "Verdict", "read_cases", "split"),
    ".errors": ("DeclarationError", "DicastError", "ExecutionError"),
    ".judging": ("Judge",),
    ".judging.judge_file": ("save",),
    ".optimizers": ("Compiler", "Recipe"),
    ".workflows": (
        "CaseSource", "JudgeSpec", "Progress", "Run", "agreement", "cascade", "check", "compare", "compile", "distill",
        "evaluate", "prepare", "report", "run", "run_async", "why",
    ),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def judge(name: str, *, lm: "str | Mapping[str, str] | None" = None, trust: bool = False, **settings: Any) -> "Judge":
    """A judge of a registered program, its stages bound to LMs.

    Args:
        name: a program's name (`dicast list`), a YAML file, or a judge file.
        lm: a model string, `role=model,...`, or a mapping of roles to model strings; None leaves the choice to
            `dspy.configure(lm=...)`.
        trust: send texts to an address that only the judge file names.
        settings: structural parameters, as in `branches=3, readout="probability"`.

    Raises:
        DeclarationError: an unknown program, parameter, role or model string, or an address to be trusted.
    """
    from .judging import build

    built = build(name, **settings)
    if lm:
        from .engines.models import Roles

        return built.bind(Roles.parse(lm))
    built.admit(trust=trust)
    return built


_ROOMS = (
    "catalog",
    "data",
    "engines",
    "evaluation",
    "judging",
    "optimizers",
    "preparation",
    "stats",
    "testing",
    "workflows",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'dicast' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]
