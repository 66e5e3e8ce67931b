"""Compile judges against human labels; every step can also be called by itself.

Names are imported on first use, so that a command's help, which reads only the registries, stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .certificates.certify import certify, certify_cascade
    from .compile import Compiled, Compiler, TooFewLabels
    from .evidence import Interrupted, ProgressCallbacks
    from .head.fit import fit
    from .objective import OBJECTIVES, Objective, mean_objective, statistic_objective
    from .prompts.optimise import optimise_prompts
    from .prompts.optimizer import PROMPT_OPTIMIZERS, PromptOptimizer, PromptOptions, PromptTask
    from .recipe import Recipe, read_recipe
    from .structure.search import search

_HOMES = {
    "OBJECTIVES": ".objective",
    "PROMPT_OPTIMIZERS": ".prompts.optimizer",
    "Compiled": ".compile",
    "Compiler": ".compile",
    "Interrupted": ".evidence",
    "Objective": ".objective",
    "PromptOptimizer": ".prompts.optimizer",
    "PromptOptions": ".prompts.optimizer",
    "PromptTask": ".prompts.optimizer",
    "Recipe": ".recipe",
    "ProgressCallbacks": ".evidence",
    "TooFewLabels": ".compile",
    "certify": ".certificates.certify",
    "certify_cascade": ".certificates.certify",
    "fit": ".head.fit",
    "mean_objective": ".objective",
    "optimise_prompts": ".prompts.optimise",
    "read_recipe": ".recipe",
    "search": ".structure.search",
    "statistic_objective": ".objective",
}

__all__ = [
    "OBJECTIVES",
    "PROMPT_OPTIMIZERS",
    "Compiled",
    "Compiler",
    "Interrupted",
    "Objective",
    "ProgressCallbacks",
    "PromptOptimizer",
    "PromptOptions",
    "PromptTask",
    "Recipe",
    "TooFewLabels",
    "certify",
    "certify_cascade",
    "fit",
    "mean_objective",
    "optimise_prompts",
    "read_recipe",
    "search",
    "statistic_objective",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dicast.optimizers' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return list(_HOMES)
