"""What `--dry-run` prints: what a model would be asked, and what a training would take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import options

if TYPE_CHECKING:
    from ..distillation.estimate import DistilEstimate, JudgingEstimate
    from ..workflows.compile_estimate import CompileEstimate

UNKNOWN = "unknown"  # minutes
WITHOUT_TOKENS = "  if not"


def print_estimate(estimate: "CompileEstimate | DistilEstimate", as_json: bool) -> None:
    """What it takes, and what the figures rest on."""
    from ..workflows.compile_estimate import CompileEstimate
    from . import render

    if as_json:
        options.print_json(estimate.model_dump(mode="json"))
        return
    rows = []
    for row in estimate.judging:
        rows.append([row.name, f"{row.cases:,}", *_counts(row), _minutes(row.minutes), _dollars(row)])
        if row.if_sampled is not None:
            sampled = row.if_sampled
            rows.append(
                [WITHOUT_TOKENS, f"{row.cases:,}", *_counts(sampled), _minutes(sampled.minutes), _dollars(sampled)]
            )
    heads = ["judge", "cases", "calls", "tokens read", "tokens written", "minutes", "US dollars"]
    render.console.print(render.table(heads, rows))
    parts = ", ".join(f"{name} {n:,}" for name, n in estimate.parts.items())
    render.say(f"labelled cases: {parts}")
    if not isinstance(estimate, CompileEstimate):
        render.say(_learnt(estimate))
    if estimate.training_tokens is not None:
        minutes = _minutes(estimate.training_minutes)
        words = "" if minutes == UNKNOWN else f", {minutes} minutes"
        render.say(f"training: about {estimate.training_tokens:,} tokens{words}; {estimate.memory}")
    for note in (*estimate.notes, *filter(None, [_unasked(estimate.judging)])):
        render.say(note)


def print_judging(estimate: "JudgingEstimate") -> None:
    """What one judge, or a judge's judgments, will be asked."""
    from . import render

    heads = [estimate.name, "calls", "tokens read", "tokens written", "US dollars"]
    rows = [[f"{estimate.cases:,}", *_counts(estimate), _dollars(estimate)]]
    if estimate.if_sampled is not None:
        rows.append([WITHOUT_TOKENS, *_counts(estimate.if_sampled), _dollars(estimate.if_sampled)])
    render.console.print(render.table(heads, rows))
    if unasked := _unasked([estimate]):
        render.say(unasked)
    if estimate.note:
        render.say(f"not every call was counted ({estimate.note})")
    render.say("tokens are characters by four, answers have a usual length; earlier answers are not deducted")


def _counts(estimate: "JudgingEstimate") -> list[str]:
    return [f"{n:,}" for n in (estimate.calls, estimate.prompt_tokens, estimate.completion_tokens)]


def _dollars(estimate: "JudgingEstimate") -> str:
    return "-" if estimate.dollars is None else f"{estimate.dollars:.2f}"


def _unasked(estimates: "Sequence[JudgingEstimate]") -> str:
    """That it is not known how models are read, with what finds it out; "" where it is known of all."""
    models = list(dict.fromkeys(model for row in estimates for model in row.unasked))
    if not models:
        return ""
    named = " and ".join(filter(None, models)) or "the configured LM"
    advice = f" `dicast check --lm {next(filter(None, models))}` asks." if any(models) else ""
    return (
        f"whether {named} gives token probabilities is not known on this machine: the first line holds if so, 'if not' "
        f"otherwise.{advice}"
    )


def _learnt(estimate: "DistilEstimate") -> str:
    """What a student learns from, in words."""
    head, lessons = estimate.head, f"{estimate.lessons:,}"
    labelled = f"{sum(head.values()):,} labelled cases ({', '.join(head)})"
    if estimate.mode != "probe":
        return f"the student is trained on {lessons} cases; its head learns from {labelled}"
    taught = f", and from {lessons} that the teacher labels" if estimate.lessons else ""
    return f"nothing is trained; the student's head learns from {labelled}{taught}"


def _minutes(minutes: float | None) -> str:
    return UNKNOWN if minutes is None else f"{minutes:,.1f}" if minutes < 10 else f"{minutes:,.0f}"
