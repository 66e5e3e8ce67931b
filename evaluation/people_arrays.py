"""People's labels and the groups of joined runs: what one run lacks is taken from another."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import DataError
from .run_arrays import Codes, Flags, Floats, RunArrays, label_order
from .verdict_rules import NO_ANSWER

OF_PEOPLE = (
    "human", "votes", "vote_certainty", "human_difference", "human_score", "human_candidate_scores", "ratings",
)  # fmt: skip


def share_labels(runs: Sequence[RunArrays]) -> tuple[RunArrays, ...]:
    """The runs, row by row of the same cases, each with the labels and groups that any of them has."""
    runs = _with_groups(runs)
    missing = [_unlabelled(run) for run in runs]
    if all((rows == missing[0]).all() for rows in missing):
        return tuple(runs)
    labels = joint_labels(runs)
    runs = [recoded_run(run, labels) for run in runs]
    people = runs[0]
    for run in runs[1:]:
        people = _filled(people, run)
    return tuple(_filled(run, people) for run in runs)


def joint_labels(runs: Sequence[RunArrays]) -> tuple[str, ...]:
    """The labels of several runs in one order.

    Raises:
        DataError: one run is of categories, and another is not.
    """
    if len({run.of_categories for run in runs if run.labels}) > 1:
        raise DataError("runs: one has categories, another does not. Give the verdicts of both the same categories.")
    names = dict.fromkeys(label for run in runs for label in run.labels)
    of_categories = any(run.of_categories for run in runs)
    return label_order(names, [name for name in names if name != NO_ANSWER] if of_categories else ())


def recoded_run(run: RunArrays, labels: tuple[str, ...]) -> RunArrays:
    """The same verdicts with codes of other labels, which include the run's own."""
    if run.labels == labels:
        return run
    code = np.array([labels.index(label) for label in run.labels] + [-1], dtype=np.int64)
    distribution = np.zeros((run.n, len(labels)))
    distribution[:, code[:-1]] = run.distribution
    distribution[np.isnan(run.distribution).any(axis=1)] = np.nan
    codes = {name: code[getattr(run, name)] for name in ("judge", "answers", "human", "votes", "by_order")}
    return replace(run, labels=labels, distribution=distribution, **codes)


def _with_groups(runs: Sequence[RunArrays]) -> list[RunArrays]:
    """The runs with the group and aspect that the first of them names, in equal codes; else a case is a group."""
    groups, aspects = dict[str, int](), dict[str, int]()
    group, aspect = (np.zeros(runs[0].n, dtype=np.int64) for _ in range(2))
    for row, name in enumerate(runs[0].ids):
        records = [run.case_table.by_id[name] for run in runs]
        group_name = next((record.group for record in records if record.group), records[0].item)
        aspect_name = next((record.aspect for record in records if record.aspect), "")
        group[row] = groups.setdefault(group_name, len(groups))
        aspect[row] = aspects.setdefault(aspect_name, len(aspects))
    return [replace(run, group=group, aspect=aspect, aspects=tuple(aspects)) for run in runs]


def _unlabelled(run: RunArrays) -> Flags:
    scores = np.isnan(run.human_score) & np.isnan(run.human_candidate_scores).all(axis=1)
    return np.asarray((run.human < 0) & scores & (run.votes < 0).all(axis=1) & np.isnan(run.ratings).all(axis=1))


def _filled(run: RunArrays, other: RunArrays) -> RunArrays:
    """The run with people's labels of the other where it has none."""
    missing = _unlabelled(run)
    people: dict[str, Any] = {name: _choose(missing, getattr(other, name), getattr(run, name)) for name in OF_PEOPLE}
    return replace(run, **people)


def _choose(chosen: Flags, values: Codes | Floats, others: Codes | Floats) -> Codes | Floats:
    """`values` where chosen, else `others`; two columns of unequal number are padded with missing values."""
    if values.ndim == 1:
        return np.where(chosen, values, others)
    width = max(values.shape[1], others.shape[1])
    missing = -1 if values.dtype == np.int64 else np.nan
    wide = (np.pad(side, ((0, 0), (0, width - side.shape[1])), constant_values=missing) for side in (values, others))
    return np.asarray(np.where(chosen[:, None], *wide))
