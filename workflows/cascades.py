"""Judges called in turn, the cheapest first, at thresholds that are certified together."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..engines.ledger import Budget
from ..engines.pace import paced
from ..errors import BudgetSpent, DeclarationError
from ..judging import Cascade, Judge
from ..judging.judge_file import save
from ..judging.registry import JUDGE_SUFFIX
from ..optimizers.cascade import CertifiedCascade, certify_judges
from ..optimizers.checkpoints import SPENT
from ..optimizers.cost_account import CostAccount
from ..optimizers.evidence import Evidence, Interrupted, ProgressCallbacks
from ..paths import path_of
from .case_filters import default_refusals
from .given_cases import Cases, case_source, filtered_for
from .interrupts import delayed_interrupt
from .judge_spec import JudgeSpec, judge_spec
from .preflight import admit_models, as_budget, check_limits, pace_of, prepare_models, read_sample, stored, workers_of
from .progress import SILENT, Progress


@dataclass(frozen=True)
class CascadeRun:
    """How the certification of a cascade ended.

    Attributes:
        out: the judge file; written only if certified.
        status: "complete", "stopped" or "budget".
        message: why it ended, if not complete.
        result: certificate, thresholds and costs, if complete; its `judge` is None if these labels certify none.
        spent: usage and minutes of all calls so far, as JSON.
    """

    out: Path
    status: Literal["complete", "stopped", "budget"]
    message: str = ""
    result: CertifiedCascade | None = None
    spent: dict[str, Any] | None = None


def cascade(
    judges: Sequence[str | Path | Judge | JudgeSpec],
    cases: Cases,
    *,
    out: str | Path | None = None,
    lm: str | None = None,
    risk: float = 0.1,
    delta: float = 0.05,
    seed: int = 0,
    limit: int | None = None,
    limit_groups: int | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
    trust: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> CascadeRun:
    """Certify judges that are called in turn until one is sure enough, and save them as one judge file.

    Args:
        judges: the cheapest first.
        cases: labelled cases that were not used to fit any of the judges.
        out: the judge file; by default compiled/cascade-CASES.judge.json. The verdicts are kept beside it.
        lm: models of judges that come without.
        risk: disagreement with the human labels that is certified among accepted verdicts.
        delta: probability of a certificate that does not hold.
        seed: of the sample.
        limit: this many cases, sampled.
        limit_groups: instead of `limit`: this many groups (inputs, persons), each with all its cases.
        workers: cases judged at once.
        timeout: seconds until the first byte of an answer, of which the whole may take twice that; by default 120, of a
            local model 1,800.
        in_flight: requests to one model at once, at most; by default four for each worker, but at least 32.
        budget: limits, as in "calls=1000,minutes=30".
        skip_bad: leave bad rows out.
        trust: send texts to an address that only a judge file names.
        progress: callbacks.
        stop: once set, no new case starts; what is done is kept.

    Raises:
        DeclarationError: another ending of `out`, or judges that cannot be combined.
        DataError: cases that cannot be read, or that a judge was compiled on.
    """
    check_limits(limit, limit_groups)
    if isinstance(judges, str | Path | Judge | JudgeSpec):
        raise DeclarationError("cascade: one judge was given. Give a list of judges, the cheapest first.")
    if not isinstance(judges, Iterable):
        raise DeclarationError(f"cascade: {judges!r} is no list of judges. Give several, the cheapest first.")
    source = case_source(cases)
    path = path_of(out) if out is not None else Path("compiled") / f"cascade-{source.stem}{JUDGE_SUFFIX}"
    if not path.name.endswith(JUDGE_SUFFIX):
        raise DeclarationError(
            f"--out {path}: a cascade is saved as a judge file. Give a name that ends in {JUDGE_SUFFIX}."
        )
    folder = path.with_name(f"{path.name.removesuffix(JUDGE_SUFFIX)}.evidence")
    members = [(str(getattr(judge, "name", judge)), _member(judge, lm)) for judge in judges]
    for _, member in members:
        admit_models(member, trust=trust, progress=progress)
    whole, stop = Cascade([judge for _, judge in members]), stop or threading.Event()
    workers = workers_of(whole, workers)
    pace = pace_of(workers, timeout, in_flight, stop, progress, whole)
    labelled = read_sample(
        stored(filtered_for(source, default_refusals(whole)), folder),
        folder,
        limit,
        seed,
        limit_groups=limit_groups,
        skip_bad=skip_bad,
        progress=progress,
    )
    prepare_models(whole, progress=progress)
    progress.start(None, 0)
    account = CostAccount(folder / SPENT, as_budget(budget))
    with account.session():
        evidence = Evidence(folder, account, ProgressCallbacks(progress.step, progress.verdict, stop), workers)
        try:
            with paced(pace), delayed_interrupt(stop):
                result = certify_judges(members, labelled, evidence, risk=risk, delta=delta)
        except Interrupted:
            return CascadeRun(path, "stopped")
        except BudgetSpent as error:
            return CascadeRun(path, "budget", str(error))
    spent = account.total.model_dump(mode="json")
    if result.judge is not None:
        certificate = result.certificate.model_dump(mode="json")
        save(result.judge, path, training={**result.training(), "spent": spent}, certificate=certificate)
    return CascadeRun(path, "complete", "", result, spent)


def _member(judge: str | Path | Judge | JudgeSpec, lm: str | None) -> Judge:
    """One judge with its LMs; those that it was saved with are kept."""
    from ..judging import build
    from .judge_spec import bind_models, has_models

    if isinstance(judge, str | Path):
        built = build(str(judge))
        return built if has_models(built) else bind_models(built, lm)
    return judge_spec(judge).build()
