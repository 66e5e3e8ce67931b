"""Demos by nearness: of many labelled judgments a prompt shows those that are nearest to the case in hand.

Nearness is the mean cosine of the candidates' vectors, in the order in which they are shown (of one text its own, of
two in their places, of more the mean of all), after each number was centred and scaled over the pool. Both orders of a
pair are in the pool, and of each labelled case the nearer one is shown. So a demo lies beside the question as its texts
do, and a question with its two texts exchanged gets the exchanged demos: what a judge asks depends on what it shows
alone, and its verdicts turn over with the pair.

No case is shown a demo of its group, of its texts, or of itself (see `origins`). DSPy's KNNFewShot is the idea
(Liu et al. 2022, arXiv 2101.06804); a pool is saved, loaded and excludes groups besides.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from pydantic import Field, JsonValue, model_validator

from ..data import Case
from ..data.case import Record
from ..errors import DeclarationError
from ..evidence.source_spec import SourceSpec
from .arrays import Array
from .block_base import Vectors
from .case_in_hand import case_in_hand
from .delimiters import defuse
from .neighbour_votes import DECIMALS, Floats, directions, middle, spread
from .origins import Origins

CHARACTERS = 4  # of a token, about, in English


class DemoPool(Record):
    """The demos of one stage, of which the nearest are shown; two demos may be of one labelled case."""

    source: SourceSpec = Field(description="what nearness is measured by")
    reads: str = Field(description="name of the judge's evidence that holds it")
    most: int = Field(ge=1, description="demos in one prompt")
    tokens: int = Field(ge=1, description="of all demos in one prompt, about")
    demos: tuple[dict[str, JsonValue], ...] = Field(description="inputs and outputs of the stage")
    vectors: Array = Field(description="(demos, places, width), of the texts as the demo shows them")
    origins: Origins = Field(description="where each demo came from")

    @model_validator(mode="after")
    def _fits_itself(self) -> Self:
        n, shape = len(self.demos), self.vectors.shape
        if len(shape) != 3 or shape[0] != n or shape[1] not in (1, 2) or shape[2] != self.source.width:
            raise ValueError(f"vectors of the shape {shape} for {n} demos of {self.source.width} numbers")
        if not n or len(self.origins.groups) != n:
            raise ValueError(f"{n} demos with {len(self.origins.groups)} origins")
        return self

    @classmethod
    def of(
        cls,
        source: SourceSpec,
        reads: str,
        demos: Sequence[tuple[Case, Mapping[str, Any], Vectors]],
        *,
        most: int,
        tokens: int,
    ) -> Self:
        """The pool of these demos, whatever their order; equal ones count once.

        Args:
            demos: the labelled case, inputs and outputs, and the vectors in the places of the prompt.
        """
        written = {
            (json.dumps(demo, sort_keys=True), origin.model_dump_json()): (origin, dict(demo), vectors)
            for case, demo, vectors in demos
            for origin in [Origins.of([case])]
        }
        rows = [row for _, row in sorted(written.items())]
        return cls(
            source=source,
            reads=reads,
            most=most,
            tokens=tokens,
            demos=tuple(demo for _, demo, _ in rows),
            vectors=Array.of(np.stack([vectors for *_, vectors in rows]), "float16"),
            origins=Origins(
                groups=tuple(origin.groups[0] for origin, *_ in rows),
                cases=tuple(origin.cases[0] for origin, *_ in rows),
                texts=tuple(origin.texts[0] for origin, *_ in rows),
            ),
        )

    def nearest(self, inputs: Mapping[str, Any]) -> list[dict[str, JsonValue]]:
        """The demos for a question about the case in hand, the nearest last.

        Raises:
            DeclarationError: no judge is judging, or it does not read the evidence that nearness is measured by.
        """
        hand = case_in_hand()
        if hand is None:
            raise DeclarationError("demos by nearness: no case is being judged. Call the judge, not its stage.")
        return self.nearest_to(hand.case, placed(hand.case, inputs, hand.read(self.reads, self.source)))

    def nearest_to(self, case: Case, vectors: Vectors) -> list[dict[str, JsonValue]]:
        """The demos for a case that is shown so, (places, width), the nearest last.

        Raises:
            DeclarationError: vectors of another width.
        """
        if vectors.shape[-1] != self.source.width:
            raise DeclarationError(
                f"demos by nearness: case {case.id!r} was read as {vectors.shape[-1]} numbers a text, and "
                f"{self.source.width} are needed. Judge with the evidence of {self.source.model}."
            )
        near = self._nearness(vectors)
        chosen: list[int] = []
        shown, left = set[str](), self.tokens * CHARACTERS
        usable = self.origins.usable_for(case)
        for row in sorted(range(len(near)), key=lambda row: -near[row]):  # stable: the first of equal ones
            known, length = self.origins.cases[row], self._lengths[row]
            if not usable[row] or known in shown or length > left:
                continue
            chosen, left = [*chosen, row], left - length
            shown.add(known)
            if len(chosen) == self.most:
                break
        return [self.demos[row] for row in reversed(chosen)]

    def _nearness(self, vectors: Vectors) -> Floats:
        """(demos,): the mean cosine over the places."""
        values = vectors.astype(np.float64)
        if len(values) != self.vectors.shape[1]:
            values = middle(values)[None]
        centre, scale, pool = self._standard
        if pool.shape[1] != len(values):
            pool = directions(self.vectors.values.astype(np.float64).mean(axis=1)[:, None], centre, scale)
        # One product for each place, so that the sum of two places is the same in either order.
        cosines = [pool[:, place] @ directions(values[place][None], centre, scale)[0] for place in range(len(values))]
        return np.asarray(np.round(sum(cosines) / len(cosines), DECIMALS))

    def __eq__(self, other: object) -> bool:
        """By the fields alone: pydantic would compare the cached arrays too."""
        return isinstance(other, DemoPool) and all(
            getattr(self, name) == getattr(other, name) for name in type(self).model_fields
        )

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of all that the pool holds."""
        return hashlib.sha256(f"{self.most} {self.tokens} {self.reads} {self._content}".encode()).hexdigest()

    @cached_property
    def _content(self) -> str:
        """The digest of what copies with another number of demos share."""
        content = self.model_dump_json(exclude={"most", "tokens", "reads"})
        return hashlib.sha256(content.encode()).hexdigest()

    def describe(self) -> str:
        """How many demos there are, and what nearness is measured by, in words."""
        cases = len(set(self.origins.cases))
        return f"the {self.most} nearest of {cases:,} labelled cases, by {self.reads} of {self.source.model}"

    @cached_property
    def _standard(self) -> tuple[Floats, Floats, Floats]:
        """Centre and scale of every number over all texts of the pool, and the pool's directions."""
        values = self.vectors.values.astype(np.float64)
        texts = values.reshape(-1, values.shape[-1])
        centre = texts.mean(axis=0)
        scale = spread(texts, centre)
        return centre, scale, directions(values, centre, scale)

    @cached_property
    def _lengths(self) -> list[int]:
        """The characters of each demo in a prompt."""
        return [sum(len(name) + len(str(value)) + 3 for name, value in demo.items()) for demo in self.demos]


def places(case: Case, inputs: Mapping[str, Any]) -> tuple[int, ...]:
    """The indices of the candidates that the inputs of a question show, in the order in which they are shown."""
    text = "\n".join(str(value) for value in inputs.values() if isinstance(value, str))
    fenced = [f"<\n{defuse(candidate.text)}\n>" for candidate in case.candidates]
    positions = sorted((text.find(inside), index) for index, inside in enumerate(fenced))
    return tuple(index for position, index in positions if position >= 0)


def placed(case: Case, inputs: Mapping[str, Any], vectors: Vectors) -> Vectors:
    """(places, width): the vector of the text that a question shows, of both in their order; else the mean of all."""
    shown = places(case, inputs)
    if len(shown) in (1, 2):
        return np.asarray(vectors[list(shown)])
    return np.asarray(middle(vectors)[None])
