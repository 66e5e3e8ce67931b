"""What stands on top of a compilation's page: is the judge better, how sure is that, and what did it cost.

The wording never says more than the test does: what is not significant is not shown.
"""

from collections.abc import Iterator

from ..evaluation.minimum_detectable_effect import Sensitivity, sensitivity
from ..evaluation.results import Measure
from .compilation import Compilation, Search
from .forest_plots import percent
from .formatting import THIN, figure, interval, named, p_value, told
from .headline import Answer, Headline, Tone, calibration_error

WORDS: dict[str, tuple[Tone, str]] = {
    "improved": ("good", "Better than the uncompiled judge"),
    "worse": ("bad", "Worse than the uncompiled judge"),
    "inconclusive": ("warn", "Not shown to be better than the uncompiled judge"),
}
ENDS = {"stopped": "were stopped early", "unusable": "could not judge"}


def compiled_headline(one: Compilation) -> Headline:
    """The outcome in a few words, and the sentences that back it."""
    tone, words = WORDS[one.tested.outcome]
    sentences = [_gain(one), _power(one), _spent(one), _each(one)]
    return Headline(tone, words, tuple(filter(None, sentences)))


def compiled_answers(one: Compilation) -> tuple[Answer, ...]:
    """The page's questions, each with the figure that answers it."""
    return tuple(_answers(one))


def power_note(one: Compilation) -> str:
    """What the test part could have shown; empty where that is not known."""
    test = one.tested.decisive
    found = sensitivity(test) if test is not None else None
    if test is None or found is None:
        return ""
    figure_of = test.difference
    of = f"{figure_of.n:,} labels" + (f" in {figure_of.groups:,} groups" if figure_of.groups else "")
    if found.groups is not None:
        return f"{of} are too few to show any difference in {named(test.name)}: {_few(found)}"
    if found.detectable is None:
        return f"{of} could not have shown any difference in {named(test.name)} with a power of 80{THIN}%."
    least = figure(figure_of.model_copy(update={"value": found.detectable, "low": None, "high": None})).lstrip("+")
    said = f"{of} show a difference in {named(test.name)} of {least} with a power of 80{THIN}%."
    return f"{said} {_labels(found)}".strip()


def search_words(search: Search) -> str:
    """How a search went, in a sentence or two."""
    tried = search.attempts
    if not tried:
        return f"No other {search.of} were tried: what was left of the budget was needed for the test."
    verdicts = sum(one.cases for one in tried)
    said = f"{len(tried):,} {search.of} were tried with {verdicts:,} verdicts"
    ends = [(sum(one.status == status for one in tried), words) for status, words in ENDS.items()]
    said += "".join(f"; {n:,} {words}" for n, words in ends if n)
    chosen = next((one for one in tried if one.chosen), tried[0])
    taken = "the judge stays as it stood" if chosen.number == 0 else f"number {chosen.number} was taken"
    if search.gain is not None and chosen.number:
        taken += f", {_side(search.gain)} of the judge as it stood on the cases that chose"
    early = {"trials": "", "exhausted": " Nothing was left to try.", "budget": " The budget ended the search."}
    return f"{said}; {taken}.{early.get(search.ended, f' It ended early: {search.ended}.' if search.ended else '')}"


def _side(gain: Measure) -> str:
    ends = interval(gain)
    return f"{figure(gain)} ({ends}) ahead" if ends else f"{figure(gain)} ahead"


def _few(found: Sensitivity) -> str:
    return f"a test needs {found.groups} groups of cases at least."


def _labels(found: Sensitivity) -> str:
    if found.labels is None:
        return "The one seen here is too small to count the labels for."
    return f"For the one seen here about {found.labels:,} are needed."


def _gain(one: Compilation) -> str:
    test = one.tested.decisive
    if test is None:
        return "The test part has too few labelled cases with verdicts of both judges to tell them apart."
    gain, name = test.difference, named(test.name)
    after, before = (_value(judge.evaluation.measure(test.name)) for judge in (one.compiled, one.uncompiled))
    sides = f"{name} is {after} after compiling and {before} before" if after and before else f"{name} changed"
    ends = f"95{THIN}% interval {interval(gain)}, " if interval(gain) else ""
    p = p_value(test.p)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    return f"On {gain.n:,} test cases that nothing had seen, {sides}: {figure(gain)} ({ends}{p})."


def _value(measure: Measure | None) -> str:
    return "" if measure is None or measure.value is None else figure(measure)


def _power(one: Compilation) -> str:
    test = one.tested.decisive
    if one.tested.outcome != "inconclusive" or test is None or (found := sensitivity(test)) is None:
        return ""
    if found.groups is not None:
        return f"Too few labels to show any difference: {_few(found)}"
    if found.labels is None:
        return "The difference is too small for more labels to be counted."
    return f"About {found.labels:,} test labels would show such a difference with a power of 80{THIN}%."


def _spent(one: Compilation) -> str:
    if one.spent is None:
        return ""
    spent = one.spent
    asked = spent.calls + spent.cached
    parts = [f"{asked:,} {'call' if asked == 1 else 'calls'}"]
    if spent.cached:
        parts[0] += " (all from the cache)" if spent.cached == asked else f" ({spent.cached:,} from the cache)"
    if tokens := spent.prompt_tokens + spent.completion_tokens:
        parts.append(f"{tokens:,} tokens")
    if spent.cost is not None:
        parts.append(f"${spent.cost:,.2f}")
    if one.minutes is not None:
        parts.append(_time(one.minutes))
    return f"Compiling took {', '.join(parts[:-1]) + ' and ' if len(parts) > 1 else ''}{parts[-1]}."


def _time(minutes: float) -> str:
    if minutes >= 90:
        return f"{minutes / 60:.1f} hours"
    return f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{60 * minutes:.0f} seconds"


def _each(one: Compilation) -> str:
    after, before = one.compiled.calls, one.uncompiled.calls
    as_before = "as before" if after == before else f"{told(before)} before"
    return f"A verdict takes {told(after)} {'call' if after == 1 else 'calls'}, {as_before}."


def _answers(one: Compilation) -> Iterator[Answer]:
    test = one.tested.decisive
    if test is not None:
        ends = interval(test.difference)
        line = named(test.name) + (f", 95{THIN}% interval {ends}" if ends else "")
        yield Answer("Is it better?", figure(test.difference), line, "test", WORDS[one.tested.outcome][0])
    error, before = (calibration_error(judge.evaluation) for judge in (one.compiled, one.uncompiled))
    if error is not None:
        was = f", {figure(before)} before" if before is not None else ""
        yield Answer("How sure is it?", figure(error), f"expected calibration error{was}", "sure")
    if one.guarantee is not None:
        given, risk = one.guarantee, percent(one.guarantee.risk)
        if given.threshold is None:
            yield Answer("What is certified?", "Nothing", f"at {risk} disagreement", "certificate", "warn")
        else:
            alike = ", each group counting alike" if given.grouped else ""
            line = f"of verdicts, at certainty {given.threshold:g} or more, disagree in at most {risk}{alike}"
            yield Answer("What is certified?", percent(given.kept), line, "certificate", "good")
    calls, was = told(one.compiled.calls), told(one.uncompiled.calls)
    line = f"a verdict{'' if calls == was else f', {was} before'}"
    if one.compiled.tokens is not None:
        line += f"; {told(round(one.compiled.tokens))} tokens"
    yield Answer("What does it cost?", f"{calls} {'call' if calls == '1' else 'calls'}", line, "test")
