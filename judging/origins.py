"""Where labelled cases come from, as digests: so that no case is judged by the labels of its group.

Excluded for a case are the cases of its group, those that share a candidate text with it (of `MIN_BYTES` or more), and,
where the very case is among the labelled ones, the group that it had there: a compilation joins groups that share
texts (data.joined_groups), and the case that is judged later still has the group of its file.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..data import Case
from ..data.case import Record, digest
from ..data.text_digest import candidate_digests, case_text_digest


class Origins(Record):
    """The origins of labelled cases, in one order; digests, no texts."""

    groups: tuple[str, ...] = Field(default=(), description="digest of the group of each case")
    cases: tuple[str, ...] = Field(default=(), description="digest of all texts of each case")
    texts: tuple[tuple[str, ...], ...] = Field(
        default=(), description="digests of the candidate texts of each case; short texts have none"
    )

    @model_validator(mode="after")
    def _of_the_same_cases(self) -> Self:
        if not len(self.groups) == len(self.cases) == len(self.texts):
            raise ValueError(f"{len(self.groups)} groups, {len(self.cases)} cases and {len(self.texts)} sets of texts")
        return self

    @classmethod
    def of(cls, cases: Sequence[Case]) -> Self:
        return cls(
            groups=tuple(digest(case.split_key) for case in cases),
            cases=tuple(map(case_text_digest, cases)),
            texts=tuple(tuple(sorted(filter(None, candidate_digests(case)))) for case in cases),
        )

    def chosen(self, rows: Sequence[int]) -> Self:
        """The origins of some of the cases, in this order."""
        return type(self)(
            groups=tuple(self.groups[row] for row in rows),
            cases=tuple(self.cases[row] for row in rows),
            texts=tuple(self.texts[row] for row in rows),
        )

    def usable_among(self) -> NDArray[np.bool_]:
        """(n, n): which of the cases (columns) may have a say in the judgment of each of them (rows)."""
        codes = np.unique(self.groups, return_inverse=True)[1]
        usable = np.asarray(codes[:, None] != codes[None, :], dtype=np.bool_)
        for listed in (self.texts, [(known,) for known in self.cases]):
            sharing: dict[str, list[int]] = defaultdict(list)
            for row, texts in enumerate(listed):
                for text in texts:
                    sharing[text].append(row)
            for rows in filter(lambda rows: len(rows) > 1, sharing.values()):
                others = np.flatnonzero(np.isin(codes, codes[rows])) if listed is not self.texts else np.array(rows)
                usable[np.ix_(np.array(rows), others)] = False
        return usable

    def usable_for(self, case: Case) -> NDArray[np.bool_]:
        """(n,): which of the labelled cases may have a say in the judgment of this case."""
        known = case_text_digest(case)
        joined = {group for group, listed in zip(self.groups, self.cases, strict=True) if listed == known}
        groups = {digest(case.split_key), *joined}
        texts = set(filter(None, candidate_digests(case)))
        return np.array(
            [group not in groups and texts.isdisjoint(has) for group, has in zip(self.groups, self.texts, strict=True)],
            dtype=np.bool_,
        )
