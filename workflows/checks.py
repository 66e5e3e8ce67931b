"""Checks: is everything installed and reachable, and does a saved judge still agree with people."""

import importlib.util
import os
import platform
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import dspy

from ..data import Case, Judged, Rejects, Winner
from ..data.case import digest
from ..data.counting import cases_text
from ..data.split import sample
from ..engines import weights
from ..engines.model_string import ModelString
from ..engines.models import Roles, get_lm
from ..engines.models import prepare as prepare_model
from ..engines.odd_cases import LenientJudge, failure_of
from ..engines.pace import paced
from ..engines.parallel import stream
from ..errors import (
    DataError,
    DeclarationError,
    DicastError,
    ModelError,
    NoTokenProbabilities,
    Unreadable,
    install_hint,
)
from ..evaluation import Evaluation, evaluate
from ..evaluation.check_history import CheckHistory, note_check
from ..evaluation.drift import Drift, accuracy_estimate, repeated_checks
from ..evaluation.metrics.mass_read import LITTLE
from ..judging import Judge
from ..judging.judge_file import JudgeFile, fingerprint, load, read, versions
from ..judging.question import Question
from ..judging.reading_floor import reading_from
from ..judging.registry import JUDGE_SUFFIX
from ..judging.stage import Stage
from ..judging.trust import remember_address
from ..optimizers.certificates.certificate import CascadeCertificate
from ..optimizers.certificates.certificate_check import CertificateCheck, check_certificate, read_certificate
from ..paths import home
from ..signatures.direct import Grade, Prefer
from .case_source import Cases, CaseSource, case_source
from .judge_spec import JudgeSpec
from .label_count import LabelCount
from .preflight import admit_models, check_count, exclude_training_cases, pace_of, prepare_models, stored, workers_of
from .progress import SILENT, Progress

EXTRAS = {"local": "xllamacpp", "data": "pyarrow", "report": "matplotlib"}


@dataclass(frozen=True)
class CheckItem:
    """One thing that was checked.

    Attributes:
        name: what was checked.
        ok: whether it is all right.
        text: what was seen, or what to do.
    """

    name: str
    ok: bool
    text: str


@dataclass(frozen=True)
class DriftReport:
    """How a saved judge agrees with new labels, compared with what its file says.

    Attributes:
        outcome: "agrees", "worse", "unknown", or "stopped" before all cases were judged.
        result: the comparison, or the check of a cascade's certificate; None if stopped.
        evaluation: of the new verdicts; None if stopped.
        basis: what the recorded accuracy rests on; None where the file holds none.
        changes: versions and models that are not those that the judge was saved with.
    """

    outcome: Literal["agrees", "worse", "unknown", "stopped"]
    result: Drift | CertificateCheck | None = None
    evaluation: Evaluation | None = None
    basis: str | None = None
    changes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The report as JSON; only of a check that was not stopped."""
        assert self.result
        assert self.evaluation
        return {
            "signature": self.evaluation.signature,
            **self.result.as_dict(),
            "basis": self.basis,
            "unscored": self.evaluation.unscored,
            "warnings": list(self.evaluation.warnings),
            "changed": list(self.changes),
            "usage": self.evaluation.usage.model_dump(),
        }


def check(
    judge: str | Path | None = None,
    cases: Cases | None = None,
    *,
    lm: str | None = None,
    timeout: float | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> tuple[CheckItem, ...] | DriftReport:
    """Check the environment, and if given a model and cases; with `judge`, instead whether it still agrees with people.

    Args:
        judge: a judge file; see `check_judge`.
        cases: as of `dicast.run`.
        lm: model strings, each of which is asked three short questions; with `judge`, those that answer it.
        timeout: as of `dicast.run`.
        progress: callbacks.
        options: of `check_judge`.
    """
    if judge is not None:
        if cases is None:
            raise DeclarationError(
                "--judge needs --cases with new labels; dicast show FILE prints what the file contains."
            )
        return check_judge(judge, cases, lm=lm, timeout=timeout, progress=progress, **options)
    items = list(_environment())
    if lm:
        with paced(pace_of(1, timeout, None, threading.Event(), progress)):
            items += _check_models(lm, progress)
    if cases is not None:
        source = case_source(cases)
        name = f"data {source.source}" if isinstance(source, CaseSource) else "data"
        with tempfile.TemporaryDirectory() as folder:
            items.append(_check_cases(stored(source, Path(folder)), name))
    return tuple(items)


def check_judge(
    judge: str | Path,
    cases: Cases,
    *,
    lm: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
    margin: float = 0.05,
    skip_bad: bool = False,
    trust: bool = False,
    timeout: float | None = None,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> DriftReport:
    """Whether a judge file still agrees with people, on labelled cases that it was not compiled on.

    Of a certified cascade its certificate is checked, of any other judge the accuracy of the training record.

    Args:
        judge: a .judge.json file.
        cases: newly labelled cases, as of `dicast.run`; those without a winner are left out.
        lm: models to answer instead of the saved ones.
        limit: this many cases: the first, or with `seed` a random sample.
        seed: of the sample.
        margin: the loss of accuracy that would matter, in (0, 1).
        skip_bad: leave bad rows out.
        timeout: as of `dicast.run`.
        trust: send texts to an address that only a judge file names.
        progress: callbacks.
        stop: once set, no new case starts.

    Raises:
        DeclarationError: no judge file, or a file that holds neither a certificate of a cascade nor an accuracy.
        DataError: no labelled pair or choice among the cases.
    """
    if not str(judge).endswith(JUDGE_SUFFIX):
        raise DeclarationError(
            f"--judge {judge}: only a judge file records how it agreed. Give a file that ends in {JUDGE_SUFFIX}."
        )
    check_count("limit", limit)
    file, spec = read(judge), JudgeSpec(str(judge), lm)
    compare = _comparison(str(judge), file, margin)
    built, stop = spec.build(), stop or threading.Event()
    admit_models(built, trust=trust, progress=progress)
    workers = workers_of(built)
    pace = pace_of(workers, timeout, None, stop, progress)
    built.threshold = None  # the record's accuracy is of all verdicts, kept or abstained
    prepare_models(built, progress=progress)
    with tempfile.TemporaryDirectory() as folder:
        source = stored(case_source(cases), Path(folder))
        data, chosen = source.digest(), list(sample(_labelled(source, skip_bad, progress), limit, seed))
    if not chosen:
        raise DataError(f"--cases {source.source}: no pair or choice with a label. Give newly labelled cases.")
    chosen = exclude_training_cases(chosen, str(judge), progress)
    progress.start(len(chosen), 0)
    judged: list[Case] = []
    verdicts: list[Judged] = []
    lenient = LenientJudge(built)
    with paced(pace):
        for case, verdict in stream(lenient, chosen, workers=workers, stop=stop, failed=failure_of):
            judged.append(case)
            verdicts.append(Judged.of(case, verdict))
            progress.verdict(verdicts[-1])
    lenient.check(len(verdicts))
    if stop.is_set():
        return DriftReport("stopped")
    evaluation = evaluate(verdicts, spec.identity(built) | {"data": data, "seed": seed})
    history = note_check(_judge_digest(str(judge), built), Path(judge).name, judged, verdicts)
    if history.problem:
        progress.notice(f"this machine does not remember this check: {history.problem}")
    result, recorded = compare(verdicts, evaluation, history), file.accuracy("after")
    basis = recorded.basis if recorded else None
    return DriftReport(result.outcome, result, evaluation, basis, tuple(_changes(str(judge), file, built)))


def _comparison(
    judge: str, file: JudgeFile, margin: float
) -> Callable[[list[Judged], Evaluation, CheckHistory], Drift | CertificateCheck]:
    """How new verdicts are compared with what the file says of the judge; raises DeclarationError for no such thing."""
    certificate, recorded = read_certificate(file.certificate), file.accuracy("after")
    if isinstance(certificate, CascadeCertificate) and certificate.accepted:
        return lambda verdicts, *_: check_certificate(certificate, verdicts, margin=margin)
    if recorded is None:
        raise DeclarationError(
            f"judge file {judge}: its training record holds no accuracy (after: hits, n) to compare with. "
            "Compile the judge on labelled pairs or choices."
        )
    then = recorded.estimate
    return lambda _, evaluation, history: Drift(
        then, accuracy_estimate(evaluation), margin, repeated_checks(history, then)
    )


def _judge_digest(path: str, judge: Judge) -> str:
    """What tells one checked judge from another: all that its verdicts depend on."""
    return digest(" ".join([fingerprint(path), *_models(judge)]))


def _labelled(source: CaseSource, skip_bad: bool, progress: Progress) -> Iterator[Case]:
    """The cases whose label names a winner; with `skip_bad`, bad rows are left out with a notice."""
    rows = LabelCount()
    with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects.jsonl") as rejects:
        for case in rows.counted(source.cases(rejects if skip_bad else None)):
            if case.label is not None and case.label.winner is not None:
                yield case
        if rejects.count:
            progress.notice(f"{rejects.count:,} bad rows were left out; {rejects.first}")
        if rows.notice():
            progress.notice(rows.notice())


def _changes(path: str, file: JudgeFile, judge: Judge) -> Iterator[str]:
    """What differs from when the judge was saved, besides the cases."""
    for name, version in versions().items():
        before = file.versions.get(name, "unknown")
        if name != "python" and before != version:
            yield f"{name} {version}, saved by {before}"
    saved, now = _models(load(path)), _models(judge)
    if saved != now:
        yield f"answered by {', '.join(now)}, saved with {', '.join(saved) or 'no model'}"


def _models(judge: Judge) -> list[str]:
    return list(dict.fromkeys(ModelString.parse(stage.model).identity for stage in judge.stages() if stage.model))


def _environment() -> Iterator[CheckItem]:
    yield CheckItem("python", sys.version_info >= (3, 11), f"{platform.python_version()} (3.11 or newer)")
    for extra, module in EXTRAS.items():
        is_installed = importlib.util.find_spec(module) is not None
        advice = f"{module} is missing. {install_hint(extra)}"
        yield CheckItem(f"extra {extra}", is_installed, module if is_installed else advice)
    yield CheckItem("store", _is_writable(home()), f"{home()} (set DICAST_HOME to move it)")
    is_fetched = weights.weights_path(weights.DEFAULT).is_file()
    advice = "" if is_fetched else f" is not fetched. dicast models get {weights.DEFAULT}"
    yield CheckItem("default model", is_fetched, f"local/{weights.DEFAULT}{advice}")


def _is_writable(folder: Path) -> bool:
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _check_models(lm: str, progress: Progress) -> list[CheckItem]:
    items = []
    for model in sorted(set(Roles.parse(lm).values())):
        try:
            prepare_model(model, progress.download)
            remember_address(model)
            lm = get_lm(model, cache=False)  # the store would answer for a server that is gone
            writes, (readable, reads) = _writes(lm), _reads(lm)
            items.append(CheckItem(f"model {model}", readable, f"{writes}; {reads}"))
        except DicastError as error:
            items.append(CheckItem(f"model {model}", False, str(error)))
    return items


class SmallerNumber(dspy.Signature):
    """Which number is smaller?"""

    first: int = dspy.InputField()
    second: int = dspy.InputField()
    smaller: Literal["first", "second"] = dspy.OutputField()


def _writes(lm: Any) -> str:
    """The model's written answer to a question."""
    with dspy.context(lm=lm):
        answer = Stage(SmallerNumber, "check", max_tokens=64)(first=2, second=7).smaller
    return f"answers ({answer!r} to 'which is smaller: first 2, second 7')"


def _reads(lm: Any) -> tuple[bool, str]:
    """Whether letters and levels can be read from the model's token probabilities, and how much of them was read."""
    question = {"readout": "probability", "request": "2 + 2?", "aspect": "correctness"}
    try:
        with dspy.context(lm=lm), reading_from(LITTLE):
            letter = Question(Prefer, "check")(**question, response_a="4", response_b="5")
            level = Question(Grade, "check")(**question, response="4")
    except Unreadable as error:
        return False, f"token probabilities are of other tokens: {error}"
    except (ModelError, NoTokenProbabilities) as error:
        return True, f"token probabilities no: use --readout generate ({error})"
    masses = [answer.coverage for answer in (letter, level) if answer.coverage is not None]
    return True, f"token probabilities yes (mass read {min(masses, default=0):.2f})"


def _check_cases(source: CaseSource, name: str) -> CheckItem:
    """Read every row; a bad one does not end the reading, and the first is named."""
    labels, rows = Counter[str](), LabelCount()
    try:
        with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects.jsonl") as rejects:
            for case in rows.counted(source.cases(rejects)):
                winner = str(case.label.value) if isinstance(case.label, Winner) else "scores"
                labels["none" if case.label is None else winner] += 1
        if rejects.count:
            total = rows.rows + rejects.count
            return CheckItem(name, False, f"{rejects.count} bad rows of {total}; {rejects.first}")
    except DicastError as error:
        return CheckItem(name, False, str(error))
    text = ", ".join(f"{n} {label}" for label, n in labels.most_common())
    notice = f"; {rows.notice()}" if rows.notice() else ""
    return CheckItem(name, rows.rows > 0, f"{cases_text(rows.rows)}; labels: {text or 'none'}{notice}")
