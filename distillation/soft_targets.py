"""Soft targets: the probabilities that a student learns for the one token of a question.

They come from people (the proportions of the votes where there are votes, else the label), from the teacher (the
probabilities of its verdict, which are those of its head, or of its letters in both orders), or from both:
`human_weight * people + (1 - human_weight) * teacher`.

A verdict's probabilities are of categories by name, or of a, b and tie in the case's order. A token says a or b of the
texts as they were shown, so in the order ba the two are exchanged. Where no token says tie, half of the tie's
probability goes to each text.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..data.case import Category, Label, Scores
from ..errors import DeclarationError
from ..optimizers.soft_labels import soft_labels
from .row import TrainingRow
from .trace import Trace

Targets = Literal["labels", "teacher", "both"]
Distribution = dict[str, float]
Place = tuple[str, str, str | None, int | None]  # case, task, order, candidate
WINNERS = ("a", "b", "tie")
MIRRORED = frozenset({"worse"})  # outputs that name the worse text
ROUNDING = 1e-6  # by how much a mean of levels may be outside its scale
LEAST = 1e-12  # a smaller total is no probability


@dataclass(frozen=True)
class SoftRows:
    """Rows of one-token questions.

    Attributes:
        rows: in the order of the traces.
        counts: how many rows have targets of people, of the teacher, or of both, and why traces gave none.
    """

    rows: tuple[TrainingRow, ...]
    counts: Mapping[str, int]


def soft_rows(
    traces: Iterable[Trace], targets: Targets = "both", *, human_weight: float = 0.5, imitate: bool = True
) -> SoftRows:
    """A row for each trace of a one-token question that has such targets.

    Args:
        targets: "labels": of people alone; "teacher": of the teacher alone; "both": of both where both are known, else
            of the teacher.
        human_weight: the weight of people's targets in a mixture, 0..1.
        imitate: also teach what the teacher read of questions that do not decide the verdict; False where the traces
            are not of the teacher.

    Raises:
        DeclarationError: another word, or a weight outside 0..1.
    """
    if targets not in get_args(Targets):
        raise DeclarationError(f"targets: {targets!r} is unknown. Give one of {', '.join(get_args(Targets))}.")
    if not 0 <= human_weight <= 1:
        raise DeclarationError(f"targets: the weight of people is {human_weight:g}. Give a number from 0 to 1.")
    read = [trace for trace in traces if trace.probabilities]
    deciding = _deciding(read)
    rows, counts = list[TrainingRow](), Counter[str]()
    for trace in read:
        decides = _place(trace) in deciding
        human = human_targets(trace) if decides and targets != "teacher" else None
        teacher = teacher_targets(trace, decides=decides, imitate=imitate) if targets != "labels" else None
        chosen, origin = _chosen(human, teacher, human_weight)
        counts[origin] += 1
        if chosen is not None:
            rows.append(trace.row(chosen, source="labels" if human else "traces"))
    return SoftRows(tuple(rows), dict(counts))


def human_targets(trace: Trace) -> Distribution | None:
    """What people say of a question that decides the verdict, by token; None where they say nothing of it.

    Example:
        >>> from dicast.data.case import Winner
        >>> shown = {"case_id": "1", "group": "1", "program": "direct", "stage": "judgment", "task": "direct.pairwise"}
        >>> read = {"probabilities": {"A": 0.5, "B": 0.5}, "meanings": {"A": "a", "B": "b"}}
        >>> human_targets(Trace(**shown, **read, messages=(), answer="A", order="ba", label=Winner(value="a")))
        {'A': 0.0, 'B': 1.0}
    """
    said = trace.votes or (trace.label,)
    if categories := Counter(label.category for label in said if isinstance(label, Category)):
        known_words = set(categories) <= set(trace.meanings.values())
        shares = {token: categories[word] / categories.total() for token, word in trace.meanings.items()}
        return shares if known_words else None
    if set(trace.meanings.values()) <= set(WINNERS):
        people = human_distribution(trace.label, trace.votes)
        return None if people is None or trace.order is None else tokens_of(trace, people)
    labels = [label for label in said if isinstance(label, Scores)]
    if trace.candidate is None or not labels:
        return None
    spread = [_on_levels(label, trace.candidate, trace.meanings) for label in labels]
    known = [levels for levels in spread if levels is not None]
    if not known:
        return None
    return {token: sum(levels[token] for levels in known) / len(known) for token in trace.meanings}


def teacher_targets(trace: Trace, *, decides: bool = True, imitate: bool = True) -> Distribution | None:
    """What the teacher says of a question, by token: its verdict, where the question decides it, else what it read.

    None where the verdict that it decides is not scored, or has no probabilities of a and b, or of the categories; and
    for other questions where they are not to be imitated.
    """
    if not decides:
        return dict(trace.probabilities) if imitate else None
    if trace.category is not None and set(trace.meanings.values()) <= set(trace.distribution or {}):
        return _of_categories(trace)
    if not (trace.order is not None and set(trace.meanings.values()) <= set(WINNERS)):
        return _score_levels(trace) if not imitate else dict(trace.probabilities)
    shares = trace.distribution or {}
    if {"a", "b"} <= set(shares) <= set(WINNERS) and sum(shares.values()) > LEAST:
        return tokens_of(trace, shares)
    return None


def _of_categories(trace: Trace) -> Distribution | None:
    """The verdict's probabilities of the categories that tokens name; None where they have none."""
    shares = {token: (trace.distribution or {})[word] for token, word in trace.meanings.items()}
    total = sum(shares.values())
    return {token: share / total for token, share in shares.items()} if total > LEAST else None


def _score_levels(trace: Trace) -> Distribution | None:
    """The score that the verdict gives the text that was shown alone, as levels; None without one."""
    if trace.candidate is None or trace.scores is None or trace.scale is None:
        return None
    lo, hi = trace.scale
    on_scale = (min(max(score, lo), hi) for score in trace.scores)
    values = tuple(
        near if abs(near - score) < ROUNDING else score for near, score in zip(on_scale, trace.scores, strict=True)
    )
    return _on_levels(Scores(values=values, lo=lo, hi=hi), trace.candidate, trace.meanings)


def tokens_of(trace: Trace, distribution: Mapping[str, float]) -> Distribution:
    """A distribution over a, b and tie of the case as one over the tokens of a question about the pair as shown."""
    shares = {winner: distribution.get(winner, 0.0) for winner in WINNERS}
    exchanged = (trace.order == "ba") != (trace.question in MIRRORED)
    if exchanged:
        shares["a"], shares["b"] = shares["b"], shares["a"]
    if "tie" not in trace.meanings.values():
        half = shares.pop("tie") / 2
        shares = {winner: share + half for winner, share in shares.items()}
    total = sum(shares.values())
    return {token: shares[meaning] / total for token, meaning in trace.meanings.items()}


def human_distribution(label: Label | None, votes: Sequence[Label] = ()) -> Distribution | None:
    """The proportions of a, b and tie that people gave to a pair; None without any.

    Votes count, unless the label contradicts them (see `optimizers.soft_labels`).
    """
    winners = [vote.answer for vote in votes if vote.answer is not None]
    count = Counter(winner for winner in winners if winner in WINNERS)
    voted = [count[winner] / count.total() if count else float("nan") for winner in WINNERS]
    decided = label.answer if label is not None else None
    code = WINNERS.index(decided) if decided in WINNERS else -1
    proportions = soft_labels(np.array([code]), np.array([voted])).proportions[0]
    return None if np.isnan(proportions).any() else dict(zip(WINNERS, proportions.tolist(), strict=True))


def mixed(human: Mapping[str, float], teacher: Mapping[str, float], human_weight: float) -> Distribution:
    """`human_weight * human + (1 - human_weight) * teacher`, token by token.

    Example:
        >>> mixed({"A": 1.0, "B": 0.0}, {"A": 0.5, "B": 0.5}, 0.5)
        {'A': 0.75, 'B': 0.25}
    """
    return {token: human_weight * human[token] + (1 - human_weight) * p for token, p in teacher.items()}


def _chosen(
    human: Distribution | None, teacher: Distribution | None, human_weight: float
) -> tuple[Distribution | None, str]:
    """The targets, and a word on where they come from."""
    if human is not None and teacher is not None:
        return mixed(human, teacher, human_weight), "people and teacher"
    if human is not None:
        return human, "people"
    return teacher, "teacher" if teacher is not None else "without targets"


def _place(trace: Trace) -> Place:
    return trace.case_id, trace.task, trace.order, trace.candidate


def _deciding(traces: Iterable[Trace]) -> set[Place]:
    """The places of questions that decide the verdict alone: of one question, or of one with its options in several
    orders."""
    options_at: dict[Place, list[tuple[str, ...]]] = defaultdict(list)
    for trace in traces:
        options_at[_place(trace)].append(tuple(trace.meanings.values()))
    return {
        place
        for place, options in options_at.items()
        if len(set(map(frozenset, options))) == 1 and len(set(options)) == len(options)
    }


def _on_levels(label: Scores, candidate: int, meanings: Mapping[str, str]) -> Distribution | None:
    """A score as a distribution over the levels beside it, with the same mean; None where tokens are no levels."""
    if set(meanings.values()) == {"yes", "no"}:
        levels = {token: float(meaning == "yes") for token, meaning in meanings.items()}
    elif all(meaning.isdigit() for meaning in meanings.values()):
        levels = {token: float(meaning) for token, meaning in meanings.items()}
    else:
        return None
    lo, hi = min(levels.values()), max(levels.values())
    value = lo + (label.values[candidate] - label.lo) / (label.hi - label.lo) * (hi - lo)
    return {token: max(0.0, 1 - abs(level - value) / _step(levels)) for token, level in levels.items()}


def _step(levels: Mapping[str, float]) -> float:
    """The distance of neighbouring levels."""
    return (max(levels.values()) - min(levels.values())) / (len(levels) - 1)
