"""What `evaluate` and `report` share: a run read and evaluated, and a requirement held against its figures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RunError
from . import FAIL, INCONCLUSIVE, options
from .options import Function

if TYPE_CHECKING:
    from ..data import Judged
    from ..evaluation import RunArrays
    from ..evaluation.results import Branch, Evaluation, Measure, RunComparison


SMALLEST = 0.01  # distance for which labels are counted: they grow with its inverse square


@dataclass
class Run:
    """A run folder, or a .jsonl file of verdicts from elsewhere."""

    path: Path
    where: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    def verdicts(self) -> "Iterator[Judged]":
        from ..engines.batch import read_verdicts
        from ..evaluation.external_verdicts import read_external_verdicts

        return read_verdicts(self.path) if self.path.is_dir() else read_external_verdicts(self.path, self.where)

    @cached_property
    def read(self) -> "RunArrays":
        """Its verdicts as figures are taken of them, read once."""
        from ..evaluation import run_arrays

        scale = self.manifest().get("scale")
        return run_arrays(self.verdicts(), tuple(scale) if scale else None)

    def manifest(self) -> dict[str, Any]:
        from ..data.readers import file_digest
        from ..engines.batch import read_manifest

        if self.path.is_dir():
            return read_manifest(self.path)
        judge = ",".join(self.where.values()) or self.path.stem
        return {"identity": {"judge": judge, "settings": {}, "lm": "elsewhere", "data": file_digest(self.path)}}

    def source(self) -> options.CaseSource | None:
        """Where its cases were read from; None for verdicts from elsewhere."""
        told = self.manifest().get("source")
        return options.CaseSource.of(told) if told else None


def evaluated(run: Run, *, threshold: float, own: Sequence[str], seed: int, texts: str | None = None) -> "Evaluation":
    """Every figure of a run.

    Args:
        texts: measures of generated against written texts, as in "bleu,rouge,bertscore=MODEL".

    Raises:
        RunError: there is no verdict in it.
    """
    from ..evaluation import evaluate

    identity = run.manifest()["identity"]
    told = evaluate(run.read, identity, threshold=threshold, judge_systems=own, seed=seed)
    if not told.cases:
        raise RunError(f"{run.path}: holds no verdict. Run dicast judge --out {run.path} first.")
    if texts:
        told = told.model_copy(update={"sections": told.sections | {"explanations": _explanations(run, texts, seed)}})
    return told.model_copy(update={"branches": _branches(run, identity, told, seed)})


def _branches(run: Run, identity: Mapping[str, Any], told: "Evaluation", seed: int) -> "tuple[Branch, ...]":
    """What fewer criteria would have said, for judges whose verdict is the sum over criteria."""
    if not str(identity["judge"]).startswith("fennec") or told.confusion is None:
        return ()
    from ..workflows.branch_ablation import sweep

    return sweep(list(run.verdicts()), seed=seed, tie_threshold=float(identity["settings"].get("tie_threshold", 0.0)))


def _explanations(run: Run, texts: str, seed: int) -> "tuple[Measure, ...]":
    from ..text_metrics.embedding import BartScore, BertScore
    from ..text_metrics.overlap import measures, pairs

    source = run.source()
    if source is None:
        raise RunError(f"{run.path}: its manifest names no cases, so there are no written texts. Give a run folder.")
    asked = [one.strip().partition("=") for one in texts.split(",")]
    readers = {"bertscore": BertScore, "bartscore": BartScore}
    models = [readers[name](model) for name, _, model in asked if name in readers and model]
    which = [name for name, _, model in asked if not (name in readers and model)]
    found, groups = pairs(run.verdicts(), source.cases())
    if not found:
        raise RunError(f"{run.path}: no case has both a generated and a written text. Leave --texts out.")
    return measures(found, groups, which, models=models, seed=seed)


def compared(runs: Sequence[Run], seed: int, names: Sequence[str] = ()) -> "tuple[RunComparison, ...]":
    """The first run against each other one; none for one run alone."""
    from ..evaluation.compare import compare

    if len(runs) < 2:
        return ()
    told = names or [run.name for run in runs]
    return compare([(name, run.read) for name, run in zip(told, runs, strict=True)], seed)


@dataclass(frozen=True)
class Requirement:
    """A figure that must be at least, or at most, a value."""

    name: str
    at_least: bool
    value: float

    @classmethod
    def parse(cls, text: str) -> "Requirement":
        found = re.fullmatch(r"\s*(.+?)\s*(>=|<=)\s*([-+.\d]+)\s*", text)
        try:
            assert found
            return cls(found[1], found[2] == ">=", float(found[3]))
        except (AssertionError, ValueError):
            raise click.BadParameter(f"{text!r}: write NAME>=VALUE or NAME<=VALUE, as in accuracy>=0.7.") from None

    def held(self, evaluation: "Evaluation") -> tuple[int, str]:
        """The exit code, and what is to be said: the whole interval decides.

        Raises:
            RunError: the run has no such figure.
        """
        measure = evaluation.measure(self.name)
        if measure is None or measure.value is None:
            names = ", ".join(one.name for section in evaluation.sections.values() for one in section)
            raise RunError(f"--require {self.name}: the run has no such figure. It has: {names}.")
        low, high = _bounds(measure)
        value = self.value
        if not self.at_least:
            low, high, value = -high, -low, -value
        if low >= value:
            return 0, "holds"
        return (FAIL, "does not hold") if high < value else (INCONCLUSIVE, self._untold(measure))

    def _untold(self, measure: "Measure") -> str:
        """How many labels it would take, where that is known: the interval of a share must become this much shorter."""
        told = "cannot be told from these labels"
        assert measure.value is not None
        apart = abs(measure.value - self.value)
        if measure.kind != "proportion" or apart < SMALLEST:
            return told
        from ..stats.power import labels_for_share

        needed = labels_for_share(min(max(measure.value, 0.0), 1.0), min(apart, 0.499))
        return f"{told}; about {needed:,} independent ones would tell, if the value stays"

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.at_least else '<='} {self.value:g}"


def parse_where(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, equals, value in pairs:
        if not (name and equals):
            raise click.BadParameter(f"{name + equals + value!r}: write FIELD=VALUE, as in judge=gpt-4o.")
    return {name.strip(): value for name, _, value in pairs}


def parse_requirements(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> list[Requirement]:
    return [Requirement.parse(text) for text in texts]


def measuring_options(function: Function) -> Function:
    """--where, --threshold, --own, --texts, --seed."""
    given = [
        click.option(
            "--where",
            multiple=True,
            callback=parse_where,
            metavar="FIELD=VALUE",
            help="Of a .jsonl file of verdicts from elsewhere: only rows whose field has this value.",
        ),
        click.option(
            "--threshold", type=click.FloatRange(0, 1), default=0.8, show_default=True,
            help="The certainty from which a verdict is sure.",
        ),
        click.option(
            "--own", multiple=True, metavar="SYSTEM", help="A system that is the judge: does it prefer its own texts?"
        ),
        click.option(
            "--texts",
            metavar="KINDS",
            help="Measure generated against written reviews: bleu,rouge,bertscore=MODEL,bartscore=MODEL.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is resampled."),
    ]  # fmt: skip
    for option in reversed(given):
        function = option(function)
    return function


def _bounds(measure: "Measure") -> tuple[float, float]:
    assert measure.value is not None
    low = measure.value if measure.low is None else measure.low
    high = measure.value if measure.high is None else measure.high
    return low, high
