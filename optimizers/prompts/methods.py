"""DSPy's prompt optimizers, each called in the one way that its traps allow (DSPy 3.4.1).

Labelled demos are left out everywhere: DSPy would put whole cases where a stage's inputs and outputs belong. MIPROv2
and GEPA are given the cases to select by, because they would split or reuse the others without a word. MIPROv2 is not
shown our source code, which is plumbing and longer than a small model's context. SIMBA learns where a judge's answers
vary from draw to draw: of a judge whose answers are read from probabilities it learns demos alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import dspy
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer

from ...engines.adapter import CompactAdapter
from ...engines.ledger import Budget
from .judge_proxy import Judging
from .metric import Metric

Method = Literal["bootstrap", "random-search", "miprov2", "gepa", "simba"]
REFLECTED = 3  # cases of one reflection; GEPA's own default
MINIBATCH, SIMBA_BATCH = 35, 32  # the optimizers' own defaults
WHOLE = 50  # cases to select by, up to which MIPROv2 judges all of them in each trial
WRITTEN = {"temperature": 1.0, "max_tokens": 2000}  # arXiv 2507.19457 reflects at temperature 1
GUIDANCE = (
    "Write the whole instruction for the judge. Say what people value in such cases, in general words; never name or "
    "quote single cases. Keep what the old instruction says of texts between <<< and >>>."
)


@dataclass(frozen=True)
class PromptOptions:
    """How wording is searched for.

    Attributes:
        objective: a name of `objective.OBJECTIVES`; None is the default of the kind of case.
        prompt_lm: the model string that writes instructions; None is the model of the judge's first tuned stage.
        stages: roles or paths of stages whose wording may change; None means all that the judge asks.
        demos: a stage shows at most; 0 leaves instructions alone to be searched, which bootstrapping cannot.
        trials: wordings that are tried, about.
        candidates: instructions and sets of demos that MIPROv2 combines, and trajectories of a case in SIMBA.
        workers: cases in flight.
    """

    method: Method = "gepa"
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
class Work:
    """What an optimizer is given; `prompt_lm` writes instructions."""

    program: Judging
    train: list[dspy.Example]
    select: list[dspy.Example]
    metric: Metric
    prompt_lm: Any
    options: PromptOptions


def adapter_for(lm: Any) -> dspy.Adapter:
    """How the model that writes instructions is asked: under a JSON schema where its server enforces one."""
    if lm is not None and lm.supports_response_schema:
        return CompactAdapter()
    return dspy.ChatAdapter()


def _bootstrap(work: Work) -> Judging:
    optimizer = dspy.BootstrapFewShot(
        metric=work.metric, max_bootstrapped_demos=work.options.demos, max_labeled_demos=0
    )
    return _program(optimizer.compile(work.program, trainset=work.train))


def _random_search(work: Work) -> Judging:
    optimizer = dspy.BootstrapFewShotWithRandomSearch(
        metric=work.metric,
        max_bootstrapped_demos=work.options.demos,
        max_labeled_demos=0,
        num_candidate_programs=work.options.trials - 1,
        num_threads=work.options.workers,
        stop_at_score=100.0,
    )
    shuffled = range(-1, work.options.trials - 1)  # -3 and -2 would be the judge without demos, twice
    return _program(optimizer.compile(work.program, trainset=work.train, valset=work.select, restrict=shuffled))


def _miprov2(work: Work) -> Judging:
    options, cases = work.options, len(work.select)
    optimizer = dspy.MIPROv2(
        metric=work.metric,
        prompt_model=work.prompt_lm,
        task_model=dspy.settings.lm or work.prompt_lm,  # stages that are bound to a model do not look at it
        auto=None,
        num_candidates=options.candidates,
        max_bootstrapped_demos=options.demos,
        max_labeled_demos=0,
        num_threads=options.workers,
        seed=options.seed,
        track_stats=False,
    )
    return _program(
        optimizer.compile(
            work.program,
            trainset=work.train,
            valset=work.select,
            num_trials=options.trials,
            minibatch=cases > WHOLE,
            minibatch_size=min(MINIBATCH, cases),
            program_aware_proposer=False,
        )
    )


def _gepa(work: Work) -> Judging:
    options, batch = work.options, min(REFLECTED, len(work.train))
    optimizer = dspy.GEPA(
        metric=work.metric,
        max_metric_calls=len(work.select) + options.trials * (2 * batch + len(work.select)),
        reflection_minibatch_size=batch,
        reflection_lm=work.prompt_lm,
        instruction_proposer=InstructionProposer(adapter=adapter_for(work.prompt_lm), additional_instructions=GUIDANCE),
        num_threads=options.workers,
        seed=options.seed,
        gepa_kwargs={"stop_callbacks": lambda state: state.i + 1 >= options.trials},
    )
    return _program(optimizer.compile(work.program, trainset=work.train, valset=work.select))


def _simba(work: Work) -> Judging:
    options = work.options
    optimizer = dspy.SIMBA(
        metric=work.metric,
        bsize=min(SIMBA_BATCH, len(work.train)),  # more than there are is refused by an assertion
        num_candidates=options.candidates,
        max_steps=max(1, round(options.trials / (options.candidates + 1))),
        max_demos=options.demos,
        prompt_model=work.prompt_lm,
        num_threads=options.workers,
    )
    return _program(optimizer.compile(work.program, trainset=work.train, seed=options.seed))


def _program(compiled: Any) -> Judging:
    assert isinstance(compiled, Judging)
    return compiled


METHODS: dict[str, Callable[[Work], Judging]] = {
    "bootstrap": _bootstrap,
    "random-search": _random_search,
    "miprov2": _miprov2,
    "gepa": _gepa,
    "simba": _simba,
}
OF_DEMOS = ("bootstrap", "random-search")  # these need no model that writes
