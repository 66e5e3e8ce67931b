"""What a signature can ask a judge for: letters, levels or a yes, written by the model or read from probabilities.

Each kind knows its decision type, the question to put where the field has no description, and how an answer is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from dspy.experimental import Choice, Noul, Score

from ..engines.adapter import heading
from .evidence import ScoreReading, expected_level, levels_of

MOST_LEVELS = 10  # a level is read as one digit
LABELS = {"a": "a", "b": "b", "c": "tie", "tie": "tie"}
TIES = {"": "", "C": ", or C if both are equally good", "tie": ", or is it a tie"}


@dataclass(frozen=True)
class Letters:
    """Which of two responses is better: A, B, and perhaps `tie`, the word for equally good ("C", "tie", or none)."""

    decision: Any
    tie: str = ""

    def question(self, _: str) -> str:
        return f"Which response is better, A or B{TIES[self.tie]}?"

    def shares(self, answer: Any) -> dict[str, float]:
        """The probability of a, of b, and of a tie where it can be said; of a written answer 1 and 0."""
        if isinstance(answer, Choice):
            return {LABELS[option.casefold()]: p for option, p in (answer.probabilities or {}).items()}
        labels = ("a", "b", "tie") if self.tie else ("a", "b")
        return {label: float(label == LABELS[answer.casefold()]) for label in labels}


@dataclass(frozen=True)
class Levels:
    """A score on the whole numbers lo..hi; yes is 1 and no 0. `decision` is None where the levels are too many."""

    lo: int
    hi: int
    decision: Any

    def question(self, field: str) -> str:
        if self.decision is not None and issubclass(self.decision, Noul):
            return f"{heading(field)}, yes or no?"
        which = {"score_a": "response A", "score_b": "response B"}.get(field, "the response")
        return f"Which score does {which} deserve?"

    def reading(self, answer: Any, coverage: float | None = None) -> ScoreReading:
        """The score, on lo..hi."""
        if isinstance(answer, Score):
            return ScoreReading(expected_level(answer) + self.lo - 1, levels_of(answer), coverage)
        if isinstance(answer, Noul):
            yes = float(answer.probability or 0)
            return ScoreReading(yes, (1 - yes, yes), coverage)
        return ScoreReading(float(answer))


def is_decision(annotation: Any) -> bool:
    """Whether the type is read from probabilities, never written."""
    return isinstance(annotation, type) and issubclass(annotation, (Choice, Noul, Score))


def kind_of(annotation: Any, names: Sequence[str] = ()) -> Letters | Levels | None:
    """What an output of this type asks for; None for an explanation.

    Args:
        names: of the levels, lowest first, as the probability readout shows them.

    Raises:
        ValueError: a type that no judge reads; the message says what it is.
    """
    if annotation is str:
        return None
    if annotation is bool:
        return Levels(0, 1, Noul)
    if is_decision(annotation):
        return _decided(annotation)
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    if values and all(type(value) is int for value in values):
        return _levels(sorted(values), names)
    if values and all(isinstance(value, str) for value in values):
        return _letters(dict.fromkeys(values))
    raise ValueError(f"is {annotation.__name__ if isinstance(annotation, type) else annotation}")


def _decided(kind: Any) -> Letters | Levels:
    if issubclass(kind, Noul):
        return Levels(0, 1, kind)
    options = kind.criteria()
    if options is None:
        raise ValueError(f"is {kind.__name__} without options")
    return _letters(options) if issubclass(kind, Choice) else Levels(1, len(options), kind)


def _letters(options: Mapping[str, Any]) -> Letters:
    """A and B come first, whatever the order they are declared in: the readout marks what is offered A, B, C."""
    said = {LABELS.get(option.casefold(), ""): option for option in options}
    if len(said) < len(options) or set(said) - {"tie"} != {"a", "b"}:
        raise ValueError(f"offers {', '.join(map(repr, options))}")
    tie = "" if "tie" not in said else "C" if said["tie"].casefold() == "c" else "tie"
    shown = {"A": options[said["a"]], "B": options[said["b"]]} | ({tie: options[said["tie"]]} if tie else {})
    return Letters(Choice[tuple(shown.items())], tie)


def _levels(values: Sequence[int], names: Sequence[str]) -> Levels:
    lo, hi = values[0], values[-1]
    if lo == hi or values != list(range(lo, hi + 1)):
        raise ValueError(f"offers {', '.join(map(str, values))}, not consecutive whole numbers")
    if names and len(names) != len(values):
        raise ValueError(f"has {len(values)} levels, but {len(names)} are named")
    ends = {lo: " (worst)", hi: " (best)"}
    named = tuple(names) or tuple(f"score {value}{ends.get(value, '')}" for value in values)
    return Levels(lo, hi, Score[named] if len(named) <= MOST_LEVELS else None)
