"""Tiny training sets and recipes: a word in the prompt decides the label, which any model can learn."""

import random

from dicast.distillation.row import TrainingRow
from dicast.distillation.training_recipe import TrainingRecipe
from dicast.distillation.training_set import build

WORDS = {"A": "better", "B": "poor"}


def label_row(number, targets, text=None, **fields):
    """A row whose label's probabilities are learnt."""
    answer = max(targets, key=lambda token: targets[token])
    return row(number, text or f"{number}: a {WORDS.get(answer, 'fine')} answer?", answer, targets=targets, **fields)


def row(number, text, answer, **fields):
    """A row whose answer's words are learnt, unless it has targets."""
    messages = [
        {"role": "system", "content": "Judge."},
        {"role": "user", "content": text},
        {"role": "assistant", "content": answer},
    ]
    settings = {"task": "t.pairwise", "case_id": f"c{number}", "group": f"g{number}", "source": "labels"} | fields
    return TrainingRow(messages=messages, **settings)


def label_rows(count, seed=0):
    """Rows of two labels, each the right one with probability 1."""
    draw = random.Random(seed)
    numbers = draw.sample(range(1000 * seed, 1000 * seed + 1000), count)
    return [label_row(n, {"A": 1.0, "B": 0.0} if n % 2 else {"A": 0.0, "B": 1.0}) for n in numbers]


def word_rows(count, seed=0):
    """Rows whose answers are a few words."""
    draw = random.Random(seed)
    numbers = draw.sample(range(1000 * seed, 1000 * seed + 1000), count)
    return [row(n, f"{n}: a {WORDS['AB'[n % 2]]} answer?", f"{'AB'[n % 2]} is {WORDS['AB'[n % 2]]}.") for n in numbers]


def write_set(folder, rows, validation=()):
    """The folder of a training set."""
    groups = {row.group for row in validation}
    return build([*rows, *validation], folder, validation_groups=groups).folder


def tiny_recipe(base, **fields):
    """A few quick steps in fp32."""
    settings = {"epochs": 1, "global_batch": 4, "length": 64, "precision": "fp32", "learning_rate": 1e-2}
    return TrainingRecipe(base=str(base), **settings | fields)
