"""Prompt optimizers: what one is, what it receives, and the registry of them.

A prompt optimizer gets a program whose predictors hold the instructions and demos of a judge's stages, and runs copies
of it with other wordings on labelled cases. Every wording that it runs is remembered with its verdicts; which one the
judge gets is decided afterwards by the objective on the select cases, not by the optimizer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...engines.ledger import Budget
from ...errors import DeclarationError
from ...registry import Registry

if TYPE_CHECKING:
    import dspy

    from ...judging.judge import Judge
    from .judge_proxy import JudgeProxy
    from .metric import Metric

WRITER_SETTINGS = {"temperature": 1.0, "max_tokens": 2000}  # arXiv 2507.19457 reflects at temperature 1


@dataclass(frozen=True)
class PromptOptions:
    """How wordings are searched.

    Attributes:
        method: a name of `PROMPT_OPTIMIZERS`.
        objective: a name of `OBJECTIVES`; None is the default for the kind of case.
        prompt_lm: the model string of the writer LM; None is the model of the judge's first tuned stage.
        stages: roles or paths of the stages whose wording may change; None means all that the judge calls.
        demos: the most demos per stage; 0 searches instructions only.
        trials: the approximate number of wordings to try.
        candidates: instructions and demo sets that MIPROv2 combines; trajectories per case in SIMBA.
        workers: cases in flight.
    """

    method: str = "gepa"
    objective: str | None = None
    prompt_lm: str | None = None
    stages: Sequence[str] | None = None
    demos: int = 4
    trials: int = 12
    candidates: int = 6
    budget: Budget = field(default_factory=Budget)
    workers: int = 4
    seed: int = 0


@dataclass(frozen=True)
class PromptTask:
    """What a prompt optimizer works on.

    Attributes:
        program: takes an example's inputs and returns a prediction with a `verdict`. Its predictors are the stages
            whose wording may change; copy it, change their instructions and demos, and run it.
        train: examples with a `case`, for demos and feedback.
        select: examples that wordings are compared on.
        metric: a DSPy metric in [0, 1] with feedback in words; strict (a bool) while demos are bootstrapped.
        prompt_lm: the writer LM; None for an optimizer with `needs_writer=False`.
    """

    program: "JudgeProxy"
    train: "list[dspy.Example]"
    select: "list[dspy.Example]"
    metric: "Metric"
    prompt_lm: Any
    options: PromptOptions


@dataclass(frozen=True)
class PromptOptimizer:
    """A method that searches wordings.

    Attributes:
        summary: one line for tables and help.
        run: runs the search and returns the program with the wording it prefers. An exception of the judge's model
            or of the budget ends it from inside.
        needs_writer: whether it calls an LM that writes instructions.
        needs_demos: whether it searches demos only, so that at least one per stage must be allowed.
        check: raises DeclarationError for a judge that it cannot optimise, before anything is spent.
    """

    name: str
    summary: str
    run: "Callable[[PromptTask], JudgeProxy]"
    needs_writer: bool = True
    needs_demos: bool = False
    check: "Callable[[Judge, PromptOptions], None] | None" = None


def adapter_for(writer: Any) -> "dspy.Adapter":
    """How the writer LM is called: under a JSON schema where its server enforces one."""
    import dspy

    from ...engines.adapter import CompactAdapter

    return CompactAdapter() if writer is not None and writer.supports_response_schema else dspy.ChatAdapter()


def _plugin(name: str, loaded: Any) -> PromptOptimizer:
    if not isinstance(loaded, PromptOptimizer) or loaded.name != name:
        raise DeclarationError(
            f"prompt optimizer {name!r}: its entry point gives {loaded!r}. Give a PromptOptimizer of this name."
        )
    return loaded


PROMPT_OPTIMIZERS: Registry[PromptOptimizer] = Registry(
    "prompt optimizer", ".optimizers.prompts.methods", "dicast.prompt_optimizers", convert=_plugin
)


def register(optimizer: PromptOptimizer) -> PromptOptimizer:
    """Add a built-in prompt optimizer."""
    return PROMPT_OPTIMIZERS.add(optimizer.name, optimizer)
