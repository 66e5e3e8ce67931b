"""What is wrong with a run as a whole: cases without a verdict and what asks them again, and warnings of measures."""

from collections.abc import Iterator

from rich.text import Text

from ...evaluation.results import Evaluation


def by_reason(evaluation: Evaluation) -> list[tuple[str, int]]:
    """The reasons of cases without a verdict with their numbers, the most frequent first."""
    return sorted(evaluation.unscored.items(), key=lambda item: -item[1])


def what_asks_again(reason: str) -> str:
    """What asks the cases of this reason again; the reason of an abstained verdict is "abstained"."""
    from ...engines.batch import REASONS, RETRIED

    if reason in RETRIED:
        return "asked again by the next run"
    return f"asked again with --retry {reason}" if reason in REASONS else "the judge was not sure enough"


def unscored_text(evaluation: Evaluation, *, of_run: bool = True) -> str:
    """`12 unscored: 10 unreadable (asked again by the next run), 2 refusal (...)`; empty where every case is scored.

    Args:
        of_run: the verdicts are of a run folder, so that they can be asked again.
    """
    reasons = [
        f"{count:,} {reason}" + (f" ({what_asks_again(reason)})" if of_run else "")
        for reason, count in by_reason(evaluation)
    ]
    return f"{sum(evaluation.unscored.values()):,} unscored: {', '.join(reasons)}" if reasons else ""


def warning_lines(evaluation: Evaluation) -> Iterator[Text]:
    """Why the run may be worth little, and how its verdicts were read, a line each."""
    for warning in evaluation.warnings:
        yield Text(f"warning: {warning}", style="yellow")
    for notice in evaluation.notices:
        yield Text(f"note: {notice}")
