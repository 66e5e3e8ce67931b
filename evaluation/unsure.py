"""Which verdicts a person should look at: those that the judge is unsure of, and those that differ from people's."""

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from ..data import Judged, Scores
from ..errors import DeclarationError
from .run_arrays import ScoreScale

Which = Literal["all", "unsure", "wrong"]
BELOW = 0.8  # a certainty under it is unsure, of a judge without a certified threshold
FAR = 0.1  # of the human scale: a score further from people's is wrong


def chosen_by(
    which: str, verdicts: Iterable[Judged], *, below: float = BELOW, scale: ScoreScale | None = None
) -> Callable[[Judged], bool]:
    """Whether a scored or abstained verdict is one of these.

    unsure: the judge abstained, which is below its certified threshold; or the orders of a pair name two winners; or,
    where the judge abstains from none of these verdicts, its certainty is under `below`. wrong: the verdict is not
    that of people; a score is wrong if it is further from theirs than a tenth of their scale.

    Args:
        which: all, unsure or wrong.
        verdicts: of the whole run.
        below: in 0..1.
        scale: of the judge's scores; None: that of people.

    Raises:
        DeclarationError: another word, or a certainty outside of 0..1.
    """
    if which not in get_args(Which):
        raise DeclarationError(f"why: {which!r} is none of all, unsure, wrong. Give one of these.")
    if not 0 <= below <= 1:
        raise DeclarationError(f"below: {below!r} is no certainty. Give a number from 0 to 1.")
    if which == "all":
        return _is_scored
    if which == "wrong":
        return lambda judged: _is_scored(judged) and is_wrong(judged, scale)
    abstains = any(judged.status == "abstained" for judged in verdicts)
    return lambda judged: _is_scored(judged) and _is_unsure(judged, None if abstains else below)


def is_wrong(judged: Judged, scale: ScoreScale | None = None) -> bool:
    """Whether the verdict differs from the human label; False where either is missing."""
    if judged.answer is not None and judged.human_answer is not None:
        return judged.answer != judged.human_answer
    label = judged.label
    if not isinstance(label, Scores) or len(label.values) != 1 or not judged.scores or len(judged.scores) != 1:
        return False
    low, high = scale or (label.lo, label.hi)
    place = label.lo + (judged.scores[0] - low) / (high - low) * (label.hi - label.lo)
    return abs(place - label.values[0]) > FAR * (label.hi - label.lo)


def _is_scored(judged: Judged) -> bool:
    return judged.status != "unscored"


def _is_unsure(judged: Judged, below: float | None) -> bool:
    if judged.status == "abstained" or (judged.consistent is False and not judged.by_head):
        return True
    return below is not None and judged.certainty is not None and judged.certainty < below
