"""`dicast check`: is everything there, does a saved judge still agree with people, and if not, what to do."""

import importlib.util
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from ..errors import DicastError
from . import FAIL, options

EXTRAS = {"local": "xllamacpp", "data": "pyarrow", "report": "matplotlib"}


@dataclass(frozen=True)
class Finding:
    """One line of the check: what was looked at, whether it is well, and what was seen or is to be done."""

    what: str
    ok: bool
    told: str


@click.command("check")
@click.option("--lm", help="Also ask this model one question; with --judge, judge with it.")
@options.case_options_of(required=False)
@click.option("--no-ties", is_flag=True, help="Leave out cases that people call a tie.")
@click.option("--judge", metavar="FILE", help="Check a .judge.json file for drift on fresh labels, and nothing else.")
@click.option(
    "--limit", type=click.IntRange(1), help="Judge this many cases: the first, or with --seed a random sample."
)
@click.option("--seed", type=click.IntRange(0), help="Draw the cases of --limit at random with this seed.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The loss of accuracy that would matter, with --judge.",
)
@options.json_option
def command(
    lm: str | None, source: str | None, judge: str | None, limit: int | None, seed: int | None, margin: float,
    skip_bad: bool, as_json: bool, **given: Any,
) -> int:  # fmt: skip
    """Check the environment, and if given a model and a data file; exit 1 when something is to be mended.

    With --judge: whether a judge file still agrees with people as its training record says, on labels that it was not
    compiled from. Exit 0 when a loss of the margin is excluded, 1 when it agrees significantly worse (each at 5 %, on
    one side), 2 when neither can be told; then it says how many labels would tell.

    \b
    Example:
      dicast check
      dicast check --lm openai/gpt-4o-mini --cases pairs.jsonl
      dicast check --judge tone.judge.json --cases fresh.jsonl --limit 200 --seed 1
    """
    from . import render
    from .drift import check_drift

    options.load_environment()
    if judge:
        if not source:
            raise click.UsageError(
                "--judge needs --cases with fresh labels; dicast show FILE says what is in the file."
            )
        return check_drift(
            judge, lm, options.CaseSource(source, **given),
            limit=limit, seed=seed, margin=margin, skip_bad=skip_bad, as_json=as_json,
        )  # fmt: skip
    found = list(_environment())
    if lm:
        found += _models(lm)
    if source:
        found.append(_data(options.CaseSource(source, **given)))
    if as_json:
        options.print_json([asdict(finding) for finding in found])
    else:
        for finding in found:
            mark = "[green]ok  [/]" if finding.ok else "[red]MEND[/]"
            render.console.print(f"{mark} [bold]{finding.what}[/]  ", end="")
            render.console.print(finding.told, markup=False)
    return 0 if all(finding.ok for finding in found) else FAIL


def _environment() -> Iterator[Finding]:
    from ..engines import weights
    from ..paths import home

    yield Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()} (3.11 or newer)")
    for extra, module in EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        yield Finding(
            f"extra {extra}", there, module if there else f"{module} is missing. pip install 'dicast[{extra}]'"
        )
    yield Finding("store", _writable(home()), f"{home()} (set DICAST_HOME to move it)")
    here = weights.weights_path(weights.DEFAULT).is_file()
    yield Finding(
        "default model",
        here,
        f"local/{weights.DEFAULT}" + ("" if here else f" is not here. dicast models get {weights.DEFAULT}"),
    )


def _models(lm: str) -> list[Finding]:
    from ..engines.models import Roles, get_lm, prepare
    from ..engines.weights import silent

    roles = Roles.parse(lm)
    found = []
    for model in sorted(set(roles.values())):
        try:
            prepare(model, silent)
            found.append(Finding(f"model {model}", True, _ask(get_lm(model))))
        except DicastError as error:
            found.append(Finding(f"model {model}", False, str(error)))
    return found


def _ask(lm: Any) -> str:
    """What the model answers to one question, read both ways."""
    from typing import Literal

    import dspy

    from ..errors import ModelError
    from ..judging.stage import Stage
    from ..signatures.direct import PreferProbability

    class Smaller(dspy.Signature):
        """Which number is smaller?"""

        first: int = dspy.InputField()
        second: int = dspy.InputField()
        smaller: Literal["first", "second"] = dspy.OutputField()

    with dspy.context(lm=lm):
        written = Stage(Smaller, "check", max_tokens=64)(first=2, second=7).smaller
        try:
            read = Stage(PreferProbability, "check")(
                request="2 + 2?", response_a="4", response_b="5", aspect="correctness"
            )
            probabilities = f"token probabilities yes (coverage {read.coverage:.2f})"
        except ModelError:
            probabilities = "token probabilities no: use --readout generate"
    return f"answers ({written!r} to 'which is smaller: first 2, second 7'); {probabilities}"


def _data(source: options.CaseSource) -> Finding:
    """Reads every row; a bad one does not end the reading, the first is told."""
    import tempfile
    from collections import Counter

    from ..data import Rejects, Winner

    labels: Counter[str] = Counter()
    count = 0
    try:
        with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects.jsonl") as rejects:
            for case in source.cases(rejects):
                count += 1
                labels[
                    "none"
                    if case.label is None
                    else str(case.label.value)
                    if isinstance(case.label, Winner)
                    else "scores"
                ] += 1
        if rejects.count:
            return Finding(
                f"data {source.source}", False, f"{rejects.count} bad rows of {count + rejects.count}; {rejects.first}"
            )
    except DicastError as error:
        return Finding(f"data {source.source}", False, str(error))
    told = ", ".join(f"{n} {label}" for label, n in labels.most_common())
    return Finding(f"data {source.source}", count > 0, f"{count} cases; labels: {told or 'none'}")


def _writable(folder: Path) -> bool:
    import os

    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return os.access(existing, os.W_OK)
