"""A made support desk: replies of known quality, colleagues who differ, and a model that sees the quality, with a lean.

Sentences speak for a reply or against it; its quality is their sum, in -3..3. People see it with noise of their own,
and so does the model, which likes the first text as well.
"""

import csv
import hashlib
import math
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dicast.testing import MockServer

TOPICS = (
    "change the delivery address", "cancel an order", "return shoes in size", "pay by invoice", "reset the password",
    "use a voucher", "track the parcel", "get a receipt", "stop the newsletter", "replace a broken lamp",
)  # fmt: skip
PRODUCTS = ("blue lamp", "garden chair", "winter coat", "coffee grinder", "bicycle pump", "oak shelf", "travel bag")
CITIES = ("Zürich", "Genoa", "Lyon", "Krakow", "Ghent", "Malmö", "Seville", "Porto", "Graz", "Leeds")
NAMES = ("Mara", "Jonas", "Ines", "Pavel", "Sofie", "Tariq", "Wanda", "Emil")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
OPENINGS = ("Hello!", "Good morning.", "Thank you for your message.", "Hi there.")
GOOD = (
    "Open Settings, then Orders, and choose Change.",
    "You have 14 days for it, and it costs nothing.",
    "I have done it for you; the confirmation is on its way.",
    "If it fails, answer this mail and I call you today.",
    "The label is attached; drop the parcel at any post office.",
)
BAD = (
    "Please read the manual.",
    "That is not possible.",
    "Other customers manage it as well.",
    "Unfortunately nobody is here before Monday.",
    "Our terms say so on page 40.",
)
TEXT = re.compile(r"^Response[^\n]*:\n<<<\n(.*?)\n>>>", re.MULTILINE | re.DOTALL)
CATEGORY = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)


def quality(text: str) -> int:
    """The sentences that speak for a reply, less those against it."""
    return sum(sentence in text for sentence in GOOD) - sum(sentence in text for sentence in BAD)


def question(number: int) -> str:
    """What a customer asks, other words for every number."""
    generator = random.Random(number)
    product, city, day = (generator.choice(words) for words in (PRODUCTS, CITIES, DAYS))
    return (
        f"How do I {TOPICS[number % len(TOPICS)]}? Order {1000 + number} – the {product} that went to {city} on {day}."
    )


def reply(generator: random.Random) -> str:
    """A reply of two to five sentences."""
    good = generator.randrange(4)
    sentences = generator.sample(GOOD, good) + generator.sample(BAD, generator.randrange(4 - good))
    generator.shuffle(sentences)
    product, name, day = (generator.choice(words) for words in (PRODUCTS, NAMES, DAYS))
    end = f"{name} looks after your {product} until {day}, parcel {generator.randrange(10_000, 99_999)}."
    return " ".join([generator.choice(OPENINGS), *sentences, end])


def seen(value: float, generator: random.Random, noise: float = 0.8) -> float:
    """A quality as one person sees it."""
    return value + generator.gauss(0, noise)


def pair_rows(count: int, people: Sequence[str] = ("anna", "ben", "chloe"), seed: int = 1) -> list[dict[str, Any]]:
    """Tickets with two replies, and the reply that each colleague prefers, in the colleagues' words."""
    generator, rows = random.Random(seed), []
    for number in range(count):
        row = {
            "ticket": f"T{1000 + number}",
            "channel": generator.choice(["mail", "chat"]),
            "question": question(number),
        }
        row |= {"answer_A": reply(generator), "answer_B": reply(generator)}
        for name in people:
            better = seen(quality(row["answer_A"]), generator) - seen(quality(row["answer_B"]), generator)
            row[name] = "both good" if abs(better) < 0.3 else "answer_A" if better > 0 else "answer_B"
        rows.append(row)
    return rows


def verdict_rows(count: int, seed: int = 2) -> list[dict[str, Any]]:
    """Replies that one person passed or failed, with a few words on why."""
    generator, rows = random.Random(seed), []
    for number in range(count):
        text = reply(generator)
        passed = seen(quality(text), generator) > 0
        comment = "helps the customer" if passed else "does not help at all"
        row = {"request_id": f"r-{number}", "question": question(number), "answer": text}
        rows.append(row | {"verdict": "Pass" if passed else "Fail", "comment": comment})
    return rows


def score_rows(count: int, people: Sequence[str] = ("r1", "r2", "r3"), seed: int = 3) -> list[dict[str, Any]]:
    """Scores of 1..5, a row a rater."""
    generator, rows = random.Random(seed), []
    for number in range(count):
        text = reply(generator)
        row = {"item_id": f"I{number}", "prompt": question(number), "response": text}
        for name in people:
            rating = min(5, max(1, round(3 + seen(quality(text), generator, 0.5) * 0.7)))
            rows.append(row | {"rater": name, "rating": rating})
    return rows


def save_csv(path: Path, rows: Sequence[Mapping[str, Any]], *, mark: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=mark)
        writer.writeheader()
        writer.writerows(rows)
    return path


def save_xlsx(path: Path, rows: Sequence[Mapping[str, Any]], sheet: str = "Sheet1") -> Path:
    """Needs openpyxl."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = sheet
    for cells in ([*rows[0]], *([*row.values()] for row in rows)):
        book.active.append(cells)
    book.save(path)
    return path


def desk_server() -> MockServer:
    """The model: the better reply by its quality, with noise by the texts and a liking for the first place."""
    return MockServer(token_probabilities=answered)


def answered(body: dict[str, Any]) -> dict[str, float]:
    """The next token's probabilities, for a pair, a list of categories or a score of 1..5."""
    prompt = str(body["messages"][-1]["content"])
    texts = TEXT.findall(prompt) or [prompt]
    if "one digit" in prompt:
        weights = {str(score): math.exp(-((score - 3 - quality(texts[0])) ** 2)) for score in range(1, 6)}
        return {score: 0.98 * weight / sum(weights.values()) for score, weight in weights.items()}
    if letters := CATEGORY.findall(prompt):
        passes = _proportion(1.2 * (quality(texts[0]) - 0.5) + _noise(texts))
        shares = {letter: passes if "pass" in name.casefold() else 1 - passes for letter, name in letters}
        return {letter: 0.97 * share / sum(shares.values()) for letter, share in shares.items()}
    first = _proportion(0.9 * (quality(texts[0]) - quality(texts[-1])) + 0.5 + _noise(texts))
    return {"A": 0.96 * first, "B": 0.96 * (1 - first), "The": 0.04}


def _proportion(logit: float) -> float:
    return min(0.99, max(0.01, 1 / (1 + math.exp(-logit))))


def _noise(texts: Sequence[str]) -> float:
    """The same for the same texts in either order."""
    return random.Random(hashlib.sha256(repr(sorted(texts)).encode()).digest()).gauss(0, 0.7)
