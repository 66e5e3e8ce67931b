"""A run as arrays, one entry a scored verdict, in the order of case ids: what the statistics are taken of.

Codes are indices into `labels`; -1 and NaN mean missing. Texts, findings and rationales are not kept, so 100,000
verdicts take some tens of megabytes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Judged, Scores, Usage, Winner
from ..data.case import Label

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
PAIR = ("a", "b", "tie")


@dataclass(frozen=True)
class Columns:
    """The scored verdicts of a run, n of them, beside the counts of all.

    Verdicts of pairs and choices have `judge` and `human` codes; a judge's pair of scores may stand beside them. Single
    texts have `score` and `human_score`.
    """

    cases: int
    unscored: Counter[str]
    usage: Usage
    labels: tuple[str, ...]  # a, b, tie; for choices the indices
    ids: tuple[str, ...]
    group: Codes
    aspect: Codes
    aspects: tuple[str, ...]
    judge: Codes
    human: Codes
    certainty: Floats
    distribution: Floats  # (n, labels); rows of NaN where the judge gave none
    votes: Codes  # (n, most votes of a case)
    vote_certainty: Floats  # alike, in [0, 1]
    human_gap: Floats  # people's score of a minus that of b, where both were scored
    score: Floats
    human_score: Floats
    human_scale: tuple[float, float] | None  # of people's scores, when they are all on one
    ratings: Floats  # (n, most votes of a case): single annotators' scores of single texts
    by_order: Codes  # (n, 2): the winner that the order ab, and that ba, names alone
    consistent: Codes  # both orders name the same winner; 0, 1
    length_gap: Floats  # characters of a minus those of b
    length: Floats  # characters of a single text
    system: Codes  # (n, 2) of the candidates of a pair, (n, 1) of single texts
    systems: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.ids)

    def rows(self, mask: NDArray[np.bool_]) -> "Columns":
        """The verdicts where `mask` is true; counts of all cases stay."""
        names = [name for name, value in vars(self).items() if isinstance(value, np.ndarray)]
        kept = {name: getattr(self, name)[mask] for name in names}
        ids = tuple(one for one, keep in zip(self.ids, mask.tolist(), strict=True) if keep)
        return Columns(**{**vars(self), **kept, "ids": ids})


def columns(verdicts: Iterable[Judged]) -> Columns:
    """Read verdicts, one at a time.

    A person's two scores of a pair count as a label: the higher one wins, equal ones tie.
    """
    cases, unscored, usage, rows = 0, Counter[str](), Usage(), list[dict[str, Any]]()
    for judged in verdicts:
        cases += 1
        usage = usage + judged.usage
        if judged.status == "scored":
            rows.append(_row(judged))
        else:
            unscored[judged.reason or judged.status] += 1
    rows.sort(key=lambda row: row["id"])
    labels = _labels(rows)
    scales = {row["scale"] for row in rows if row["scale"] is not None}
    code = {label: index for index, label in enumerate(labels)}
    groups, aspects, systems = (_Names(), _Names(), _Names())
    return Columns(
        cases=cases,
        unscored=unscored,
        usage=usage,
        labels=labels,
        ids=tuple(row["id"] for row in rows),
        group=_codes(groups.code(row["group"] or row["id"]) for row in rows),
        aspect=_codes(aspects.code(row["aspect"] or "") for row in rows),
        aspects=tuple(aspects),
        judge=_codes(code.get(row["winner"], -1) for row in rows),
        human=_codes(code.get(row["label"], -1) for row in rows),
        certainty=_floats(row["certainty"] for row in rows),
        distribution=_matrix([_shares(row["distribution"], labels) for row in rows], len(labels)),
        votes=_padded([[code.get(vote, -1) for vote in row["votes"]] for row in rows], -1).astype(np.int64),
        vote_certainty=_padded([row["vote_certainty"] for row in rows], math.nan),
        human_gap=_floats(row["human_gap"] for row in rows),
        score=_floats(row["score"] for row in rows),
        human_score=_floats(row["human_score"] for row in rows),
        human_scale=scales.pop() if len(scales) == 1 else None,
        ratings=_padded([row["ratings"] for row in rows], math.nan),
        by_order=_padded([[code.get(row["orders"].get(order), -1) for order in ("ab", "ba")] for row in rows], -1)
        .reshape(-1, 2)
        .astype(np.int64),
        consistent=_codes(-1 if row["consistent"] is None else int(row["consistent"]) for row in rows),
        length_gap=_floats(row["length_gap"] for row in rows),
        length=_floats(row["length"] for row in rows),
        system=_padded([[systems.code(name) if name else -1 for name in row["systems"]] for row in rows], -1).astype(
            np.int64
        ),
        systems=tuple(systems),
    )


def _row(judged: Judged) -> dict[str, Any]:
    scores = judged.label.values if isinstance(judged.label, Scores) else ()
    single = judged.winner is None and judged.scores is not None and len(judged.scores) == 1
    pair = len(judged.lengths) == 2
    votes = [vote for vote in judged.votes if vote.winner is not None]
    return {
        "id": judged.case_id,
        "group": judged.group,
        "aspect": judged.aspect,
        "winner": None if judged.winner is None else str(judged.winner),
        "label": None if judged.human_winner is None else str(judged.human_winner),
        "certainty": judged.certainty,
        "distribution": None if judged.winner is None else judged.distribution,
        "votes": [str(vote.winner) for vote in votes],
        "vote_certainty": [_certainty(vote) for vote in votes],
        "human_gap": scores[0] - scores[1] if len(scores) == 2 else None,
        "score": judged.scores[0] if single and judged.scores else None,
        "human_score": scores[0] if single and len(scores) == 1 else None,
        "ratings": [vote.values[0] for vote in judged.votes if single and isinstance(vote, Scores)],
        "scale": (judged.label.lo, judged.label.hi) if isinstance(judged.label, Scores) else None,
        "orders": judged.order_winners,
        "consistent": judged.consistent,
        "length_gap": judged.lengths[0] - judged.lengths[1] if pair else None,
        "length": judged.lengths[0] if len(judged.lengths) == 1 else None,
        "systems": judged.systems if len(judged.systems) <= 2 else (),
    }


def _labels(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """a, b, tie when any verdict or label is a letter; then the indices of choices in their order."""
    found = {
        name
        for row in rows
        for name in (row["winner"], row["label"], *row["votes"], *(row["distribution"] or ()))
        if name is not None
    }
    letters = PAIR if found & {"a", "b"} or found == {"tie"} else ()
    others = sorted((name for name in found if name not in letters), key=lambda name: (name == "tie", name.zfill(6)))
    return (*letters, *others)


def _certainty(vote: Label) -> float:
    return vote.certainty if isinstance(vote, Winner) and vote.certainty is not None else math.nan


def _shares(distribution: dict[str, float] | None, labels: tuple[str, ...]) -> list[float]:
    if distribution is None:
        return [math.nan] * len(labels)
    return [distribution.get(label, 0.0) for label in labels]


class _Names(dict[str, int]):
    """Names by the code that each got when it was first met."""

    def code(self, name: str) -> int:
        return self.setdefault(name, len(self))


def _codes(values: Iterable[int]) -> Codes:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Iterator[float | None]) -> Floats:
    return np.fromiter((math.nan if value is None else value for value in values), dtype=np.float64)


def _matrix(rows: list[list[float]], width: int) -> Floats:
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), width)


def _padded(rows: list[list[Any]], missing: float) -> Floats:
    width = max(map(len, rows), default=0)
    return _matrix([[*row, *[missing] * (width - len(row))] for row in rows], width)
