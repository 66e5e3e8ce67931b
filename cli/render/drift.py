"""A drift report on a terminal."""

import math
from collections.abc import Iterator

from ...data.counting import ordinal
from ...evaluation.drift import Drift
from ...workflows.judge_checks import DriftReport
from .evaluation import counted_proportion

STYLES = {"agrees": "green", "worse": "red", "unknown": "yellow"}
BASIS = {
    "groups": "",
    "interval": "The record has no groups: its labels count for what its interval says. Compile again to store groups.",
    "cases": "The record has no groups and no interval: its labels count as independent cases. Compile again to store "
    "groups.",
}  # what the recorded accuracy rests on


def drift_lines(report: DriftReport) -> Iterator[tuple[str, str]]:
    """Lines and their styles."""
    result, values = report.result, report.to_json()
    assert result
    yield values["signature"], "dim"
    if isinstance(result, Drift):
        for when in ("then", "now"):
            if values[when]["n"]:
                yield f"{when:<4}  accuracy {counted_proportion(values[when])}", ""
        if note := BASIS.get(report.basis or ""):
            yield note, "yellow"
    else:
        yield f"then  {result.certificate.summary()}", ""
    unscored = [f"{n} {reason}" for reason, n in values["unscored"].items() if reason != "abstained"]
    if unscored:
        yield f"not judged: {', '.join(unscored)}", "yellow"
    for warning in values["warnings"]:
        yield f"warning: {warning}", "yellow"
    for change in report.changes:
        yield f"changed: {change}", "yellow"
    if isinstance(result, Drift) and result.repeated and result.repeated.now.n:
        yield repeated_sentence(result), ""
    if report.certificate is not None:
        yield report.certificate.certificate.summary(), ""
        yield report.certificate.summary(), STYLES["worse"] if report.certificate.outcome == "worse" else ""
    text = outcome_sentence(result) if isinstance(result, Drift) else f"now   {result.summary()}"
    yield text, STYLES[result.outcome]


def repeated_sentence(drift: Drift) -> str:
    """The comparison that decides whether the judge is worse, in words."""
    repeated, (low, high) = drift.repeated, drift.repeated_interval
    assert repeated
    n, difference = repeated.now.n, repeated.now.value - drift.then.value
    together = f"the latest {repeated.checks:,} together, {n:,} labels: " if repeated.checks > 1 else ""
    return (
        f"{ordinal(repeated.number).capitalize()} check of this judge; {together}difference {difference:+.3f} "
        f"[{low:+.3f}, {high:+.3f}] ({100 * repeated.confidence:.4g} %, so that all checks together call it worse "
        "at most 5 % of the time if it is not)"
    )


def outcome_sentence(drift: Drift) -> str:
    """What the comparison shows, in words, and what to do."""
    low, high = drift.interval
    difference = f"difference {drift.difference:+.3f} [{low:+.3f}, {high:+.3f}] (90 %)" if drift.now.n else "no verdict"
    if drift.outcome == "agrees":
        return f"{difference}: it still agrees; a loss of {drift.margin:g} is excluded."
    if drift.outcome == "worse":
        return f"{difference}: it agrees significantly worse. Compile it again with these labels."
    if high < 0:
        return f"{difference}: worse by this check alone, not by all checks together. Check again with new labels."
    needed = drift.labels_needed()
    if needed is None:
        return (
            f"{difference}: inconclusive. The record rests on {drift.then.n:,} labels, too few for a margin of "
            f"{drift.margin:g} with any number of new ones; give a wider --margin."
        )
    in_groups = " in such groups" if drift.now.groups < drift.now.n else ""
    return (
        f"{difference}: inconclusive. {needed:,} labels{in_groups} give 80 % power to rule out a loss of "
        f"{drift.margin:g} if accuracy is {drift.then.value:.3f} as recorded{_range_of_labels(drift)}."
    )


def _range_of_labels(drift: Drift) -> str:
    """The labels needed at the ends of the recorded accuracy's interval; empty where it has none."""
    then, (fewest, most) = drift.then, drift.labels_needed_range()
    if math.isnan(then.low):
        return ""
    at_least = "no number does" if fewest is None else f"{fewest:,} do"
    at_most = "no number does" if most is None else f"{most:,} do"
    return f"; {at_least} if it is {then.high:.3f}, {at_most} if it is {then.low:.3f}, the ends of its interval"
