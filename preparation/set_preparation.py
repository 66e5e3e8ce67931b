"""A preparation of a whole set: cases are built out of all cases of a file, without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..data import Case
from ..judging.module_base import StagedModule

Figures = Mapping[str, float]  # name -> number, as in {"reviewers": 45, "cases": 450}


@dataclass(frozen=True)
class BuiltCases:
    """The cases that a preparation built out of a set, and what it left out.

    Attributes:
        cases: in the order of the file.
        counts: what was read, as in {"rows": 600, "reviewers": 50}.
        left_out: reason -> how many of what the reason names.
        parts: a part of the cases -> its figures; all parts have the same ones.
        files: values of `meta["split"]`, each of which is written into its own file as well.
    """

    cases: Sequence[Case] = field(repr=False)
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, Figures] = field(default_factory=dict)
    files: Sequence[str] = ()


class SetPreparation(StagedModule):
    """Base of preparations of a whole set. A subclass has parameters, no stages, and returns the cases from `build`."""

    kind = "preparation"

    def build(self, cases: Sequence[Case], *, seed: int) -> BuiltCases:
        """The cases that are judged in place of these; equal for equal cases, parameters and seed.

        Raises:
            DataError: cases of which nothing can be built.
        """
        raise NotImplementedError
