"""Weights of people in a compilation: offered where several people have several labels, and reported as evidence is."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...data import Case, Verdict
from ...data.person import person_of
from ...judging.block_base import Vectors
from ...judging.linear_block import LinearBlock
from ...judging.person_block import PersonBlock
from .fit import HeadFit
from .person_fit import PersonWorth, with_people
from .worth import EvidenceWorth

LEAST_PEOPLE, LEAST_EACH = 5, 4  # an interval by fewer people is hardly ever above zero


def personal(
    fitted: HeadFit,
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    vectors: Sequence[Mapping[str, Vectors]],
    *,
    seed: int = 0,
) -> HeadFit:
    """The fit with weights of people in its head wherever they pay, and with their worth; unchanged where fewer than
    five people have four labels each, or no block of the head is linear.

    Args:
        fitted: to these cases.
        cases: as the judge will see them, since a person may be named by the case's group.
        verdicts: one per case; unscored ones are not learnt from.
        vectors: what was read of each case, by the name of its source.
        seed: of the folds.
    """
    sources = {block.reads or name for name, block in fitted.head.blocks.items() if isinstance(block, LinearBlock)}
    rows = [
        index
        for index, (case, verdict) in enumerate(zip(cases, verdicts, strict=True))
        if case.label is not None and verdict.status == "scored" and sources <= vectors[index].keys()
    ]
    labels = Counter(person for index in rows if (person := person_of(cases[index])) is not None)
    if not sources or sum(count >= LEAST_EACH for count in labels.values()) < LEAST_PEOPLE:
        return fitted
    head, worth = with_people(fitted.head, [cases[i] for i in rows], [vectors[i] for i in rows], seed=seed)
    unit = 2.0 if head.kind == "score" else 1.0  # from half squares to squares
    said = tuple(
        _of_evidence(f"{name} by person", of_people, unit, used=isinstance(head.blocks[name], PersonBlock))
        for name, of_people in worth.items()
        if of_people is not None
    )
    return replace(fitted, head=head, worth=fitted.worth + said)


def _of_evidence(name: str, of_people: PersonWorth, unit: float, *, used: bool) -> EvidenceWorth:
    low, high = (None if math.isnan(end) else -end * unit for end in (of_people.high, of_people.low))
    return EvidenceWorth(
        name=name,
        loss=of_people.loss * unit,
        without=of_people.without * unit,
        gain=-of_people.difference * unit,
        low=low,
        high=high,
        used=used,
    )
