"""A scale of named levels asked in both directions, so that no number means good by itself.

"1. very poor ... 5. excellent" and "1. excellent ... 5. very poor" are averaged as log-probabilities of the meanings.
What a model likes in the numbers then weighs on both ends equally and cannot lift all scores or lower them: of the
prior log p of the digits d and 6 - d their mean is left on either level. Preference for the levels of the middle, or of
the ends, stays.
"""

import math
from copy import deepcopy
from functools import lru_cache
from typing import Annotated, Any, get_args

import dspy

from ..engines.adapter import described
from ..errors import DeclarationError
from ..signatures.scales import ReadAs
from .aggregate import FLOOR
from .evidence import ScoreReading

SCALES = ("up", "both")  # the directions in which a scale is asked


@lru_cache(maxsize=64)
def turned(signature: type[dspy.Signature], output: str) -> type[dspy.Signature]:
    """The signature with the levels of an output named in the other direction, in its texts too where they name both
    ends, as `1 (very poor) to 5 (excellent)`.

    Raises:
        DeclarationError: the output is no scale with names.
    """
    field = signature.output_fields[output]
    names = next((mark.names for mark in field.metadata if isinstance(mark, ReadAs)), ())
    levels: tuple[Any, ...] = get_args(field.annotation)
    if not names or len(names) != len(levels):
        raise DeclarationError(f"scale=both: the output {output!r} has no name for each of its levels. Use scale=up.")
    ends = f"{levels[0]} ({names[0]}) to {levels[-1]} ({names[-1]})"
    turned_ends = f"{levels[0]} ({names[-1]}) to {levels[-1]} ({names[0]})"
    fields: dict[str, Any] = {
        name: (other.annotation, deepcopy(other))
        for name, other in {**signature.input_fields, **signature.output_fields}.items()
    }
    question = dspy.OutputField(desc=described(field).replace(ends, turned_ends))
    fields[output] = (Annotated[field.annotation, ReadAs(names[::-1])], question)
    changed: type[dspy.Signature] = dspy.Signature(fields, signature.instructions.replace(ends, turned_ends))
    return changed


def both_directions(up: ScoreReading, down: ScoreReading, low: int) -> ScoreReading:
    """One reading of two, of which the second was asked of the turned scale.

    Args:
        low: the lowest score.
    """
    logarithms = [
        (math.log(max(rising, FLOOR)) + math.log(max(falling, FLOOR))) / 2
        for rising, falling in zip(up.levels, down.levels[::-1], strict=True)
    ]
    weights = [math.exp(value - max(logarithms)) for value in logarithms]
    levels = tuple(weight / math.fsum(weights) for weight in weights)
    masses = [reading.mass_read for reading in (up, down) if reading.mass_read is not None]
    score = math.fsum((low + level) * share for level, share in enumerate(levels))
    return ScoreReading(score, levels, min(masses, default=None))
