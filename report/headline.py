"""What stands on top of a report: can the judge be trusted, how sure is it, where is it wrong, what does it cost.

The wording never says more than the intervals do: where one holds 0, nothing is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..evaluation.results import ConfusionTable, Evaluation, Measure
from .formatting import FEW, THIN, Lead, figure, interval, lead_of, named, told, unit_of
from .run_report import RunReport

Tone = Literal["good", "warn", "bad", "plain"]
Standing = Literal["above", "below", "open"]


@dataclass(frozen=True)
class Headline:
    """What a reader should take away: a few words with a tone, and the sentences that back them."""

    tone: Tone
    words: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """One of the report's questions, answered by a figure and a line; `part` is where the rest of it stands."""

    question: str
    figure: str
    line: str
    part: str
    tone: Tone = "plain"


def headline(runs: Sequence[RunReport], lead: Lead | None) -> Headline:
    """What the run of `lead` says for itself, beside baselines, people and the other runs."""
    if not runs:
        return Headline("plain", "Nothing to report", ("No run was given.",))
    if lead is None:
        scored = sum(run.evaluation.scored for run in runs)
        said = f"{scored:,} verdicts were given; whether people would say the same is not known."
        return Headline("plain", "No human labels to compare with", (said,))
    run = next(run for run in runs if run.name == lead.run)
    sentences = [_agreement(lead), _baseline(lead), _people(lead), _left_out(run.evaluation)]
    sentences.append(_beside(lead, [one for other in runs if (one := lead_of(other)) is not None]))
    return Headline(*_judgement(lead), tuple(filter(None, sentences)))


def answers(run: RunReport) -> tuple[Answer, ...]:
    """The report's questions for one run; those that it cannot answer are left out."""
    one = run.evaluation
    found = (_trust(run), _sure(one), _wrong(run), _biased(one), _cost(one))
    return tuple(answer for answer in found if answer is not None)


def standing(difference: Measure | None) -> Standing:
    """Which side of 0 the whole interval lies on; open when it holds 0, or is not known."""
    if difference is None or difference.low is None or difference.high is None:
        return "open"
    return "above" if difference.low > 0 else "below" if difference.high < 0 else "open"


def _rival(lead: Lead) -> tuple[Measure, Measure | None] | None:
    """The strongest baseline, with how far the judge is above it."""
    rival = max(lead.baselines, key=lambda one: one.value or 0.0, default=None)
    return None if rival is None else (rival, lead.margins.get(rival.name))


def _judgement(lead: Lead) -> tuple[Tone, str]:
    found = _rival(lead)
    if lead.few:
        return "warn", "Too few labelled cases to tell"
    if found is None:
        return "plain", "Measured, but without a baseline"
    rival, margin = found
    place = standing(margin)
    if place == "above" and all(standing(lead.margins.get(one.name)) == "above" for one in lead.baselines):
        return "good", "Better than every baseline"
    if place == "below":
        return "bad", f"Worse than the baseline “{named(rival.name)}”"
    return "warn", f"Not shown to be better than the baseline “{named(rival.name)}”"


def _agreement(lead: Lead) -> str:
    one = lead.measure
    groups = f" in {one.groups:,} independent groups" if one.groups is not None and one.groups < one.n else ""
    ends = interval(one, " to ")
    unit = f"{THIN}%" if one.kind == "proportion" else ""
    sure = f" (95{THIN}% interval {ends}{unit})" if ends else ""
    few = f" Fewer than {FEW} cannot tell a good judge from a bad one." if lead.few else ""
    on = f"{one.n:,} labelled cases{groups}{sure}.{few}"
    if one.name == "accuracy":
        return f"{lead.run} agrees with people on {figure(one)} of {on}"
    return f"{lead.run} reaches {named(one.name)} {figure(one)} with people on {on}"


def _baseline(lead: Lead) -> str:
    found = _rival(lead)
    if found is None:
        return ""
    rival, margin = found
    said = f"the best baseline, “{named(rival.name)}” at {figure(rival)}"
    place = standing(margin)
    if place == "open" or margin is None:
        reach = f" (difference {_briefly(margin)})" if margin is not None else ""
        return f"These cases do not tell it from {said}{reach}."
    return f"Case by case that is {_briefly(margin, signed=False)} {place} {said}."


def _people(lead: Lead) -> str:
    ceiling, above = lead.ceiling, lead.above_people
    if ceiling is None:
        return ""
    person = f"One person agrees with the others {'on' if ceiling.kind == 'proportion' else 'at'} {figure(ceiling)}"
    if above is None:
        return f"{person}."
    person += "; held against the same people, the judge is"
    if standing(above) == "open":
        return f"{person} not told apart from a person ({_briefly(above)})."
    place = "ahead of a person" if standing(above) == "above" else "behind"
    return f"{person} {_briefly(above, signed=False)} {place}."


def _briefly(difference: Measure, *, signed: bool = True) -> str:
    """A difference and its interval, "+13.3 points, +8.3 to +18.3"; unsigned where words say the side."""
    if signed or difference.value is None or difference.low is None or difference.high is None:
        return f"{figure(difference)}, {interval(difference)}" if interval(difference) else figure(difference)
    low, high = sorted((abs(difference.low), abs(difference.high)))
    unit = unit_of(difference)
    value, *ends = (told(end, unit).lstrip("+") for end in (abs(difference.value), low, high))
    return f"{value} ({' to '.join(end.split(THIN)[0] for end in ends)})"


def _beside(lead: Lead, leads: Sequence[Lead]) -> str:
    """Which of the other runs has a higher figure."""
    higher = max((one for one in leads if one.like(lead)), key=lambda one: one.value, default=lead)
    if higher.value <= lead.value:
        return ""
    return f"Of the runs shown here, {higher.run} has the highest {named(lead.measure.name)}, {figure(higher.measure)}."


def _left_out(evaluation: Evaluation) -> str:
    missing = evaluation.cases - evaluation.scored
    if not missing:
        return ""
    reasons = ", ".join(f"{named(reason)} {n:,}" for reason, n in sorted(evaluation.unscored.items()))
    why = f" ({reasons})" if reasons else ""
    return f"{missing:,} of {evaluation.cases:,} cases have no verdict{why} and are not counted."


def _trust(run: RunReport) -> Answer | None:
    lead = lead_of(run)
    if lead is None:
        return None
    ends = interval(lead.measure)
    line = f"{named(lead.measure.name)}{f', 95{THIN}% interval {ends}' if ends else ''}"
    return Answer("Can I trust it?", figure(lead.measure), line, "trust", _judgement(lead)[0])


def _sure(evaluation: Evaluation) -> Answer | None:
    over = _named(evaluation, "calibration", "overconfidence")
    half = min(evaluation.curve, key=lambda point: abs(point.coverage - 0.5), default=None)
    gain = ""
    if half is not None and half.accuracy.value is not None:
        gain = f"the surest {100 * half.coverage:.0f}{THIN}% are right on {figure(half.accuracy)}"
    if over is not None:
        place = standing(over)
        words = {"above": "overconfident", "below": "underconfident", "open": "certainty less accuracy"}[place]
        line = f"{words}{f'; {gain}' if gain else ''}"
        return Answer("How sure is it?", figure(over), line, "sure", "plain" if place == "open" else "warn")
    return Answer("How sure is it?", figure(half.accuracy), gain, "sure") if half is not None and gain else None


def _wrong(run: RunReport) -> Answer | None:
    table, question = run.evaluation.confusion, "Where is it wrong?"
    if table is None:
        n = len(run.disagreements)
        return Answer(question, f"{n:,}", "cases to look at", "cases") if n else None
    total, mistakes = sum(map(sum, table.counts)), _mistakes(table)
    if not total:
        return None
    wrong = sum(count for count, _, _ in mistakes)
    if not mistakes:
        return Answer(question, "Nowhere", f"on these {total:,} cases", "wrong")
    count, people, judge = mistakes[0]
    line = f"wrong, of {total:,}; most often people say {people} and the judge {judge} ({count:,})"
    return Answer(question, f"{wrong:,} {'case' if wrong == 1 else 'cases'}", line, "wrong")


def _mistakes(table: ConfusionTable) -> list[tuple[int, str, str]]:
    """(how many, people's label, the judge's), the most frequent first."""
    found = [
        (count, table.labels[row], table.labels[column])
        for row, counts in enumerate(table.counts)
        for column, count in enumerate(counts)
        if row != column and count
    ]
    return sorted(found, key=lambda one: -one[0])


def _biased(evaluation: Evaluation) -> Answer | None:
    checked = [one for one in evaluation.sections.get("bias", ()) if one.null_value is not None and one.low is not None]
    if not checked:
        return None
    found = [one for one in checked if biased(one)]
    if not found:
        line = f"in any of {len(checked)} checks" if len(checked) > 1 else "in the one check that could be made"
        return Answer("Is it biased?", "Not shown", line, "biased")
    line = f"of {len(checked)} checks: {', '.join(f'{named(one.name)} {figure(one)}' for one in found[:2])}"
    return Answer("Is it biased?", f"{len(found)} {'bias' if len(found) == 1 else 'biases'}", line, "biased", "warn")


def biased(measure: Measure) -> bool:
    """Whether the whole interval lies on one side of the neutral value."""
    if measure.null_value is None or measure.low is None or measure.high is None:
        return False
    return not measure.low <= measure.null_value <= measure.high


def _cost(evaluation: Evaluation) -> Answer | None:
    usage, n = evaluation.usage, evaluation.cases
    if not n:
        return None
    calls, tokens = (usage.calls + usage.cached) / n, (usage.prompt_tokens + usage.completion_tokens) / n
    line = f"{told(round(tokens))} tokens and {told(calls)} {'call' if calls == 1 else 'calls'} a case"
    if usage.cost is not None:
        return Answer("What does it cost?", f"${1000 * usage.cost / n:,.2f}", f"a thousand cases; {line}", "cost")
    return Answer("What does it cost?", f"{told(usage.seconds / n)}{THIN}s", f"of model time; {line}", "cost")


def calibration_error(evaluation: Evaluation) -> Measure | None:
    """The expected calibration error."""
    return _named(evaluation, "calibration", "ECE")


def _named(evaluation: Evaluation, section: str, name: str) -> Measure | None:
    found = evaluation.sections.get(section, ())
    return next((one for one in found if one.name == name and one.value is not None), None)
