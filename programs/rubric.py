"""`rubric`: yes-no criteria in a user's words, each read from one token; without a file a single one, is it good.

A file of ten lines declares another (docs/labels.md): `--judge support.yaml` with `judges: categories`.
"""

from ..judging.registry import register
from ..judging.rubric_judge import RubricJudge


@register(
    "rubric",
    summary="yes-no criteria in your words, weighted, one token each",
    source="TICK, arXiv 2410.03608",
    inputs="categories (two), single texts, pairs",
    calls="a text: 1 a criterion, of one token",
)
class Rubric(RubricJudge):
    """The rubric of a single criterion: is the response correct, and does it do what was asked?"""
