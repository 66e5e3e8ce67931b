"""The scale of a teacher's scores, without which a student cannot be taught them."""

import math
from collections.abc import Iterable, Iterator

from ..data import Verdict
from ..judging.heads import ScoreHead
from ..judging.judge import Judge
from .soft_targets import ROUNDING

CLOSE = 0.01  # of a whole score

Scale = tuple[float, float]


def teacher_scale(teacher: Judge, verdicts: Iterable[Verdict]) -> Scale | None:
    """The scale of the scores of a teacher's verdicts; None where it is not known, or not always the same.

    That of people where its head was fitted to their scores, else its own, else that of the levels that were read, if
    every score was read from levels of this scale. None where a score of a verdict is outside the scale, and where a
    part of a teacher without such a head has a head, whose scores may be on another scale.
    """
    scored = [verdict for verdict in verdicts if verdict.scores is not None]
    scale = _declared(teacher, scored)
    if scale is None:
        return None
    lo, hi = scale[0] - ROUNDING, scale[1] + ROUNDING
    return scale if all(lo <= score <= hi for verdict in scored for score in verdict.scores or ()) else None


def _declared(teacher: Judge, verdicts: Iterable[Verdict]) -> Scale | None:
    """The scale that head, teacher or levels name, whatever the verdicts' scores are."""
    if isinstance(head := teacher.head, ScoreHead):
        return _only({(head.lo, head.hi), *((model.lo, model.hi) for model in head.aspects.values())})
    if any(part.head is not None for _, part in teacher.named_sub_modules(Judge) if part is not teacher):
        return None
    if teacher.score_scale is not None:
        return teacher.score_scale
    return _only({scale for verdict in verdicts for scale in _scales_read(verdict)})


def _only(scales: set[Scale | None]) -> Scale | None:
    return scales.pop() if len(scales) == 1 else None


def _scales_read(verdict: Verdict) -> Iterator[Scale | None]:
    """The scale of consecutive whole numbers whose mean level is the score, for each score of a verdict's findings;
    None where there is none."""
    for finding in verdict.findings:
        scores = finding.scores or ()
        for score, levels in zip(scores, [*(finding.levels or ()), *[()] * len(scores)], strict=False):
            lowest = score - math.fsum(number * p for number, p in enumerate(levels))
            known = len(levels) > 1 and abs(lowest - round(lowest)) < CLOSE
            yield (float(round(lowest)), float(round(lowest) + len(levels) - 1)) if known else None
