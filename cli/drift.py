"""`dicast check --judge FILE`: labelled cases judged again, and compared with the record of the judge file.

Of a certified cascade that is the certificate, of any other judge the accuracy of the training record.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DataError, DeclarationError
from . import FAIL, INCONCLUSIVE, STOPPED, options
from .figures import counted_proportion
from .running import default_workers, fresh, prepare_models
from .wanted import Wanted

if TYPE_CHECKING:
    from ..data import Case, Judged
    from ..evaluation import Evaluation
    from ..evaluation.drift import Drift
    from ..judging.judge_file import JudgeFile
    from ..optimizers.certificates.certificate_check import CertificateCheck

EXIT = {"agrees": 0, "worse": FAIL, "unknown": INCONCLUSIVE}
BASIS = {
    "groups": "",
    "interval": "The record has no groups: its labels count for what its interval says. Compile again to store groups.",
    "cases": "The record has no groups and no interval: its labels count as independent cases. Compile again to store "
    "groups.",
}  # what is said of the record that the accuracy of then comes from
STYLES = {"agrees": "green", "worse": "red", "unknown": "yellow"}


def check_drift(
    judge: str, lm: str | None, source: options.CaseSource, *,
    limit: int | None, seed: int | None, margin: float, skip_bad: bool, as_json: bool,
) -> int:  # fmt: skip
    """Judge the labelled cases, tell whether the judge still agrees, and give the exit code.

    Raises:
        DeclarationError: no judge file, or a file without the certificate or the accuracy that it had.
        DataError: no labelled pair or choice among the cases.
    """
    from ..data.split import sample
    from ..evaluation import evaluate
    from ..judging.judge_file import read
    from ..judging.registry import JUDGE_SUFFIX

    if not judge.endswith(JUDGE_SUFFIX):
        raise DeclarationError(
            f"--judge {judge}: only a judge file knows how it agreed. Give a file that ends in {JUDGE_SUFFIX}."
        )
    file, spec = read(judge), Wanted(judge, lm, {}, None, (), 1, "majority")
    compare = _comparison(judge, file, margin)
    built = spec.built()
    built.threshold = None  # the record's accuracy is of all verdicts, kept or abstained
    prepare_models(built)
    cases = list(sample(_labelled(source, skip_bad), limit, seed))
    if not cases:
        raise DataError(f"--cases {source.source}: no pair or choice with a label. Give fresh labelled cases.")
    cases = fresh(cases, judge)
    verdicts = _judged(built, cases, quiet=as_json)
    if verdicts is None:
        return STOPPED
    evaluation = evaluate(verdicts, spec.identity(built) | {"data": source.digest(), "seed": seed})
    result = compare(verdicts, evaluation)
    recorded = file.accuracy("after")
    report = {
        "signature": evaluation.signature,
        **result.as_dict(),
        "basis": recorded.basis if recorded else None,
        "unscored": evaluation.unscored,
        "changed": list(_changed(judge, file, built)),
        "usage": evaluation.usage.model_dump(),
    }
    options.print_json(report) if as_json else _print(result, report)
    return EXIT[result.outcome]


def _comparison(
    judge: str, file: "JudgeFile", margin: float
) -> "Callable[[list[Judged], Evaluation], Drift | CertificateCheck]":  # fmt: skip
    """How new verdicts are compared with what the file says of the judge.

    Raises:
        DeclarationError: the file has neither a certificate of a cascade nor an accuracy.
    """
    from ..evaluation.drift import Drift, accuracy_estimate
    from ..optimizers.certificates.certificate import CascadeCertificate
    from ..optimizers.certificates.certificate_check import check_certificate, read_certificate

    certificate, recorded = read_certificate(file.certificate), file.accuracy("after")
    if isinstance(certificate, CascadeCertificate) and certificate.accepted:
        return lambda verdicts, _: check_certificate(certificate, verdicts, margin=margin)
    if recorded is None:
        raise DeclarationError(
            f"judge file {judge}: its training record holds no accuracy (after: hits, n) to compare with. "
            "Compile the judge on labelled pairs or choices."
        )
    then = recorded.estimate
    return lambda _, evaluation: Drift(then, accuracy_estimate(evaluation), margin)


def _labelled(source: options.CaseSource, skip_bad: bool) -> "Iterator[Case]":
    """The labelled cases; with `skip_bad` rows that are none are left out, and reported."""
    import tempfile

    from ..data import Rejects

    with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects.jsonl") as rejects:
        for case in source.cases(rejects if skip_bad else None):
            if case.label is not None and case.label.winner is not None:
                yield case
        if rejects.count:
            click.echo(f"{rejects.count:,} bad rows were left out; {rejects.first}", err=True)


def _judged(judge: Any, cases: "list[Case]", *, quiet: bool) -> "list[Judged] | None":
    """The verdicts; None when Ctrl-C stopped it."""
    from ..data import Judged
    from ..engines.parallel import stream
    from . import render
    from .interrupt import stop_on_interrupt

    verdicts: list[Judged] = []
    with render.RunProgress(len(cases), 0, quiet=quiet) as progress, stop_on_interrupt() as stop:
        for case, verdict in stream(judge, cases, workers=default_workers(judge), stop=stop, failed=_of_the_server):
            verdicts.append(Judged.of(case, verdict))
            progress.add(verdicts[-1])
    return None if stop.is_set() else verdicts


def _of_the_server(verdict: Any) -> str:
    return verdict.detail if verdict.reason == "infrastructure" else ""


def _changed(path: str, file: "JudgeFile", judge: Any) -> Iterator[str]:
    """Versions and models that differ from those the judge was saved with."""
    from ..judging.judge_file import load, versions

    for name, installed in versions().items():
        before = file.versions.get(name, "unknown")
        if name != "python" and before != installed:
            yield f"{name} {installed}, saved by {before}"
    saved, now = _models(load(path)), _models(judge)
    if saved != now:
        yield f"answered by {', '.join(now)}, saved with {', '.join(saved) or 'no model'}"


def _models(judge: Any) -> list[str]:
    from ..engines.models import ModelString

    return list(dict.fromkeys(ModelString.parse(stage.model).identity for stage in judge.stages() if stage.model))


def _print(result: "Drift | CertificateCheck", report: dict[str, Any]) -> None:
    from ..evaluation.drift import Drift
    from . import render

    print_ = render.console.print
    print_(report["signature"], style="dim", soft_wrap=True, markup=False)
    if isinstance(result, Drift):
        for when in ("then", "now"):
            if report[when]["n"]:
                print_(f"{when:<4}  accuracy {counted_proportion(report[when])}", markup=False)
        if note := BASIS[report["basis"]]:
            print_(note, style="yellow", soft_wrap=True, markup=False)
    else:
        print_(f"then  {result.certificate.summary()}", soft_wrap=True, markup=False)
    unjudged = [f"{n} {reason}" for reason, n in report["unscored"].items() if reason != "abstained"]
    if unjudged:
        print_(f"not judged: {', '.join(unjudged)}", style="yellow")
    for change in report["changed"]:
        print_(f"changed: {change}", style="yellow", markup=False)
    words = outcome_sentence(result) if isinstance(result, Drift) else f"now   {result.summary()}"
    print_(words, style=STYLES[result.outcome], soft_wrap=True, markup=False)


def outcome_sentence(drift: "Drift") -> str:
    """What the comparison shows, in words, and what to do."""
    low, high = drift.interval
    difference = f"difference {drift.difference:+.3f} [{low:+.3f}, {high:+.3f}] (90 %)" if drift.now.n else "no verdict"
    if drift.outcome == "agrees":
        return f"{difference}: it still agrees; a loss of {drift.margin:g} is excluded."
    if drift.outcome == "worse":
        return f"{difference}: it agrees significantly worse. Compile it again with these labels."
    needed = drift.labels_needed()
    if needed is None:
        return (
            f"{difference}: inconclusive. The record rests on {drift.then.n:,} labels, too few for a margin of "
            f"{drift.margin:g} with any number of new ones; give a wider --margin."
        )
    in_groups = " in such groups" if drift.now.groups < drift.now.n else ""
    return (
        f"{difference}: inconclusive. {needed:,} labels{in_groups} give 80 % power to rule out a loss of "
        f"{drift.margin:g} if accuracy is unchanged."
    )
