"""The headline of a run page: can the judge be trusted, is it calibrated, where is it wrong, what does it cost.

The text claims no more than the intervals show: a difference whose interval contains 0 is called not shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..evaluation.results import ConfusionTable, Evaluation, Measure
from .formatting import THIN, counted, format_interval, format_measure, format_value, readable, unit_of
from .run_report import FEW, LeadMeasure, RunReport, lead_measure, measure_named

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


def headline(runs: Sequence[RunReport], lead: LeadMeasure | None) -> Headline:
    """The result of the run of `lead`, compared with baselines, human annotators and the other runs."""
    if not runs:
        return Headline("neutral", "Nothing to report", ("No run was given.",))
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
    return Headline(*_judgement(lead), tuple(filter(None, sentences)))


def _sentence(warning: str) -> str:
    return f"{warning[:1].upper()}{warning[1:]}"


def answers(run: RunReport) -> tuple[PageAnswer, ...]:
    """The questions that this run can answer."""
    evaluation = run.evaluation
    possible = (_trust(run), _certainty(evaluation), _errors(run), _bias(evaluation), _cost(evaluation))
    return tuple(answer for answer in possible if answer is not None)


def side_of_zero(difference: Measure | None) -> Side:
    """The side of 0 on which the whole interval lies; unclear if it contains 0, or is unknown."""
    if difference is None or difference.low is None or difference.high is None:
        return "unclear"
    return "above" if difference.low > 0 else "below" if difference.high < 0 else "unclear"


def _judgement(lead: LeadMeasure) -> tuple[Tone, str]:
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
        return f"{lead.run} agrees with the human label on {format_measure(measure)} of {cases}"
    if measure.name == "mean of orders":
        of = f"{format_measure(measure)}, in the mean of both orders, of {cases}"
        return f"{lead.run} agrees with the human label on {of}"
    return f"{lead.run} reaches {readable(measure.name)} {format_measure(measure)} with the human labels on {cases}"


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


def _trust(run: RunReport) -> PageAnswer | None:
    lead = lead_measure(run)
    if lead is None:
        return None
    interval = format_interval(lead.measure)
    line = f"{readable(lead.measure.name)}{f', 95{THIN}% interval {interval}' if interval else ''}"
    return PageAnswer("Can I trust it?", format_measure(lead.measure), line, "trust", _judgement(lead)[0])


def _certainty(evaluation: Evaluation) -> PageAnswer | None:
    question, part = "Is it calibrated?", "certainty"
    overconfidence = measure_named(evaluation, "calibration", "overconfidence")
    half = min(evaluation.curve, key=lambda point: abs(point.coverage - 0.5), default=None)
    selective = ""
    if half is not None and half.accuracy.value is not None:
        accuracy = format_measure(half.accuracy)
        selective = f"accuracy of the most certain {100 * half.coverage:.0f}{THIN}%: {accuracy}"
    if overconfidence is not None:
        side = side_of_zero(overconfidence)
        words = {"above": "overconfident", "below": "underconfident", "unclear": "certainty minus accuracy"}[side]
        line = f"{words}{f'; {selective}' if selective else ''}"
        return PageAnswer(
            question, format_measure(overconfidence), line, part, "neutral" if side == "unclear" else "warn"
        )
    return (
        PageAnswer(question, format_measure(half.accuracy), selective, part) if half is not None and selective else None
    )


def _errors(run: RunReport) -> PageAnswer | None:
    table, question = run.evaluation.confusion, "Where is it wrong?"
    if table is None:
        n = len(run.disagreements)
        return PageAnswer(question, f"{n:,}", "cases to read", "cases") if n else None
    total, errors = sum(map(sum, table.counts)), _off_diagonal(table)
    if not total:
        return None
    wrong = sum(count for count, _, _ in errors)
    if not errors:
        return PageAnswer(question, "Nowhere", f"on these {total:,} cases", "errors")
    count, human, judge = errors[0]
    line = f"wrong of {total:,}; most often label {human}, judge {judge} ({count:,})"
    return PageAnswer(question, counted(wrong, "case"), line, "errors")


def _off_diagonal(table: ConfusionTable) -> list[tuple[float, str, str]]:
    """(count, human label, judge's label) of the disagreements, the most frequent first."""
    cells = [
        (count, table.labels[row], table.labels[column])
        for row, counts in enumerate(table.counts)
        for column, count in enumerate(counts)
        if row != column and count
    ]
    return sorted(cells, key=lambda cell: -cell[0])


def _bias(evaluation: Evaluation) -> PageAnswer | None:
    question, measures = "Is it biased?", evaluation.sections.get("bias", ())
    checks = [measure for measure in measures if measure.null_value is not None and measure.low is not None]
    if not checks:
        return None
    shown = [measure for measure in checks if is_biased(measure)]
    if not shown:
        line = f"in any of {len(checks)} checks" if len(checks) > 1 else "in the only possible check"
        return PageAnswer(question, "Not shown", line, "bias")
    first = ", ".join(f"{readable(measure.name)} {format_measure(measure)}" for measure in shown[:2])
    value = f"{len(shown)} {'bias' if len(shown) == 1 else 'biases'}"
    return PageAnswer(question, value, f"in {len(checks)} checks: {first}", "bias", "warn")


def is_biased(measure: Measure) -> bool:
    """Whether the whole interval lies on one side of the null value."""
    if measure.null_value is None or measure.low is None or measure.high is None:
        return False
    return not measure.low <= measure.null_value <= measure.high


def _cost(evaluation: Evaluation) -> PageAnswer | None:
    question, usage, n = "What does it cost?", evaluation.usage, evaluation.cases
    if not n:
        return None
    calls, tokens = (usage.calls + usage.cached) / n, (usage.prompt_tokens + usage.completion_tokens) / n
    line = (
        f"{format_value(round(tokens))} tokens and {format_value(calls)} {'call' if calls == 1 else 'calls'} per case"
    )
    if usage.cost is not None:
        return PageAnswer(question, f"${1000 * usage.cost / n:,.2f}", f"per thousand cases; {line}", "cost")
    return PageAnswer(question, f"{format_value(usage.seconds / n)}{THIN}s", f"of model time per case; {line}", "cost")
