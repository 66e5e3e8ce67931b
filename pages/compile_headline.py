"""The headline of a compilation's page: is the judge better, how certain is that, and what did it cost.

The text claims no more than the test shows: a difference that is not significant is called not shown.
"""

from collections.abc import Iterator

from ..evaluation.minimum_detectable_effect import Sensitivity, sensitivity
from ..evaluation.results import Evaluation, Measure
from ..optimizers.answer import CONSTANT, WORSE
from ..optimizers.compile_folder import Compilation
from .changed_cases import changes_sentence, pieces_of
from .formatting import (
    THIN,
    counted,
    format_interval,
    format_measure,
    format_p_value,
    format_percent,
    format_value,
    readable,
)
from .run_headline import Headline, PageAnswer, Tone

OUTCOMES: dict[str, tuple[Tone, str]] = {
    "improved": ("good", "Better than the uncompiled judge"),
    "worse": ("bad", "Worse than the uncompiled judge"),
    "inconclusive": ("warn", "Not shown to be better than the uncompiled judge"),
}


def compile_headline(compilation: Compilation) -> Headline:
    """The outcome, and the sentences that support it."""
    result = compilation.result
    tone, words = OUTCOMES[result.outcome]
    better = [fault.removeprefix(WORSE).partition(":")[0] for fault in result.faults if fault.startswith(WORSE)]
    if better:
        tone, words = "bad", f"Worse than {' and '.join(better)}"
    elif any(fault.startswith(CONSTANT) for fault in result.faults):
        tone, words = "bad", "One answer for every case"
    same = any(claim.of == "verdicts" and claim.state == "unchanged" for claim in result.claims)
    answer = [_improved(compilation), _gain(compilation)]
    sentences = [
        *result.faults,
        *(answer if same else answer[::-1]),
        changes_sentence(result.changes),
        _looks(compilation),
        _power(compilation),
    ]
    return Headline(tone, words, tuple(filter(None, sentences)))


def compile_facts(compilation: Compilation) -> list[str]:
    """What the delivered head was fitted to, what compiling took, and what a verdict takes."""
    return list(filter(None, [_final(compilation), f"{_spent(compilation)} {_cost_per_verdict(compilation)}".strip()]))


def _improved(compilation: Compilation) -> str:
    """What improved; empty in folders of earlier versions."""
    sentence = compilation.result.headline
    return f"{sentence[:1].upper()}{sentence[1:]}.".replace(" -> ", " → ") if sentence else ""


def _final(compilation: Compilation) -> str:
    """What the delivered head was fitted to, and which estimate speaks for it."""
    training = compilation.judge_file.training if compilation.judge_file else {}
    final = training.get("final")
    sentence = str(final.get("sentence", "")) if isinstance(final, dict) else ""
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def compile_answers(compilation: Compilation) -> tuple[PageAnswer, ...]:
    """The questions of the page, each with the value that answers it."""
    return tuple(_answers(compilation))


def power_note(compilation: Compilation) -> str:
    """The difference that the test part can detect; empty if it is unknown."""
    test = compilation.result.decisive_test
    effect = sensitivity(test) if test is not None else None
    if test is None or effect is None:
        return ""
    difference, name = test.difference, readable(test.name)
    labels = f"{difference.n:,} labels" + (f" in {difference.groups:,} groups" if difference.groups else "")
    if effect.groups is not None:
        return f"{labels} are too few to detect any difference in {name}: {_too_few_groups(effect)}"
    if effect.detectable is None:
        return f"{labels} cannot detect any difference in {name} with 80{THIN}% power."
    least = difference.model_copy(update={"value": effect.detectable, "low": None, "high": None})
    detected = format_measure(least).lstrip("+")
    return f"{labels} detect a difference of {detected} in {name} or more with 80{THIN}% power."


def _too_few_groups(effect: Sensitivity) -> str:
    return f"a test needs at least {effect.groups} groups of cases."


def _gain(compilation: Compilation) -> str:
    result = compilation.result
    test = result.decisive_test
    if test is None:
        return "There are too few labelled cases with verdicts of both judges to compare them."
    difference, name = test.difference, readable(test.name)
    after, before = (_value(judge.evaluation.measure(test.name)) for judge in (result.compiled, result.uncompiled))
    sides = f"{name} is {after} after compiling and {before} before" if after and before else f"{name} changed"
    interval = format_interval(difference)
    p = format_p_value(test.p)
    p = "" if result.headline else f"p {p}" if p.startswith("<") else f"p = {p}"  # the headline has the adjusted one
    shown = ", ".join(filter(None, [f"95{THIN}% interval {interval}" if interval else "", p]))
    cases = "untouched test cases" if result.estimate == "split" else "labelled cases, each judged out of fold,"
    return f"On {difference.n:,} {cases} {sides}: {format_measure(difference)}{f' ({shown})' if shown else ''}."


def _looks(compilation: Compilation) -> str:
    """How often the test cases were tested before, and the adjusted p-value; empty at the first test."""
    test, looks = compilation.result.decisive_test, compilation.result.looks
    if test is None or looks is None or looks.number == 1:
        return ""
    p = format_p_value(test.p_looks)
    sentence = looks.sentence
    return f"{sentence[0].upper()}{sentence[1:]}: adjusted for this, p {p if p.startswith('<') else f'= {p}'}."


def _value(measure: Measure | None) -> str:
    return "" if measure is None or measure.value is None else format_measure(measure)


def _power(compilation: Compilation) -> str:
    test = compilation.result.decisive_test
    if compilation.result.outcome != "inconclusive" or test is None or (effect := sensitivity(test)) is None:
        return ""
    if effect.groups is not None:
        return f"Too few labels to detect any difference: {_too_few_groups(effect)}"
    return power_note(compilation)


def _spent(compilation: Compilation) -> str:
    if compilation.spent is None:
        return ""
    usage = compilation.spent.usage
    calls = usage.calls + usage.cached
    parts = [counted(calls, "call")]
    if usage.cached:
        parts[0] += " (all from the cache)" if usage.cached == calls else f" ({usage.cached:,} from the cache)"
    if tokens := usage.prompt_tokens + usage.completion_tokens:
        parts.append(f"{tokens:,} tokens")
    if usage.cost is not None:
        parts.append(f"${usage.cost:,.2f}")
    parts.append(_time(compilation.spent.minutes))
    return f"Compiling took {', '.join(parts[:-1])} and {parts[-1]}."


def _time(minutes: float) -> str:
    if minutes >= 90:
        return f"{minutes / 60:.1f} hours"
    return f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{60 * minutes:.0f} seconds"


def _cost_per_verdict(compilation: Compilation) -> str:
    after, before = compilation.result.compiled.calls, compilation.result.uncompiled.calls
    compared = "as before" if after == before else f"{format_value(before)} before"
    return f"A verdict takes {format_value(after)} {'call' if after == 1 else 'calls'}, {compared}."


def _sure_and_right(evaluation: Evaluation) -> tuple[str, str] | None:
    """The mean certainty, and how many verdicts are right; None where either is not known."""
    sure, over = (evaluation.measure(name) for name in ("mean certainty", "overconfidence"))
    if sure is None or over is None or sure.value is None or over.value is None:
        return None
    return format_percent(sure.value), format_percent(sure.value - over.value)


def _answers(compilation: Compilation) -> Iterator[PageAnswer]:
    result = compilation.result
    test = result.decisive_test
    if test is not None:
        interval = format_interval(test.difference)
        line = readable(test.name) + (f", 95{THIN}% interval {interval}" if interval else "")
        yield PageAnswer("Is it better?", format_measure(test.difference), line, "test", OUTCOMES[result.outcome][0])
    if result.changes is not None and result.changes.n:
        parts = [f"{piece.n:,} {piece.words}" for piece in pieces_of(result.changes) if piece.is_listed]
        value = f"{result.changes.changed:,} of {result.changes.n:,}"
        yield PageAnswer("What changed?", value, ", ".join(parts) or "every verdict is the same", "cases")
    sure, before = (_sure_and_right(judge.evaluation) for judge in (result.compiled, result.uncompiled))
    if sure is not None:
        line = f"and right in {sure[1]}" + (f"; before {before[0]} sure, right in {before[1]}" if before else "")
        yield PageAnswer("Is its certainty to be trusted?", f"{sure[0]} sure", line, "calibration")
    certificate = compilation.certificate
    if certificate is not None:
        limit = format_percent(certificate.risk)
        if result.withdrawal:
            line = f"the test part contradicts the certified {limit}"
            yield PageAnswer("What is certified?", "Nothing", line, "certificate", "bad")
        elif certificate.threshold is None:
            yield PageAnswer("What is certified?", "Nothing", f"at {limit} disagreement", "certificate", "warn")
        else:
            groups = ", groups weighted equally" if certificate.n != certificate.cases else ""
            line = f"of verdicts have certainty {certificate.threshold:g} or more; at most {limit} disagree{groups}"
            yield PageAnswer("What is certified?", format_percent(certificate.coverage), line, "certificate", "good")
    calls, calls_before = format_value(result.compiled.calls), format_value(result.uncompiled.calls)
    line = f"per verdict{'' if calls == calls_before else f', {calls_before} before'}"
    if result.compiled.tokens is not None:
        line += f"; {format_value(round(result.compiled.tokens))} tokens"
    yield PageAnswer("What does it cost?", f"{calls} {'call' if calls == '1' else 'calls'}", line, "test")
