"""Generated flat rows, as `dicast prepare --with histories` reads them: one review, or one choice, each."""

import json
import random
from pathlib import Path
from typing import Any

ASPECTS = ("interestingness", "ending")


def flat_reviews(reviewers: int = 50, stories: int = 120, seed: int = 0) -> list[dict[str, Any]]:
    """3 to 14 reviews of each reviewer, who likes the sea or mountains, on the scale 1..10; rows are mixed."""
    draw = random.Random(seed)
    rows = []
    for number in range(reviewers):
        liked = draw.choice(["sea", "mountain"])
        for story in draw.sample(range(stories), 3 + number % 12):
            place = ("sea", "mountain")[story % 2]
            score = draw.randint(7, 10) if place == liked else draw.randint(1, 4)
            old = "very " * (story % 5) + "old"
            text = f"Tale {story}: a stranger, {old}, walks to the {place}, meets number {story} and comes home."
            review = f"Reader {number}: the {place} is {'a joy' if score > 5 else 'a bore'}."
            rows.append({"reviewer": f"r{number}", "text": text, "review": review, "score": score,
                         "title": f"Tale {story}"})  # fmt: skip
    draw.shuffle(rows)
    return rows


def flat_choices(reviewers: int = 20, seed: int = 0) -> list[dict[str, Any]]:
    """One to six premises of each reviewer, two plots each, chosen by two aspects; some prefer both or neither."""
    draw = random.Random(seed)
    return [
        {
            "reviewer": f"w{number}",
            "premise": f"Premise {premise} of a longer story.",
            "response_a": f"Plot {premise} goes on by sea.",
            "response_b": f"Plot {premise} goes on by land.",
            "aspect": aspect,
            "label": draw.choice(["a", "A", "b", "B", "both", "Neither"]),
        }
        for number in range(reviewers)
        for premise in draw.sample(range(40), 1 + number % 6)
        for aspect in ASPECTS
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
