"""The headline of a page of runs: how two judges differ, or whether one can be trusted.

The text claims no more than the intervals show: a difference whose interval contains 0 is called not shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..evaluation.results import Evaluation, Measure, PairedTest, RunComparison
from .formatting import (
    MINUS,
    THIN,
    counted,
    format_interval,
    format_measure,
    format_p_value,
    format_value,
    readable,
    unit_of,
)
from .run_report import FEW, LeadMeasure, RunReport, lead_measure
from .run_sections import main_test

Tone = Literal["good", "warn", "bad", "neutral"]
Side = Literal["above", "below", "unclear"]


@dataclass(frozen=True)
class Headline:
    """The main result in a few words, and the sentences that support it."""

    tone: Tone
    words: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class PageAnswer:
    """One question of the page, answered by a value and a line; `part` is the key of the part with the details."""

    question: str
    value: str
    line: str
    part: str
    tone: Tone = "neutral"


def headline(
    runs: Sequence[RunReport], lead: LeadMeasure | None, comparisons: Sequence[RunComparison] = ()
) -> Headline:
    """The difference between the runs, where they are compared; else the result of the run of `lead` against baselines
    and human annotators.

    Args:
        comparisons: of the first run with the others.
    """
    if not runs:
        return Headline("neutral", "Nothing to report", ("No run was given.",))
    tested = [(comparison, test) for comparison in comparisons if (test := main_test(comparison)) is not None]
    if tested:
        return _difference_headline(runs, tested)
    if lead is None:
        scored = sum(run.evaluation.scored for run in runs)
        sentence = f"{counted(scored, 'verdict')}; without human labels their accuracy is unknown."
        warnings = dict.fromkeys(_sentence(warning) for run in runs for warning in run.evaluation.warnings)
        return Headline("neutral", "No human labels to compare with", (sentence, *warnings))
    run = next(run for run in runs if run.name == lead.run)
    leads = [other for other in map(lead_measure, runs) if other is not None]
    sentences = [
        _agreement(lead),
        _baseline(lead),
        _ceiling(lead),
        _unscored(run.evaluation),
        *map(_sentence, (*run.evaluation.warnings, *run.evaluation.notices)),
        _best_run(lead, leads),
    ]
    return Headline(*judgement(lead), tuple(filter(None, sentences)))


def _difference_headline(runs: Sequence[RunReport], tested: Sequence[tuple[RunComparison, PairedTest]]) -> Headline:
    """How the first run differs from each other one, and how each does against its baselines."""
    leads = {lead.run: lead for lead in map(lead_measure, runs) if lead is not None}
    sentences = [
        sentence
        for comparison, test in tested
        for sentence in (_compared(comparison, test, leads), _other_differences(comparison, test))
    ]
    sentences += _against_baselines([leads[run.name] for run in runs if run.name in leads])
    notes = [(run, note) for run in runs for note in (*run.evaluation.warnings, *run.evaluation.notices)]
    by_note: dict[str, list[str]] = {}
    for run, note in notes:
        by_note.setdefault(note, []).append(run.name)
    sentences += [
        _sentence(note if len(names) == len(runs) else f"of {_listed(names)}: {note}")
        for note, names in by_note.items()
    ]
    return Headline(*_difference_words(runs[0].name, tested), tuple(filter(None, sentences)))


def _difference_words(first: str, tested: Sequence[tuple[RunComparison, PairedTest]]) -> tuple[Tone, str]:
    """Which of the judges is better, in a few words; where nothing is shown, that."""
    better = [comparison.second for comparison, test in tested if difference_side(test) == "above"]
    worse = [comparison.second for comparison, test in tested if difference_side(test) == "below"]
    if not better and not worse:
        others = _listed([comparison.second for comparison, _ in tested])
        return "warn", f"No difference in {_figure(tested[0][1])} shown between {first} and {others}"
    words = [f"better than {_listed(better)}"] if better else []
    words += [f"worse than {_listed(worse)}"] if worse else []
    rest = [comparison.second for comparison, _ in tested if comparison.second not in (*better, *worse)]
    words += [f"not shown to differ from {_listed(rest)}"] if rest else []
    tone: Tone = "good" if better and not worse else "bad" if worse and not better else "neutral"
    return tone, f"The judge {first} is {_listed(words)}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def difference_side(test: PairedTest) -> Side:
    """The side of 0 of the difference, where the adjusted test shows one and the interval leaves out 0."""
    p = test.p if test.p_holm is None else test.p_holm
    return "unclear" if p is None or p >= 0.05 else side_of_zero(test.difference)


def _compared(comparison: RunComparison, test: PairedTest, leads: Mapping[str, LeadMeasure]) -> str:
    """The difference with its interval and p-value; with both figures where they are of the same cases."""
    first, second, n = comparison.first, comparison.second, test.difference.n
    difference = test.difference.model_copy(update={"null_value": 0.0})
    measures = [leads[name].measure for name in (first, second) if name in leads]
    on = f"On the {n:,} labelled cases that both judged,"
    figure = _figure(test)
    if len(measures) == 2 and all(measure.name == test.name and measure.n == n for measure in measures):
        figures = [format_measure(measure) for measure in measures]
        words = f"{on} {figure} is {figures[0]} for {first} and {figures[1]} for {second}"
        return f"{words}: a difference of {format_measure(difference)} ({_evidence(test, difference)})."
    is_above, value = (difference.value or 0.0) >= 0, format_measure(difference).lstrip(f"+{MINUS}")
    if test.name == "accuracy":
        words = f"{first} agrees with the human label {value} {'more' if is_above else 'less'} often than {second}"
    else:
        words = f"the {figure} of {first} is {value} {'above' if is_above else 'below'} that of {second}"
    return f"{on} {words} ({_evidence(test, difference)})."


def _figure(test: PairedTest) -> str:
    return "agreement with the human label" if test.name == "accuracy" else readable(test.name)


def _other_differences(comparison: RunComparison, main: PairedTest) -> str:
    """What else the adjusted tests show to differ; empty for nothing."""
    shown = [test for test in comparison.tests if test is not main and difference_side(test) != "unclear"]
    if not shown:
        return ""
    differences = (test.difference.model_copy(update={"null_value": 0.0}) for test in shown)
    pairs = zip(shown, differences, strict=True)
    words = _listed([f"{readable(test.name)} ({format_measure(difference)})" for test, difference in pairs])
    return f"They are shown to differ in {words}; differences are {comparison.first} less {comparison.second}."


def _evidence(test: PairedTest, difference: Measure) -> str:
    """Interval and p-value of a difference."""
    p = format_p_value(test.p if test.p_holm is None else test.p_holm)
    adjusted = ", adjusted for all comparisons below" if test.p_holm is not None and test.p_holm != test.p else ""
    interval = format_interval(difference)
    shown = f"95{THIN}% interval {interval}; " if interval else ""
    return f"{shown}p {'' if p.startswith('<') else '= '}{p}{adjusted}"


def _against_baselines(leads: Sequence[LeadMeasure]) -> list[str]:
    """How each judge does against its baselines; judges of which the same is to be said in one sentence."""
    by_words: dict[str, list[str]] = {}
    for lead in leads:
        words = judgement(lead)[1]
        by_words.setdefault(f"{words[:1].lower()}{words[1:]}", []).append(lead.run)
    return [
        _sentence(f"{words}: {_listed(names)}")
        if words.startswith(("no ", "too "))
        else f"The judge{'s' if len(names) > 1 else ''} {_listed(names)} {'are' if len(names) > 1 else 'is'} {words}."
        for words, names in by_words.items()
    ]


def _sentence(words: str) -> str:
    """With a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith(('.', '!', '?')) else '.'}"


def side_of_zero(difference: Measure | None) -> Side:
    """The side of 0 on which the whole interval lies; unclear if it contains 0, or is unknown."""
    if difference is None or difference.low is None or difference.high is None:
        return "unclear"
    return "above" if difference.low > 0 else "below" if difference.high < 0 else "unclear"


def judgement(lead: LeadMeasure) -> tuple[Tone, str]:
    """Whether the judge is better than every baseline, in a few words."""
    baseline = lead.strongest_baseline
    if lead.is_small:
        return "warn", "Too few labelled cases for a conclusion"
    if baseline is None:
        return "neutral", "No baseline to compare with"
    side = side_of_zero(lead.margins.get(baseline.name))
    if side == "above" and all(side_of_zero(lead.margins.get(b.name)) == "above" for b in lead.baselines):
        return "good", "Better than every baseline"
    if side == "below":
        return "bad", f"Worse than the baseline “{readable(baseline.name)}”"
    return "warn", f"Not shown to be better than the baseline “{readable(baseline.name)}”"


def _agreement(lead: LeadMeasure) -> str:
    measure = lead.measure
    has_groups = measure.groups is not None and measure.groups < measure.n
    groups = f" in {measure.groups:,} independent groups" if has_groups else ""
    interval = format_interval(measure, " to ")
    unit = f"{THIN}%" if measure.kind == "proportion" else ""
    interval = f" (95{THIN}% interval {interval}{unit})" if interval else ""
    small = f" Fewer than {FEW} cannot separate a good judge from a bad one." if lead.is_small else ""
    cases = f"{measure.n:,} labelled cases{groups}{interval}.{small}"
    if measure.name == "accuracy":
        return f"The judge {lead.run} agrees with the human label on {format_measure(measure)} of {cases}"
    if measure.name == "mean of orders":
        of = f"{format_measure(measure)}, in the mean of both orders, of {cases}"
        return f"The judge {lead.run} agrees with the human label on {of}"
    reached = f"{readable(measure.name)} {format_measure(measure)}"
    return f"The judge {lead.run} reaches {reached} with the human labels on {cases}"


def _baseline(lead: LeadMeasure) -> str:
    baseline = lead.strongest_baseline
    if baseline is None:
        return ""
    name = f"the best baseline, “{readable(baseline.name)}” at {format_measure(baseline)}"
    margin = lead.margins.get(baseline.name)
    side = side_of_zero(margin)
    if side == "unclear" or margin is None:
        difference = f" (difference {_difference(margin)})" if margin is not None else ""
        return f"It is not significantly different from {name}{difference}."
    return f"On the same cases that is {_difference(margin, signed=False)} {side} {name}."


def _ceiling(lead: LeadMeasure) -> str:
    ceiling, margin = lead.ceiling, lead.margin_over_person
    if ceiling is None:
        return ""
    sentence = f"The human ceiling (one annotator against the others) is {format_measure(ceiling)}"
    if margin is None:
        return f"{sentence}."
    side = side_of_zero(margin)
    if side == "unclear":
        return f"{sentence}; the judge is not significantly different from an annotator ({_difference(margin)})."
    return f"{sentence}; on the same cases the judge is {_difference(margin, signed=False)} {side} an annotator."


def _difference(difference: Measure, *, signed: bool = True) -> str:
    """A difference and its interval, "+13.3 points, +8.3 to +18.3"; unsigned if the sentence names the side."""
    interval = format_interval(difference)
    if signed or difference.value is None or difference.low is None or difference.high is None:
        return f"{format_measure(difference)}, {interval}" if interval else format_measure(difference)
    low, high = sorted((abs(difference.low), abs(difference.high)))
    unit = unit_of(difference)
    value, *ends = (format_value(end, unit).lstrip("+") for end in (abs(difference.value), low, high))
    return f"{value} ({' to '.join(end.split(THIN)[0] for end in ends)})"


def _best_run(lead: LeadMeasure, leads: Sequence[LeadMeasure]) -> str:
    """The run with the highest value, if it is another one."""
    comparable = [other for other in leads if other.is_comparable(lead)]
    best = max(comparable, key=lambda other: other.value, default=lead)
    if best.value <= lead.value:
        return ""
    name = readable(lead.measure.name)
    return f"Of the runs on this page {best.run} has the highest {name}, {format_measure(best.measure)}."


def _unscored(evaluation: Evaluation) -> str:
    missing = evaluation.cases - evaluation.scored
    if not missing:
        return ""
    reasons = ", ".join(f"{readable(reason)} {n:,}" for reason, n in sorted(evaluation.unscored.items()))
    reasons = f" ({reasons})" if reasons else ""
    return f"{missing:,} of {evaluation.cases:,} cases have no verdict{reasons} and are left out."
