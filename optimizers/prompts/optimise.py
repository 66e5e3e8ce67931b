"""Better prompts by DSPy's optimizers, behind one face, with our own choice at the end.

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
from ...engines.models import ModelString, get_lm
from ...errors import BudgetSpent, DeclarationError, Infrastructure, ModelError
from ...judging.judge import Judge
from ...judging.stage import PERMANENT_ERRORS
from ..objective import Objective, objective_for
from .candidate_selection import Contest, Trial
from .judge_proxy import Judging
from .limits import Allowance, BeforeEachCall, Stopped, quiet
from .metric import example, metric
from .optimizer import PROMPT_OPTIMIZERS, WRITER_SETTINGS, PromptOptimizer, PromptOptions, PromptTask, adapter_for
from .prompt_state import Wordings, stages_of, worded, wordings_of
from .wording_evaluator import Bench

INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Optimised:
    """What was found.

    Attributes:
        judge: a copy of the judge with the best wording; of the unchanged one where no other was better.
        chosen: the number of its trial; 0 is the unchanged one.
        objective: the name of the objective.
        score_before: the objective over the cases to select by.
        score_after: alike; as the best of several on these cases it promises too much for others.
        trials: every wording that was tried, in the order in which each was first met.
        stopped: why the search ended early; empty where it did not.
    """

    judge: Judge
    chosen: int
    objective: str
    score_before: float
    score_after: float
    trials: tuple[Trial, ...]
    usage: Usage
    stopped: str = ""


def optimise_prompts(
    judge: Judge,
    train: Sequence[Case],
    select: Sequence[Case],
    options: PromptOptions | None = None,
    *,
    on_trial: Callable[[Trial], None] | None = None,
    stop: threading.Event | None = None,
) -> Optimised:
    """The judge with the wording that agrees best with people on `select`.

    The budget, Ctrl-C and `stop` end the search and keep the best so far. Give a judge without head and threshold: both
    are fitted to the evidence of one wording. What DSPy prints to the standard output meanwhile is not shown.

    Args:
        train: labelled cases that demos and feedback come from.
        select: labelled cases that wordings are compared on.
        on_trial: called with each wording that has judged all of `select`, from any thread.
        stop: when set, no further case is begun.

    Raises:
        DeclarationError: cases without labels or of several kinds, an unknown objective, method or stage, a judge that
            asks no model, or a model that cannot be used.
        BudgetSpent, Infrastructure, KeyboardInterrupt: before the unchanged judge was measured, with nothing to keep.
    """
    options = options or PromptOptions()
    check_options(judge, options)
    objective = _checked(options, train, select)
    ledger = Ledger(options.budget, parent=current_ledger())
    bench = Bench(judge, Allowance(ledger, stop))
    shuffled = [train[index] for index in np.random.default_rng(options.seed).permutation(len(train))]
    with charge_to(ledger, "prompts"):
        asked = bench.judge_all(wordings_of(judge), select, workers=options.workers)
        contest = Contest(bench, objective, train, select, _tuned(judge, asked, options.stages))
        _tell(contest, on_trial)
        bench.trial_cost = bench.allowance.reserve = bench.allowance.used()
        returned, stopped = _search(contest, shuffled, options)
        bench.trial_cost = bench.allowance.reserve = 0.0
        if stopped != INTERRUPTED:
            stopped = _finish(contest, returned, options.workers) or stopped
    best = contest.best()
    return Optimised(
        judge=worded(judge, bench.tried[best].wordings),
        chosen=contest.trial(best).number,
        objective=objective.name,
        score_before=contest.value(bench.tried[contest.unchanged]),
        score_after=contest.value(bench.tried[best]),
        trials=tuple(map(contest.trial, bench.tried)),
        usage=ledger.total,
        stopped=stopped,
    )


def check_options(judge: Judge, options: PromptOptions) -> None:
    """Refuse a method, a stage or a model that cannot be searched with, before anything is spent (DeclarationError)."""
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


def _tuned(judge: Judge, asked: set[str], wanted: Sequence[str] | None) -> tuple[str, ...]:
    """The paths of the stages whose wording may change: those that were asked, and are wanted."""
    roles = {path: stage.role for path, stage in stages_of(judge).items()}
    tuned = tuple(path for path in roles if path in asked and (not wanted or {path, roles[path]} & set(wanted)))
    if not tuned:
        told = f"does not ask {', '.join(wanted or ()) or 'its model'} of these cases"
        raise DeclarationError(f"judge {judge.name!r} {told}, so there is no prompt to optimise. Use another.")
    return tuned


def _tell(contest: Contest, on_trial: Callable[[Trial], None] | None) -> None:
    """Report each wording once, when it has judged all cases to select by; the unchanged one has."""
    if on_trial is None:
        return
    told, lock = set[str](), threading.Lock()

    def judged(digest: str) -> None:
        with lock:
            if digest in told or not contest.complete(contest.bench.tried[digest]):
                return
            told.add(digest)
        on_trial(contest.trial(digest))

    contest.bench.on_verdict = judged
    judged(contest.unchanged)


def _search(contest: Contest, train: Sequence[Case], options: PromptOptions) -> tuple[Wordings | None, str]:
    """What the optimizer returned, if it came to an end, and why it did not."""
    judge, allowance, optimizer = contest.bench.judge, contest.bench.allowance, PROMPT_OPTIMIZERS.find(options.method)
    lm = _writer(contest, options) if optimizer.needs_writer else None
    task = PromptTask(
        program=Judging(judge, contest.tuned, bench=contest.bench),
        train=[example(case) for case in train],
        select=[example(case) for case in contest.select],
        metric=metric(contest.objective, scale=judge.score_scale),
        prompt_lm=lm,
        options=options,
    )
    callbacks = [*dspy.settings.callbacks, BeforeEachCall(allowance)]
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
        if allowance.stop.is_set():  # DSPy's threads catch Ctrl-C themselves, and then raise a plain Exception
            return None, INTERRUPTED
        if not isinstance(error, DSPyError):
            raise
        told = " ".join(str(error).split())[:300]
        return None, f"the model that writes instructions failed ({type(error).__name__}): {told}"
    finally:
        contest.bench.close()


def _wordings(optimizer: PromptOptimizer, returned: object) -> Wordings:
    if not isinstance(returned, Judging):
        raise DeclarationError(
            f"prompt optimizer {optimizer.name!r}: returned a {type(returned).__name__}. Return the program of its "
            "task, or a copy of it."
        )
    return returned.wordings()


def _writer(contest: Contest, options: PromptOptions) -> Any:
    """The LM that writes instructions."""
    stages = stages_of(contest.bench.judge)
    lm = get_lm(options.prompt_lm) if options.prompt_lm else stages[contest.tuned[0]].lm
    return lm.copy(**WRITER_SETTINGS)


def _finish(contest: Contest, returned: Wordings | None, workers: int) -> str:
    """Judge what is left to judge before the choice; why that ended early, or nothing."""
    try:
        contest.finish(returned, workers=workers)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BudgetSpent, Infrastructure) as error:
        return str(error)
    return ""
