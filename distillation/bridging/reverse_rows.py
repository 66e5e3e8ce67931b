"""Rows for a reverse student: from a judgment back to its criterion and its guideline.

They are made from a teacher's own chain, where criterion, guideline and judgment are all known (Fennec, arXiv
2405.12163, section 3): a judgment's words and scores are shown, and what led to it is learnt.
"""

from collections.abc import Iterable, Iterator

from ...errors import DataError
from ...judging.delimiters import Shown, constant, unfenced
from ...judging.judge import fenced
from ...parsing import JsonError, load_json
from ...programs.reverse import Reverse
from ..rendering import written_row
from ..row import TrainingRow
from ..trace import Trace
from .bridged_rows import levels_of

SOURCE = "traces"
JUDGED = ("fennec.pairwise", "fennec.single")


def reverse_rows(traces: Iterable[Trace], reverse: Reverse) -> Iterator[TrainingRow]:
    """For each written judgment of a chain the row of its criterion and that of its guideline.

    Judgments without a guideline have a row of the criterion alone; other traces have none.
    """
    for trace in traces:
        words = words_of(trace)
        if not words or "criterion" not in trace.shown:
            continue
        criterion = _unquoted(trace.shown["criterion"])
        names = [name for name in ("response_a", "response_b", "response") if name in trace.shown]
        texts = {name: constant(trace.shown[name]) for name in ("request", *names)}
        inputs: dict[str, str | Shown] = {**texts, "judgment": fenced(words)}
        about = {"case_id": trace.case_id, "group": trace.group, "source": SOURCE}
        count = min(len(names), 2)
        yield written_row(
            reverse.criterion_stage(count),
            inputs,
            {"criterion": criterion},
            task="reverse.criterion",
            order=trace.order,
            **about,
        )
        levels = levels_of(unfenced(trace.shown.get("guideline", "")))
        if levels is not None and all(levels.values()):
            yield written_row(
                reverse.guideline_stage(count),
                {**inputs, "criterion": criterion},
                levels,
                task="reverse.guideline",
                order=trace.order,
                **about,
            )


def words_of(trace: Trace) -> str:
    """A written judgment in words, as published sets have them; empty for another trace.

    Example: "(A) It names a fruit. (B) It names a shoe. A is better. Scores: A 5, B 1."
    """
    said = trace.outputs
    if trace.probabilities or trace.task not in JUDGED:
        return ""
    if trace.task.endswith("single"):
        return f"{str(said['explanation']).strip()} Score: {said['score']}."
    first, second = str(said["explanation_a"]).strip(), str(said["explanation_b"]).strip()
    scores = f"Scores: A {said['score_a']}, B {said['score_b']}."
    return f"(A) {first} (B) {second} {str(said['comparison']).strip()} {scores}"


def _unquoted(shown: str) -> str:
    """A criterion as it was written, out of the quotation marks or the fence in which it was shown."""
    try:
        value = load_json(shown) if shown.startswith('"') else unfenced(shown)
    except JsonError as error:
        raise DataError(
            f"traces: the criterion {shown!r} is no quoted line ({error}). Collect the traces anew."
        ) from None
    return str(value)
