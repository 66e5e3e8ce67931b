"""A block of neighbours: labelled cases that vote on a new case by nearness (see `neighbour_votes`).

It holds people's data, though no texts: the vectors of the labelled cases in half precision, their labels, and digests
of their groups and texts, by which no case is judged by the labels of its group (see `origins`).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ..data import Case
from ..errors import DeclarationError
from ..evidence.source_spec import SourceSpec
from .arrays import Array
from .block_base import BlockBase, Vectors
from .neighbour_votes import Flags, Floats, Form, VoteRule, directions, form_of, middle, relative, votes
from .origins import Origins


class NeighbourBlock(BlockBase):
    """Labelled cases, each with one row of numbers, or one for each option of a choice."""

    kind: Literal["neighbours"] = "neighbours"
    form: Form = Field(description="of the labelled cases: pair, text or choice")
    rule: VoteRule = Field(description="how they vote")
    vectors: Array = Field(description="(rows, width), what tells the candidates of a case apart; see `relative`")
    middles: Array | None = Field(default=None, description="(rows, width), the means of the candidates, for `topic`")
    targets: Array = Field(description="(rows,), what people said; see `relative_targets`")
    centre: Array = Field(description="(2, width): the means that are taken from vectors and from middles")
    scale: Array = Field(description="(2, width): what both are then divided by")
    rows: tuple[int, ...] = Field(description="the case of each row, an index into the next two")
    origins: Origins = Field(description="where the cases came from")
    aspects: tuple[str, ...] = Field(description="the aspect of each case; empty: none")

    @model_validator(mode="after")
    def _fits_itself(self) -> Self:
        n, width, cases = len(self.rows), self.source.width, len(self.origins.groups)
        arrays = {"vectors": self.vectors, "middles": self.middles}
        wrong = [name for name, array in arrays.items() if array is not None and array.shape != (n, width)]
        wrong += [name for name in ("centre", "scale") if getattr(self, name).shape != (2, width)]
        if wrong or self.targets.shape != (n,) or len(self.aspects) != cases or not n:
            raise ValueError(f"{', '.join(wrong) or 'targets or aspects'}: not of {n} rows of {width} numbers")
        if min(self.rows) < 0 or max(self.rows) >= cases:
            raise ValueError(f"a row names none of the {cases} cases")
        if not (self.scale.values > 0).all():
            raise ValueError("a scale is not above 0")
        if self.rule.topic and self.middles is None:
            raise ValueError("the rule has a topic, and there are no middles")
        return self

    @classmethod
    def of(
        cls,
        source: SourceSpec,
        cases: Sequence[Case],
        vectors: Sequence[Vectors],
        targets: Sequence[Sequence[float]],
        rule: VoteRule,
        standard: tuple[Floats, Floats],
        reads: str = "",
    ) -> Self:
        """The block of labelled cases of one form; their order does not count.

        Args:
            vectors: (candidates, width) a case.
            targets: for each case one number a row of `relative`.
            standard: (2, width) centre and scale.
            reads: the evidence's name.
        """
        rows = [
            (origin, case.aspect or "", relative(values)[place], middle(values), float(said))
            for case, values, numbers in zip(cases, vectors, targets, strict=True)
            for origin in [Origins.of([case])]
            for place, said in enumerate(numbers)
        ]
        rows.sort(key=lambda row: (row[0].model_dump_json(), row[1], row[4], row[2].tobytes()))
        origins = sorted({(row[0].model_dump_json(), row[1]): row for row in rows}.items())
        index = {key: number for number, (key, _) in enumerate(origins)}
        known = [row[0] for _, row in origins]
        return cls(
            source=source,
            reads=reads,
            form=form_of(len(vectors[0])),
            rule=rule,
            vectors=Array.of([row[2] for row in rows], "float16"),
            middles=Array.of([row[3] for row in rows], "float16") if rule.topic else None,
            targets=Array.of([row[4] for row in rows]),
            centre=Array.of(standard[0]),
            scale=Array.of(standard[1]),
            rows=tuple(index[row[0].model_dump_json(), row[1]] for row in rows),
            origins=Origins(
                groups=tuple(origin.groups[0] for origin in known),
                cases=tuple(origin.cases[0] for origin in known),
                texts=tuple(origin.texts[0] for origin in known),
            ),
            aspects=tuple(aspect for (_, aspect), _ in origins),
        )

    def __eq__(self, other: object) -> bool:
        """By the fields alone: pydantic would compare the cached arrays too."""
        return isinstance(other, NeighbourBlock) and all(
            getattr(self, name) == getattr(other, name) for name in type(self).model_fields
        )

    def describe(self) -> str:
        return f"{super().describe()}; {len(self.rows):,} labelled rows vote, {self.rule}"

    def measure(self, case: Case, vectors: Vectors) -> tuple[float, ...]:
        if form_of(len(case.candidates)) != self.form:
            raise DeclarationError(
                f"head: case {case.id!r} has {len(case.candidates)} candidates, and its neighbours are of the form "
                f"{self.form}. Compile a judge for this kind of case."
            )
        (centre, mid_centre), (scale, mid_scale) = self._standard
        near = self._directions @ directions(relative(vectors), centre, scale).T
        topics = None
        if self._topics is not None:
            topics = self._topics @ directions(middle(vectors)[None], mid_centre, mid_scale).T
            topics = np.repeat(topics, near.shape[1], axis=1).T
        said = votes(near.T, topics, self._said, self._usable(case), self.rule, self.form)
        numbers = tuple(float(vote) for vote in said)
        return (numbers[0], -numbers[0]) if self.form == "pair" else numbers

    def _usable(self, case: Case) -> Flags:
        """(rows,): of other groups, and of the case's aspect if there are such."""
        allowed = self.origins.usable_for(case)
        same = np.array([aspect == (case.aspect or "") for aspect in self.aspects], dtype=np.bool_)
        rows = np.array(self.rows)
        return np.asarray((allowed & same if same.any() else allowed)[rows], dtype=np.bool_)

    @cached_property
    def _standard(self) -> tuple[Floats, Floats]:
        return self.centre.values.astype(np.float64), self.scale.values.astype(np.float64)

    @cached_property
    def _directions(self) -> Floats:
        centre, scale = self._standard
        return directions(self.vectors.values.astype(np.float64), centre[0], scale[0])

    @cached_property
    def _topics(self) -> Floats | None:
        centre, scale = self._standard
        return None if self.middles is None else directions(self.middles.values.astype(np.float64), centre[1], scale[1])

    @cached_property
    def _said(self) -> Floats:
        return self.targets.values.astype(np.float64)
