"""HelpSteer and HelpSteer2 (Wang et al. 2024, arXiv 2311.09528, 2406.08673): ratings from 0 to 4 by people.

Of the five attributes three say how good a response is; complexity and verbosity describe it, and are left out.
"""

from collections.abc import Iterator

from .judgment import SETS, JudgmentSet, Row, SetJudgment, UnusableRow

NAME = "helpsteer"
ATTRIBUTES = {
    "helpfulness": "helpfulness: how useful the response is as a whole",
    "correctness": "correctness: all facts that matter are there, and none is wrong",
    "coherence": "coherence: the response is clear and does not contradict itself",
}


def read(row: Row, number: int) -> Iterator[SetJudgment]:
    """The judgments of a row, by attribute."""
    known = {name: row[name] for name in ATTRIBUTES if row[name] is not None}
    if not known:
        raise UnusableRow("no attribute is rated")
    for name, value in known.items():
        yield SetJudgment(
            id=f"{NAME}/{number}/{name}",
            source=NAME,
            request=str(row["prompt"]).strip(),
            responses=(str(row["response"]),),
            scores=(float(value),),
            scale=(0, 4),
            criterion=ATTRIBUTES[name],
        )


SETS.add(NAME, JudgmentSet(NAME, "HelpSteer, arXiv 2311.09528", "CC-BY-4.0", read), module=__name__)
