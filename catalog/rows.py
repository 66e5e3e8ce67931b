"""Converted rows, the one form of all sets: JSON Lines; `id` is unique over all sets, `kind` names the shape.

    pairwise          query, response_a, response_b, label, annotators: [letter], category
    pointwise         group, context, text, system, and by aspect: scores, annotators, scale; perhaps references
    text              group, context, text, system: without a label
    choice            question, preference, options, label: index of the right option, explanation; with
                      earlier_conversation: [{role, content}] that is the profile, and not the preference
    profile           reviewer, reviews: [{text, review, score, title}], text, review, score, scale
    profile_pairwise  reviewer, comparisons: [{response_a, response_b, label}], response_a, response_b, label, aspect;
                      perhaps `query`, of a comparison too
    persona_pairwise  persona: {name of a feature set: text}, or features: {name: value}; perhaps group; question,
                      response_a, response_b, label

`meta` holds the rest. Every original is read into this form first, so each kind has one way into a Case
(converters.py).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data.lines import lines_of
from ..errors import DataError
from ..parsing import json_lines, parse_json, read_text

AGAIN = "Copy the file again."

Paths = Sequence[Path]
Rows = Iterator[dict[str, Any]]


def jsonl(path: Path) -> Rows:
    """The objects of a JSON Lines file.

    Raises:
        DataError: a line is not a JSON object.
    """
    for _, row in json_lines(lines_of(path), str(path), advice=AGAIN):
        yield row


def json_list(path: Path) -> list[dict[str, Any]]:
    """The objects of a file that is one JSON array; raises DataError for anything else."""
    items = parse_json(read_text(path, advice=AGAIN), str(path), advice=AGAIN, nan=True)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"{path}: is not a list of JSON objects. {AGAIN}")
    return items


def is_converted(path: Path) -> bool:
    """Whether a file holds converted rows: its first row has a `kind`."""
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    return "kind" in next(jsonl(path), {})


def with_references(rows: Rows, path: Path) -> Rows:
    """The rows, with the references that a file of {group, references} lines has for their groups.

    Raises:
        DataError: a line of the file has another form.
    """
    if not path.is_file():
        return rows
    try:
        by_group = {str(line["group"]): [str(text) for text in line["references"]] for line in jsonl(path)}
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: a line has no group or no references ({error}). {AGAIN}") from None
    return ({"references": by_group.get(str(row.get("group")), []), **row} for row in rows)


def pairwise_row(
    row_id: str,
    query: str,
    pair: tuple[str, str],
    label: str,
    category: str = "",
    *,
    meta: Mapping[str, Any] | None = None,
    annotators: Sequence[str] = (),
) -> dict[str, Any]:
    """A row of two responses.

    Args:
        row_id: unique over all sets: begin it with the set's name.
        query: the prompt; pairs of one prompt share a group.
        pair: the responses a and b.
        label: "a", "b" or "tie".
        category: a stratum of the set, such as a task type.
        meta: anything else; `system_a` and `system_b` name the models that wrote the responses.
        annotators: each annotator's label.
    """
    return {
        "id": row_id,
        "kind": "pairwise",
        "query": query,
        "response_a": pair[0],
        "response_b": pair[1],
        "label": label,
        "annotators": list(annotators),
        "category": category,
        "meta": dict(meta or {}),
    }


def text_row(
    row_id: str, query: str, text: str, *, system: str | None = None, meta: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A row of one text without a label; texts that answer one query share a group.

    Args:
        row_id: unique over all sets: begin it with the set's name.
        query: what the text answers.
        text: the text to judge.
        system: the model that wrote it.
        meta: anything else.
    """
    context = {"context": query, "text": text, "system": system}
    return {"id": row_id, "kind": "text", "group": None, **context, "meta": dict(meta or {})}


def pointwise_row(
    row_id: str,
    text: str,
    scores: Mapping[str, float],
    scale: Mapping[str, Sequence[float]],
    *,
    context: str = "",
    system: str | None = None,
    group: str | None = None,
    annotators: Mapping[str, Sequence[Any]] | None = None,
    references: Sequence[str] = (),
    meta: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A row of one text with a score for each aspect.

    Args:
        row_id: unique over all sets: begin it with the set's name.
        text: the text that was rated.
        scores: aspect -> the mean score.
        scale: aspect -> its lowest and highest score.
        context: what the text answers or summarises.
        system: the model that wrote it.
        group: rows of one group never straddle a split; the context by default.
        annotators: aspect -> each annotator's score.
        references: texts that people wrote for the context.
        meta: anything else.
    """
    return {
        "id": row_id,
        "kind": "pointwise",
        "group": group,
        "context": context,
        "text": text,
        "system": system,
        "scores": dict(scores),
        "annotators": dict(annotators or {}),
        "scale": {aspect: list(ends) for aspect, ends in scale.items()},
        **({"references": list(references)} if references else {}),
        "meta": dict(meta or {}),
    }


def sha256_hex(text: str) -> str:
    """The SHA-256 digest of a text, 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def seed_of(row_id: str) -> int:
    """A seed that a row's id determines, for shuffles that must not change from run to run."""
    return int(sha256_hex(row_id)[:12], 16)
