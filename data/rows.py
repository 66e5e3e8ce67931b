"""Rows of a user's file to cases. A row has one of these shapes:

    pairwise   query, response_a, response_b, label            (+ votes, aspect, group, a person)
               query, chosen, rejected                         the chosen one becomes a or b, in halves
    pointwise  query, response, score                          (+ scale, aspect, system, group)
    category   query, response, label                          (+ votes, categories, context, aspect, system, group)
    choice     query, preference, options, label               (label: index of the right option, from 0)
    profile    reviewer, reviews, response, score              (+ scale)
    case       a Case as `Case.model_dump()` writes it
    flat       reviewer, text, score (+ review, title, query)        one review, without the reviewer's others
               reviewer, response_a, response_b, label (+ query)     one choice, of a, b, tie, both or neither

Of flat rows `dicast prepare --with histories` makes cases with a history; both and neither are read as ties.

The label of a category is one of several words, such as pass or fail; `categories` lists them, the positive of two
last (data/category_words.py). Any row may have `reference` or `expected`, the right answer as a person wrote it, or
`references`, a list of them, and beside a `query` or `question` the `context` that the answer must rest on.
`query` may be a conversation, a list of {role, content} that ends with the user's turn. A person is a `preference`, an
`earlier_conversation` (a list of {role, content}), a `persona` or a `reviewer`. The fields of a row determine its
shape. A row without `id` gets an id from its file and line. Other columns go to `meta` where they hold a text or a
number; short ones are attributes of the case. Votes are a list, or words with commas between them in one cell; without
a column `label` or `score` their majority (of scores the mean) is the label.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from ..errors import DataError
from ..parsing import explain
from .case import (
    Candidate,
    Case,
    EarlierConversation,
    Label,
    Persona,
    Preference,
    Profile,
    Reviewer,
    Scores,
    Turn,
    Winner,
    digest,
)
from .category_rows import category_labels, may_be_of_category, named_categories
from .category_words import is_number
from .majority import majority
from .row_fields import FieldError, Row, certainty_of, decoded, list_of, number_of, text_of, votes_of, word_of

Scale = tuple[float, float]

LETTERS = {"a": "a", "b": "b", "tie": "tie", "response_a": "a", "response_b": "b"}
LONGEST_WORD = 40  # of a label's word that a message repeats
NO_CHOICE = ("both", "neither")  # labels that are ties; `meta["label"]` keeps which
ASKED = ("query", "question", "context")  # names of what the texts answer
LABELS = {"label", "score"}
CHOSEN = {"chosen", "rejected"}
COMMON = ("aspect", "group", "meta")
NESTED = (  # of a case: lists and objects
    "history", "candidates", "references", "profile", "label", "votes", "meta", "categories",
)  # fmt: skip
EARLIER = "earlier_conversation"
PEOPLE = ("preference", EARLIER, "persona", "reviewer")
KNOWN = {
    *COMMON, *ASKED, "id", "response_a", "response_b", "system_a", "system_b", "label", "votes",
    "response", "system", "score", "scale", "options", "preference", "persona", "reviewer", "reviews", "comparisons",
    "references", "categories", EARLIER,
}  # fmt: skip
SHAPES = (
    "pairwise (query, response_a, response_b), pointwise (query, response, score or label), choice (query, options), "
    "flat (reviewer, text)"
)


def parse_scale(text: str) -> Scale:
    """The scale that "1..5" names; raises ValueError for anything else."""
    low, dots, high = text.partition("..")
    try:
        scale = (float(low), float(high))
    except ValueError:
        scale = (0, 0)
    if not dots or not -math.inf < scale[0] < scale[1] < math.inf:
        raise ValueError(f"{text!r} is no scale; write LO..HI, as in 1..5")
    return scale


def row_to_case(row: Row, *, default_id: str, scale: Scale = (1, 5), categories: Sequence[str] = ()) -> Case:
    """The case of a row.

    Args:
        default_id: used when the row has no `id`.
        scale: lowest and highest score of a pointwise row without a scale.
        categories: of a single text without a score whose row names none; of two the second is the positive one.

    Raises:
        FieldError: a field is missing or has a value that cannot be used.
        pydantic.ValidationError: the whole does not make a case.
    """
    identity = default_id if row.get("id") in (None, "") else str(row["id"])
    if "candidates" in row:
        nested = {name: decoded(row[name]) for name in NESTED if name in row}
        return Case.model_validate({**row, **nested, "id": identity})
    if _is_flat(row):
        row = _flat(row)
    if row.keys() >= CHOSEN and not {"response_a", "response_b"} & row.keys():
        row = _as_pair(row)
    shape = _pairwise if "response_a" in row or "response_b" in row else _choice if "options" in row else _pointwise
    if may_be_of_category(row) and (named := named_categories(row) or categories):
        shape = partial(_of_category, categories=named)
    common = {name: row[name] for name in COMMON if row.get(name) not in (None, "")}
    if "meta" in common:
        common["meta"] = decoded(common["meta"])
    references = _references(row)
    known = KNOWN | ({"reference", "expected"} if references else set())
    other = {name: value for name, value in row.items() if name not in known and isinstance(value, str | int | float)}
    if word_of(row.get("label")) in NO_CHOICE and shape is _pairwise:
        other["label"] = word_of(row["label"])
    if other and isinstance(common.get("meta", {}), dict):  # any other meta is refused below
        common["meta"] = other | common.get("meta", {})
    if "aspect" in common:
        common["aspect"] = str(common["aspect"])
    if "group" in common:
        common["group"] = str(common["group"])
    fields = common | _context(row) | shape(row, scale)
    if not row.keys() & LABELS:  # nobody says what the votes amount to
        fields["label"] = majority(fields["votes"])
    return Case(id=identity, references=references, profile=_profile(row, scale), **fields)


def _is_flat(row: Row) -> bool:
    """Whether the row is one review or one choice of a reviewer, without the reviewer's others."""
    has_history = any(list_of(name, row.get(name)) for name in ("reviews", "comparisons"))
    return row.get("reviewer") not in (None, "") and not has_history


def _flat(row: Row) -> Row:
    """The row as one of the other shapes: `text` is the response, `premise` the query, which may be missing."""
    flat = dict(row)
    if not {"text", "response", "response_a", "response_b", "options"} & flat.keys():
        return flat
    if flat.get("group") in (None, ""):
        flat["group"] = row["reviewer"]
    if all(flat.get(name) is None for name in ASKED):
        flat["query"] = flat.pop("premise", None) or ""
    if "text" in flat and not {"response", "response_a", "options"} & flat.keys():
        flat["response"] = flat.pop("text")
    return flat


def _as_pair(row: Row) -> Row:
    """A preferred and another text as a pair; the preferred is a or b by a digest of both, in halves."""
    texts = [text_of(row, "chosen"), text_of(row, "rejected")]
    is_second = int(digest("\n".join(sorted(texts))), 16) % 2 == (texts[0] < texts[1])
    pair = dict(zip(("response_a", "response_b"), texts[::-1] if is_second else texts, strict=True))
    rest = {name: value for name, value in row.items() if name not in CHOSEN}
    return rest | pair | {"label": "b" if is_second else "a"}


def _pairwise(row: Row, scale: Scale) -> dict[str, Any]:
    label = None if row.get("label") in (None, "") else _letter("label", row["label"])
    votes = votes_of(row.get("votes"))
    return {
        **_query(row),
        "candidates": tuple(
            Candidate(text=text_of(row, f"response_{side}"), system=row.get(f"system_{side}")) for side in "ab"
        ),
        "label": label,
        "votes": tuple(_vote(vote) for vote in votes),
    }


def _pointwise(row: Row, scale: Scale) -> dict[str, Any]:
    if "response" not in row:
        problem = f"the columns are {', '.join(sorted(map(str, row)))[:300] or 'none'}"
        advice = f"They have none of the shapes {SHAPES}; rename with --fields (in Python, CaseSource(fields=...))."
        raise FieldError("response", sorted(row), advice, problem)
    if is_number(row.get("label")) and row.get("score") in (None, ""):
        advice = "A number is a score: rename with --fields score=label; or name the categories, as in --categories 0,1"
        raise FieldError("label", row["label"], f"{advice} (in Python, CaseSource(categories=...)).")
    scale = _scale(row, scale)

    def scores(field: str, value: object) -> Scores:
        try:
            return Scores(values=(number_of(field, value),), lo=scale[0], hi=scale[1])
        except ValidationError as error:
            reason = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise FieldError(field, value, f"{reason.capitalize()}; give the scale with --scale LO..HI.") from None

    return {
        **_query(row),
        "candidates": (Candidate(text=text_of(row, "response"), system=row.get("system")),),
        "label": None if row.get("score") in (None, "") else scores("score", row["score"]),
        "votes": tuple(scores("votes", vote) for vote in votes_of(row.get("votes"))),
    }


def _of_category(row: Row, scale: Scale, *, categories: Sequence[str]) -> dict[str, Any]:
    text = Candidate(text=text_of(row, "response"), system=row.get("system"))
    return {**_query(row), "candidates": (text,), **category_labels(row, categories)}


def _choice(row: Row, scale: Scale) -> dict[str, Any]:
    options = list_of("options", row["options"])
    if not all(isinstance(option, str) for option in options):
        raise FieldError("options", row["options"], "Every option is a text.")
    if len(options) < 2:
        raise FieldError("options", row["options"], "A choice needs at least two options.")

    def winner(field: str, value: object) -> Label:
        index = number_of(field, value)
        if index != int(index) or not 0 <= index < len(options):
            raise FieldError(field, value, f"Give the index of an option, 0..{len(options) - 1}.")
        return Winner(value=("a", "b")[int(index)] if len(options) == 2 else int(index))

    return {
        **_query(row),
        "candidates": tuple(Candidate(text=option) for option in options),
        "label": None if row.get("label") in (None, "") else winner("label", row["label"]),
        "votes": tuple(winner("votes", vote) for vote in votes_of(row.get("votes"))),
    }


def _profile(row: Row, scale: Scale) -> Profile | None:
    kinds = [name for name in PEOPLE if row.get(name) not in (None, "")]
    if not kinds:
        return None
    if len(kinds) > 1:
        raise FieldError(kinds[1], row[kinds[1]], f"The row also has {kinds[0]!r}; a case is judged for one person.")
    kind, value = kinds[0], row[kinds[0]]
    if kind == "preference":
        return Preference(text=str(value))
    if kind == EARLIER:
        turns = _turns(value)
        if turns is None:
            raise FieldError(EARLIER, value, "Give a list of turns, each with `role` and `content`.")
        return EarlierConversation(turns=turns)
    if kind == "reviewer":
        reviews, comparisons = list_of("reviews", row.get("reviews")), list_of("comparisons", row.get("comparisons"))
        try:
            return Reviewer(
                id=str(value), reviews=tuple(reviews), comparisons=tuple(comparisons), scale=_scale(row, scale)
            )
        except ValidationError as error:
            if "is not on the scale" not in (text := explain(error)):
                raise
            raise FieldError("reviews", reviews, f"{text.capitalize()} Give the scale with --scale LO..HI.") from None
    features = decoded(value)
    if not isinstance(features, dict):
        return Persona(text=str(value))
    return Persona(features={name: str(feature) for name, feature in features.items() if feature not in (None, "")})


def _references(row: Row) -> tuple[str, ...]:
    """`references`, or else `reference` or `expected` where it is a text; a number is a column of another meaning."""
    several = row.get("references")
    single = next((row[name] for name in ("reference", "expected") if isinstance(row.get(name), str)), None)
    texts = list_of("references", several) if several not in (None, "") else [] if single is None else [single]
    if not all(isinstance(text, str) for text in texts):
        raise FieldError("references", several, "Every reference is a text.")
    return tuple(text for text in texts if text.strip())


def _scale(row: Row, default: Scale) -> Scale:
    """The row's scale, else the scale of all rows."""
    if row.get("scale") is None:
        return default
    bounds = [number_of("scale", bound) for bound in list_of("scale", row["scale"])]
    if len(bounds) != 2:
        raise FieldError("scale", row["scale"], "Give the lowest and the highest score, as in [1, 5].")
    if not bounds[0] < bounds[1]:
        raise FieldError("scale", row["scale"], "The lowest score comes first and is below the highest.")
    return bounds[0], bounds[1]


def _query(row: Row) -> dict[str, Any]:
    """`query`, and `history` when it is a conversation."""
    name = next((name for name in ASKED if row.get(name) is not None), None)
    if name is None:
        raise FieldError("query", None, "Give what was asked of the model (it may be an empty text).")
    history = _turns(row[name])
    if history is None:
        return {"query": text_of(row, name)}
    if history[-1].role != "user":
        advice = "A conversation ends with the user's turn, which the responses answer."
        raise FieldError(name, decoded(row[name]), advice)
    return {"query": history[-1].text, "history": history[:-1]}


def _context(row: Row) -> dict[str, str]:
    """`context`, where another column is the query; several texts are paragraphs of it."""
    value = row.get("context")
    if value in (None, "", []) or all(row.get(name) is None for name in ASKED if name != "context"):
        return {}
    texts = decoded(value)
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return {"context": "\n\n".join(texts)}
    return {"context": text_of(row, "context")}


def _turns(value: object) -> tuple[Turn, ...] | None:
    """The turns of a list of {role, content}; None for anything else."""
    turns = decoded(value)
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, dict) and "role" in turn for turn in turns):
        return None
    return tuple(_turn(turn) for turn in turns)


def _turn(turn: Mapping[str, Any]) -> Turn:
    name = "text" if "text" in turn and "content" not in turn else "content"
    if not isinstance(turn.get(name), str):
        raise FieldError(name, turn.get(name), "What a turn of a conversation says is a text.")
    return Turn(role=turn["role"], text=turn[name])


def _letter(field: str, value: object) -> Winner:
    letter = "tie" if word_of(value) in NO_CHOICE else LETTERS.get(word_of(value))
    if letter is None:
        is_word = isinstance(value, str) and 0 < len(value) <= LONGEST_WORD and not {",", "="} & set(value)
        stated = f", or say which it means, as in --values {shlex.quote(f'{value}=a')}" if is_word else ""
        raise FieldError(field, value, f"Use a, b or tie{stated}.")
    return Winner.model_validate({"value": letter})


def _vote(vote: object) -> Winner:
    """A letter, or {label, certainty} with a certainty in [0, 1]."""
    if not isinstance(vote, dict):
        return _letter("votes", vote)
    return _letter("votes", vote.get("label")).model_copy(update={"certainty": certainty_of(vote)})


class BadRow(DataError):
    """A row of a file or set that cannot be read."""


def bad_row(source: str, line: int, error: Exception) -> BadRow:
    return BadRow(f"{source} line {line}: {explain(error)}")
