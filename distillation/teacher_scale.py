"""The scale of a teacher's scores, without which a student cannot be taught them."""

import math
from collections.abc import Iterable

from ..data import Verdict
from ..judging.heads import ScoreHead
from ..judging.judge import Judge

CLOSE = 0.01  # of a whole score

Scale = tuple[float, float]


def teacher_scale(teacher: Judge, verdicts: Iterable[Verdict]) -> Scale | None:
    """The scale of the scores of a teacher's verdicts; None where it is not known, or not always the same.

    That of people where its head was fitted to their scores, else its own, else that of the levels that were read.
    """
    if isinstance(head := teacher.head, ScoreHead):
        scales = {(head.lo, head.hi), *((model.lo, model.hi) for model in head.aspects.values())}
        return scales.pop() if len(scales) == 1 else None
    if teacher.score_scale is not None:
        return teacher.score_scale
    read = {scale for verdict in verdicts for scale in _scales_read(verdict)}
    return read.pop() if len(read) == 1 else None


def _scales_read(verdict: Verdict) -> Iterable[Scale]:
    """The scales of consecutive whole numbers whose mean levels are the scores of a verdict's findings."""
    for finding in verdict.findings:
        for score, levels in zip(finding.scores or (), finding.levels or (), strict=False):
            lowest = score - math.fsum(number * p for number, p in enumerate(levels))
            if len(levels) > 1 and abs(lowest - round(lowest)) < CLOSE:
                yield float(round(lowest)), float(round(lowest) + len(levels) - 1)
