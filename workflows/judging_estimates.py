"""What a run will take, before a model is asked: `dicast judge --dry-run`."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..data.split import sample
from ..errors import DeclarationError
from ..judging import Judge
from .case_filters import ExcludedCases, default_refusals
from .case_source import CaseSource
from .given_cases import Cases, case_source, filtered_for
from .judge_spec import JudgeSpec, judge_spec
from .missing_fields import with_fields
from .preflight import check_limits, no_case
from .progress import SILENT, Progress
from .run_checks import check_seed
from .set_task import with_task

if TYPE_CHECKING:
    from ..distillation.estimate import JudgingEstimate


def estimate_run(
    judge: str | Path | Judge | JudgeSpec,
    cases: Cases,
    *,
    lm: str | None = None,
    limit: int | None = None,
    limit_groups: int | None = None,
    seed: int | None = None,
    progress: Progress = SILENT,
) -> "JudgingEstimate":
    """Calls, tokens and cost of `dicast.run` with the same arguments; no model is called and nothing is written.

    A few cases are judged by a stand-in that is counted; those without a field that the judge reads are left out. With
    `readout=sampled` every question is as many calls as `letters` says. With `auto` a model is read as this machine
    knows that it can be; where that is not known, there is an estimate of token probabilities, and in it another of
    sampled answers, or of stated distributions if it is known to think (`if_sampled`).

    Raises:
        DeclarationError: a judge, model or parameter that does not exist, or cases of memory.
        DataError: no case, or cases that cannot be read.
    """
    from ..distillation.estimate import COUNTED, JudgingEstimate, able_cases, judging_estimate

    check_limits(limit, limit_groups)
    check_seed(seed)
    source = case_source(cases)
    built = with_task(judge_spec(judge, lm), source, progress.notice).build()
    filtered = filtered_for(source, default_refusals(built))
    if not isinstance(filtered, CaseSource):
        raise DeclarationError("dry run: give a file or a set; cases of memory can be counted as they are.")
    left_out = ExcludedCases()
    drawn = list(sample(filtered.cases(None, left_out), limit, seed, limit_groups=limit_groups))
    if not drawn:
        raise no_case(filtered, left_out)
    with_fields(built, drawn)
    able = able_cases(built, drawn)
    if not built.stages():
        return JudgingEstimate(
            name=built.name, cases=len(able), calls=0, prompt_tokens=0, completion_tokens=0, dollars=0.0
        )
    return judging_estimate(built.name, built, able[:COUNTED], len(able))
