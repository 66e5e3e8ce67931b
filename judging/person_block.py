"""A linear block with weights of people: the weights that all share, and the deviation of each known person.

A person without a deviation is judged by the shared weights, bit for bit as by a linear block. A person is added from
some ten labelled cases by fitting the deviation alone (`stats.partial_pooling`).

It holds people's data, though no names and no texts: of each person a digest of the name (`data.person`) and one
number for each of the source's, from which their labels cannot be read off, but which tell what they like.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ..data import Case, Scores
from ..data.person import person_of
from ..errors import DeclarationError
from ..stats.partial_pooling import Floats, Loss, deviation_of_one
from .arrays import Array
from .block_base import BlockBase, Vectors
from .linear_block import LinearBlock


class PersonBlock(BlockBase):
    """One weight a number of the source, and of each known person what is added to it, with a constant."""

    kind: Literal["person"] = "person"
    weights: Array = Field(description="what all people share, of the shape (width,)")
    centre: Array | None = Field(default=None, description="taken from each vector first; None: nothing is")
    scale: Array = Field(description="what each number is divided by under the penalty, of the shape (width,)")
    penalty: float = Field(gt=0, description="of the shared weights per unit of scaled number")
    ratio: float = Field(gt=0, description="variance of a deviation over that of the shared weights")
    loss: Loss = Field(description="what deviations are fitted by: logistic of pairs and choices, squares of texts")
    level: float = Field(default=0.0, description="mean score of the texts of training; 0 for others")
    people: dict[str, Array] = Field(
        default={}, description="digest of a person -> deviation and a constant, of the shape (width + 1,)"
    )

    @model_validator(mode="after")
    def _fit_the_source(self) -> Self:
        width = self.source.width
        for name, array in (("weights", self.weights), ("centre", self.centre), ("scale", self.scale)):
            if array is not None and array.shape != (width,):
                raise ValueError(f"{name} of the shape {array.shape} for {width} numbers a candidate")
        if not (self.scale.values > 0).all():
            raise ValueError("a scale is not above 0")
        wrong = [name for name, array in self.people.items() if array.shape != (width + 1,)]
        if wrong:
            raise ValueError(f"the deviation of {wrong[0]} has not the shape {(width + 1,)}")
        return self

    @classmethod
    def of(
        cls, block: LinearBlock, *, scale: Floats, penalty: float, ratio: float, loss: Loss, level: float = 0.0
    ) -> Self:
        """A linear block that people may deviate from; nobody does yet."""
        return cls(
            source=block.source,
            reads=block.reads,
            weights=block.weights,
            centre=block.centre,
            scale=Array.of(scale),
            penalty=penalty,
            ratio=ratio,
            loss=loss,
            level=level,
        )

    def describe(self) -> str:
        return f"{super().describe()}, with deviations of {len(self.people):,} people"

    def measure(self, case: Case, vectors: Vectors) -> tuple[float, ...]:
        deviation = self.people.get(person_of(case) or "") if self.people else None
        shared = LinearBlock(source=self.source, weights=self.weights, centre=self.centre).measure(case, vectors)
        if deviation is None:
            return shared
        *per_number, constant = deviation.values.astype(np.float64).tolist()
        weights = np.array(per_number)
        return tuple(
            # fsum: see `LinearBlock.measure`
            number + math.fsum([constant, *(row * weights).tolist()])
            for number, row in zip(shared, self._centred(vectors), strict=True)
        )

    def learn(self, cases: Sequence[Case], vectors: Sequence[Vectors]) -> Self:
        """The block with the deviations of the people who labelled these cases; the shared weights stay.

        Deviations of other people stay too, and one who is known already is fitted anew, to these labels alone.

        Args:
            cases: with a label and a profile.
            vectors: what was read of each, (candidates, width).

        Raises:
            DeclarationError: no case has both.
        """
        rows: dict[str, list[LabelledRow]] = {}
        for case, read in zip(cases, vectors, strict=True):
            if (person := person_of(case)) is not None:
                rows.setdefault(person, []).extend(labelled_rows(case, self._centred(read), self.loss, self.level))
        people = {person: Array.of(self._deviation(mine)) for person, mine in rows.items() if mine}
        if not people:
            raise DeclarationError(
                "learn: no case has a profile and a label of that person. Give cases with both, of one kind with those "
                "that the judge was compiled on."
            )
        return self.model_copy(update={"people": self.people | people})

    def _deviation(self, rows: Sequence["LabelledRow"]) -> Floats:
        """The (width + 1,) deviation of one person."""
        scale = np.append(self.scale.values.astype(np.float64), 1.0)
        weights = np.append(self.weights.values.astype(np.float64), 0.0)
        x, target, counts = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
        scaled = deviation_of_one(x / scale, target, counts, weights * scale, self.penalty, self.ratio, self.loss)
        return np.asarray(scaled / scale)

    def _centred(self, vectors: Vectors) -> Floats:
        centre = 0.0 if self.centre is None else self.centre.values.astype(np.float64)
        return np.asarray(vectors.astype(np.float64) - centre)


LabelledRow = tuple[Floats, float, float]  # numbers with a constant (width + 1,), target, count


def labelled_rows(case: Case, x: Floats, loss: Loss, level: float = 0.0) -> list[LabelledRow]:
    """What the label of a case says; nothing where it has none of this kind. A choice counts once in all.

    Args:
        x: (candidates, width), centred.
        loss: "logistic" takes pairs and choices, "squares" texts.
        level: the score about which a text's is taken.
    """
    label, numbers = case.label, np.column_stack([x, np.ones(len(x))])
    if loss == "squares":
        return [(numbers[0], label.values[0] - level, 1.0)] if isinstance(label, Scores) and len(x) == 1 else []
    winner = None if label is None else label.winner
    if winner is None or len(x) < 2:
        return []
    if len(x) == 2:
        return [(numbers[0] - numbers[1], {"a": 1.0, "b": 0.0, "tie": 0.5}[str(winner)], 1.0)]
    others = [index for index in range(len(x)) if index != winner]
    return [(numbers[int(winner)] - numbers[index], 1.0, 1 / len(others)) for index in others]


def learned_blocks(
    blocks: Mapping[str, BlockBase], cases: Sequence[Case], vectors: Sequence[Mapping[str, Vectors]]
) -> dict[str, BlockBase]:
    """The blocks of a head, those of people with the deviations of whoever labelled these cases.

    Args:
        blocks: by name.
        cases: with labels and profiles.
        vectors: what was read of each case, by the name of its source.

    Raises:
        DeclarationError: no block has weights of people, or no case has both a label and a profile.
    """
    if not any(isinstance(block, PersonBlock) for block in blocks.values()):
        raise DeclarationError(
            "learn: the judge has no weights of people, because deviations did not pay on its labels, or because it "
            "was compiled without evidence. It judges everybody by the same weights."
        )
    return {
        name: block.learn(cases, [read[block.reads or name] for read in vectors])
        if isinstance(block, PersonBlock)
        else block
        for name, block in blocks.items()
    }
