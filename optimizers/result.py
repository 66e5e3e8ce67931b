"""The result of a compilation: all judges on the untouched test part, compared case by case."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from ..data import Judged
from ..data.case import Record
from ..evaluation.compare import compare
from ..evaluation.drift import accuracy_record
from ..evaluation.evaluate import evaluate
from ..evaluation.results import Evaluation, Measure, PairedTest, RunComparison
from ..evaluation.run_arrays import run_arrays
from ..stats.repeated_looks import ALPHA, adjusted_p
from .aspect_results import AspectResult, aspect_results
from .certificates.certificate import Certificate
from .certificates.threshold_check import ThresholdCheck
from .cost_account import TotalCost, cost_per_verdict
from .looks import Look, Looks
from .objective import DEFAULTS, OBJECTIVES, TEXTS, Objective, paired_tests, title_of

Outcome = Literal["improved", "worse", "inconclusive"]
UNCOMPILED, COMPILED = "uncompiled", "compiled"
RECORDED = ("agreement", "correlation")  # the sections of an evaluation that a training record holds


class JudgeOnTest(Record):
    """One judge on the test part."""

    name: str = Field(description="`uncompiled`, `compiled`, the steps between them, or the name of a baseline")
    evaluation: Evaluation = Field(description="of its verdicts on the test part")
    calls: float = Field(description="mean LM calls of a verdict, including those that the cache answered")
    tokens: float | None = Field(description="mean tokens of a verdict; None if the cache answered every call")


class Result(Record):
    """The test of a compiled judge against the uncompiled judge and the baselines."""

    objective: str = Field(description="name of the objective that was optimised")
    n: int = Field(description="labelled test cases that both judges of a comparison scored, at most")
    judges: tuple[JudgeOnTest, ...] = Field(description="`uncompiled` and `compiled` are always among them")
    comparisons: tuple[RunComparison, ...] = Field(
        description="the compiled judge against each other judge; p-values are adjusted for all tests (Holm)"
    )
    outcome: Outcome = Field(
        description="compiled against uncompiled on the objective: significant at 5 % or not, by the p-value that is "
        "adjusted for earlier tests of the same cases"
    )
    summary: str = Field(description="the outcome in one sentence")
    threshold_check: ThresholdCheck | None = Field(
        default=None, description="the certified threshold on the test part; None without a threshold"
    )
    looks: Looks | None = Field(
        default=None, description="how often the cases of the test part were tested before; None: not counted"
    )

    aspects: tuple[AspectResult, ...] = Field(
        default=(), description="the objective by aspect, before and after; empty where the cases are not of several"
    )

    @property
    def decisive_test(self) -> PairedTest | None:
        """The test of the objective, compiled against uncompiled, that decides the outcome; None if undefined."""
        comparison = next(comparison for comparison in self.comparisons if comparison.second == UNCOMPILED)
        return _test_named(comparison, self.objective)

    @property
    def withdrawal(self) -> str:
        """Why the certificate is withdrawn, in a sentence: the accepted verdicts of the test part contradict it. Else
        empty."""
        if self.threshold_check is None or self.threshold_check.holds is not False:
            return ""
        return "The certificate is withdrawn, and the judge file has no threshold: the test part contradicts it."

    @property
    def compiled(self) -> JudgeOnTest:
        return self.judge(COMPILED)

    @property
    def uncompiled(self) -> JudgeOnTest:
        return self.judge(UNCOMPILED)

    def judge(self, name: str) -> JudgeOnTest:
        return next(judge for judge in self.judges if judge.name == name)

    @property
    def reference_measures(self) -> tuple[Measure, ...]:
        """Baselines without a model, and human agreement, on the same cases."""
        sections = self.compiled.evaluation.sections
        return (*sections.get("baselines", ()), *sections.get("people", ()))


def compare_on_test(
    runs: Mapping[str, Sequence[Judged]],
    objective: Objective,
    *,
    baselines: Mapping[str, Sequence[Judged]],
    seed: int,
    identity: Mapping[str, Any],
    count_looks: Callable[[], Looks] | None = None,
) -> Result:
    """Evaluate and compare judges on the test part.

    Args:
        runs: name -> verdicts of the test part; `uncompiled` and `compiled` are among them.
        baselines: verdicts of cheap reference judges, in the same format as `runs`. The summary names each baseline
            that the compiled judge does not significantly beat. Baselines outside `runs` are compared but not listed.
        identity: of the run signatures; the name of each judge is added to its `judge`.
        count_looks: notes this test, once there is a p-value, and counts the earlier tests of the same cases.
    """
    arrays = {name: run_arrays(verdicts) for name, verdicts in runs.items()}
    judges = tuple(
        JudgeOnTest(
            name=name,
            evaluation=evaluate(verdicts, {**identity, "judge": f"{identity['judge']} ({name})"}, seed=seed),
            calls=cost_per_verdict(arrays[name]),
            tokens=_none_if_nan(cost_per_verdict(arrays[name], "tokens")),
        )
        for name, verdicts in runs.items()
    )
    others = arrays | {name: run_arrays(verdicts) for name, verdicts in baselines.items() if name not in runs}
    comparisons = compare([(COMPILED, others.pop(COMPILED)), *others.items()], seed, more=paired_tests(objective))
    looks = count_looks() if count_looks and _has_p_value(comparisons, objective) else None
    comparisons = _adjusted(comparisons, looks)
    outcome, summary = _outcome(comparisons, objective, looks)
    evaluations = {judge.name: judge.evaluation for judge in judges}
    before, after = ((arrays[name], evaluations[name]) for name in (UNCOMPILED, COMPILED))
    decisive = next(comparison for comparison in comparisons if comparison.second == UNCOMPILED)
    unbeaten = [_unbeaten(comparison, objective) for comparison in comparisons if comparison.second in baselines]
    if any(unbeaten):
        summary += f"; not shown to be better than {', '.join(filter(None, unbeaten))}"
    return Result(
        objective=objective.name,
        n=max((comparison.cases for comparison in comparisons), default=0),
        judges=judges,
        comparisons=comparisons,
        outcome=outcome,
        summary=summary,
        looks=looks,
        aspects=aspect_results(objective, before, after, decisive, seed=seed),
    )


def _has_p_value(comparisons: Sequence[RunComparison], objective: Objective) -> bool:
    test = _decisive(comparisons, objective)
    return test is not None and test.p is not None


def _adjusted(comparisons: Sequence[RunComparison], looks: Looks | None) -> tuple[RunComparison, ...]:
    """The comparisons with p-values adjusted for earlier looks.

    The comparisons with baselines are adjusted like the decisive test: each claims that a judge is better, on the same
    cases and as often.
    """
    number = looks.number if looks else 1

    def adjusted(test: PairedTest) -> PairedTest:
        return test if test.p is None else test.model_copy(update={"p_looks": adjusted_p(test.p, number)})

    return tuple(
        comparison.model_copy(update={"tests": tuple(map(adjusted, comparison.tests))}) for comparison in comparisons
    )


def _decisive(comparisons: Sequence[RunComparison], objective: Objective) -> PairedTest | None:
    comparison = next(comparison for comparison in comparisons if comparison.second == UNCOMPILED)
    return _test_named(comparison, objective.name)


def _outcome(comparisons: Sequence[RunComparison], objective: Objective, looks: Looks | None) -> tuple[Outcome, str]:
    """The outcome of the decisive test and its summary."""
    test = _decisive(comparisons, objective)
    if test is None or test.p is None or test.p_looks is None or test.difference.value is None:
        return "inconclusive", (
            f"the test part is too small: on too few labelled cases {objective.title} is defined for both judges"
        )
    difference = test.difference
    interval = (
        "" if difference.low is None or difference.high is None else f" [{difference.low:+.3f}, {difference.high:+.3f}]"
    )
    name = test.name if objective.greater_is_better else f"{test.name} (lower is better)"
    summary = (
        f"{name} {difference.value:+.3f}{interval} against the uncompiled judge, n = {difference.n}, p = {test.p:.3g}"
    )
    if looks is not None and looks.number > 1:
        summary += f"; {looks.sentence}, adjusted p = {test.p_looks:.3g}"
    if test.p_looks <= ALPHA and difference.value:
        return ("improved" if objective.gain(test) > 0 else "worse"), summary
    return "inconclusive", f"{summary}: no significant difference ({test.note})"


def _test_named(comparison: RunComparison, name: str) -> PairedTest | None:
    """The test of this objective; earlier versions named it by the objective's name also where it has a title."""
    tests = {test.name: test for test in comparison.tests}
    return tests.get(title_of(name)) or tests.get(name)


def _unbeaten(comparison: RunComparison, objective: Objective) -> str:
    """The baseline's name if the compiled judge is not shown to be better, else "".

    A baseline without the objective (`longer` has no probabilities) is compared by the default objective, which is then
    named.
    """
    metric, test = "", _test_named(comparison, objective.name)
    if test is None:
        objective = OBJECTIVES.find(DEFAULTS["texts" if objective.kinds == TEXTS else "pairs"])
        metric, test = f" by {objective.title}", _test_named(comparison, objective.name)
    is_beaten = test is not None and test.p_looks is not None and test.p_looks <= ALPHA and objective.gain(test) > 0
    return "" if is_beaten else comparison.second + metric


def _none_if_nan(value: float) -> float | None:
    return None if value != value else value


def training_record(
    result: Result | None,
    certificate: Certificate | None,
    *,
    origin: Mapping[str, Any],
    spent: TotalCost,
    looks: Sequence[Look] = (),
) -> dict[str, Any]:
    """The training record of a judge file, as JSON: the cases, the cost, and the test results.

    Args:
        result: None for a judge whose compilation stopped before the test; its outcome is then "untested".
        origin: sizes of the parts, digest of the cases, seed.
        spent: by the whole compilation.
        looks: this test and the earlier ones of the same cases.
    """
    check = result.threshold_check if result else None
    record = {**origin, "spent": spent.model_dump(mode="json")}
    if result is None:
        return {**record, "outcome": "untested", "summary": "the compilation was stopped before the test"}
    return {
        "before": accuracy_record(result.uncompiled.evaluation),
        "after": accuracy_record(result.compiled.evaluation),
        "objective": result.objective,
        "outcome": result.outcome,
        "summary": result.summary,
        **record,
        "test": {judge.name: _recorded_measures(judge) for judge in result.judges},
        **({"aspects": [aspect.model_dump(mode="json") for aspect in result.aspects]} if result.aspects else {}),
        "baselines": [measure.model_dump(mode="json") for measure in result.reference_measures],
        "certificate": certificate.model_dump(mode="json") if certificate else None,
        **({"withdrawn": f"{check.summary()} {result.withdrawal}"} if check and result.withdrawal else {}),
        "looks": [look.model_dump() for look in looks],
    }


def _recorded_measures(judge: JudgeOnTest) -> dict[str, Any]:
    measures = (measure for name in RECORDED for measure in judge.evaluation.sections.get(name, ()))
    return {
        "measures": {measure.name: measure.model_dump(mode="json") for measure in measures},
        "calls": judge.calls,
        "tokens": judge.tokens,
    }
