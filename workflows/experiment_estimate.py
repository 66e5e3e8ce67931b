"""What an experiment will cost, before a model is asked: its judges judge a few cases by a stand-in that is counted."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..data import Case, Usage
from ..data.split import sample
from ..engines.batch import RunFolder
from ..engines.ledger import Ledger, charge_to
from ..engines.models import Roles
from ..engines.prices import price_of
from ..errors import DicastError
from ..experiments.results import CostEstimate
from ..judging import FittedJudge, Judge
from ..judging.evidence_reading import items_of
from .case_filters import default_refusals
from .case_source import COUNT_UP_TO
from .experiment_plan import PlannedRun
from .experiment_sets import CaseSample
from .given_cases import filtered_for
from .judge_spec import JudgeSpec

CASES = 3  # of each run that the stand-in is asked about
ABOUT = (
    "tokens are characters by four, answers have a usual length, and answers kept from earlier runs are not deducted"
)


def estimate(runs: Sequence[PlannedRun], notes: Sequence[str] = ()) -> CostEstimate:
    """Calls, tokens and cost of what is left of these runs.

    Args:
        notes: what else limits the estimate.
    """
    known = [run for run in runs if run.corrected is None or Path(run.source.source).is_file()]
    parts = [_of_run(run) for run in known]
    unknown = [f"{run.title}: how many texts are rewritten is not known yet" for run in runs if run not in known]
    said = [*notes, *unknown, *(note for part in parts for note in part.notes)]
    return CostEstimate(
        runs=len(runs),
        cases=_sum(part.cases for part in parts),
        done=sum(part.done for part in parts),
        calls=_sum(part.calls for part in parts),
        prompt_tokens=_sum(part.prompt_tokens for part in parts),
        completion_tokens=_sum(part.completion_tokens for part in parts),
        cost=_sum(part.cost for part in parts),
        notes=tuple(dict.fromkeys([*said, ABOUT])) if any(part.calls for part in parts) else tuple(said),
    )


def _of_run(run: PlannedRun) -> CostEstimate:
    judge = _unbound(run.judge)
    first, total = _cases(filtered_for(run.source, default_refusals(judge)), run.sample)
    done = _done(run)
    stages, problem = _stages(judge, first)
    left = None if total is None else max(0, total - done)
    share = left / len(first) if left and first else 0.0
    usage = sum(stages.values(), Usage())
    if left is None:
        return CostEstimate(runs=1, cases=None, done=done, calls=None, prompt_tokens=None, completion_tokens=None)
    return CostEstimate(
        runs=1,
        cases=total,
        done=done,
        calls=round(share * usage.calls),
        prompt_tokens=round(share * usage.prompt_tokens),
        completion_tokens=round(share * usage.completion_tokens),
        cost=_cost(run.judge, _models_of_evidence(judge), stages, share),
        notes=(f"{run.title}: not every call was counted ({problem})",) if problem else (),
    )


def _cases(source: Any, chosen: CaseSample) -> tuple[list[Case], int | None]:
    """The first cases that are judged, and the number of all; None where counting would take long."""
    path = source.path()
    if path is None or (path.is_file() and path.stat().st_size > COUNT_UP_TO):
        return [*islice(source.cases(), CASES)], chosen.limit
    first: list[Case] = []
    total = 0
    for case in sample(source.cases(), chosen.limit, chosen.seed, limit_groups=chosen.limit_groups):
        total += 1
        first += [case] if len(first) < CASES else []
    return first, total


def _stages(judge: Judge, cases: Sequence[Case]) -> tuple[Mapping[str, Usage], str]:
    """What each stage would spend on these cases, and why a verdict is missing."""
    import dspy

    from ..engines.stand_in import StandInLM

    ledger, problem = Ledger(), ""
    with dspy.context(lm=StandInLM()), charge_to(ledger):
        if isinstance(judge, FittedJudge) and judge.is_fitted_to_cases:
            judge = judge.fit(cases)
        for case in cases:
            try:
                verdict = judge(case)
            except DicastError as error:
                problem = problem or str(error)
                continue
            problem = problem or (verdict.reason or "" if verdict.status == "unscored" else "")
    return ledger.stages, problem


def _unbound(spec: JudgeSpec) -> Judge:
    """The judge without its models."""
    judge = JudgeSpec(**{**spec.__dict__, "lm": None, "panel": ()}).build()
    for seat in judge.seats():
        seat.use("")
    for stage in judge.stages():
        stage.ask.lm = None
    return judge


def _models_of_evidence(judge: Judge) -> dict[str, str]:
    """The models that are named for sources of evidence, by the stage under which their reads are charged."""
    parts = [part for _, part in judge.named_sub_modules(Judge)]
    return {item.name: item.model for part in parts for item in items_of(part.evidence_text) if item.model}


def _cost(spec: JudgeSpec, readers: Mapping[str, str], stages: Mapping[str, Usage], share: float) -> float | None:
    """US dollars; None where a price is not known.

    Args:
        readers: stage -> the model, of stages that another model than the judge's answers.
    """
    if not stages:
        return 0.0
    roles = Roles.parse(spec.lm) if spec.lm else Roles({})
    prices = [
        price_of(
            readers.get(stage) or roles[stage],
            round(share * usage.prompt_tokens),
            round(share * usage.completion_tokens),
        )
        for stage, usage in stages.items()
    ]
    cost: float | None = _sum(prices)
    return cost


def _done(run: PlannedRun) -> int:
    try:
        return RunFolder(run.folder).read_done()
    except DicastError:  # the run itself says what is wrong with the folder
        return 0


def _sum(values: Any) -> Any:
    """The sum; None where a value is not known."""
    known = list(values)
    return None if any(value is None for value in known) else sum(known)
