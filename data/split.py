"""Leak-safe splits: whole groups (a person, a prompt) go to one part; all parts have similar label proportions.

Groups whose cases share texts are joined first, see `joined_groups`.
"""

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from ..errors import DeclarationError
from .case import Case, Scores
from .counting import groups_text
from .joined_groups import join_groups

PARTS: Mapping[str, float] = {"train": 0.4, "select": 0.2, "test": 0.4}


def split(
    cases: Sequence[Case], *, parts: Mapping[str, float] = PARTS, seed: int = 0, join: bool = True
) -> dict[str, list[Case]]:
    """Each part's cases, in their order; every case is in exactly one part and no group straddles two.

    Groups are assigned in a seeded random order, each to a part sampled by the places that the part still has for the
    group's labels. A group's size does not matter: the group falls into each part with the probability of the part's
    proportion, so that results on one part carry over to the next. Cases without shared groups meet the proportions of
    every label except for rounding; a few large groups may miss them. A case without a group is grouped with the cases
    of the same query.

    Args:
        parts: part name -> its proportion of the cases; proportions are positive and sum to 1.
        join: also keep cases together whose groups share texts; False where their groups are joined already.

    Raises:
        DeclarationError: proportions that are not positive or do not sum to 1, or fewer groups than parts.
    """
    if any(proportion <= 0 for proportion in parts.values()) or abs(sum(parts.values()) - 1) > 1e-9:
        raise DeclarationError(f"split: proportions must be positive and sum to 1, got {dict(parts)}.")
    groups: dict[str, list[int]] = defaultdict(list)
    keys = join_groups(cases).keys if join else [case.split_key for case in cases]
    for index, key in enumerate(keys):
        groups[key].append(index)
    if len(groups) < len(parts):
        raise DeclarationError(
            f"split: {groups_text(len(groups))} cannot fill {len(parts)} parts. Give cases of more groups, "
            "or leave out the field group where cases are independent."
        )

    strata = [_stratum(case) for case in cases]
    left = Counter(strata)
    places = {name: {label: proportion * n for label, n in left.items()} for name, proportion in parts.items()}
    chosen: dict[str, list[int]] = {name: [] for name in parts}
    random, members = np.random.default_rng(seed), list(groups.values())
    for position, index in enumerate(random.permutation(len(members)).tolist()):
        group = members[index]
        labels = Counter(strata[case] for case in group)
        empty = [name for name in parts if not chosen[name]]
        unfilled = [name for name, part in parts.items() if len(chosen[name]) < part * len(cases) - 1e-9]
        names = empty if len(members) - position <= len(empty) else unfilled
        free = [sum(n * max(places[name][label], 0) / left[label] for label, n in labels.items()) for name in names]
        weights = np.array(free if sum(free) > 0 else [parts[name] for name in names])
        name = names[random.choice(len(names), p=weights / weights.sum())]
        for label, n in labels.items():
            places[name][label] -= n
        left -= labels
        chosen[name] += group
    return {name: [cases[index] for index in sorted(indices)] for name, indices in chosen.items()}


def sample(
    cases: Iterable[Case], limit: int | None, seed: int | None = None, *, limit_groups: int | None = None
) -> Iterator[Case]:
    """The first `limit` cases (None: all); with a seed a uniform sample (reservoir, Vitter 1985), in their order.

    Args:
        limit_groups: instead of `limit`: this many groups, each with all its cases (`sample_groups`).
    """
    if limit_groups is not None:
        yield from sample_groups(cases, limit_groups, seed)
        return
    if seed is None or limit is None:
        yield from islice(cases, limit and min(limit, sys.maxsize))
        return
    generator = random.Random(seed)
    reservoir: list[tuple[int, Case]] = []
    for index, case in enumerate(cases):
        if index < limit:
            reservoir.append((index, case))
        elif (slot := generator.randrange(index + 1)) < limit:
            reservoir[slot] = (index, case)
    yield from (case for _, case in sorted(reservoir, key=lambda pair: pair[0]))


def sample_groups(cases: Iterable[Case], limit: int, seed: int | None = None) -> Iterator[Case]:
    """All cases of the first `limit` groups (`Case.split_key`: an input, a person); with a seed of a uniform sample of
    the groups (reservoir, Vitter 1985). Cases stay in their order.

    Memory: the cases of `limit` groups, and the names of all groups.
    """
    generator, seen = random.Random(seed), set[str]()
    slots: list[str] = []
    sampled: dict[str, list[tuple[int, Case]]] = {}
    for index, case in enumerate(cases):
        group = case.split_key
        if group not in seen:
            place = len(seen)
            seen.add(group)
            if place < limit:
                slots.append(group)
                sampled[group] = []
            elif seed is not None and (slot := generator.randrange(place + 1)) < limit:
                del sampled[slots[slot]]
                slots[slot] = group
                sampled[group] = []
        if group in sampled:
            sampled[group].append((index, case))
    members = (member for group in sampled.values() for member in group)
    yield from (case for _, case in sorted(members, key=lambda member: member[0]))


def _stratum(case: Case) -> str:
    label = case.label
    if label is None:
        return "unlabelled"
    if not isinstance(label, Scores) or label.answer is not None:
        return str(label.answer)
    return f"score {round(4 * (sum(label.values) / len(label.values) - label.lo) / (label.hi - label.lo))}"
