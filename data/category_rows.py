"""Rows of single texts with a category as label: pass or fail, or one of several names."""

from collections.abc import Sequence
from typing import Any

from .case import Category
from .category_words import checked, match, parse_categories, written
from .row_fields import FieldError, Row, certainty_of, decoded, votes_of


def may_be_of_category(row: Row) -> bool:
    """Whether a row is of a single text that has no score, so that a label of it is a category."""
    return (
        "response" in row
        and not {"response_a", "response_b", "options", "candidates"} & row.keys()
        and (row.get("score") in (None, ""))
    )


def category_words(row: Row) -> list[str]:
    """The words of label and votes of a row that may be of a category; those of people who gave none are left out."""
    try:
        listed = votes_of(row.get("votes"))
    except FieldError:  # said of the row itself
        listed = []
    words = [row.get("label"), *listed]
    words = [word.get("label") if isinstance(word, dict) else word for word in words]
    return [text for word in words if not isinstance(word, list | dict | None) and (text := written(word))]


def category_labels(row: Row, categories: Sequence[str]) -> dict[str, Any]:
    """Label and votes of a row as categories.

    Raises:
        FieldError: a label or vote that is none of them.
    """

    def category(field: str, value: object) -> Category:
        named = match(value, categories)
        if named is None:
            listed = ", ".join(categories)
            raise FieldError(field, value, f"Use one of the categories {listed}, or name them with --categories.")
        return Category(category=named)

    def vote(value: object) -> Category:
        if not isinstance(value, dict):
            return category("votes", value)
        return category("votes", value.get("label")).model_copy(update={"certainty": certainty_of(value)})

    return {
        "categories": tuple(categories),
        "label": None if row.get("label") in (None, "") else category("label", row["label"]),
        "votes": tuple(vote(value) for value in votes_of(row.get("votes")) if value not in (None, "")),
    }


def named_categories(row: Row) -> tuple[str, ...]:
    """The categories that the row names: a list, or a text with commas; () without any."""
    value = decoded(row.get("categories"))
    if value in (None, "", [], ()):
        return ()
    try:
        return parse_categories(value) if isinstance(value, str) else checked([written(name) for name in value])
    except (TypeError, ValueError) as error:
        raise FieldError("categories", value, f"{error}.") from None
