"""How an adapter of prompts' ends is trained."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TailSettings:
    """How an adapter of prompts' ends is trained.

    Attributes:
        rank, alpha: of the matrices; their product is scaled by alpha / rank.
        layers: the first with matrices, from 0, and the one after the last; None: from 40 % of the depth to the top.
        learning_rate: the highest, after the warm-up; a cosine falls from it to 0.
        epochs: passes over the training rows.
        warm_up: proportion of the steps in which the rate rises.
        batch: rows a step; those of a case come together.
        max_gradient: the gradient is scaled down to this norm.
        seed: of the matrices and the order of cases.
        save_minutes: between checkpoints.
    """

    rank: int = 8
    alpha: float = 16.0
    layers: tuple[int, int] | None = None
    learning_rate: float = 2e-4
    epochs: int = 2
    warm_up: float = 0.1
    batch: int = 16
    weight_decay: float = 0.01
    max_gradient: float = 1.0
    seed: int = 0
    save_minutes: float = 2.0


def rate_at(step: int, steps: int, warm_up: float) -> float:
    """The proportion of the highest learning rate at a step from 0: a straight rise, then half a cosine down to 0.

    Example:
        >>> [round(rate_at(step, 12, 0.17), 2) for step in (0, 1, 2, 7, 11)]
        [0.33, 0.67, 1.0, 0.59, 0.03]
    """
    rising = math.ceil(warm_up * steps)
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1)))
