"""Cases that the teacher labelled: its probabilities as the votes of as many annotators, for what learns from votes.

Heads and probes learn from the proportions of votes (`optimizers.soft_labels`). A case that people labelled stays
theirs. Such cases may only be learnt from: a result on them says how often student and teacher agree.
"""

from collections.abc import Iterable, Mapping

from ..data import Case, Verdict
from ..data.case import Winner

VOTES = 20  # of which each is 5 %
LABELLED_BY = "labelled_by"  # in `meta`
TEACHER = "teacher"
LETTERS = ("a", "b", "tie")


def teacher_cases(cases: Iterable[Case], verdicts: Iterable[Verdict], votes: int = VOTES) -> list[Case]:
    """The unlabelled pairs that the teacher judged, with its verdict as votes, in their order.

    `meta["labelled_by"]` is "teacher". Pairs without a scored verdict are left out, and so are labelled ones.

    Args:
        verdicts: of the teacher, after its head.
        votes: how many votes a case gets, by the largest remainders of the probabilities.
    """
    by_id = {judged.case_id: judged for judged in verdicts}
    labelled = []
    for case in cases:
        judged = by_id.get(case.id)
        if case.label is not None or judged is None or not case.is_pair or judged.status != "scored":
            continue
        shares = judged.distribution or {}
        if not {"a", "b"} <= set(shares):
            continue
        counts = apportioned({letter: shares.get(letter, 0.0) for letter in LETTERS}, votes)
        cast = tuple(Winner.model_validate({"value": letter}) for letter, n in counts.items() for _ in range(n))
        update = {"label": None, "votes": cast, "meta": case.meta | {LABELLED_BY: TEACHER}}
        labelled.append(case.model_copy(update=update))
    return labelled


def is_of_teacher(case: Case) -> bool:
    """Whether the teacher labelled the case, so that it may not be measured on."""
    return case.meta.get(LABELLED_BY) == TEACHER


def apportioned(shares: Mapping[str, float], seats: int) -> dict[str, int]:
    """So many seats in proportion, by the largest remainders; of equal remainders the first.

    Example:
        >>> apportioned({"a": 0.62, "b": 0.31, "tie": 0.07}, 20)
        {'a': 13, 'b': 6, 'tie': 1}
    """
    total = sum(shares.values())
    exact = {name: share / total * seats for name, share in shares.items()}
    counts = {name: int(value) for name, value in exact.items()}
    left = seats - sum(counts.values())
    for name in sorted(exact, key=lambda name: counts[name] - exact[name])[:left]:
        counts[name] += 1
    return counts
