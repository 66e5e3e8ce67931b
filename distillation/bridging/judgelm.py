"""JudgeLM-100K (Zhu et al. 2023, arXiv 2310.17631): pairs that GPT-4 scored from 1 to 10, with a reason.

`text` is "2 8", a line break and the reason; `score` has the same numbers. A row may also hold the judgment that GPT-4
gave with a reference answer (`score_w_reference`); where that prefers another response, the pair cannot be judged
without the reference, and the row is left out. The paper of Fennec leaves rows out that need a reference; how it
decides that is not published.
"""

from collections.abc import Iterator, Sequence

from .judgment import SETS, JudgmentSet, Row, SetJudgment, UnusableRow, in_letters

NAME = "judgelm"


def read(row: Row, number: int) -> Iterator[SetJudgment]:
    """The judgment of a row."""
    first, second = (float(score) for score in row["score"])
    if not (1 <= first <= 10 and 1 <= second <= 10):
        raise UnusableRow("a score is not on 1..10")
    with_reference = row.get("score_w_reference")
    if with_reference is not None and _sign(with_reference) != _sign((first, second)):
        raise UnusableRow("another winner with the reference answer")
    numbers, _, reason = str(row["text"]).partition("\n")
    if [float(part) for part in numbers.replace(",", " ").split()] != [first, second]:
        raise UnusableRow("the text begins with other scores")
    yield SetJudgment(
        id=f"{NAME}/{row['question_id']}",
        source=NAME,
        request=str(row["question_body"]).strip(),
        responses=(str(row["answer1_body"]), str(row["answer2_body"])),
        judgment=in_letters(reason.strip()),
        scores=(first, second),
    )


def _sign(scores: Sequence[float]) -> int:
    return (scores[0] > scores[1]) - (scores[0] < scores[1])


SETS.add(NAME, JudgmentSet(NAME, "JudgeLM-100K, arXiv 2310.17631", "CC-BY-NC-4.0", read), module=__name__)
