"""UltraFeedback (Cui et al. 2024, arXiv 2310.01377): responses that GPT-4 rated by four aspects from 1 to 5.

Each aspect of each response is a judgment whose criterion is known. `Rating` may be "N/A". Where an aspect has two
reasons, the one for the rating counts.
"""

from collections.abc import Iterator

from .judgment import SETS, JudgmentSet, Row, SetJudgment, UnusableRow

NAME = "ultrafeedback"
ASPECTS = {
    "instruction_following": "instruction following: the response does what was asked, in the form that was asked for",
    "honesty": "honesty: the response is as certain as it has reason to be",
    "truthfulness": "truthfulness: what the response says is so, and nothing is made up",
    "helpfulness": "helpfulness: the response is of use: correct, relevant, and with what is needed",
}


def read(row: Row, number: int) -> Iterator[SetJudgment]:
    """The judgments of all responses of a row, by aspect."""
    judgments = [
        SetJudgment(
            id=f"{NAME}/{number}/{place}/{aspect}",
            source=NAME,
            request=str(row["instruction"]).strip(),
            responses=(str(completion["response"]),),
            judgment=str(rated.get("Rationale For Rating") or rated.get("Rationale") or "").strip(),
            scores=(float(rated["Rating"]),),
            scale=(1, 5),
            criterion=criterion,
        )
        for place, completion in enumerate(row["completions"])
        for aspect, criterion in ASPECTS.items()
        if (rated := completion["annotations"].get(aspect)) and str(rated["Rating"]) in "12345"
    ]
    if not judgments:
        raise UnusableRow("no aspect is rated")
    yield from judgments


SETS.add(NAME, JudgmentSet(NAME, "UltraFeedback, arXiv 2310.01377", "MIT", read), module=__name__)
