"""A row of another tool as the verdict that it is, with what only all rows together say."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..data import Category, Judged, Scores, Winner
from ..data.attributes import attributes_of
from ..data.case import MOST_SCORE, Label, Letter
from ..data.category_words import of_counts, written
from ..data.rows import parse_scale
from ..data.verdict import Order
from ..parsing import shown
from .external_row import LETTERS, ExternalVerdict, Value
from .verdict_rules import merged


@dataclass
class RowFacts:
    """What all rows of one judge and setting say together.

    Attributes:
        highest: the highest certainty, as the rows have it.
        both_orders: some row has a verdict with the texts exchanged.
    """

    highest: float = 0.0
    both_orders: bool = False
    _certainty_scales: set[int] = field(default_factory=set)
    _scales: set[tuple[float, float] | None] = field(default_factory=set)
    _words: Counter[str] = field(default_factory=Counter)
    _categories: tuple[str, ...] = ()

    def add(self, content: Mapping[str, Any]) -> None:
        """Take in a row as it is written; what cannot be used in it is named when the row is read."""
        certainty = content.get("certainty")
        if isinstance(certainty, int | float) and not isinstance(certainty, bool):
            self.highest = max(self.highest, certainty)
        if content.get("certainty_scale") in (1, 100):
            self._certainty_scales.add(int(content["certainty_scale"]))
        self.both_orders = self.both_orders or content.get("prediction_swapped") is not None
        self._scales.add(_scale(content.get("scale")))
        self._words.update(_words(content))
        if isinstance(listed := content.get("categories"), list) and not self._categories:
            self._categories = tuple(map(written, listed))

    @property
    def categories(self) -> tuple[str, ...]:
        """What the verdicts name, where it is neither a letter nor a score; of two the positive one last.

        Raises:
            ValueError: the words of the rows are no categories (`category_words.of_counts`).
        """
        if self._categories or not self._words or {word.casefold() for word in self._words} & set(LETTERS):
            return self._categories
        return of_counts(self._words)

    @property
    def certainty_scale(self) -> int:
        """1 or 100: what the rows say, else 100 where any certainty is above 1."""
        return max(self._certainty_scales, default=100 if self.highest > 1 else 1)

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score; None where no row says it, or the rows differ."""
        return next(iter(self._scales)) if len(self._scales) == 1 else None

    @property
    def notices(self) -> tuple[str, ...]:
        """What was decided for all rows, in words."""
        if self._certainty_scales or self.certainty_scale == 1:
            return ()
        return (
            f"certainties are read on 0..100, as the highest is {self.highest:g}; rows with certainty_scale 1 or 100 "
            "decide it themselves",
        )


def _words(content: Mapping[str, Any]) -> Iterator[str]:
    """The texts that a row has as prediction, label or vote."""
    votes = content.get("votes")
    listed = (
        [vote.get("label") if isinstance(vote, dict) else vote for vote in votes] if isinstance(votes, list) else []
    )
    for value in (content.get("prediction"), content.get("label"), *listed):
        if isinstance(value, str):
            yield written(value)


def _scale(value: Any) -> tuple[float, float] | None:
    try:
        low, high = parse_scale(value) if isinstance(value, str) else map(float, value)
    except (TypeError, ValueError):
        return None
    return low, high


def judged_row(row: ExternalVerdict, facts: RowFacts) -> Judged:
    """The verdict of a row.

    Raises:
        ValueError: a certainty off its scale, or another value that no verdict can have.
    """
    fields = _verdict(row, facts)
    systems = (row.system,) if row.system is not None else row.systems
    return Judged(
        case_id=row.case_id,
        **fields,
        certainty=_certainty(row, facts),
        distribution=row.distribution if {"winner", "category"} & fields.keys() else None,
        rationale=row.rationale,
        label=None if row.label is None else _label(row, row.label),
        votes=tuple(_label(row, vote.label, vote.certainty) for vote in row.votes),
        group=row.group,
        aspect=row.aspect,
        categories=row.categories,
        attributes=attributes_of(row.model_extra or {}),
        systems=systems if any(systems) else (),
        options=row.options,
        lengths=row.lengths,
    )


def _certainty(row: ExternalVerdict, facts: RowFacts) -> float | None:
    if row.certainty is None:
        return None
    if row.certainty > facts.certainty_scale:
        raise ValueError(f"certainty is {row.certainty:g}, but certainty_scale is {facts.certainty_scale}")
    return row.certainty / facts.certainty_scale


def _verdict(row: ExternalVerdict, facts: RowFacts) -> dict[str, Any]:
    answers: dict[Order, Value | None] = {"ab": row.prediction, "ba": row.prediction_swapped}
    orders = {order: answer for order, answer in answers.items() if answer is not None}
    if not orders:
        return {"status": "unscored", "reason": row.reason or "parse_failure"}
    if isinstance(row.prediction, Category):
        return {"category": row.prediction.category}
    if row.kind == "scores":
        return {"scores": (_number(row.prediction),)}
    if row.kind == "indexes of options":
        return {"winner": int(_number(row.prediction)), "scores": row.scores or None}
    return _of_pair(row, orders, both=facts.both_orders)


def _of_pair(row: ExternalVerdict, orders: Mapping[Order, Value], *, both: bool) -> dict[str, Any]:
    """The verdict of a pair: the sum of its orders, of their scores where both have scores, else of their letters.

    Args:
        both: whether this judge was asked in both orders; one of them may be without an answer.
    """
    winners = {order: _letter(answer) for order, answer in orders.items()}
    scores = [answer for answer in orders.values() if isinstance(answer, tuple)]
    mean = tuple(sum(side) / len(side) for side in zip(*scores, strict=True)) if len(scores) == len(orders) else ()
    if mean:
        winner = _letter((mean[0], mean[1]))
    else:
        winner = merged(winners["ab"], winners["ba"], None) if len(winners) == 2 else next(iter(winners.values()))
    return {
        "winner": winner,
        "scores": mean or row.scores or None,
        "order_winners": winners if both else {},
        "consistent": winners["ab"] == winners["ba"] if len(winners) == 2 else None,
    }


def _letter(answer: Value) -> Letter:
    if isinstance(answer, tuple):
        return "a" if answer[0] > answer[1] else "b" if answer[0] < answer[1] else "tie"
    if isinstance(answer, str):
        return answer
    raise ValueError(f"prediction is {shown(answer)}, which names no winner of a pair")


def _number(value: Value | None) -> float:
    if isinstance(value, int | float):
        return value
    raise ValueError(f"{shown(value)} is neither a score nor an index")


def _label(row: ExternalVerdict, value: Value, certainty: float | None = None) -> Label:
    if isinstance(value, Category):
        return value.model_copy(update={"certainty": certainty})
    if isinstance(value, str):
        return Winner(value=value, certainty=certainty)
    if row.kind == "indexes of options":
        return Winner(value=int(_number(value)), certainty=certainty)
    low, high = row.scale or (-MOST_SCORE, MOST_SCORE)
    return Scores(values=value if isinstance(value, tuple) else (_number(value),), lo=low, hi=high)
