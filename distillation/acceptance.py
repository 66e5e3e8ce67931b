"""Acceptance: may the student replace its teacher, by people's labels that neither was fitted to?

Three checks of the objective on the test part, each by the paired difference with its 95 % interval over whole groups:

    teacher     the student is not worse than its teacher by a margin that is stated before (non-inferiority)
    base        it is not shown to be worse than the model that it was trained from, with a head fitted to labels
    majority    it is better than the most frequent label: two judges that know nothing do not differ either

The student is rejected if the interval contradicts a check, accepted if all of them hold, else undecided. That training
helped is not required, and the summary says where it is not shown.

Where the cases were tested before, the intervals are widened to the level of `stats.repeated_looks`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from ..data import Judged
from ..data.case import Record
from ..evaluation.compare import compare
from ..evaluation.evaluate import evaluate
from ..evaluation.results import Measure, PairedTest, RunComparison
from ..evaluation.run_arrays import RunArrays, run_arrays
from ..optimizers.cost_account import cost_per_verdict
from ..optimizers.objective import TEXTS, Objective, paired_tests, title_of
from ..optimizers.result import JudgeOnTest
from ..stats.repeated_looks import ALPHA
from ..stats.resampling import quantile
from .measured_cost import MeasuredCost

STUDENT, TEACHER, BASE, UNTRAINED = "student", "teacher", "base with a head", "base"
MAJORITY, LONGER = "majority", "longer"
MARGIN = 0.05
Decision = Literal["accepted", "rejected", "undecided"]
Claim = Literal["not worse than", "not shown to be worse than", "better than"]


class Check(Record):
    """One comparison that the student must pass."""

    claim: Claim = Field(description="what the interval must say of the student")
    other: str = Field(description="the judge that the student is compared with")
    margin: float = Field(description="the loss of the objective that is accepted; 0: none")
    gain: float | None = Field(description="the student's advantage in the objective; None: not defined")
    low: float | None = Field(description="lower end of the interval of the advantage, widened for earlier tests")
    high: float | None = Field(description="upper end")
    holds: bool | None = Field(description="None: the labels are too few to say it")

    @property
    def sentence(self) -> str:
        """The check in words, as in "not worse than teacher by 0.05: holds (-0.010 [-0.040, +0.020])"."""
        by = f" by {self.margin:g}" if self.margin else ""
        verdict = {True: "holds", False: "contradicted", None: "open"}[self.holds]
        interval = "" if self.low is None or self.high is None else f" [{self.low:+.3f}, {self.high:+.3f}]"
        figure = "" if self.gain is None else f" ({self.gain:+.3f}{interval})"
        return f"{self.claim} {self.other}{by}: {verdict}{figure}"


class JudgeCost(Record):
    """What a verdict of one judge takes."""

    name: str = Field(description="of the judge")
    calls: float = Field(description="mean LM calls, those that the cache answered included")
    tokens: float | None = Field(description="mean tokens; None where the cache answered every call")
    seconds: float | None = Field(
        default=None, description="mean seconds of waiting for its calls, summed; None where all were cached"
    )
    dollars: float | None = Field(default=None, description="mean US dollars; None where no price is known")
    memory: int | None = Field(default=None, description="bytes of the weights on this machine; None: a server's")
    measured: MeasuredCost | None = Field(
        default=None, description="verdicts of student and teacher, one at a time; None: a server's, or another judge"
    )


class Acceptance(Record):
    """The student on the untouched test part, beside its teacher and what costs less."""

    objective: str = Field(description="name of the objective")
    margin: float = Field(description="the loss against the teacher that is accepted")
    n: int = Field(description="labelled test cases that the student and its teacher scored")
    looks: int = Field(description="of this test among those that share a case with it; 1: the first")
    judges: tuple[JudgeOnTest, ...] = Field(description="the student first")
    costs: tuple[JudgeCost, ...] = Field(description="of the same judges")
    comparisons: tuple[RunComparison, ...] = Field(description="the student against each other judge and baseline")
    checks: tuple[Check, ...] = Field(description="what decided")
    outcome: Decision = Field(description="of all checks together")
    summary: str = Field(description="the outcome in a sentence")

    @property
    def student(self) -> JudgeOnTest:
        return self.judge(STUDENT)

    @property
    def teacher(self) -> JudgeOnTest:
        return self.judge(TEACHER)

    def judge(self, name: str) -> JudgeOnTest:
        return next(judge for judge in self.judges if judge.name == name)

    def cost(self, name: str) -> JudgeCost:
        return next(cost for cost in self.costs if cost.name == name)

    @property
    def reference_measures(self) -> tuple[Measure, ...]:
        """Baselines without a model, and human agreement, on the same cases."""
        sections = self.student.evaluation.sections
        return (*sections.get("baselines", ()), *sections.get("people", ()))

    def test_against(self, other: str) -> PairedTest | None:
        """The paired test of the objective against another judge; None where it is not defined."""
        comparison = next((row for row in self.comparisons if row.second == other), None)
        return None if comparison is None else _test(comparison, title_of(self.objective), self.objective)


def accept(
    runs: Mapping[str, Sequence[Judged]],
    objective: Objective,
    *,
    baselines: Mapping[str, Sequence[Judged]],
    identity: Mapping[str, Any],
    margin: float = MARGIN,
    looks: int = 1,
    memory: Mapping[str, int | None] = {},
    measured: Mapping[str, MeasuredCost | None] = {},
    seed: int = 0,
) -> Acceptance:
    """Compare the student with its teacher, its base and baselines on the test part, and decide.

    Args:
        runs: name -> verdicts of the test part; `student` and `teacher` are among them.
        baselines: verdicts of judges without a model, such as `majority`.
        identity: of the run signatures; the name of each judge is added to its `judge`.
        margin: the loss of the objective against the teacher that is accepted, above 0.
        looks: tests that share cases with this one, this one included.
        memory: name -> bytes of the weights of a judge's models on this machine.
        measured: name -> what a verdict took, where it was measured.
    """
    arrays = {name: run_arrays(verdicts) for name, verdicts in runs.items()}
    judges = tuple(_on_test(name, runs[name], arrays[name], identity, seed) for name in arrays)
    costs = tuple(_cost(name, arrays[name], memory.get(name), measured.get(name)) for name in arrays)
    others = {**{name: run for name, run in arrays.items() if name != STUDENT}, **_arrays(baselines)}
    comparisons = compare([(STUDENT, arrays[STUDENT]), *others.items()], seed, more=paired_tests(objective))
    tests = {comparison.second: _test(comparison, objective.title, objective.name) for comparison in comparisons}
    checks = [_check("not worse than", TEACHER, tests[TEACHER], objective, margin, looks)]
    base = next((name for name in (BASE, UNTRAINED) if name in runs), None)
    if base is not None:
        checks.append(_check("not shown to be worse than", base, tests[base], objective, 0.0, looks))
    if MAJORITY in baselines and objective.kinds != TEXTS:
        checks.append(_check("better than", MAJORITY, tests[MAJORITY], objective, 0.0, looks))
    outcome = _outcome(checks)
    return Acceptance(
        objective=objective.name,
        margin=margin,
        n=next(comparison.cases for comparison in comparisons if comparison.second == TEACHER),
        looks=looks,
        judges=judges,
        costs=costs,
        comparisons=comparisons,
        checks=tuple(checks),
        outcome=outcome,
        summary=_summary(outcome, checks, tests, objective, looks),
    )


def widened(measure: Measure, looks: int) -> tuple[float, float] | None:
    """The ends of a 95 % interval at the level of this look; None without an interval.

    A Student interval is as long as its quantile, so that the distances from the value are stretched by the ratio of
    two quantiles. A bounded interval becomes longer than it need be.
    """
    if measure.value is None or measure.low is None or measure.high is None:
        return None
    level = 1 - ALPHA / max(1, looks * (looks - 1))
    stretch = quantile(level, measure.freedom) / quantile(1 - ALPHA, measure.freedom)
    return (
        measure.value - stretch * (measure.value - measure.low),
        measure.value + stretch * (measure.high - measure.value),
    )


def _check(claim: Claim, other: str, test: PairedTest | None, objective: Objective, margin: float, looks: int) -> Check:
    """The check of one paired test; it is open where the test or its interval is not defined."""
    ends = widened(test.difference, looks) if test is not None else None
    if test is None or ends is None:
        return Check(claim=claim, other=other, margin=margin, gain=None, low=None, high=None, holds=None)
    low, high = ends if objective.greater_is_better else (-ends[1], -ends[0])
    supported = high >= 0 if claim == "not shown to be worse than" else low > -margin
    holds = True if supported else False if high < -margin else None
    return Check(claim=claim, other=other, margin=margin, gain=objective.gain(test), low=low, high=high, holds=holds)


def _outcome(checks: Sequence[Check]) -> Decision:
    if any(check.holds is False for check in checks):
        return "rejected"
    return "accepted" if all(check.holds for check in checks) else "undecided"


def _summary(
    outcome: Decision,
    checks: Sequence[Check],
    tests: Mapping[str, PairedTest | None],
    objective: Objective,
    looks: int,
) -> str:
    """The checks that decided, then what the student is not shown to be better than."""
    decisive = {
        "accepted": checks[:1],
        "rejected": [check for check in checks if check.holds is False],
        "undecided": [check for check in checks if check.holds is None],
    }[outcome]
    lower = "" if objective.greater_is_better else " (lower is better; differences are gains)"
    words = f"{outcome} by {objective.title}{lower}: {'; '.join(check.sentence for check in decisive)}"
    if looks > 1:
        words += f"; intervals are widened, as {tested_before(looks)}"
    open_claims = [*_unbeaten(tests, objective, looks)]
    return words + (f"; not shown to be better than {', '.join(open_claims)}" if open_claims else "")


def _unbeaten(tests: Mapping[str, PairedTest | None], objective: Objective, looks: int) -> Iterator[str]:
    """What costs less than the student, or as much, and that it is not shown to be better than."""
    for name in (BASE, UNTRAINED, LONGER, MAJORITY):
        if name in tests and _check("better than", name, tests[name], objective, 0.0, looks).holds is not True:
            yield name


def tested_before(looks: int) -> str:
    """That earlier acceptances used the cases of this one; `looks` counts this one too, from 2."""
    return f"these cases were tested {'once' if looks == 2 else f'{looks - 1} times'} before"


def _arrays(runs: Mapping[str, Sequence[Judged]]) -> dict[str, RunArrays]:
    return {name: run_arrays(verdicts) for name, verdicts in runs.items()}


def _test(comparison: RunComparison, *names: str) -> PairedTest | None:
    return next((test for test in comparison.tests if test.name in names), None)


def _on_test(
    name: str, verdicts: Sequence[Judged], arrays: RunArrays, identity: Mapping[str, Any], seed: int
) -> JudgeOnTest:
    tokens = cost_per_verdict(arrays, "tokens")
    return JudgeOnTest(
        name=name,
        evaluation=evaluate(verdicts, {**identity, "judge": f"{identity['judge']} ({name})"}, seed=seed),
        calls=cost_per_verdict(arrays),
        tokens=_known(tokens),
    )


def _cost(name: str, arrays: RunArrays, memory: int | None, measured: MeasuredCost | None) -> JudgeCost:
    usage, answers = arrays.usage, arrays.usage.calls + arrays.usage.cached
    dollars = None if usage.cost is None or not usage.calls else usage.cost * answers / usage.calls / arrays.cases
    return JudgeCost(
        name=name,
        calls=cost_per_verdict(arrays),
        tokens=_known(cost_per_verdict(arrays, "tokens")),
        seconds=_known(cost_per_verdict(arrays, "seconds")),
        dollars=dollars,
        memory=memory,
        measured=measured,
    )


def _known(value: float) -> float | None:
    return None if value != value else value
