"""The questions of a run page, each answered by a value and a line in the reader's words."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..data import Usage
from ..evaluation.results import Bin, ConfusionTable, Evaluation
from .bias_words import bias_sentence, is_biased, worst_first
from .formatting import THIN, format_interval, format_measure, format_percent, format_value, readable
from .run_headline import PageAnswer, judgement, side_of_zero
from .run_report import FEW, LeadMeasure, RunReport, lead_measure, measure_named

USUAL = 0.8  # the certainty that the tile speaks of, where enough verdicts are near it
NEAR = 0.07


@dataclass(frozen=True)
class TileRow:
    """One question with the answers of all runs; None for a run that cannot answer it."""

    question: str
    part: str
    answers: tuple[PageAnswer | None, ...]


def answers(run: RunReport) -> tuple[PageAnswer, ...]:
    """The questions that this run can answer."""
    evaluation = run.evaluation
    possible = (_trust(run), _certainty(evaluation), _errors(run), _bias(evaluation), _cost(evaluation))
    return tuple(answer for answer in possible if answer is not None)


def tile_rows(runs: Sequence[RunReport]) -> tuple[TileRow, ...]:
    """The questions that any of the runs can answer, in the order of the first run's."""
    by_run = [{answer.question: answer for answer in answers(run)} for run in runs]
    questions = dict.fromkeys(question for known in by_run for question in known)
    return tuple(
        TileRow(
            question,
            next(known[question].part for known in by_run if question in known),
            tuple(known.get(question) for known in by_run),
        )
        for question in questions
    )


def _trust(run: RunReport) -> PageAnswer | None:
    lead = lead_measure(run)
    if lead is None:
        return None
    name = "agrees with people" if lead.measure.name == "accuracy" else readable(lead.measure.name)
    interval = format_interval(lead.measure)
    words = [f"{name}{f', 95{THIN}% interval {interval}' if interval else ''}", _ceiling(lead)]
    line = "; ".join(filter(None, words))
    return PageAnswer("Can I trust it?", format_measure(lead.measure), line, "trust", judgement(lead)[0])


def _ceiling(lead: LeadMeasure) -> str:
    return f"one annotator agrees on {format_measure(lead.ceiling)}" if lead.ceiling is not None else ""


def _certainty(evaluation: Evaluation) -> PageAnswer | None:
    question, part = "How sure is it?", "certainty"
    surest = _surest_half(evaluation)
    spoken = _bin_to_speak_of(evaluation.reliability)
    if spoken is None:
        return PageAnswer(question, surest, "of its verdicts, the surest half", part) if surest else None
    says, right = format_percent(spoken.certainty), format_percent(spoken.accuracy.value or 0.0)
    value = f"When it says {says} it is right {right}"
    side = side_of_zero(measure_named(evaluation, "calibration", "overconfidence"))
    mean_certainty, accuracy = _means(evaluation.reliability)
    word = {"above": "Overconfident: on", "below": "Underconfident: on", "unclear": "On"}[side]
    line = f"{word} average it says {format_percent(mean_certainty)} and is right {format_percent(accuracy)}"
    line += f"; its surest half is right {surest}" if surest else ""
    return PageAnswer(question, value, line, part, "neutral" if side == "unclear" else "warn")


def _surest_half(evaluation: Evaluation) -> str:
    """The accuracy of the most certain half of the verdicts; empty where it is not known."""
    half = min(evaluation.curve, key=lambda point: abs(point.coverage - 0.5), default=None)
    if half is None or half.accuracy.value is None or abs(half.coverage - 0.5) > 0.1:
        return ""
    return format_percent(half.accuracy.value)


def _bin_to_speak_of(bins: Sequence[Bin]) -> Bin | None:
    """The verdicts of a certainty of about 80 %, if there are 30 of them; else the largest bin."""
    known = [b for b in bins if b.accuracy.n and b.accuracy.value is not None]
    near = [b for b in known if b.accuracy.n >= FEW and abs(b.certainty - USUAL) < NEAR]
    if near:
        return min(near, key=lambda b: abs(b.certainty - USUAL))
    return max(known, key=lambda b: b.accuracy.n, default=None)


def _means(bins: Sequence[Bin]) -> tuple[float, float]:
    """Mean certainty and accuracy of all verdicts."""
    n = sum(b.accuracy.n for b in bins)
    certainty = sum(b.certainty * b.accuracy.n for b in bins) / n
    return certainty, sum((b.accuracy.value or 0.0) * b.accuracy.n for b in bins) / n


def _errors(run: RunReport) -> PageAnswer | None:
    table, question = run.evaluation.confusion, "Where is it wrong?"
    if table is None:
        n = len(run.disagreements)
        return PageAnswer(question, f"{n:,} to read", "scores furthest from people's", "cases") if n else None
    total, errors = sum(map(sum, table.counts)), _off_diagonal(table)
    if not total:
        return None
    wrong = sum(count for count, _, _ in errors)
    if not errors:
        return PageAnswer(question, "Nowhere", f"on these {total:,} cases", "errors")
    count, human, judge = errors[0]
    line = f"most often people say {_label(human)} and the judge {_label(judge)} ({format_value(count)})"
    return PageAnswer(question, f"{format_value(wrong)} of {total:,} cases", line, "errors")


def _label(label: str) -> str:
    return label.upper() if label in ("a", "b") else label


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
    question, sections = "Is it biased?", evaluation.sections
    leniency = [measure for measure in sections.get("correlation", ()) if measure.name == "leniency"]
    measures = (*sections.get("bias", ()), *leniency)
    checks = [measure for measure in measures if measure.null_value is not None and measure.low is not None]
    if not checks:
        return None
    shown = worst_first(filter(is_biased, checks))
    if not shown:
        line = f"in any of {len(checks)} checks" if len(checks) > 1 else "in the only possible check"
        return PageAnswer(question, "Not shown", line, "bias")
    value, line = bias_sentence(shown[0])
    others = f"; {len(shown) - 1} more of {len(checks)} checks" if len(shown) > 1 else ""
    return PageAnswer(question, value, f"{line}{others}", "bias", "warn")


def _cost(evaluation: Evaluation) -> PageAnswer | None:
    """Per 1,000 verdicts, as if no answer had come from the cache: in dollars, else in time, else in tokens."""
    question, usage, n = "What does it cost?", evaluation.usage, evaluation.scored
    calls = usage.calls + usage.cached
    if not n or not calls:
        return None
    tokens = usage.total_tokens
    per_verdict = [f"{format_value(round(tokens / n))} tokens"] if tokens is not None else []
    per_verdict.append(f"{format_value(calls / n)} {'call' if calls == n else 'calls'}")
    line = f"{' and '.join(per_verdict)} a verdict"
    paid = usage.prompt_tokens + usage.completion_tokens
    if usage.cost and paid and tokens is not None:
        value = f"${1000 * usage.cost * tokens / paid / n:,.2f} per 1,000"
    elif usage.calls and usage.seconds:
        value = f"{_duration(1000 * usage.seconds * calls / usage.calls / n)} per 1,000"
        line = f"of the model's time; {line}; {'it has no price' if usage.cost == 0 else 'its price is not known'}"
    elif tokens is not None:
        value = f"{_thousands(1000 * tokens / n)} tokens per 1,000"
    else:
        value = f"{_thousands(1000 * calls / n)} calls per 1,000"
    return PageAnswer(question, value, f"{line}{_of_the_cache(usage)}", "cost")


def _of_the_cache(usage: Usage) -> str:
    """What of the answers was stored before, and what that leaves unknown."""
    if not usage.cached:
        return ""
    if not usage.calls:
        free = "Every answer came from the cache, so this run cost nothing"
        return f". {free}; what they cost in money and time when they were asked is not recorded with it"
    share = format_percent(usage.cached / (usage.calls + usage.cached))
    return f". {share} of the answers came from the cache, and count here as if asked"


def _duration(seconds: float) -> str:
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * size:
            return f"{format_value(seconds / size, digits=1 if seconds < 10 * size else 0)}{THIN}{unit}"
    return f"{format_value(seconds, digits=0)}{THIN}s"


def _thousands(count: float) -> str:
    for unit, size in (("million", 1e6), ("thousand", 1e3)):
        if count >= size:
            return f"{format_value(count / size, digits=1 if count < 10 * size else 0)} {unit}"
    return format_value(round(count))
