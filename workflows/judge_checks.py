"""Whether a saved judge still agrees with people: its accuracy and its certificate on new labels."""

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..data import Case, Judged, Rejects
from ..data.case import digest
from ..data.joined_groups import join_groups
from ..data.split import sample
from ..engines.model_string import ModelString
from ..engines.odd_cases import LenientJudge, failure_of
from ..engines.pace import paced
from ..engines.parallel import stream
from ..errors import DataError, DeclarationError
from ..evaluation import Evaluation, evaluate
from ..evaluation.check_history import note_check
from ..evaluation.drift import Drift, accuracy_estimate, repeated_checks
from ..judging import Judge
from ..judging.judge_file import JudgeFile, fingerprint, load, read, versions
from ..judging.registry import JUDGE_SUFFIX
from ..optimizers.certificates.certificate import CascadeCertificate, Certificate
from ..optimizers.certificates.certificate_check import CertificateCheck, accepts, check_certificate, read_certificate
from .case_filters import default_refusals
from .case_source import CaseSource
from .given_cases import Cases, case_source, filtered_for
from .judge_spec import JudgeSpec
from .label_count import LabelCount
from .preflight import admit_models, check_limits, exclude_training_cases, pace_of, prepare_models, stored, workers_of
from .progress import SILENT, Progress


@dataclass(frozen=True)
class DriftReport:
    """How a saved judge agrees with new labels, compared with what its file says.

    Attributes:
        outcome: "agrees", "worse", "unknown", or "stopped" before all cases were judged.
        result: the comparison, or the check of a cascade's certificate; None if stopped.
        certificate: the check of the certificate of a single judge, beside the comparison; None if it has none.
        evaluation: of the new verdicts; None if stopped.
        basis: what the recorded accuracy rests on; None where the file holds none.
        changes: versions and models that are not those that the judge was saved with.
    """

    outcome: Literal["agrees", "worse", "unknown", "stopped"]
    result: Drift | CertificateCheck | None = None
    evaluation: Evaluation | None = None
    basis: str | None = None
    changes: tuple[str, ...] = ()
    certificate: CertificateCheck | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as JSON; only of a check that was not stopped."""
        assert self.result
        assert self.evaluation
        return {
            "signature": self.evaluation.signature,
            **self.result.as_dict(),
            "outcome": self.outcome,
            "certificate_check": self.certificate.as_dict() if self.certificate else None,
            "basis": self.basis,
            "unscored": self.evaluation.unscored,
            "warnings": list(self.evaluation.warnings),
            "changed": list(self.changes),
            "usage": self.evaluation.usage.model_dump(),
        }


def check_judge(
    judge: str | Path,
    cases: Cases,
    *,
    lm: str | None = None,
    limit: int | None = None,
    limit_groups: int | None = None,
    seed: int | None = None,
    margin: float = 0.05,
    skip_bad: bool = False,
    trust: bool = False,
    timeout: float | None = None,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> DriftReport:
    """Whether a judge file still agrees with people, on labelled cases that it was not compiled on.

    Of a certified cascade its certificate is checked, of any other judge the accuracy of the training record, and its
    certificate if it has one: labels that contradict it make the outcome "worse". Checks of one judge add up, on this
    machine (`evaluation.check_history`).

    Args:
        judge: a .judge.json file.
        cases: newly labelled cases, as of `dicast.run`; those without a winner are left out.
        lm: models to answer instead of the saved ones.
        limit: this many cases: the first, or with `seed` a random sample.
        limit_groups: instead of `limit`: this many groups (inputs, persons), each with all its cases.
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
    check_limits(limit, limit_groups)
    file, spec = read(judge), JudgeSpec(str(judge), lm)
    certificate = _certificate(str(judge), file)
    built, stop = spec.build(), stop or threading.Event()
    admit_models(built, trust=trust, progress=progress)
    workers = workers_of(built)
    pace = pace_of(workers, timeout, None, stop, progress, built)
    built.threshold = None  # the record's accuracy is of all verdicts, kept or abstained
    prepare_models(built, progress=progress)
    with tempfile.TemporaryDirectory() as folder:
        source = stored(filtered_for(case_source(cases), default_refusals(built)), Path(folder))
        labelled = _labelled(source, skip_bad, progress)
        data, chosen = source.digest(), list(sample(labelled, limit, seed, limit_groups=limit_groups))
    if not chosen:
        raise DataError(f"--cases {source.source}: no pair or choice with a label. Give newly labelled cases.")
    chosen = exclude_training_cases(chosen, str(judge), built, progress)
    groups = join_groups(chosen)
    if groups.counts:
        progress.notice(groups.counts)
    chosen = groups.apply(chosen)
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
    history = note_check(
        _judge_digest(str(judge), built), Path(judge).name, judged, verdicts,
        accepts=lambda verdict: certificate is None or accepts(certificate, verdict),
    )  # fmt: skip
    if history.problem:
        progress.notice(f"this machine does not remember this check: {history.problem}")
    recorded, changes = file.accuracy("after"), tuple(_changes(str(judge), file, built))
    basis = recorded.basis if recorded else None
    checked = None
    if certificate is not None:
        checked = check_certificate(certificate, verdicts, margin=margin, history=history)
    if checked and isinstance(certificate, CascadeCertificate):
        return DriftReport(checked.outcome, checked, evaluation, basis, changes)
    assert recorded
    repeated = repeated_checks(history, recorded.estimate)
    drift = Drift(recorded.estimate, accuracy_estimate(evaluation), margin, repeated)
    outcome = "worse" if checked and checked.outcome == "worse" else drift.outcome
    return DriftReport(outcome, drift, evaluation, basis, changes, checked)


def _certificate(judge: str, file: JudgeFile) -> Certificate | CascadeCertificate | None:
    """The certificate of a judge file, if it accepts any verdict; raises DeclarationError for a file that holds neither
    a certificate of a cascade nor an accuracy."""
    certificate = read_certificate(file.certificate)
    if certificate is not None and not certificate.accepted:
        certificate = None
    if file.accuracy("after") is None and not isinstance(certificate, CascadeCertificate):
        raise DeclarationError(
            f"judge file {judge}: its training record holds no accuracy (after: hits, n) to compare with. "
            "Compile the judge on labelled pairs or choices."
        )
    return certificate


def _judge_digest(path: str, judge: Judge) -> str:
    """What tells one checked judge from another: all that its verdicts depend on."""
    return digest(" ".join([fingerprint(path), *_models(judge)]))


def _labelled(source: CaseSource, skip_bad: bool, progress: Progress) -> Iterator[Case]:
    """The cases whose label names a winner; with `skip_bad`, bad rows are left out with a notice."""
    rows = LabelCount()
    with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects.jsonl") as rejects:
        for case in rows.counted(source.cases(rejects if skip_bad else None)):
            if case.label is not None and case.label.answer is not None:
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
    return list(dict.fromkeys(ModelString.parse(seat.model).identity for seat in judge.seats() if seat.model))
