"""The outputs that a question can have: options, levels or yes and no; written by an LM, or read from probabilities.

Each type knows its decision type for the probability readout, and turns either kind of answer into evidence.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from dspy.experimental import Choice, Noul, Score

from ..engines.adapter import heading
from ..engines.token_probabilities import level_marks
from ..signatures.scales import ReadAs
from .evidence import ScoreReading, expected_level, levels_of, rescaled

MOST_LEVELS = 10  # a level is read as one number or letter
MOST_OPTIONS = 20  # a server lists at most 20 alternatives of a token
LABELS = {"a": "a", "b": "b", "c": "tie", "tie": "tie"}
TIE_QUESTIONS = {"C": ", or C if both are equally good", "tie": ", or is it a tie"}
YES_NO = ("no", "yes")


@dataclass(frozen=True)
class Options:
    """One of several options, such as A and B, and perhaps C or "tie" for equally good.

    Attributes:
        decision: the type that is read from probabilities; its options are marked A, B, C, ...
        names: the options as an LM writes them, in the same order.
    """

    decision: Any
    names: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...] | None:
        """a, b and perhaps tie, when these are the options."""
        return _preference_labels(self.names)

    def question(self, _: str) -> str:
        tie = TIE_QUESTIONS.get("C" if self.names[-1].casefold() == "c" else "tie", "") if len(self.names) > 2 else ""
        return f"Which response is better, A or B{tie}?"

    def shares(self, answer: Any) -> dict[str, float]:
        """The probability of each option; of a written answer 1 and 0."""
        if isinstance(answer, Choice):
            probabilities = answer.probabilities or {}
            return {name: probabilities[key] for name, key in zip(self.names, self._keys(), strict=True)}
        return {name: float(name == answer) for name in self.names}

    def preference(self, answer: Any) -> dict[str, float]:
        """The probability of a, of b, and of a tie where it is an option."""
        return dict(zip(self.labels or (), self.shares(answer).values(), strict=True))

    def written(self, answer: Any) -> Any:
        """The answer as an LM would write it; a value that is no answer stays as it is."""
        answer = _value(answer)
        if answer in self.names:
            return answer
        for position, forms in enumerate(zip(self.names, self._keys(), string.ascii_uppercase, strict=False)):
            if answer in forms:
                return self.names[position]
        return answer

    def mark(self, answer: Any) -> Any:
        """The token that stands for the answer in the probability readout."""
        written = self.written(answer)
        return string.ascii_uppercase[self.names.index(written)] if written in self.names else written

    def _keys(self) -> list[str]:
        return list(self.decision.criteria()) if self.decision is not None else list(self.names)


@dataclass(frozen=True)
class Levels:
    """A score on the whole numbers lo..hi; yes is 1 and no 0.

    Attributes:
        lo: the lowest score.
        hi: the highest score.
        decision: the type that is read from probabilities; None where the levels are too many to be read. It may have
            fewer levels than the scale, which are then spread evenly over it.
        words: the written forms of 0 and 1 where they are words.
    """

    lo: int
    hi: int
    decision: Any
    words: tuple[str, ...] = ()

    def question(self, field: str) -> str:
        if self.is_yes_no:
            return f"{heading(field)}, yes or no?"
        which = {"score_a": "response A", "score_b": "response B"}.get(field, "the response")
        return f"Which score does {which} deserve?"

    @property
    def is_yes_no(self) -> bool:
        return self.decision is not None and issubclass(self.decision, Noul)

    @property
    def log_odds_per_point(self) -> float:
        """The weight of a point: the scale from end to end weighs as much as 1..5 does elsewhere."""
        return 4 / (self.hi - self.lo)

    def reading(self, answer: Any, mass_read: float | None = None) -> ScoreReading:
        """The score on lo..hi, with the levels' probabilities where they were read."""
        if isinstance(answer, Score):
            return ScoreReading(self._on_scale(expected_level(answer)), levels_of(answer), mass_read)
        if isinstance(answer, Noul):
            yes = float(answer.probability or 0)
            return ScoreReading(yes, (1 - yes, yes), mass_read)
        return ScoreReading(float(self.words.index(answer) if answer in self.words else answer))

    def written(self, answer: Any) -> Any:
        """The answer as an LM would write it; a value that is no answer stays as it is."""
        answer = _most_probable(answer) if isinstance(answer, Score | Mapping) and not self.is_yes_no else answer
        if isinstance(answer, tuple):  # a level, of the decision type
            return self.at(answer[0])
        answer = _value(answer)
        if self.is_yes_no:
            yes = {"A": True, "B": False}.get(answer, answer) if isinstance(answer, str) else answer
            return (self.words[yes] if self.words else yes) if isinstance(yes, bool) else answer
        if not isinstance(answer, str):
            return answer
        if answer.isdigit():
            return int(answer) if self._holds(int(answer)) else answer
        marks = level_marks(self.decision.criteria()) if self.decision is not None else ()
        return self.at(marks.index(answer)) if answer in marks else answer

    def mark(self, answer: Any) -> Any:
        """The token that stands for the answer in the probability readout."""
        written = self.written(answer)
        if self.is_yes_no:
            yes = bool(self.words.index(written)) if written in self.words else written
            return ("A" if yes else "B") if isinstance(yes, bool) else written
        if self.decision is None or not isinstance(written, int) or not self._holds(written):
            return written
        marks = level_marks(self.decision.criteria())
        return marks[round(rescaled(written, (self.lo, self.hi), (0, len(marks) - 1)))]

    def at(self, level: int) -> int:
        """The written answer of a level of the decision type, counted from 0."""
        return round(self._on_scale(level + 1))

    def _holds(self, value: int) -> bool:
        return self.lo <= value <= self.hi

    def _on_scale(self, level: float) -> float:
        """A level of the decision type, counted from 1, on lo..hi."""
        count = len(self.decision.criteria())
        if count == self.hi - self.lo + 1:
            return level + self.lo - 1
        return rescaled(level, (1, count), (self.lo, self.hi))


OutputType = Options | Levels


def is_decision(annotation: Any) -> bool:
    """Whether the type is read from probabilities, never written."""
    return isinstance(annotation, type) and issubclass(annotation, (Choice, Noul, Score))


def output_type(annotation: Any, metadata: Sequence[Any] = (), names: Sequence[str] = ()) -> OutputType | None:
    """What an output of this type asks for; None for an explanation.

    Args:
        metadata: of the annotation; a `ReadAs` names the levels or the options for the probability readout.
        names: the same for levels, lowest first; goes before `metadata`.

    Raises:
        ValueError: a type that no question has; the message says what it is.
    """
    if annotation is str:
        return None
    if annotation is bool:
        return Levels(0, 1, Noul)
    if is_decision(annotation):
        return _decided(annotation)
    read_as = next((mark.names for mark in metadata if isinstance(mark, ReadAs)), ())
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    if values and all(type(value) is int for value in values):
        return _levels(sorted(values), names, read_as)
    if values and all(isinstance(value, str) for value in values):
        return _options(dict.fromkeys(values), read_as)
    raise ValueError(f"is {annotation.__name__ if isinstance(annotation, type) else annotation}")


def _decided(kind: Any) -> OutputType:
    if issubclass(kind, Noul):
        return Levels(0, 1, kind)
    options = kind.criteria()
    if options is None:
        raise ValueError(f"is {kind.__name__} without options")
    return _options(options) if issubclass(kind, Choice) else Levels(1, len(options), kind)


def _options(options: Mapping[str, Any], read_as: Sequence[str] = ()) -> OutputType:
    """A and B come first, in whatever order they are declared: the readout marks the options A, B, C."""
    options = dict(zip(options, read_as, strict=True)) if read_as else options
    lower = {option.casefold(): option for option in options}
    if set(lower) == set(YES_NO):
        no, yes = lower["no"], lower["yes"]
        return Levels(0, 1, Noul[((True, options[yes]), (False, options[no]))] if read_as else Noul, (no, yes))
    if labels := _preference_labels(tuple(options)):
        order = dict(zip(labels, options, strict=True))
        names = tuple(order[label] for label in ("a", "b", "tie") if label in order)
        tie = "" if "tie" not in order else "C" if order["tie"].casefold() == "c" else "tie"
        keys = ("A", "B", tie)[: len(names)]
        return Options(Choice[tuple((key, options[name]) for key, name in zip(keys, names, strict=True))], names)
    readable = 1 < len(options) <= MOST_OPTIONS
    return Options(Choice[tuple(options.items())] if readable else None, tuple(options))


def _preference_labels(options: Sequence[str]) -> tuple[str, ...] | None:
    """The label of each option, when they are A and B, and perhaps C or "tie"."""
    labels = tuple(LABELS.get(option.casefold(), "") for option in options)
    return labels if len(set(labels)) == len(labels) and set(labels) - {"tie"} == {"a", "b"} else None


def _levels(values: Sequence[int], names: Sequence[str], read_as: Sequence[str]) -> Levels:
    lo, hi = values[0], values[-1]
    if lo == hi or list(values) != list(range(lo, hi + 1)):
        raise ValueError(f"offers {', '.join(map(str, values))}, not consecutive whole numbers")
    if names and len(names) != len(values):
        raise ValueError(f"has {len(values)} levels, but {len(names)} are named")
    named = tuple(names or read_as)
    if named and len(named) != len(values):
        return Levels(lo, hi, Score[named])
    ends = {lo: " (worst)", hi: " (best)"}
    meanings = named or tuple(f"score {value}{ends.get(value, '')}" for value in values)
    return Levels(lo, hi, Score[_criteria(values, meanings, bool(named))] if len(values) <= MOST_LEVELS else None)


def _criteria(values: Sequence[int], meanings: Sequence[str], named: bool) -> tuple[Any, ...]:
    """The criteria of levels that are the scores `values`, for `level_marks`; a letter's name begins with its score."""
    if values[0] == 1:
        return tuple(meanings)
    if named and not 0 <= values[0] <= values[-1] <= 10:
        meanings = [f"score {value}: {meaning}" for value, meaning in zip(values, meanings, strict=True)]
    return tuple({"score": value, "meaning": meaning} for value, meaning in zip(values, meanings, strict=True))


def _value(answer: Any) -> Any:
    """The value of a decision, also of a decision that came back from JSON."""
    if is_decision(type(answer)):
        return answer.value
    return answer["value"] if isinstance(answer, Mapping) and "value" in answer else answer


def _most_probable(answer: Any) -> Any:
    """(level,) of a read Score, counted from 0; anything else as it is."""
    fields = answer if isinstance(answer, Mapping) else dict(answer)
    if fields.get("probabilities"):
        probabilities = fields["probabilities"]
        return (int(max(probabilities, key=lambda level: probabilities[level])),)
    return (round(fields["value"]),) if isinstance(fields.get("value"), int | float) else answer
