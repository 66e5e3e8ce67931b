"""A verdict in words: as a sentence that a model is shown, beside the other verdicts that were possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..data import Case, Verdict
from .delimiters import Shown, shown

PAIR = {
    "a": "response A is better",
    "b": "response B is better",
    "tie": "neither response is better than the other",
}
NO_WINNER = "no response is better than all others"


@dataclass(frozen=True)
class VerdictWords:
    """A verdict as a sentence.

    Attributes:
        sentence: the verdict.
        chosen: its key among `options`; empty for a score.
        options: every verdict that was possible, by winner or category; empty for a score.
        score: of a single text without categories.
    """

    sentence: Shown
    chosen: str = ""
    options: Mapping[str, Shown] = field(default_factory=dict)
    score: float | None = None


def verdict_words(case: Case, verdict: Verdict, scale: Sequence[float] | None = None) -> VerdictWords | None:
    """The verdict in words; None for a verdict that says nothing, as of an unscored case.

    Args:
        scale: lowest and highest score of the judge, where they are known.
    """
    if verdict.status == "unscored":
        return None
    if verdict.category is not None:
        names = dict.fromkeys([*case.categories, verdict.category])
        options = {name: Shown(f"the response is {shown(name)}") for name in names}
    elif isinstance(verdict.winner, str) and case.is_pair:
        options = {name: Shown(sentence) for name, sentence in PAIR.items()}
    elif verdict.winner is not None:
        options = {str(place): Shown(f"response {place} is the best") for place in range(len(case.candidates))}
        options |= {"tie": Shown(NO_WINNER)} if verdict.winner == "tie" else {}
    elif verdict.scores and len(case.candidates) == 1:
        score = verdict.scores[0]
        of_scale = f" on a scale from {scale[0]:g} to {scale[1]:g}" if scale else ""
        return VerdictWords(Shown(f"the score is {score:.3g}{of_scale}"), score=score)
    else:
        return None
    chosen = str(verdict.answer)
    return VerdictWords(options[chosen], chosen, options)


def candidate_names(count: int) -> tuple[str, ...]:
    """How the candidates are called: A and B of a pair, their index among more; a single one has no name."""
    return ("",) if count == 1 else ("A", "B") if count == 2 else tuple(map(str, range(count)))
