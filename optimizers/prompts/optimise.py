"""Optimise the prompts of a judge, and select the wording by the objective.

Every wording that an optimizer tried is a candidate, whatever the optimizer prefers, and so is the unchanged one. The
objective over the select cases decides, and the unchanged judge stays unless another wording is better.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
import numpy as np
from dspy.utils.exceptions import DSPyError

from ...data import Case, Usage
from ...engines.ledger import Ledger, charge_to, current_ledger
from ...engines.model_string import ModelString
from ...engines.models import get_lm
from ...errors import BudgetSpent, DeclarationError, Infrastructure, ModelError
from ...judging.judge import Judge
from ...judging.stage import PERMANENT_ERRORS
from ..objective import Objective, objective_for
from .candidate_selection import CandidateSelection, PromptTrial
from .judge_proxy import JudgeProxy
from .limits import BudgetCallback, BudgetGuard, Stopped, quiet
from .metric import example, metric
from .optimizer import PROMPT_OPTIMIZERS, WRITER_SETTINGS, PromptOptimizer, PromptOptions, PromptTask, adapter_for
from .prompt_state import Wordings, stages_of, worded, wordings_of
from .wording_evaluator import WordingEvaluator

INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class PromptResult:
    """The result of a prompt search.

    Attributes:
        judge: a copy of the judge with the best wording, which is the unchanged one if no other was better.
        chosen: the number of its trial; 0 is the unchanged wording.
        objective: the name of the objective.
        score_before: the objective of the unchanged wording on the select cases.
        score_after: the objective of the best wording on the same cases; as the best of several it is optimistic.
        trials: every wording that was tried, in the order of first use.
        stopped: why the search ended early; empty if it did not.
    """

    judge: Judge
    chosen: int
    objective: str
    score_before: float
    score_after: float
    trials: tuple[PromptTrial, ...]
    usage: Usage
    stopped: str = ""


def optimise_prompts(
    judge: Judge,
    train: Sequence[Case],
    select: Sequence[Case],
    options: PromptOptions | None = None,
    *,
    on_trial: Callable[[PromptTrial], None] | None = None,
    stop: threading.Event | None = None,
) -> PromptResult:
    """The judge with the wording that agrees best with people on `select`.

    The budget, Ctrl-C and `stop` end the search with the best wording so far. Give a judge without head and threshold:
    both are fitted to the evidence of one wording. DSPy's output is suppressed.

    Args:
        train: labelled cases, for demos and feedback.
        select: labelled cases, to compare wordings on.
        on_trial: called with each wording that has judged all of `select`, from any thread.
        stop: when set, no further case is judged.

    Raises:
        DeclarationError: cases without labels or of several kinds, an unknown objective, method or stage, a judge
            that asks no model, or a model that cannot be used.
        BudgetSpent, Infrastructure, KeyboardInterrupt: before the unchanged judge was measured.
    """
    options = options or PromptOptions()
    check_options(judge, options)
    objective = _checked(options, train, select)
    ledger = Ledger(options.budget, parent=current_ledger())
    evaluator = WordingEvaluator(judge, BudgetGuard(ledger, stop))
    shuffled = [train[index] for index in np.random.default_rng(options.seed).permutation(len(train))]
    with charge_to(ledger, "prompts"):
        called = evaluator.judge_all(wordings_of(judge), select, workers=options.workers)
        selection = CandidateSelection(evaluator, objective, train, select, _tuned(judge, called, options.stages))
        _report_trials(selection, on_trial)
        evaluator.trial_cost = evaluator.guard.reserve = evaluator.guard.used()
        returned, stopped = _search(selection, shuffled, options)
        evaluator.trial_cost = evaluator.guard.reserve = 0.0
        if stopped != INTERRUPTED:
            stopped = _finish(selection, returned, options.workers) or stopped
    best = selection.best()
    return PromptResult(
        judge=worded(judge, evaluator.tried[best].wordings),
        chosen=selection.trial(best).number,
        objective=objective.name,
        score_before=selection.value(evaluator.tried[selection.unchanged]),
        score_after=selection.value(evaluator.tried[best]),
        trials=tuple(map(selection.trial, evaluator.tried)),
        usage=ledger.total,
        stopped=stopped,
    )


def check_options(judge: Judge, options: PromptOptions) -> None:
    """Raise DeclarationError for a method, a stage or a model that cannot be used, before anything is spent."""
    optimizer = PROMPT_OPTIMIZERS.find(options.method)
    if optimizer.needs_demos and options.demos < 1:
        raise DeclarationError(f"prompts: {options.method} searches demos, got demos={options.demos}. Give 1 or more.")
    if options.prompt_lm:
        ModelString.parse(options.prompt_lm)
    roles = {path: stage.role for path, stage in stages_of(judge).items()}
    if unknown := set(options.stages or ()) - {*roles, *roles.values()}:
        known = ", ".join(dict.fromkeys([*sorted(set(roles.values())), *roles])) or "none"
        raise DeclarationError(f"judge {judge.name!r} has no stage {min(unknown)!r}. Its stages: {known}.")
    if not roles:
        raise DeclarationError(f"judge {judge.name!r} asks no model, so there is no prompt to optimise. Use another.")
    if optimizer.check is not None:
        optimizer.check(judge, options)


def _checked(options: PromptOptions, train: Sequence[Case], select: Sequence[Case]) -> Objective:
    if not train or not select:
        raise DeclarationError(f"prompts: {len(train)} cases to learn from, {len(select)} to select by. Give both.")
    objective = objective_for(options.objective, [*train, *select])
    for case in (*train, *select):
        if case.label is None:
            raise DeclarationError(f"prompts: case {case.id!r} has no label. Give labelled cases.")
    if shared := {case.id for case in train} & {case.id for case in select}:
        raise DeclarationError(f"prompts: case {min(shared)!r} is in both parts. Split the cases (data.split).")
    return objective


def _tuned(judge: Judge, called: set[str], chosen: Sequence[str] | None) -> tuple[str, ...]:
    """The paths of the stages whose wording may change: those that were called, and chosen if any are named."""
    roles = {path: stage.role for path, stage in stages_of(judge).items()}
    tuned = tuple(path for path in roles if path in called and (not chosen or {path, roles[path]} & set(chosen)))
    if not tuned:
        stages = ", ".join(chosen or ()) or "its model"
        raise DeclarationError(
            f"judge {judge.name!r} does not ask {stages} of these cases, so there is no prompt to optimise. "
            "Use another."
        )
    return tuned


def _report_trials(selection: CandidateSelection, on_trial: Callable[[PromptTrial], None] | None) -> None:
    """Report each wording once, when it has judged all select cases, as the unchanged wording has."""
    if on_trial is None:
        return
    reported, lock = set[str](), threading.Lock()

    def judged(digest: str) -> None:
        with lock:
            if digest in reported or not selection.complete(selection.evaluator.tried[digest]):
                return
            reported.add(digest)
        on_trial(selection.trial(digest))

    selection.evaluator.on_verdict = judged
    judged(selection.unchanged)


def _search(
    selection: CandidateSelection, train: Sequence[Case], options: PromptOptions
) -> tuple[Wordings | None, str]:
    """The wording that the optimizer returned, None if it did not finish, and why it did not."""
    judge, guard, optimizer = (
        selection.evaluator.judge,
        selection.evaluator.guard,
        PROMPT_OPTIMIZERS.find(options.method),
    )
    lm = _writer(selection, options) if optimizer.needs_writer else None
    task = PromptTask(
        program=JudgeProxy(judge, selection.tuned, evaluator=selection.evaluator),
        train=[example(case) for case in train],
        select=[example(case) for case in selection.select],
        metric=metric(selection.objective, scale=judge.score_scale),
        prompt_lm=lm,
        options=options,
    )
    callbacks = [*dspy.settings.callbacks, BudgetCallback(guard)]
    try:
        with quiet(), dspy.context(trace=None, callbacks=callbacks, adapter=adapter_for(lm), disable_history=True):
            return _wordings(optimizer, optimizer.run(task)), ""
    except KeyboardInterrupt:
        return None, INTERRUPTED
    except Stopped as stopped:
        if not isinstance(stopped.error, BudgetSpent | Infrastructure):
            raise stopped.error from None
        return None, str(stopped.error)
    except PERMANENT_ERRORS as error:
        raise ModelError(f"prompts: the model that writes instructions cannot be used: {error}") from error
    except Exception as error:
        if guard.stop.is_set():  # DSPy's threads catch Ctrl-C themselves, and then raise a plain Exception
            return None, INTERRUPTED
        if not isinstance(error, DSPyError):
            raise
        reason = " ".join(str(error).split())[:300]
        return None, f"the model that writes instructions failed ({type(error).__name__}): {reason}"
    finally:
        selection.evaluator.close()


def _wordings(optimizer: PromptOptimizer, returned: object) -> Wordings:
    if not isinstance(returned, JudgeProxy):
        raise DeclarationError(
            f"prompt optimizer {optimizer.name!r}: returned a {type(returned).__name__}. Return the program of its "
            "task, or a copy of it."
        )
    return returned.wordings()


def _writer(selection: CandidateSelection, options: PromptOptions) -> Any:
    """The LM that writes instructions."""
    stages = stages_of(selection.evaluator.judge)
    lm = get_lm(options.prompt_lm) if options.prompt_lm else stages[selection.tuned[0]].lm
    return lm.copy(**WRITER_SETTINGS)


def _finish(selection: CandidateSelection, returned: Wordings | None, workers: int) -> str:
    """Judge the finalists on all select cases; why that ended early, or an empty text."""
    try:
        selection.finish(returned, workers=workers)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BudgetSpent, Infrastructure) as error:
        return str(error)
    return ""
