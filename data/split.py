"""Leak-safe splits: whole groups (a person, a prompt) go to one part, and label shares stay alike across parts."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from ..errors import DeclarationError
from .case import Case, Scores

PARTS: Mapping[str, float] = {"train": 0.4, "select": 0.2, "test": 0.4}


def split(cases: Sequence[Case], *, parts: Mapping[str, float] = PARTS, seed: int = 0) -> dict[str, list[Case]]:
    """Each part's cases, in the order given; every case is in exactly one part and no group straddles two.

    Groups are dealt in a seeded order, the largest first, each to the part that it leaves closest to its share of
    every label (the greedy rule of scikit-learn's StratifiedGroupKFold, with unequal parts). A case without a group
    is grouped with the cases of the same query.

    Args:
        parts: part name -> share; shares are positive and sum to 1.

    Raises:
        DeclarationError: shares that are not positive or do not sum to 1, or fewer groups than parts.
    """
    if any(share <= 0 for share in parts.values()) or abs(sum(parts.values()) - 1) > 1e-9:
        raise DeclarationError(f"split: shares must be positive and sum to 1, got {dict(parts)}.")
    groups: dict[str, list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        groups[case.split_key].append(index)
    if len(groups) < len(parts):
        raise DeclarationError(f"split: {len(groups)} groups cannot fill {len(parts)} parts. Give more cases.")

    strata = [_stratum(case) for case in cases]
    totals = Counter(strata)
    names = list(parts)
    counts = {name: Counter[str]() for name in names}
    chosen: dict[str, list[int]] = {name: [] for name in names}
    shuffled = np.random.default_rng(seed).permutation(len(groups))
    keys = list(groups)
    dealt = sorted((keys[i] for i in shuffled), key=lambda key: -len(groups[key]))

    def overfull(name: str, group: Counter[str]) -> tuple[float, float]:
        """How far the part would stand over its share with this group in it: per label, then in all."""
        per_label = [(counts[name][label] + n) / (totals[label] * parts[name]) for label, n in group.items()]
        return max(per_label), len(chosen[name]) / parts[name]

    for position, key in enumerate(dealt):
        group = Counter(strata[index] for index in groups[key])
        empty = [name for name in names if not chosen[name]]
        must_fill = len(dealt) - position <= len(empty)
        name = min(empty if must_fill else names, key=lambda name: overfull(name, group))
        counts[name] += group
        chosen[name] += groups[key]
    return {name: [cases[index] for index in sorted(indices)] for name, indices in chosen.items()}


def sample(cases: Iterable[Case], limit: int | None, seed: int | None = None) -> Iterator[Case]:
    """The first `limit` cases (None: all); with a seed a uniform sample (reservoir, Vitter 1985), in their order."""
    if seed is None or limit is None:
        yield from islice(cases, limit)
        return
    generator = random.Random(seed)
    kept: list[tuple[int, Case]] = []
    for index, case in enumerate(cases):
        if index < limit:
            kept.append((index, case))
        elif (slot := generator.randrange(index + 1)) < limit:
            kept[slot] = (index, case)
    yield from (case for _, case in sorted(kept, key=lambda pair: pair[0]))


def _stratum(case: Case) -> str:
    if case.label is None:
        return "unlabelled"
    if isinstance(case.label, Scores):
        span = case.label.hi - case.label.lo
        return f"score {round(4 * (sum(case.label.values) / len(case.label.values) - case.label.lo) / span)}"
    return str(case.label.value)
