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

    Groups are dealt in a seeded random order, each to a part drawn by the places that the part still has for the
    group's labels. Neither looks at a group's size: it comes to each part with the probability of the part's share, so
    that what is found on one part holds of the next. Cases alone meet the shares of every label but for rounding; a few
    large groups may leave parts off theirs. A case without a group is grouped with the cases of the same query.

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
    left = Counter(strata)
    places = {name: {label: share * n for label, n in left.items()} for name, share in parts.items()}
    chosen: dict[str, list[int]] = {name: [] for name in parts}
    random, keys = np.random.default_rng(seed), list(groups)
    for position, index in enumerate(random.permutation(len(keys)).tolist()):
        group = groups[keys[index]]
        labels = Counter(strata[case] for case in group)
        empty = [name for name in parts if not chosen[name]]
        unfilled = [name for name, share in parts.items() if len(chosen[name]) < share * len(cases) - 1e-9]
        names = empty if len(keys) - position <= len(empty) else unfilled
        free = [sum(n * max(places[name][label], 0) / left[label] for label, n in labels.items()) for name in names]
        weights = np.array(free if sum(free) > 0 else [parts[name] for name in names])
        name = names[random.choice(len(names), p=weights / weights.sum())]
        for label, n in labels.items():
            places[name][label] -= n
        left -= labels
        chosen[name] += group
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
    label = case.label
    if label is None:
        return "unlabelled"
    if not isinstance(label, Scores) or label.winner is not None:
        return str(label.winner)
    return f"score {round(4 * (sum(label.values) / len(label.values) - label.lo) / (label.hi - label.lo))}"
