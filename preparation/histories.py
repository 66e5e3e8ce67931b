"""Flat reviews, or choices, become cases of a reviewer with a history (PerSE, arXiv 2310.03304, instruction data).

The texts of each reviewer are divided into a prior pool, of which the histories are drawn, and queries, which are
judged; no text is in both. Reviewers are divided into train and validation, so that validation reviewers are unseen in
training.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from ..data import Case, Comparison, Review, Reviewer, Scores
from ..data.profiles import count_words
from ..data.text_digest import normalised
from ..errors import DataError
from ..judging.hparam import HParam
from .registry import register
from .set_preparation import BuiltCases, Figures, SetPreparation

MOST_REVIEWS = 20  # in a history
AUTO = "auto"
USUAL_K = {1: 3, 2: 1}  # candidates -> earlier reviews, or choices, as in the paper
USUAL_MINIMUM = {1: 6, 2: 2}  # candidates -> texts, or pairs of texts, of a reviewer
QUERIES = 10  # the released statistics have 920 examples of 92 validation reviewers
SHAPES = (
    "Give rows of one review (reviewer, text, review, score) or one choice (reviewer, response_a, response_b, label)."
)


@dataclass(eq=False)
class Item:
    """Cases of one reviewer that have texts in common: one text or pair, by one or more aspects."""

    texts: set[str]
    cases: list[Case] = field(default_factory=list)


@register(
    "histories",
    summary="rows of one review or choice each become cases of a reviewer with a history, split by reviewer",
    source="PerSE, arXiv 2310.03304",
    inputs="rows of one review or one choice each; a reviewer without a history",
    calls="0",
)
class Histories(SetPreparation):
    """Builds the cases of each reviewer: a query of the reviewer's texts, and k reviews of their other texts.

    `meta["split"]` is train or validation, `meta["words"]` counts the words of history and texts. Choices without a
    winner ("both", "neither", "tie") are left out, and so are texts that a reviewer judged again. With aspects, a
    history is of the aspect of its case.

    Args:
        k: reviews (or choices) in each history, 0..20; auto is 3 reviews or 1 choice.
        minimum: texts (or pairs) of a reviewer, at least; auto is 6 texts or 2 pairs. It is never below k + 1.
        queries: texts of a reviewer that are judged, at most; the paper's about 10.
        prior: the proportion of a reviewer's texts that is the prior pool, which holds k texts at least.
        validation: the proportion of reviewers for validation, 0..0.5; the paper's 1 in 10. 0 makes no split.
        max_words: cases of more words, history and texts together, are counted; their judge cuts the history.
    """

    name = "histories"

    def __init__(
        self,
        *,
        k: int | str = AUTO,
        minimum: int | str = AUTO,
        queries: int = QUERIES,
        prior: float = 0.5,
        validation: float = 0.1,
        max_words: int = 2500,
    ) -> None:
        super().__init__()
        self.k = HParam(k, (AUTO, *range(MOST_REVIEWS + 1)))
        self.minimum = HParam(minimum, (AUTO, *range(1, 1001)))
        self.queries = HParam(queries, least=1)
        self.prior = HParam(prior, least=0.0, most=1.0)
        self.validation = HParam(validation, least=0.0, most=0.5)
        self.max_words = HParam(max_words, least=1)

    def build(self, cases: Sequence[Case], *, seed: int) -> BuiltCases:
        left_out: Counter[str] = Counter()
        sides = _sides(cases)
        k = USUAL_K[sides] if self.k.value == AUTO else self.k.value
        least = max(USUAL_MINIMUM[sides] if self.minimum.value == AUTO else self.minimum.value, k + 1)
        by_reviewer = _by_reviewer(cases)
        items = {name: _items(_usable(rows, left_out)) for name, rows in by_reviewer.items()}
        chosen = {name: texts for name, texts in items.items() if len(texts) >= least}
        few = f"rows of reviewers with fewer than {least} {'texts' if sides == 1 else 'pairs'}"
        left_out[few] = sum(len(item.cases) for name in items.keys() - chosen.keys() for item in items[name])
        splits = self._splits(sorted(chosen), seed)
        built = [
            _with_history(query, earlier, splits.get(name))
            for name, texts in chosen.items()
            for query, earlier in self._queries(name, texts, k, seed, left_out)
        ]
        if not built:
            advice = "Set minimum or k lower." if any(items.values()) else "Give rows with a score, or a or b as label."
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items() if count)
            raise DataError(f"preparation 'histories': no case can be built ({reasons}). {advice}")
        places = {case.id: place for place, case in enumerate(cases)}
        built.sort(key=lambda case: places[case.id])
        counts = {"rows": len(cases), "reviewers": len(by_reviewer), "reviewers with cases": len(chosen)}
        parts = {name: self._figures(part) for name, part in _parts(built).items()}
        return BuiltCases(built, counts, +left_out, parts, sorted(set(splits.values())))

    def _splits(self, names: list[str], seed: int) -> dict[str, Literal["train", "validation"]]:
        """The part of each reviewer; empty without a split."""
        if not self.validation.value or len(names) < 2:
            return {}
        held_out = set(random.Random(f"{seed}").sample(names, max(1, round(self.validation.value * len(names)))))
        return {name: "validation" if name in held_out else "train" for name in names}

    def _queries(
        self, name: str, items: list[Item], k: int, seed: int, left_out: Counter[str]
    ) -> Iterable[tuple[Case, list[Case]]]:
        """Each query of a reviewer with its history; the two are of different items."""
        shuffled = random.Random(f"{seed}/{name}").sample(items, len(items))
        size = min(max(k, round(self.prior.value * len(items))), len(items) - 1)
        pool = [case for item in shuffled[:size] for case in item.cases]
        left_out[f"rows beyond {self.queries.value} queries of a reviewer"] += sum(
            len(item.cases) for item in shuffled[size + self.queries.value :]
        )
        for query in (case for item in shuffled[size : size + self.queries.value] for case in item.cases):
            earlier = [case for case in pool if case.aspect == query.aspect]
            if len(earlier) < k:
                left_out[f"queries with fewer than {k} earlier rows of their aspect"] += 1
                continue
            yield query, random.Random(f"{seed}/{query.id}").sample(earlier, k)

    def _figures(self, cases: Sequence[Case]) -> Figures:
        words = [case.meta["words"] for case in cases]
        return {
            "reviewers": len({case.group for case in cases}),
            "cases": len(cases),
            "mean words": round(fmean(words), 1),
            f"over {self.max_words.value:,} words": sum(count > self.max_words.value for count in words),
        }


def _sides(cases: Sequence[Case]) -> int:
    """How many candidates the cases have, 1 or 2; raises DataError for other rows than single reviews or choices."""
    sides = {len(case.candidates) for case in cases}
    for case in cases:
        if not isinstance(case.profile, Reviewer):
            raise DataError(f"preparation 'histories': row {case.id!r} names no reviewer. {SHAPES}")
        if case.profile.reviews or case.profile.comparisons:
            raise DataError(f"preparation 'histories': row {case.id!r} has a history already. {SHAPES}")
    if sides not in ({1}, {2}):
        raise DataError(f"preparation 'histories': rows of {sorted(sides)} texts. {SHAPES}")
    return sides.pop()


def _by_reviewer(cases: Sequence[Case]) -> dict[str, list[Case]]:
    rows: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        assert isinstance(case.profile, Reviewer)
        rows[case.profile.id].append(case)
    return rows


def _usable(cases: Iterable[Case], left_out: Counter[str]) -> Iterable[Case]:
    """The labelled cases of a reviewer; of each text and aspect the first."""
    seen = set()
    for case in cases:
        key = (case.aspect, *sorted(normalised(candidate.text) for candidate in case.candidates))
        if case.label is None:
            left_out["rows without a score or label"] += 1
        elif case.label.winner == "tie":
            left_out[f"rows labelled {case.meta.get('label', 'tie')}"] += 1
        elif key in seen:
            left_out["rows of a text that the reviewer judged before"] += 1
        else:
            seen.add(key)
            yield case


def _items(cases: Iterable[Case]) -> list[Item]:
    """The cases of a reviewer in groups without common texts, in the order of the file."""
    items: list[Item] = []
    for case in cases:
        joined = Item({normalised(candidate.text) for candidate in case.candidates}, [case])
        for item in [item for item in items if item.texts & joined.texts]:
            joined = Item(item.texts | joined.texts, [*item.cases, *joined.cases])
            items.remove(item)
        items.append(joined)
    return items


def _with_history(query: Case, earlier: Sequence[Case], split: str | None) -> Case:
    """The query with its history as the profile of its reviewer, who is its group."""
    assert isinstance(query.profile, Reviewer)
    texts = [candidate.text for case in (query, *earlier) for candidate in case.candidates]
    reviewer, comments = query.profile.id, [_comment(case) for case in earlier]
    meta: dict[str, object] = {"split": split} if split else {}
    if titles := [str(case.meta["title"]) for case in earlier if "title" in case.meta]:
        meta["titles"] = titles
    profile = (
        Reviewer(id=reviewer, comparisons=tuple(map(_comparison, earlier)))
        if query.is_pair
        else Reviewer(id=reviewer, reviews=tuple(map(_review, earlier)), scale=_scale([query, *earlier]))
    )
    words = sum(map(count_words, [*texts, *comments]))
    return query.model_copy(
        update={"profile": profile, "group": reviewer, "meta": query.meta | meta | {"words": words}}
    )


def _review(case: Case) -> Review:
    assert isinstance(case.label, Scores)
    said = {"query": case.query or None, "aspect": case.aspect}
    return Review(text=case.candidates[0].text, comment=_comment(case), score=case.label.values[0], **said)


def _comparison(case: Case) -> Comparison:
    first, second = case.candidates
    assert case.label is not None
    said = {"query": case.query or None, "aspect": case.aspect}
    choice = {"response_a": first.text, "response_b": second.text, "label": case.label.winner, **said}
    return Comparison.model_validate(choice)


def _comment(case: Case) -> str:
    return str(case.meta.get("review", ""))


def _scale(cases: Sequence[Case]) -> tuple[float, float]:
    """The one scale of the scores of a reviewer; raises DataError for several."""
    scales = {(case.label.lo, case.label.hi) for case in cases if isinstance(case.label, Scores)}
    if len(scales) > 1:
        raise DataError(
            f"preparation 'histories': row {cases[0].id!r} and earlier reviews of its reviewer have other scales "
            f"({', '.join(f'{lo:g}..{hi:g}' for lo, hi in sorted(scales))}). Bring the scores to one scale."
        )
    return scales.pop()


def _parts(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The cases by split, and by aspect where there are several."""
    cases = list(cases)
    several = len({case.aspect for case in cases}) > 1
    parts: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        part = str(case.meta.get("split", "all"))
        parts[f"{part} ({case.aspect})" if several else part].append(case)
    return {name: parts[name] for name in sorted(parts)}
