"""Auto-J's training data (Li et al. 2024, arXiv 2310.05470): `pairwise_traindata.jsonl` and `single_traindata.jsonl`.

A row holds the whole prompt (`usrmsg`; the set's page says `usermsg`) and GPT-4's judgment (`target_output`), which
ends with "So, the final decision is Response 1 / Response 2 / Tie" or with "Rating: [[5]]" on 1..10.
"""

import re
from collections.abc import Iterator

from .judgment import SETS, JudgmentSet, Row, SetJudgment, UnusableRow, in_letters

NAME = "auto-j"
PAIR = re.compile(
    r"\[Query\]: (?P<query>.*)\n\*\*\*\n\[Response 1\]: (?P<first>.*)\n\*\*\*\n\[Response 2\]: (?P<second>.*)\n\*\*\*\n"
    r"\[END DATA\]",
    re.DOTALL,
)
TEXT = re.compile(r"\[Query\]: (?P<query>.*)\n\*\*\*\n\[Response\]: (?P<text>.*)\n\*\*\*\n\[END DATA\]", re.DOTALL)
DECISION = re.compile(r"(?:So, )?the final decision is:? *(?P<winner>Response 1|Response 2|Tie)\b", re.IGNORECASE)
RATING = re.compile(r"Rating: \[\[(?P<rating>\d+(?:\.\d+)?)\]\]")
WINNERS = {"response 1": "a", "response 2": "b", "tie": "tie"}
LABELS = ("a", "b", "tie")  # of pred_label


def read(row: Row, number: int) -> Iterator[SetJudgment]:
    """The judgment of a row of either file."""
    prompt, said = str(row["usrmsg"] if "usrmsg" in row else row["usermsg"]), str(row["target_output"])
    if pair := PAIR.search(prompt):
        decision = DECISION.search(said)
        if decision is None:
            raise UnusableRow("without a final decision")
        winner = WINNERS[decision["winner"].casefold()]
        if "pred_label" in row and LABELS[int(row["pred_label"])] != winner:
            raise UnusableRow("the final decision is not the label's")
        yield SetJudgment.model_validate(
            {
                "id": f"{NAME}/{number}",
                "source": NAME,
                "request": pair["query"],
                "responses": (pair["first"], pair["second"]),
                "judgment": in_letters(said[: decision.start()].strip()),
                "winner": winner,
            }
        )
        return
    single, rating = TEXT.search(prompt), RATING.search(said)
    if single is None:
        raise ValueError("the prompt has no [Query] and [Response].")
    if rating is None:
        raise UnusableRow("without a rating")
    yield SetJudgment(
        id=f"{NAME}-single/{number}",
        source=NAME,
        request=single["query"],
        responses=(single["text"],),
        judgment=said[: rating.start()].strip(),
        scores=(float(rating["rating"]),),
    )


SETS.add(
    NAME,
    JudgmentSet(NAME, "Auto-J, training data, arXiv 2310.05470", "not stated for the data", read),
    module=__name__,
)
