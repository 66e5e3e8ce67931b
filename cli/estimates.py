"""What `--dry-run` prints: what a model would be asked, and what a training would take."""

from typing import TYPE_CHECKING

from . import options

if TYPE_CHECKING:
    from ..distillation.estimate import DistilEstimate, JudgingEstimate
    from ..workflows.compile_estimate import CompileEstimate

UNKNOWN = "unknown"  # minutes


def print_estimate(estimate: "CompileEstimate | DistilEstimate", as_json: bool) -> None:
    """What it takes, and what the figures rest on."""
    from ..workflows.compile_estimate import CompileEstimate
    from . import render

    if as_json:
        options.print_json(estimate.model_dump(mode="json"))
        return
    rows = []
    for row in estimate.judging:
        dollars = "-" if row.dollars is None else f"{row.dollars:.2f}"
        tokens = [f"{row.prompt_tokens:,}", f"{row.completion_tokens:,}"]
        rows.append([row.name, f"{row.cases:,}", f"{row.calls:,}", *tokens, _minutes(row.minutes), dollars])
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
    for note in estimate.notes:
        render.say(note)


def print_judging(estimate: "JudgingEstimate") -> None:
    """What one judge, or a judge's judgments, will be asked."""
    from . import render

    dollars = "-" if estimate.dollars is None else f"{estimate.dollars:.2f}"
    tokens = [f"{estimate.prompt_tokens:,}", f"{estimate.completion_tokens:,}"]
    heads = [estimate.name, "calls", "tokens read", "tokens written", "US dollars"]
    render.console.print(render.table(heads, [[f"{estimate.cases:,}", f"{estimate.calls:,}", *tokens, dollars]]))
    if estimate.note:
        render.say(f"not every call was counted ({estimate.note})")
    render.say("tokens are characters by four, answers have a usual length; earlier answers are not deducted")


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
