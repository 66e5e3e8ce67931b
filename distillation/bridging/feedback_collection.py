"""Prometheus' Feedback-Collection (Kim et al. 2024, arXiv 2310.08491): single responses, each with its own rubric.

The rubric is criterion and guideline (`orig_criteria`, `orig_score1_description` ...), so nothing has to be filled in.
The rows also hold a reference answer, which the prompts of the set show and those of dicast do not.
"""

from collections.abc import Iterator

from .judgment import SETS, JudgmentSet, Row, SetJudgment, UnusableRow

NAME = "feedback-collection"


def read(row: Row, number: int) -> Iterator[SetJudgment]:
    """The judgment of a row."""
    score = float(row["orig_score"])
    if score not in (1, 2, 3, 4, 5):
        raise UnusableRow("a score is not on 1..5")
    levels = [f"{level}: {str(row[f'orig_score{level}_description']).strip()}" for level in range(1, 6)]
    yield SetJudgment(
        id=f"{NAME}/{number}",
        source=NAME,
        request=str(row["orig_instruction"]).strip(),
        responses=(str(row["orig_response"]),),
        judgment=str(row["orig_feedback"]).strip(),
        scores=(score,),
        scale=(1, 5),
        criterion=str(row["orig_criteria"]).strip(),
        guideline="\n".join(levels),
    )


SETS.add(NAME, JudgmentSet(NAME, "Feedback-Collection, arXiv 2310.08491", "CC-BY-4.0", read), module=__name__)
