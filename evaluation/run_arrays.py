"""A run as arrays, one entry per scored verdict in the order of case ids: the input of every metric.

Codes are indices into `labels`; -1 and NaN mean missing. Texts and rationales are not kept, so 100,000 verdicts take
some tens of megabytes.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Judged, Scores, Usage
from ..data.case import Label
from ..errors import DataError
from ..stats.agreement import ratio
from .attribute_arrays import AttributeArrays, AttributeCoder
from .case_table import CaseRecord, CaseTable
from .evidence_arrays import (
    CorrectionArrays,
    FactorArrays,
    MassArrays,
    correction_arrays,
    factor_arrays,
    factors_of,
    mass_arrays,
)
from .verdict_rules import AS_THE_RUN_HAS_IT, NO_ANSWER, VerdictRules, answers_of, is_wrong, mark_unread, merged_verdict

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
ScoreScale = tuple[float, float]
PAIR = ("a", "b", "tie")
OF_CASES = ("case_group", "case_scored")  # arrays with an entry per case, scored or not
NESTED = ("factors", "corrections", "mass_read", "attributes")  # records of arrays


@dataclass(frozen=True, eq=False)
class RunArrays:
    """The n scored verdicts of a run, and counts of all its cases.

    Verdicts of pairs and choices have `judge` and `human` codes; single texts have `score` and `human_score`.
    `candidate_scores` holds the judge's scores of the candidates of either.
    """

    cases: int
    unscored: Counter[str]  # reason: cases
    usage: Usage  # of all cases
    noted: int  # verdicts with a note
    note: str  # one of the notes: the first in alphabetical order
    repeated: int  # lines that were left out because another line is of the same case
    score_scale: ScoreScale | None  # of the judge's scores, where it is always the same
    human_scale: ScoreScale | None  # of the human scores, where all are on one
    case_group: Codes  # (cases,) group of every case, scored or not, in the order of ids
    case_scored: Flags  # (cases,)
    labels: tuple[str, ...]  # a, b, tie; for choices the indices; or categories, of two the second is positive
    of_categories: bool  # whether the labels are categories
    ids: tuple[str, ...]
    group: Codes
    aspect: Codes
    aspects: tuple[str, ...]
    judge: Codes
    answers: Codes  # (n, m): what counts as the verdict, each by 1/m: the judge's code, or those of both orders
    options: Floats  # candidates of a pair or choice; NaN where the run does not say
    human: Codes
    certainty: Floats
    distribution: Floats  # (n, labels); rows of NaN where the judge gave none
    votes: Codes  # (n, most votes of a case)
    vote_certainty: Floats  # (n, most votes of a case), in [0, 1]
    human_difference: Floats  # human score of a minus that of b, where both were scored
    score: Floats
    human_score: Floats
    candidate_scores: Floats  # (n, most candidates that a verdict scores)
    human_candidate_scores: Floats  # (n, most candidates that people score)
    scored_separately: Flags  # each score is of a candidate that the judge read without the others
    ratings: Floats  # (n, most votes of a case): single annotators' scores of single texts
    by_order: Codes  # (n, 2): the winner in the order ab, and in the order ba
    consistent: Codes  # both orders name the same winner; 0, 1
    length_difference: Floats  # characters of a minus those of b
    length: Floats  # characters of a single text
    system: Codes  # (n, 2) of the candidates of a pair, (n, 1) of single texts
    systems: tuple[str, ...]
    factors: FactorArrays
    corrections: CorrectionArrays
    mass_read: MassArrays
    attributes: AttributeArrays
    case_table: CaseTable  # of every case, scored or not

    @property
    def n(self) -> int:
        return len(self.ids)

    @property
    def is_of_pairs(self) -> bool:
        return self.labels[:3] == PAIR and not self.of_categories

    @property
    def is_of_two_categories(self) -> bool:
        """Whether the labels are two categories, of which the second is the positive one."""
        return self.of_categories and len(set(self.labels) - {NO_ANSWER}) == 2

    def rows(self, mask: Flags) -> "RunArrays":
        """The verdicts where `mask`, (n,), is true; counts of all cases stay."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = {
            name: value[mask]
            for name, value in values.items()
            if isinstance(value, np.ndarray) and name not in OF_CASES
        }
        ids = tuple(name for name, selected in zip(self.ids, mask.tolist(), strict=True) if selected)
        nested = {name: getattr(self, name).rows(mask) for name in NESTED}
        return RunArrays(**values | parts | nested | {"ids": ids})

    @cached_property
    def pairs(self) -> "RunArrays":
        """The verdicts of pairs: none of a run of choices or single texts; without the choices of a mixed run."""
        letters = (self.judge < len(PAIR)) & (self.human < len(PAIR))
        return self.rows(letters & self.is_of_pairs)

    @cached_property
    def labelled(self) -> "RunArrays":
        """The verdicts with a winner and a human winner."""
        return self.rows((self.judge >= 0) & (self.human >= 0))

    @cached_property
    def rated(self) -> "RunArrays":
        """The single texts that both the judge and people scored."""
        return self.rows(~np.isnan(self.score) & ~np.isnan(self.human_score))

    @property
    def in_both_orders(self) -> Flags:
        """(n,) whether both orders have a winner, or an answer that counts as wrong."""
        return np.asarray((self.by_order >= 0).all(axis=1), dtype=np.bool_)

    @cached_property
    def with_certainty(self) -> "RunArrays":
        """The labelled verdicts that state a certainty."""
        return self.labelled.rows(~np.isnan(self.labelled.certainty))

    @property
    def both_orders_correct(self) -> Flags:
        """(n,) whether the winners in both orders are the human one; where no order was shown, the verdict's winner.

        None is known of a verdict that a head named: it weighs both orders at once."""
        unordered = (self.by_order < 0).all(axis=1)
        both = (self.by_order == self.human[:, None]).all(axis=1)
        correct = np.where(unordered, self.judge == self.human, both)
        return np.asarray(correct & (self.consistent == 1) & (self.human >= 0), dtype=np.bool_)

    @property
    def vote_proportions(self) -> Floats:
        """(n, labels): the proportion of the votes for each label; NaN without votes."""
        counts = [(self.votes == label).sum(axis=1) for label in range(len(self.labels))]
        table = np.stack(counts, axis=1).astype(np.float64)
        return ratio(table, table.sum(axis=1, keepdims=True))


def run_arrays(
    verdicts: Iterable[Judged],
    score_scale: ScoreScale | None = None,
    *,
    repeated: int = 0,
    place: Callable[[str], str] | None = None,
    rules: VerdictRules = AS_THE_RUN_HAS_IT,
) -> RunArrays:
    """Read verdicts, one at a time.

    Two human scores of a pair count as a label: the higher one wins, equal scores tie.

    Args:
        verdicts: of cases with distinct ids, in any order.
        score_scale: lowest and highest score of the judge, where they are always the same.
        repeated: lines that were left out because another line is of the same case.
        place: where a case is written, for messages, as in "file.jsonl line 3".
        rules: how two orders make a verdict, and how a verdict without an answer counts.

    Raises:
        DataError: a case has several verdicts.
    """
    unread = list[dict[str, Any]]()
    unscored, usage, rows, cases = (
        Counter[str](),
        Usage(),
        list[dict[str, Any]](),
        list[tuple[str, str, bool, tuple[int, ...]]](),
    )
    noted, note, coder = 0, "", AttributeCoder()
    records = list[CaseRecord]()
    for judged in verdicts:
        records.append(CaseRecord.of(judged))
        attributes = coder.codes(judged)
        cases.append((judged.case_id, judged.group_name, judged.status == "scored", attributes))
        usage = usage + judged.usage
        if judged.notes:
            noted, note = noted + 1, min([*([note] if note else []), *judged.notes])
        if judged.status == "scored":
            rows.append(_row(merged_verdict(judged, rules.merge)) | {"attributes": attributes})
        else:
            unscored[judged.reason or judged.status] += 1
            if is_wrong(judged, rules):
                unread.append(_row(judged) | {"attributes": attributes, "winner": NO_ANSWER})
    if any(row["winner"] is not None or row["label"] is not None for row in (*rows, *unread)):
        rows += unread
    if rules.unreadable == "wrong":
        mark_unread(rows, rules.merge)
    cases.sort()
    rows.sort(key=lambda row: row["id"])
    categories = _categories(rows)
    labels = label_order(_names_of(rows), categories)
    scales = {row["scale"] for row in rows if row["scale"] is not None}
    code = {label: index for index, label in enumerate(labels)}
    groups, aspects, systems = (_Names(), _Names(), _Names())
    return RunArrays(
        cases=len(cases),
        unscored=unscored,
        usage=usage,
        noted=noted,
        note=note,
        repeated=repeated,
        score_scale=score_scale,
        human_scale=scales.pop() if len(scales) == 1 else None,
        case_group=_codes(groups.code(group) for _, group, *_ in cases),
        case_scored=np.fromiter((scored for *_, scored, _ in cases), dtype=np.bool_),
        labels=labels,
        of_categories=bool(categories),
        ids=tuple(row["id"] for row in rows),
        group=_codes(groups.code(row["group"]) for row in rows),
        aspect=_codes(aspects.code(row["aspect"] or "") for row in rows),
        aspects=tuple(aspects),
        judge=_codes(code.get(row["winner"], -1) for row in rows),
        answers=_answers([[code.get(name or "", -1) for name in answers_of(row, rules.merge)] for row in rows]),
        options=_floats(row["options"] for row in rows),
        human=_codes(code.get(row["label"], -1) for row in rows),
        certainty=_floats(row["certainty"] for row in rows),
        distribution=_matrix([_probabilities(row["distribution"], labels) for row in rows], len(labels)),
        votes=_padded_codes([[code.get(vote, -1) for vote in row["votes"]] for row in rows]),
        vote_certainty=_padded([row["vote_certainty"] for row in rows]),
        human_difference=_floats(row["human_difference"] for row in rows),
        score=_floats(row["score"] for row in rows),
        human_score=_floats(row["human_score"] for row in rows),
        candidate_scores=_padded([row["scores"] for row in rows]),
        human_candidate_scores=_padded([row["human_scores"] for row in rows]),
        scored_separately=np.fromiter((row["separately"] for row in rows), dtype=np.bool_),
        ratings=_padded([row["ratings"] for row in rows]),
        by_order=_padded_codes([[code.get(row["orders"].get(order), -1) for order in ("ab", "ba")] for row in rows], 2),
        consistent=_codes(-1 if row["consistent"] is None else int(row["consistent"]) for row in rows),
        length_difference=_floats(row["length_difference"] for row in rows),
        length=_floats(row["length"] for row in rows),
        system=_padded_codes([[systems.code(name) if name else -1 for name in row["systems"]] for row in rows]),
        systems=tuple(systems),
        factors=factor_arrays(row["factors"] for row in rows),
        corrections=correction_arrays(row["corrections"] for row in rows),
        mass_read=mass_arrays(row["mass_read"] for row in rows),
        attributes=coder.arrays([row["attributes"] for row in rows], [attributes for *_, attributes in cases]),
        case_table=CaseTable.of(records, place),
    )


def _row(judged: Judged) -> dict[str, Any]:
    sides = {type(value) for value in (judged.winner, judged.human_winner) if value not in (None, "tie")}
    if len(sides) > 1:
        raise DataError(
            f"verdicts: case {judged.case_id!r}: the winner is {judged.winner!r}, the label {judged.human_winner!r}. "
            "Give both as letters, or both as indexes."
        )
    human_scores = judged.label.values if isinstance(judged.label, Scores) else ()
    single = judged.answer is None and judged.scores is not None and len(judged.scores) == 1
    scored = [finding for finding in judged.findings if finding.scores]
    unordered = bool(judged.findings) and all(finding.order is None for finding in judged.findings)
    pair = len(judged.lengths) == 2
    votes = [vote for vote in judged.votes if vote.answer is not None]
    return {
        "id": judged.case_id,
        "group": judged.group_name,
        "aspect": judged.aspect,
        "categories": judged.categories,
        "winner": judged.answer,
        "label": judged.human_answer,
        "certainty": judged.certainty,
        "distribution": None if judged.answer is None else judged.distribution,
        "votes": [vote.answer for vote in votes],
        "vote_certainty": [_certainty(vote) for vote in votes],
        "human_difference": human_scores[0] - human_scores[1] if len(human_scores) == 2 else None,
        "score": judged.scores[0] if single and judged.scores else None,
        "human_score": human_scores[0] if single and len(human_scores) == 1 else None,
        "scores": judged.scores or (),
        "human_scores": human_scores,
        "separately": single or (bool(scored) and all(finding.order is None for finding in scored)),
        "ratings": [vote.values[0] for vote in judged.votes if single and isinstance(vote, Scores)],
        "scale": (judged.label.lo, judged.label.hi) if isinstance(judged.label, Scores) else None,
        "orders": {} if judged.by_head else judged.order_winners,
        "consistent": None if unordered or judged.by_head else judged.consistent,  # runs of version 0.1 have True there
        "length_difference": judged.lengths[0] - judged.lengths[1] if pair else None,
        "length": judged.lengths[0] if len(judged.lengths) == 1 else None,
        "systems": judged.systems if len(judged.systems) <= 2 else (),
        "options": _options(judged),
        "factors": factors_of(judged),
        "mass_read": [finding.mass_read for finding in judged.findings if finding.mass_read is not None],
        "corrections": [(_number(fix.before), _number(fix.after)) for fix in judged.corrections],
    }


def _names_of(rows: Sequence[dict[str, Any]]) -> set[str]:
    """The names of all verdicts, labels and votes."""
    return {
        name
        for row in rows
        for source in ((row["winner"], row["label"]), row["votes"], row["distribution"] or (), row["orders"].values())
        for name in source
        if name is not None
    }


def _categories(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The categories of the run's cases; () of any other run.

    Raises:
        DataError: some cases have categories, and others are of another kind.
    """
    names = dict.fromkeys(name for row in rows for name in row["categories"])
    other = next((row["id"] for row in rows if not row["categories"]), None)
    if names and other is not None:
        listed = ", ".join(names)
        raise DataError(
            f"verdicts: case {other!r} has no categories, and others are one of {listed}. Give cases of one kind."
        )
    return tuple(names)


def label_order(names: Collection[str], categories: Sequence[str] = ()) -> tuple[str, ...]:
    """The labels of a run in which these names occur: a, b, tie when one of them is a letter, then indices in order; or
    the categories in theirs."""
    if categories:
        return (*categories, *sorted(set(names) - set(categories)))
    letters = PAIR if {"a", "b"} & set(names) or set(names) - {NO_ANSWER} == {"tie"} else ()
    last = {"tie": 1, NO_ANSWER: 2}
    others = sorted(set(names) - set(letters), key=lambda name: (last.get(name, 0), name.zfill(6)))
    return (*letters, *others)


def _options(judged: Judged) -> int | None:
    """How many texts the verdict chose among; None where nothing says it, or it is of a single text."""
    if isinstance(judged.winner, str) or isinstance(judged.human_winner, str):
        return 2
    values = judged.label.values if isinstance(judged.label, Scores) else ()
    known = (judged.options or 0, *map(len, (judged.lengths, judged.systems, judged.scores or (), values)))
    return max(known) if max(known) > 1 else None


def _certainty(vote: Label) -> float:
    return math.nan if isinstance(vote, Scores) else _number(vote.certainty)


def _probabilities(distribution: dict[str, float] | None, labels: tuple[str, ...]) -> list[float]:
    if distribution is None:
        return [math.nan] * len(labels)
    return [distribution.get(label, 0.0) for label in labels]


class _Names(dict[str, int]):
    """Names by the code that each got when it first appeared."""

    def code(self, name: str) -> int:
        return self.setdefault(name, len(self))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _codes(values: Iterable[int]) -> Codes:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Iterator[float | None]) -> Floats:
    return np.fromiter(map(_number, values), dtype=np.float64)


def _matrix(rows: list[list[float]], width: int) -> Floats:
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), width)


def _padded(rows: list[Any], width: int = 0, missing: float = math.nan) -> Floats:
    width = max([width, *map(len, rows)])
    return _matrix([[*row, *[missing] * (width - len(row))] for row in rows], width)


def _answers(rows: list[list[int]]) -> Codes:
    """(n, m) what counts as the verdict of each row; one column where all the answers of every row are the same."""
    answers = _padded_codes(rows, 1)
    return answers[:, :1] if (answers == answers[:, :1]).all() else answers


def _padded_codes(rows: list[list[int]], width: int = 0) -> Codes:
    return _padded(rows, width, -1).astype(np.int64)
