"""How the converted rows of a public set (rows.py) become cases, by their kind."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ..data.case import (
    Candidate,
    Case,
    Comparison,
    EarlierConversation,
    Persona,
    Preference,
    Profile,
    Review,
    Reviewer,
    Scores,
    Turn,
    Winner,
    digest,
)
from ..data.row_fields import Row
from ..errors import DataError
from ..parsing import explain
from .personas import demographics, people_by_question, persona

Convert = Callable[[Row], list[Case]]

WRONG_SHAPE = (KeyError, IndexError, TypeError, AttributeError, ValueError)  # what a row of another shape raises


def cases(
    rows: Iterable[Row], kind: str, *, source: str, aspect: str | None = None, about: str | None = None
) -> Iterator[Case]:
    """The cases of converted rows of one kind; a pointwise row gives one case an aspect.

    Args:
        source: names the data in an error.
        aspect: only the cases of this aspect.
        about: the aspect of rows that name none.

    Raises:
        DataError: a row is not of the kind.
    """
    convert = KINDS[kind]
    if kind == "persona_pairwise":
        rows = list(rows)
        convert = partial(_persona_pairwise, people=people_by_question(rows))
    for row in rows:
        try:
            if row["kind"] != kind:
                raise ValueError(f"the kind is {row['kind']!r}, not {kind!r}.")
            converted = convert(row)
        except WRONG_SHAPE as error:
            reason = f"field {error} is missing." if isinstance(error, KeyError) else explain(error)
            raise DataError(f"{source}: row {row.get('id')!r}: {reason} Take the rows anew.") from None
        named = (case if case.aspect or not about else case.model_copy(update={"aspect": about}) for case in converted)
        yield from (case for case in named if aspect is None or case.aspect == aspect)


def _pair(row: Row) -> tuple[Candidate, Candidate]:
    systems = row["meta"].get("system_a"), row["meta"].get("system_b")
    return (
        Candidate(text=row["response_a"], system=systems[0]),
        Candidate(text=row["response_b"], system=systems[1]),
    )


def _winner(letter: object) -> Winner:
    if letter not in ("a", "b", "tie"):
        raise ValueError(f"the label is {letter!r}, not a, b or tie.")
    return Winner.model_validate({"value": letter})


def _pairwise(row: Row) -> list[Case]:
    case = Case(
        id=row["id"],
        query=row["query"],
        candidates=_pair(row),
        label=_winner(row["label"]),
        votes=tuple(_winner(vote) for vote in row["annotators"]),
        group=digest(row["query"]),
        meta={**row["meta"], "category": row["category"]},
    )
    return [case]


def _pointwise(row: Row) -> list[Case]:
    def case(aspect: str, score: float) -> Case:
        lo, hi = row["scale"][aspect]
        votes = row["annotators"].get(aspect, [])
        numeric = [vote for vote in votes if isinstance(vote, int | float)]
        left_out = {"votes_not_numeric": len(votes) - len(numeric)} if len(numeric) < len(votes) else {}
        return Case(
            id=f"{row['id']}#{aspect}",
            query=row["context"],
            candidates=(Candidate(text=row["text"], system=row["system"]),),
            references=tuple(row.get("references") or filter(None, [row["meta"].get("reference")])),
            aspect=aspect,
            label=Scores(values=(score,), lo=lo, hi=hi),
            votes=tuple(Scores(values=(vote,), lo=lo, hi=hi) for vote in numeric),
            group=_source_document(row),
            meta={**row["meta"], **left_out},
        )

    return [case(aspect, score) for aspect, score in row["scores"].items()]


def _text(row: Row) -> list[Case]:
    case = Case(
        id=row["id"],
        query=row["context"],
        candidates=(Candidate(text=row["text"], system=row["system"]),),
        group=row["group"] or digest(row["context"]),
        meta=row["meta"],
    )
    return [case]


def _source_document(row: Row) -> str:
    """The row's group; FED has none, but four entries of its file in a row (three turns, the whole) are one dialog."""
    if row["group"] is not None:
        return str(row["group"])
    if "level" in row["meta"]:
        return f"dialog/{row['meta']['source_index'] // 4}"
    return digest(row["context"])


def _choice(row: Row) -> list[Case]:
    options, said = row["options"], row.get("earlier_conversation")
    profile: Profile = Preference(text=row["preference"])
    if said is not None:
        turns = tuple(Turn(role=turn["role"], text=turn["content"]) for turn in said)
        profile = EarlierConversation(turns=turns)
    case = Case(
        id=row["id"],
        query=row["question"],
        candidates=tuple(Candidate(text=option) for option in options),
        profile=profile,
        label=Winner(value=("a", "b")[row["label"]] if len(options) == 2 else row["label"]),
        group=digest(row["preference"]),
        meta={**row["meta"], "explanation": row["explanation"]},
    )
    return [case]


def _profile(row: Row) -> list[Case]:
    lo, hi = row["scale"]
    reviews = tuple(Review(text=past["text"], comment=past["review"], score=past["score"]) for past in row["reviews"])
    case = Case(
        id=row["id"],
        query="",
        candidates=(Candidate(text=row["text"]),),
        profile=Reviewer(id=row["reviewer"], reviews=reviews, scale=(lo, hi)),
        label=Scores(values=(row["score"],), lo=lo, hi=hi),
        group=row["reviewer"],
        meta={**row["meta"], "review": row["review"], "titles": [past["title"] for past in row["reviews"]]},
    )
    return [case]


# A plot of Per-DOC begins with its premise, which both plots of a pair have.
PREMISE = re.compile(r"Premise\s+(?P<premise>.+?)\s*(?=Settings\s)", re.S)


def _without_premise(choice: Row) -> dict[str, Any]:
    """A pair with the premise of both plots as its `query`, and no longer in the plots; otherwise as it is."""
    matches = [PREMISE.match(choice[f"response_{side}"]) for side in "ab"]
    premises = {match["premise"] if match else None for match in matches}
    if choice.get("query") is not None or None in premises or len(premises) > 1:
        return dict(choice)
    plots = {
        f"response_{side}": match.string[match.end() :] for side, match in zip("ab", matches, strict=True) if match
    }
    return {**choice, **plots, "query": premises.pop()}


def _profile_pairwise(row: Row) -> list[Case]:
    aspect = {"aspect": row["aspect"]}
    comparisons = tuple(Comparison.model_validate(aspect | _without_premise(choice)) for choice in row["comparisons"])
    row = _without_premise(row)
    case = Case(
        id=row["id"],
        query=row.get("query") or "",
        candidates=_pair(row),
        profile=Reviewer(id=row["reviewer"], comparisons=comparisons),
        aspect=row["aspect"],
        label=_winner(row["label"]),
        group=row["reviewer"],
        meta=dict(row["meta"]),
    )
    return [case]


def _persona_pairwise(row: Row, people: dict[str, str] | None = None) -> list[Case]:
    question = row["question"] or ""
    case = Case(
        id=row["id"],
        query=question,
        candidates=_pair(row),
        profile=Persona(features=row["features"]) if "features" in row else persona(row["persona"]),
        label=_winner(row["label"]),
        group=digest(row.get("group") or demographics(row["persona"]) or (people or {}).get(question) or question),
        meta={**row["meta"], **({"persona_sets": dict(row["persona"])} if "persona" in row else {})},
    )
    return [case]


KINDS: dict[str, Convert] = {
    "pairwise": _pairwise,
    "pointwise": _pointwise,
    "text": _text,
    "choice": _choice,
    "profile": _profile,
    "profile_pairwise": _profile_pairwise,
    "persona_pairwise": _persona_pairwise,
}
