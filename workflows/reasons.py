"""Why, and not only which: reasons for the verdicts of a run, written after it into a separate file.

Verdicts are read and never written. A reason is asked once: running again asks for those that are missing, after a
kill as after `unsure` was followed by `all`.
"""

import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import dspy

from ..data import Case, Judged, Rejects, Usage
from ..data.reason import Reason, verdict_digest
from ..engines.batch import RunFolder
from ..engines.ledger import Budget, Ledger, charge_to, current_ledger
from ..engines.models import Roles
from ..engines.pace import paced
from ..engines.parallel import stream
from ..engines.stop_rule import Failure
from ..errors import BudgetSpent, DeclarationError, ExecutionError, Infrastructure, ModelRefused, RunError
from ..evaluation.unsure import BELOW, Which, chosen_by
from ..judging.explainer import Explainer
from ..judging.firewall import as_failure
from .case_source import CaseSource
from .interrupts import delayed_interrupt
from .preflight import admit_models, as_budget, pace_of, prepare_models, run_facts, workers_of
from .prepared_cases import Failures
from .progress import SILENT, Progress
from .reason_file import ReasonFile
from .run_results import AnyRun, Run, open_run
from .run_texts import named_source, texts_of


@dataclass(frozen=True)
class WhyRun:
    """What a call of `why` has done.

    Attributes:
        path: `reasons.jsonl` in the run folder.
        which: all, unsure or wrong.
        status: "complete", "stopped", "budget", or "failures" where single reasons failed.
        message: why it ended, if by the budget.
        chosen: verdicts that are all, unsure or wrong.
        explained: those of them that hold a reason of the judge itself, which is not asked for again.
        written: reasons that this call wrote.
        reasons: reasons of the chosen verdicts in the file.
        empty: those without a text, as the model wrote nothing but the verdict, or copied what it was shown, twice.
        disagreeing: those that speak for another verdict, also after a second try.
        unchecked: those of which it is not known for which verdict they speak.
        lost: chosen verdicts whose case could not be read again, or has changed.
        failed: reasons that failed; they are in `rejects`, and are tried again by the next call.
        usage: what this call spent, by stage; no verdict's usage counts it.
    """

    path: Path
    which: str
    status: Literal["complete", "stopped", "budget", "failures"]
    message: str = ""
    chosen: int = 0
    explained: int = 0
    written: int = 0
    reasons: int = 0
    empty: int = 0
    disagreeing: int = 0
    unchecked: int = 0
    lost: int = 0
    failed: int = 0
    rejects: Path | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)


def why(
    run: AnyRun,
    which: Which = "all",
    *,
    lm: str | None = None,
    below: float = BELOW,
    cases: CaseSource | str | Path | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
    trust: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> WhyRun:
    """Write reasons for verdicts of a run folder into its `reasons.jsonl`, or continue; verdicts stay as they are.

    A verdict whose findings hold explanations, or that has a rationale, is not asked about.

    Args:
        run: a run folder.
        which: all verdicts; those that the judge is unsure of; or those that differ from the human label
            (`evaluation.unsure`).
        lm: `provider/model` that writes the reasons; by default the judge's first.
        below: the certainty under which a verdict is unsure, of a judge that never abstained.
        cases: where the texts are, if not where the run read them, or outside of this project.
        workers, timeout, in_flight: as of `dicast.run`.
        budget: limits, as in "calls=1000,minutes=30".
        skip_bad: leave out rows that cannot be read.
        trust: send texts to an address that only the run folder names.
        progress: callbacks.
        stop: once set, no new reason is asked; what is done is kept.

    Raises:
        DeclarationError: another word than these, a judge without a model and no `lm`, or an unknown model.
        RunError: no run folder, one whose cases are not known, or reasons of another model; or it is in use.
        DataError: its cases cannot be read.
        Infrastructure: reason after reason failed at the server; what is done is kept.
    """
    opened = open_run(run)
    if not opened.path.is_dir():
        raise RunError(f"{opened.path}: is no run folder, so there is no place for reasons. Name the --out of a run.")
    source = texts_of(opened.path, opened.source, None if cases is None else named_source(cases))
    if source is None:
        raise RunError(f"{opened.path}: does not say where its cases were read. Name them with --cases.")
    unexplained, digests, explained = _asked(opened, which, below)
    explainer = _explainer(opened, lm, trust=trust, progress=progress)
    file, ledger, message = ReasonFile(opened.path, digests), Ledger(as_budget(budget), current_ledger()), ""
    workers, stop = workers_of(explainer, workers), stop or threading.Event()
    pace, scale = pace_of(workers, timeout, in_flight, stop, progress, explainer), opened.manifest.get("scale")

    def attempt(case: Case) -> Reason | ExecutionError | None:
        try:
            return explainer.explain(case, unexplained[case.id], digests[case.id], scale)
        except ModelRefused as error:
            return Infrastructure(str(error))
        except (BudgetSpent, DeclarationError):
            raise
        except Exception as error:
            return as_failure(error, "why")

    written, seen, failures = 0, set[str](), Failures(file.rejects)
    with file.locked(), Rejects(opened.path / "reasons.bad_rows.jsonl") as bad_rows:
        before = file.open({"identity": _identity(explainer, opened), "cases": source.source, **run_facts()})
        failures.path.unlink(missing_ok=True)
        done_of_chosen = sum(reason.case_id in unexplained for reason in file.reasons()) if before else 0
        if len(unexplained) > done_of_chosen:
            prepare_models(explainer, progress=progress)
        progress.start(len(unexplained), done_of_chosen)
        rows = _same(source.cases(bad_rows if skip_bad else None), unexplained, seen)
        with charge_to(ledger), paced(pace), delayed_interrupt(stop), file.append() as lines:
            try:
                missing = file.missing(rows)
                for case, result in stream(attempt, missing, workers=workers, stop=stop, failed=_server_failure):
                    if isinstance(result, ExecutionError):
                        failures.add(case.id, result)
                    elif result is not None:
                        file.add(lines, case.id, result.model_dump_json())
                        written += 1
                    progress.prepared(failures.count)
            except BudgetSpent as error:
                message = str(error)
        reasons = [reason for reason in file.reasons() if reason.case_id in unexplained]
    status: Literal["complete", "stopped", "budget", "failures"]
    status = "budget" if message else "stopped" if stop.is_set() else "failures" if failures.count else "complete"
    return WhyRun(
        path=file.lines,
        which=which,
        status=status,
        message=message,
        chosen=len(unexplained) + explained,
        explained=explained,
        written=written,
        reasons=len(reasons),
        disagreeing=sum(reason.agrees is False for reason in reasons),
        empty=sum(not reason.text for reason in reasons),
        unchecked=sum(reason.agrees is None for reason in reasons if reason.text),
        lost=len(unexplained.keys() - seen) if status in ("complete", "failures") else 0,
        failed=failures.count,
        rejects=file.rejects if failures.count else None,
        usage=ledger.stages,
    )


def read_reasons(run: Run) -> dict[str, Reason]:
    """The reasons of a run's verdicts by the id of their case; empty for a run without any.

    Raises:
        RunError: a damaged line.
    """
    if not run.path.is_dir() or not ReasonFile(run.path, {}).has_lines():
        return {}
    current = {judged.case_id: verdict_digest(judged) for judged in run}
    return {reason.case_id: reason for reason in ReasonFile(run.path, current).reasons()}


def has_explanation(judged: Judged) -> bool:
    """Whether the judge itself says why."""
    explanations = (finding.explanation for finding in judged.findings if not finding.is_factor)
    return bool(judged.rationale.strip()) or any(text.strip() for text in explanations)


def _asked(run: Run, which: str, below: float) -> tuple[dict[str, Judged], dict[str, str], int]:
    """The verdicts that need a reason by the id of their case, the digests of all, and how many explain themselves."""
    scale = run.manifest.get("scale")
    verdicts = run.verdicts()
    is_chosen = chosen_by(which, verdicts, below=below, scale=tuple(scale) if scale else None)
    chosen = [judged for judged in verdicts if is_chosen(judged)]
    unexplained = {judged.case_id: judged for judged in chosen if not has_explanation(judged)}
    return unexplained, {judged.case_id: verdict_digest(judged) for judged in verdicts}, len(chosen) - len(unexplained)


def _same(rows: Iterator[Case], unexplained: Mapping[str, Judged], seen: set[str]) -> Iterator[Case]:
    """The cases that were judged, as they were, without labels; their ids are added to `seen`."""
    for case in rows:
        judged = unexplained.get(case.id)
        if judged is not None and case.id not in seen and judged.case_digest in ("", case.digest):
            seen.add(case.id)
            yield case


def _explainer(run: Run, lm: str | None, *, trust: bool, progress: Progress) -> Explainer:
    """The explainer with its model; where only the run folder names it, the user must know its address."""
    explainer = Explainer()
    if lm is not None:
        explainer.bind(Roles.parse(_first_model(lm)))
    elif dspy.settings.lm is None:
        model = _first_model(str(run.identity["lm"]))
        if model == "none":
            raise DeclarationError(
                f"why: judge {run.identity['judge']} asks no model. Name a model for the reasons with --why-lm."
            )
        explainer.bind(Roles.parse(model))
        for seat in explainer.seats():
            seat.trusted, seat.admitted, seat.named_by = False, False, str(run.path)
    admit_models(explainer, trust=trust, progress=progress)
    return explainer


def _first_model(lm: str) -> str:
    """The model of all stages, else that of the first role, else of the first member of a panel."""
    first = lm.split(" + ")[0]
    if first == "none":
        return first
    roles = Roles.parse(first)
    return roles["judge"] if "judge" in list(roles) else next(iter(roles.values()))


def _identity(explainer: Explainer, run: Run) -> dict[str, Any]:
    """What must be equal for reasons to be continued: the model, the question, and the judge that is explained."""
    questions = "\0".join(str(stage.ask.signature.instructions) for stage in explainer.stages())
    return {
        "judge": run.identity["judge"],
        "lm": " + ".join(dict.fromkeys(stage.model or "that of DSPy" for stage in explainer.stages())),
        "models": explainer.resolved_models(),
        "data": hashlib.sha256(questions.encode()).hexdigest()[:16],
        "verdicts": RunFolder(run.path).judge_digest,
    }


def _server_failure(result: Reason | ExecutionError | None) -> Failure | None:
    is_failure = isinstance(result, ExecutionError) and result.reason == "infrastructure"
    return Failure(str(result)) if is_failure else None
