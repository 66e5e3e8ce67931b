"""What a compilation gave: the judges side by side on the untouched test part, and what that shows."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from ..data import Judged
from ..data.case import Record
from ..evaluation.compare import compare
from ..evaluation.evaluate import evaluate
from ..evaluation.results import Comparison, Evaluation, Measure, PairedTest
from ..evaluation.run_arrays import run_arrays
from .certificates.certificate import Check
from .cost_account import cost_per_verdict
from .objective import DEFAULTS, OBJECTIVES, TEXTS, Objective, paired_tests

Outcome = Literal["improved", "worse", "inconclusive"]
UNCOMPILED, COMPILED = "uncompiled", "compiled"
ALPHA = 0.05


class Row(Record):
    """One judge on the test part."""

    name: str
    evaluation: Evaluation
    calls: float = Field(description="LM calls a verdict, those that the cache answered included")
    tokens: float | None = Field(description="a verdict; None where the cache answered all")


class Result(Record):
    """The test of a compiled judge.

    Attributes:
        objective: what was made better.
        rows: the judges on the test part; `uncompiled` and `compiled` are always among them.
        comparisons: the compiled judge against each other one, p-values adjusted for all.
        outcome: of compiled against uncompiled: significant at 5 %, or not.
        kept: what people disagree with of the verdicts that a certified threshold keeps here; None without one.
    """

    objective: str
    n: int
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...]
    outcome: Outcome
    told: str
    kept: Check | None = None

    @property
    def decisive(self) -> PairedTest | None:
        """The test of the objective, compiled against uncompiled, by which the outcome was told; None where the cases
        have none."""
        against = next(one for one in self.comparisons if one.second == UNCOMPILED)
        return _named(against, self.objective)

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    @property
    def baselines(self) -> tuple[Measure, ...]:
        """What reads nothing, and people among themselves, on the same cases."""
        sections = self.row(COMPILED).evaluation.sections
        return (*sections.get("baselines", ()), *sections.get("people", ()))


def result(
    runs: Mapping[str, Sequence[Judged]],
    objective: Objective,
    *,
    bars: Mapping[str, Sequence[Judged]],
    seed: int,
    identity: Mapping[str, Any],
) -> Result:
    """Judges side by side.

    Args:
        runs: name -> verdicts of the test part; `uncompiled` and `compiled` are among them.
        bars: what costs less thought, alike: a compiled judge that does not beat these is told so. Those that are not
            among the runs get no row.
        identity: of the signature lines; the judge's name is put in.
    """
    taken = {name: run_arrays(judged) for name, judged in runs.items()}
    rows = tuple(
        Row(
            name=name,
            evaluation=evaluate(judged, {**identity, "judge": f"{identity['judge']} ({name})"}, seed=seed),
            calls=cost_per_verdict(taken[name]),
            tokens=_known(cost_per_verdict(taken[name], "tokens")),
        )
        for name, judged in runs.items()
    )
    others = taken | {name: run_arrays(judged) for name, judged in bars.items() if name not in runs}
    comparisons = compare([(COMPILED, others.pop(COMPILED)), *others.items()], seed, more=paired_tests(objective))
    outcome, told = _outcome(comparisons, objective)
    if unbeaten := [name for one in comparisons if one.second in bars and (name := _unbeaten(one, objective))]:
        told += f"; not shown to be better than {', '.join(unbeaten)}"
    n = max((one.cases for one in comparisons), default=0)
    return Result(objective=objective.name, n=n, rows=rows, comparisons=comparisons, outcome=outcome, told=told)


def _outcome(comparisons: Sequence[Comparison], objective: Objective) -> tuple[Outcome, str]:
    """What the decisive test says."""
    against = next(one for one in comparisons if one.second == UNCOMPILED)
    test = _named(against, objective.name)
    if test is None or test.p is None or test.difference.value is None:
        return "inconclusive", (
            f"the test part cannot tell: it has too few labelled cases on which both judges have a figure of "
            f"{objective.name}"
        )
    figure = test.difference
    interval = "" if figure.low is None or figure.high is None else f" [{figure.low:+.3f}, {figure.high:+.3f}]"
    name = test.name if objective.greater_is_better else f"{test.name} (lower is better)"
    told = f"{name} {figure.value:+.3f}{interval} against the uncompiled judge, n = {figure.n}, p = {test.p:.3g}"
    if test.p <= ALPHA and figure.value:
        return ("improved" if objective.gain(test) > 0 else "worse"), told
    return "inconclusive", f"{told}: no significant difference ({test.note})"


def _named(comparison: Comparison, name: str) -> PairedTest | None:
    return next((test for test in comparison.tests if test.name == name), None)


def _unbeaten(comparison: Comparison, objective: Objective) -> str:
    """The other judge's name, where the first is not shown to be better; by another figure, which is then told, where
    it has none of the objective: `longer` gives no probabilities."""
    by, test = "", _named(comparison, objective.name)
    if test is None:
        plain = OBJECTIVES.find(DEFAULTS["texts" if objective.kinds == TEXTS else "pairs"])
        by, test, objective = f" by {plain.name}", _named(comparison, plain.name), plain
    beaten = test is not None and test.p is not None and test.p <= ALPHA and objective.gain(test) > 0
    return "" if beaten else comparison.second + by


def _known(value: float) -> float | None:
    return None if value != value else value
