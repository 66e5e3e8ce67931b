"""PandaLM's training data (Wang et al. 2024, arXiv 2306.05087): pairs that GPT-3.5 compared, with a short reason."""

from collections.abc import Iterator

from .judgment import SETS, JudgmentSet, Row, SetJudgment, UnusableRow, in_letters

NAME = "pandalm-train"
WINNERS = {"1": "a", "2": "b", "tie": "tie"}


def read(row: Row, number: int) -> Iterator[SetJudgment]:
    """The judgment of a row of `inputs` and `outputs`."""
    inputs, outputs = row["inputs"], row["outputs"]
    result = str(outputs["evaluation_result"]).strip().casefold()
    if result not in WINNERS:
        raise UnusableRow("another result than 1, 2 or Tie")
    parts = (str(inputs["instruction"]).strip(), str(inputs.get("input") or "").strip())
    yield SetJudgment.model_validate(
        {
            "id": f"{NAME}/{number}",
            "source": NAME,
            "request": "\n\n".join(filter(None, parts)),
            "responses": (str(inputs["response1"]), str(inputs["response2"])),
            "judgment": in_letters(str(outputs["evaluation_reason"]).strip()),
            "winner": WINNERS[result],
        }
    )


SETS.add(
    NAME,
    JudgmentSet(NAME, "PandaLM, training data, arXiv 2306.05087", "not stated for the data", read),
    module=__name__,
)
