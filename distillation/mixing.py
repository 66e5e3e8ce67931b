"""Mixing: how many rows of each task a set holds, and which groups validate."""

import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from ..errors import DeclarationError
from .row import TrainingRow


def mixed_tasks(rows: Sequence[TrainingRow], mix: Mapping[str, float], seed: int) -> list[TrainingRow]:
    """The largest part of the rows in which the tasks that `mix` names have its proportions; others stay whole.

    The questions of a case are drawn together, so that both orders of a pair stay or go; a task may therefore miss its
    proportion by the questions of one case. The rows stay in their order.

    Args:
        mix: task -> its weight, over 0; any sum.

    Raises:
        DeclarationError: a task without rows, or a weight that is not over 0.
    """
    by_task: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, row in enumerate(rows):
        by_task[row.task][row.case_id].append(number)
    for task, weight in mix.items():
        if weight <= 0:
            raise DeclarationError(f"mix: the weight of {task!r} is {weight:g}. Give a number over 0.")
        if task not in by_task:
            raise DeclarationError(f"mix: no row is of the task {task!r}. There are {', '.join(sorted(by_task))}.")
    if not mix:
        return list(rows)
    counts = {task: sum(map(len, by_task[task].values())) for task in mix}
    unit = min(counts[task] / weight for task, weight in mix.items())
    chosen = {number for number, row in enumerate(rows) if row.task not in mix}
    for task, weight in mix.items():
        cases = sorted(by_task[task])
        random.Random(f"{seed}/{task}").shuffle(cases)
        left = round(unit * weight)
        for case_id in cases:
            if left <= 0:
                break
            chosen.update(by_task[task][case_id])
            left -= len(by_task[task][case_id])
    return [row for number, row in enumerate(rows) if number in chosen]


def split_rows(
    rows: Sequence[TrainingRow], validation: float, seed: int, groups: Collection[str] | None = None
) -> tuple[list[TrainingRow], list[TrainingRow]]:
    """The rows for training and those for validation; no group has rows in both.

    Args:
        validation: the proportion of rows for validation, 0..0.5: groups are drawn by seed until they have as many. At
            least one group validates, and one trains, where there are two groups.
        groups: those that validate, in place of a draw.

    Raises:
        DeclarationError: a proportion outside 0..0.5.
    """
    if not 0 <= validation <= 0.5:
        raise DeclarationError(f"validation: {validation:g} is no proportion of the rows. Give one from 0 to 0.5.")
    held_out = set(groups or ())
    if groups is None and validation > 0:
        sizes: dict[str, int] = defaultdict(int)
        for row in rows:
            sizes[row.group] += 1
        names = sorted(sizes)
        random.Random(f"{seed}").shuffle(names)
        count = 0
        for name in names[:-1]:
            if held_out and count + sizes[name] / 2 > validation * len(rows):
                break
            held_out.add(name)
            count += sizes[name]
    train = [row for row in rows if row.group not in held_out]
    return train, [row for row in rows if row.group in held_out]
