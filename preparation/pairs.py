"""Pairs are sampled from single scored texts, and keep both human scores (Chen et al., arXiv 2304.00723).

The paper samples 200 pairs a set, and calls pairs hard, medium or easy by how far the two human scores lie apart.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from ..data import Candidate, Case, Scores
from ..errors import DataError
from ..judging.hparam import HParam
from ..stats.association import STRATA, sampled_pairs, strata
from .registry import register
from .set_preparation import BuiltCases, Figures, SetPreparation

SAMPLED = 200  # pairs, as in the paper


@register(
    "pairs",
    summary="pairs are sampled from single scored texts; both scores are kept",
    source="arXiv 2304.00723",
    inputs="single texts with scores",
    calls="0",
)
class Pairs(SetPreparation):
    """Samples pairs of texts of one aspect, each pair with equal probability and none twice; the order is random too.

    The label is the two scores, so that the verdicts are measured by Kendall's tau-b and by difficulty;
    `meta["stratum"]` is hard, medium or easy: a third each of the pairs of an aspect, by the distance of the scores
    (`meta["score_difference"]`). Pairs of equal scores are ties, and hard. A pair of texts that answer different inputs
    has no query: each text follows its own input. The group of a pair is that of its first text in the file.

    Args:
        n: pairs of each aspect, or all where there are fewer.
        scope: "input" pairs texts of the same input, "set" any two of the set.
    """

    name = "pairs"

    def __init__(self, *, n: int = SAMPLED, scope: str = "input") -> None:
        super().__init__()
        self.n = HParam(n, least=1)
        self.scope = HParam(scope, ("input", "set"))

    def build(self, cases: Sequence[Case], *, seed: int) -> BuiltCases:
        left_out: Counter[str] = Counter()
        by_aspect: dict[tuple[str, float, float], list[Case]] = defaultdict(list)
        for case in cases:
            if len(case.candidates) != 1:
                left_out["cases of several texts"] += 1
            elif not isinstance(case.label, Scores):
                left_out["texts without a score"] += 1
            else:
                by_aspect[case.aspect or "", case.label.lo, case.label.hi].append(case)
        built: list[Case] = []
        parts: dict[str, Figures] = {}
        for (aspect, _, _), texts in by_aspect.items():
            pairs = self._sampled(texts, seed)
            built += pairs
            parts |= _figures(pairs, f" ({aspect})" if len(by_aspect) > 1 else "")
        if not built:
            scored = sum(map(len, by_aspect.values()))
            raise DataError(f"preparation 'pairs': {_no_pair(len(cases), scored, left_out, self.scope.value)}")
        counts = {"texts": sum(map(len, by_aspect.values())), "pairs": len(built)}
        if apart := sum(case.meta["inputs"] == "different" for case in built):
            counts["pairs of different inputs"] = apart
        return BuiltCases(built, counts, left_out, parts)

    def _sampled(self, texts: Sequence[Case], seed: int) -> list[Case]:
        """Pairs of texts with one scale, with their strata."""
        scores = np.array([score_of(case) for case in texts])
        groups = [_person(case) + (case.split_key if self.scope.value == "input" else "") for case in texts]
        sampled = sampled_pairs(scores, groups, int(self.n.value), seed)
        if not len(sampled):
            return []
        difficulty = strata(scores[sampled[:, 0]] - scores[sampled[:, 1]])
        stratum = {row: name for name, _, _, mask in difficulty for row in np.flatnonzero(mask).tolist()}
        return [
            _pair(texts[first], texts[second], stratum[row], seed)
            for row, (first, second) in enumerate(sampled.tolist())
        ]


def score_of(case: Case) -> float:
    """The human score of a single text."""
    assert isinstance(case.label, Scores)
    return case.label.values[0]


def _person(case: Case) -> str:
    """For whom a text is judged: two texts of a pair are for one person."""
    return case.profile.model_dump_json() if case.profile else ""


def _pair(earlier: Case, later: Case, stratum: str, seed: int) -> Case:
    """A pair of two texts in a random order; what both have in common is kept of `meta`."""
    name = f"{earlier.id}+{later.id}"
    first, second = (earlier, later) if random.Random(f"{seed}/{name}").random() < 0.5 else (later, earlier)
    assert isinstance(first.label, Scores)
    together = _asked(first) == _asked(second)
    meta = {key: value for key, value in first.meta.items() if key in second.meta and second.meta[key] == value}
    return Case(
        id=name,
        query=first.query if together else "",
        history=first.history if together else (),
        candidates=tuple(_candidate(case, with_input=not together) for case in (first, second)),
        profile=first.profile,
        aspect=first.aspect,
        label=Scores(values=(score_of(first), score_of(second)), lo=first.label.lo, hi=first.label.hi),
        group=earlier.split_key,
        meta=meta
        | {
            "stratum": stratum,
            "score_difference": round(abs(score_of(first) - score_of(second)), 9),
            "inputs": "the same" if together else "different",
        },
    )


def _asked(case: Case) -> str:
    """What a text answers, in words."""
    turns = [f"{turn.role.capitalize()}: {turn.text}" for turn in case.history]
    return "\n".join([*turns, f"User: {case.query}"] if turns else [case.query])


def _candidate(case: Case, *, with_input: bool) -> Candidate:
    (candidate,) = case.candidates
    if not with_input or not _asked(case):
        return candidate
    return candidate.model_copy(update={"text": f"Input:\n{_asked(case)}\n\nText:\n{candidate.text}"})


def _figures(pairs: Sequence[Case], aspect: str) -> dict[str, Figures]:
    """The pairs of each stratum with their number, their ties and the range of the score differences."""
    figures: dict[str, Figures] = {}
    for name in STRATA:
        apart = [case.meta["score_difference"] for case in pairs if case.meta["stratum"] == name]
        if apart:
            ties = sum(difference == 0 for difference in apart)
            figures[name + aspect] = {"pairs": len(apart), "ties": ties, "least": min(apart), "most": max(apart)}
    return figures


def _no_pair(count: int, scored: int, left_out: Counter[str], scope: str) -> str:
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in left_out.items())
    advice = " --set scope=set pairs any two texts of the set." if scope == "input" and scored > 1 else ""
    return (
        f"no two scored texts{' of one input' if advice else ''} among {count:,} cases"
        + (f" ({reasons}).{advice}" if reasons else f".{advice}")
        + " Give single texts with scores."
    )
