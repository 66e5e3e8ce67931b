"""`dicast check --judge FILE`: labelled cases judged anew, and held against what the judge file says of itself.

Of a certified cascade that is the certificate, of any other judge the accuracy of the training record.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DataError, DeclarationError
from . import FAIL, INCONCLUSIVE, STOPPED, options
from .running import default_workers, fresh, prepare_models
from .wanted import Wanted

if TYPE_CHECKING:
    from ..data import Case, Judged
    from ..evaluation import Evaluation
    from ..evaluation.drift import Drift
    from ..judging.judge_file import JudgeFile
    from ..optimizers.certificates.certificate_check import Standing
    from ..stats.proportions import Proportion

EXIT = {"agrees": 0, "worse": FAIL, "unknown": INCONCLUSIVE}
STYLES = {"agrees": "green", "worse": "red", "unknown": "yellow"}


def check_drift(
    judge: str, lm: str | None, source: options.CaseSource, *,
    limit: int | None, seed: int | None, margin: float, skip_bad: bool, as_json: bool,
) -> int:  # fmt: skip
    """Judge the labelled cases, tell whether the judge still agrees, and give the exit code.

    Raises:
        DeclarationError: no judge file, or one without the certificate or the accuracy that it had.
        DataError: no labelled pair or choice among the cases.
    """
    from ..data.split import sample
    from ..evaluation import evaluate
    from ..judging.judge_file import read
    from ..judging.registry import JUDGE_SUFFIX

    if not judge.endswith(JUDGE_SUFFIX):
        raise DeclarationError(
            f"--judge {judge}: only a judge file knows how it agreed. Give one that ends in {JUDGE_SUFFIX}."
        )
    file, wanted = read(judge), Wanted(judge, lm, {}, None, (), 1, "majority")
    held = _held(judge, file, margin)
    built = wanted.built()
    built.threshold = None  # the record's accuracy is of all verdicts, kept or abstained
    prepare_models(built)
    cases = list(sample(_labelled(source, skip_bad), limit, seed))
    if not cases:
        raise DataError(f"--cases {source.source}: no pair or choice with a label. Give fresh labelled cases.")
    cases = fresh(cases, judge)
    verdicts = _judged(built, cases, quiet=as_json)
    if verdicts is None:
        return STOPPED
    evaluation = evaluate(verdicts, wanted.identity(built) | {"data": source.digest(), "seed": seed})
    found = held(verdicts, evaluation)
    told = {
        "signature": evaluation.signature,
        **found.as_dict(),
        "unscored": evaluation.unscored,
        "changed": list(_changed(judge, file, built)),
        "usage": evaluation.usage.model_dump(),
    }
    options.print_json(told) if as_json else _print(found, told)
    return EXIT[found.outcome]


def _held(judge: str, file: "JudgeFile", margin: float) -> "Callable[[list[Judged], Evaluation], Drift | Standing]":
    """How fresh verdicts are held against what the file says."""
    from ..evaluation.drift import Drift
    from ..optimizers.certificates.certificate import CascadeCertificate
    from ..optimizers.certificates.certificate_check import read_certificate, standing

    certificate, then = read_certificate(file.certificate), file.accuracy("after")
    if isinstance(certificate, CascadeCertificate) and certificate.kept:
        return lambda verdicts, _: standing(certificate, verdicts, margin=margin)
    if not then.n:
        raise DeclarationError(
            f"judge file {judge}: its training record holds no accuracy (after: hits, n) to compare with. "
            "Compile the judge on labelled pairs or choices."
        )
    return lambda _, evaluation: Drift(then, _accuracy(evaluation), margin)


def _accuracy(evaluation: "Evaluation") -> "Proportion":
    from ..stats.proportions import Proportion

    measure = evaluation.measure("accuracy")
    return Proportion(round((measure.value or 0) * measure.n), measure.n) if measure else Proportion(0, 0)


def _labelled(source: options.CaseSource, skip_bad: bool) -> "Iterator[Case]":
    """The labelled cases; with `skip_bad` rows that are none are left out, and told."""
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

    found: list[Judged] = []
    with render.RunProgress(len(cases), 0, quiet=quiet) as progress, stop_on_interrupt() as stop:
        for case, verdict in stream(judge, cases, workers=default_workers(judge), stop=stop, failed=_of_the_server):
            found.append(Judged.of(case, verdict))
            progress.add(found[-1])
    return None if stop.is_set() else found


def _of_the_server(verdict: Any) -> str:
    return verdict.detail if verdict.reason == "infrastructure" else ""


def _changed(path: str, file: "JudgeFile", judge: Any) -> Iterator[str]:
    """What is not as it was when the judge was saved, besides the cases."""
    from ..judging.judge_file import load, versions

    for name, here in versions().items():
        before = file.versions.get(name, "unknown")
        if name != "python" and before != here:
            yield f"{name} {here}, saved by {before}"
    saved, now = _models(load(path)), _models(judge)
    if saved != now:
        yield f"answered by {', '.join(now)}, saved with {', '.join(saved) or 'no model'}"


def _models(judge: Any) -> list[str]:
    from ..engines.models import ModelString

    return list(dict.fromkeys(ModelString.parse(stage.model).identity for stage in judge.stages() if stage.model))


def _print(found: "Drift | Standing", told: dict[str, Any]) -> None:
    from ..evaluation.drift import Drift
    from . import render

    print_ = render.console.print
    print_(told["signature"], style="dim", soft_wrap=True, markup=False)
    if isinstance(found, Drift):
        for when, share in (("then", found.then), ("now", found.now)):
            if share.n:
                low, high = share.interval
                print_(f"{when:<4}  accuracy {share.value:.3f} [{low:.3f}, {high:.3f}], {share.hits:,} of {share.n:,}")
    else:
        print_(f"then  {found.certificate.told()}", soft_wrap=True, markup=False)
    unjudged = [f"{n} {reason}" for reason, n in told["unscored"].items() if reason != "abstained"]
    if unjudged:
        print_(f"not judged: {', '.join(unjudged)}", style="yellow")
    for change in told["changed"]:
        print_(f"changed: {change}", style="yellow", markup=False)
    words = verdict(found) if isinstance(found, Drift) else f"now   {found.told()}"
    print_(words, style=STYLES[found.outcome], soft_wrap=True, markup=False)


def verdict(drift: "Drift") -> str:
    """What the comparison shows, in words, and what to do."""
    low, high = drift.interval
    between = f"difference {drift.difference:+.3f} [{low:+.3f}, {high:+.3f}] (90 %)" if drift.now.n else "no verdict"
    if drift.outcome == "agrees":
        return f"{between}: it still agrees; a loss of {drift.margin:g} is excluded."
    if drift.outcome == "worse":
        return f"{between}: it agrees significantly worse. Compile it anew with these labels."
    needed = drift.needed()
    if needed is None:
        return (
            f"{between}: cannot be told. The record rests on {drift.then.n:,} labels, too few for a margin of "
            f"{drift.margin:g} however many fresh ones there are; give a wider --margin."
        )
    return (
        f"{between}: cannot be told. {needed:,} labels would exclude a loss of {drift.margin:g} with 80 % chance, "
        "should it agree as it did."
    )
