"""The result of a compilation: all judges on labels that they have not learnt from, compared case by case.

These labels are the untouched test part, or all labels, each judged by a head that was fitted without it and its group.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from ..data import Case, Judged
from ..data.case import Record
from ..errors import DeclarationError
from ..evaluation.compare import compare
from ..evaluation.drift import accuracy_record
from ..evaluation.evaluate import evaluate
from ..evaluation.results import Evaluation, Measure, PairedTest, RunComparison
from ..evaluation.run_arrays import run_arrays
from ..judging.judge import Judge
from ..stats.paired import holm
from ..stats.repeated_looks import ALPHA, adjusted_p
from .answer import Outcome, faults_of, headline_of, next_steps, outcome_of
from .aspect_results import AspectResult, aspect_results
from .certificates.certificate import Certificate
from .certificates.threshold_check import ThresholdCheck
from .changed_verdicts import Changes, changes_of
from .claims import Claim, claims_of
from .cost_account import TotalCost, cost_per_verdict
from .looks import Look, Looks
from .objective import DEFAULTS, OBJECTIVES, TEXTS, Objective, paired_tests, title_of
from .recipe import Estimate
from .silent_criteria import silent_aspects, silent_criteria

UNCOMPILED, COMPILED = "uncompiled", "compiled"
MAJORITY = "majority"
UNTUNED = "without fine-tuning"  # what the searches had where a trained model answers the compiled judge
RECORDED = ("agreement", "correlation")  # the sections of an evaluation that a training record holds


class JudgeOnTest(Record):
    """One judge on labels that it has not learnt from."""

    name: str = Field(description="`uncompiled`, `compiled`, the steps between them, or the name of a baseline")
    evaluation: Evaluation = Field(description="of its verdicts on the labels of the result")
    calls: float = Field(description="mean LM calls of a verdict, including those that the cache answered")
    tokens: float | None = Field(description="mean tokens of a verdict; None if the cache answered every call")


class Result(Record):
    """The test of a compiled judge against the uncompiled judge and the baselines."""

    estimate: Estimate = Field(
        default="split", description="split: on the test part; cross-fitted: on all labels, each out of fold"
    )
    objective: str = Field(description="name of the objective that was optimised")
    n: int = Field(description="labelled test cases that both judges of a comparison scored, at most")
    judges: tuple[JudgeOnTest, ...] = Field(description="`uncompiled` and `compiled` are always among them")
    comparisons: tuple[RunComparison, ...] = Field(
        description="the compiled judge against each other judge; p-values are adjusted for all tests (Holm)"
    )
    outcome: Outcome = Field(
        description="worse where verdicts or certainty got worse, or a baseline is better; improved where verdicts, "
        "certainty or selective use are better, significant at 5 % by adjusted p-values; else inconclusive"
    )
    summary: str = Field(description="the objective, compiled against uncompiled, in one sentence")
    headline: str = Field(default="", description="what improved, what did not and what cannot have; empty: not known")
    faults: tuple[str, ...] = Field(default=(), description="what is wrong with the judge, before any gain")
    claims: tuple[Claim, ...] = Field(
        default=(), description="verdicts, certainty, selective use and cost, each with its test"
    )
    next_steps: tuple[str, ...] = Field(default=(), description="what to do next; the first matters most")
    beside: tuple[Claim, ...] = Field(
        default=(), description="the claims by the verdicts of all labels, out of fold, where the test part decides"
    )
    beside_n: int = Field(default=0, description="labelled cases of these")
    changes: Changes | None = Field(
        default=None, description="how many verdicts became right or wrong; None in folders of earlier versions"
    )
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
        return self.test_against(UNCOMPILED)

    def test_against(self, name: str) -> PairedTest | None:
        """The test of the objective, compiled against another judge; None without that judge, or if undefined."""
        comparison = next((comparison for comparison in self.comparisons if comparison.second == name), None)
        return None if comparison is None else _test_named(comparison, self.objective)

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
    final: Sequence[Judged] | None = None,
    order: Mapping[str, float] | None = None,
) -> Result:
    """Evaluate and compare judges on labels that they have not learnt from.

    Args:
        runs: name -> verdicts of these cases; `uncompiled` and `compiled` are among them.
        baselines: verdicts of cheap reference judges, in the same format as `runs`. The summary names each baseline
            that the compiled judge does not significantly beat. Baselines outside `runs` are compared but not listed.
        identity: of the run signatures; the name of each judge is added to its `judge`.
        count_looks: notes this test, once there is a p-value, and counts the earlier tests of the same cases.
        final: of a cross-fitted estimate: the verdicts of the judge that is delivered, on the same cases; see `claims`.
        order: of such an estimate: what ranks its verdicts; see there.
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
    evaluations = {judge.name: judge.evaluation for judge in judges}
    before, after = ((arrays[name], evaluations[name]) for name in (UNCOMPILED, COMPILED))
    decisive = next(comparison for comparison in comparisons if comparison.second == UNCOMPILED)
    claims = claims_of(
        runs[COMPILED], runs[UNCOMPILED], objective, decisive, final=final, order=order, seed=seed,
        look=looks.number if looks else 1,
    )  # fmt: skip
    against = _against(comparisons, baselines, objective)
    faults = faults_of(runs[COMPILED], runs[UNCOMPILED], against)
    unbeaten = [_unbeaten(comparison, objective) for comparison in comparisons if comparison.second in baselines]
    summary = _summary(comparisons, objective, looks)
    if any(unbeaten):
        summary += f"; not shown to be better than {', '.join(filter(None, unbeaten))}"
    aspects = aspect_results(objective, before, after, decisive, seed=seed)
    silent = (*silent_aspects(aspects), *silent_criteria(runs[UNCOMPILED]))
    chance = next((test for name, test, _ in against if name == MAJORITY), None)
    return Result(
        estimate="split" if final is None else "cross-fitted",
        objective=objective.name,
        n=max((comparison.cases for comparison in comparisons), default=0),
        judges=judges,
        comparisons=comparisons,
        outcome=outcome_of(claims, faults),
        summary=summary,
        headline=headline_of(claims, after[1]),
        faults=faults,
        claims=claims,
        next_steps=next_steps(claims, faults, chance, silent=silent),
        looks=looks,
        aspects=aspects,
        changes=changes_of(runs[COMPILED], runs[UNCOMPILED])[0],
    )


def claims_on_all(
    compiled: Sequence[Judged],
    uncompiled: Sequence[Judged],
    objective: Objective,
    *,
    order: Mapping[str, float],
    final: Sequence[Judged],
    seed: int,
) -> tuple[Claim, ...]:
    """The claims of all labelled cases out of fold, beside those of a test part."""
    arrays = [(COMPILED, run_arrays(compiled)), (UNCOMPILED, run_arrays(uncompiled))]
    (comparison,) = compare(arrays, seed, more=paired_tests(objective))
    return claims_of(compiled, uncompiled, objective, comparison, final=final, order=order, seed=seed)


def _against(
    comparisons: Sequence[RunComparison], baselines: Mapping[str, Sequence[Judged]], objective: Objective
) -> list[tuple[str, PairedTest, float]]:
    """Name, test and p-value of each baseline, adjusted for the number of baselines.

    By the objective; where it is of probabilities, which not every baseline has, by accuracy or correlation. A positive
    difference is in the judge's favour.
    """
    if objective.uses_probabilities:
        objective = OBJECTIVES.find(DEFAULTS["texts" if objective.kinds == TEXTS else "pairs"])
    tests = [
        (comparison.second, test if objective.greater_is_better else _turned(test))
        for comparison in comparisons
        if comparison.second in baselines and (test := _test_named(comparison, objective.name)) is not None
    ]
    p_values = holm([np.nan if test.p is None else test.p for _, test in tests])
    return [(name, test, float(p)) for (name, test), p in zip(tests, p_values, strict=True)]


def _turned(test: PairedTest) -> PairedTest:
    """The test of the baseline less the compiled judge, of a measure of which less is better."""
    value, low, high = (
        None if number is None else -number
        for number in (test.difference.value, test.difference.high, test.difference.low)
    )
    difference = test.difference.model_copy(update={"value": value, "low": low, "high": high})
    return test.model_copy(update={"name": f"{test.name} saved", "difference": difference})


def free_verdicts(judge: Judge, part: Sequence[Case]) -> dict[str, Sequence[Judged]]:
    """The verdicts of a judge without a model, by its name; empty if it cannot judge such cases."""
    try:
        return {judge.name: [Judged.of(case, judge(case)) for case in part]}
    except DeclarationError:
        return {}


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


def _summary(comparisons: Sequence[RunComparison], objective: Objective, looks: Looks | None) -> str:
    """The decisive test in a sentence."""
    test = _decisive(comparisons, objective)
    if test is None or test.p is None or test.p_looks is None or test.difference.value is None:
        return f"the labels are too few: on too few of them {objective.title} is defined for both judges"
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
    return (
        summary if test.p_looks <= ALPHA and difference.value else f"{summary}: no significant difference ({test.note})"
    )


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
        "headline": result.headline,
        "faults": list(result.faults),
        "summary": result.summary,
        "estimate": result.estimate,
        "claims": [claim.model_dump(mode="json") for claim in result.claims],
        "next_steps": list(result.next_steps),
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
