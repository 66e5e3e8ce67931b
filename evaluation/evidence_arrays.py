"""The evidence of a run as arrays: factors and corrections (PREF, Fennec), and how much of the probability was read.

All are ragged: `row` names the verdict of the run that an entry belongs to.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data import Finding, Verdict
from ..data.exclusions import asks_to_leave_out, names_an_aversion

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ragged = TypeVar("Ragged", "FactorArrays", "CorrectionArrays", "MassArrays")
Factor = tuple[bool, bool, bool, float, float]  # added, exclusion, aversion, weight, explained weight (NaN: none)


@dataclass(frozen=True, eq=False)
class FactorArrays:
    """The f factors of all guidelines, verdict by verdict."""

    row: Codes  # (f,) index of the verdict
    guideline: Codes  # (f,) number of the guideline: one per verdict, for a panel one per member
    added: Flags  # (f,) added because of the person's profile
    exclusion: Flags  # (f,) asks to leave something out
    aversion: Flags  # (f,) has the paper's keywords, "dislike" or "avoid"
    weight: Floats  # (f,) by the person's preference
    explained_weight: Floats  # (f,) by the data set's explanation of the right answer; NaN: none

    def rows(self, mask: Flags) -> "FactorArrays":
        """The factors of the verdicts where `mask`, (n,), is true."""
        return _rows(self, mask)


@dataclass(frozen=True, eq=False)
class CorrectionArrays:
    """The c rewritten texts, verdict by verdict."""

    row: Codes  # (c,) index of the verdict
    before: Floats  # (c,) score of the text
    after: Floats  # (c,) score of the rewritten text; NaN where it was not judged

    def rows(self, mask: Flags) -> "CorrectionArrays":
        """The corrections of the verdicts where `mask`, (n,), is true."""
        return _rows(self, mask)


@dataclass(frozen=True, eq=False)
class MassArrays:
    """The m findings that were read from probabilities, verdict by verdict."""

    row: Codes  # (m,) index of the verdict
    mass: Floats  # (m,) probability on the offered options, in [0, 1]

    def rows(self, mask: Flags) -> "MassArrays":
        """The readings of the verdicts where `mask`, (n,), is true."""
        return _rows(self, mask)


def words_of(factor: Finding) -> str:
    """The name and the test of a factor.

    Its reason is left out: it describes the person ("does not eat fish") also where the factor itself is an addition.
    """
    return f"{factor.criterion} {factor.guideline}"


def guidelines(verdict: Verdict) -> Iterator[list[Finding]]:
    """The factors of a verdict, guideline by guideline: one, or for a panel one per member."""
    factors = [finding for finding in verdict.findings if finding.is_factor]
    for member in dict.fromkeys(factor.member for factor in factors):
        yield [factor for factor in factors if factor.member == member]


def factors_of(verdict: Verdict) -> list[list[Factor]]:
    """For each guideline of a verdict its factors."""
    return [[_factor(factor) for factor in guideline] for guideline in guidelines(verdict)]


def _factor(factor: Finding) -> Factor:
    words = words_of(factor)
    explained = math.nan if factor.explained_weight is None else factor.explained_weight
    return factor.added, asks_to_leave_out(words), names_an_aversion(words), factor.weight, explained


def factor_arrays(verdicts: Iterable[list[list[Factor]]]) -> FactorArrays:
    """The factors of verdicts, given in the order of the run's rows as `factors_of` returns them."""
    rows: list[tuple[float, ...]] = []
    number = 0
    for row, parts in enumerate(verdicts):
        for factors in parts:
            rows += [(row, number, *factor) for factor in factors]
            number += 1
    row_codes, guideline, added, exclusion, aversion, weight, explained = _columns(rows, 7)
    return FactorArrays(
        row_codes.astype(np.int64),
        guideline.astype(np.int64),
        added.astype(np.bool_),
        exclusion.astype(np.bool_),
        aversion.astype(np.bool_),
        weight,
        explained,
    )


def correction_arrays(verdicts: Iterable[list[tuple[float, float]]]) -> CorrectionArrays:
    """The (before, after) scores of the corrections of verdicts, in the order of the run's rows; NaN not judged."""
    rows = [(row, *scores) for row, corrections in enumerate(verdicts) for scores in corrections]
    row_codes, before, after = _columns(rows, 3)
    return CorrectionArrays(row_codes.astype(np.int64), before, after)


def mass_arrays(verdicts: Iterable[list[float]]) -> MassArrays:
    """The masses read of verdicts, in the order of the run's rows."""
    row_codes, mass = _columns([(row, mass) for row, masses in enumerate(verdicts) for mass in masses], 2)
    return MassArrays(row_codes.astype(np.int64), mass)


def _columns(rows: list[Any], width: int) -> Floats:
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), width).T


def _rows(arrays: Ragged, mask: Flags) -> Ragged:
    if not len(arrays.row):
        return arrays
    selected = mask[arrays.row]
    place = np.cumsum(mask) - 1  # of a verdict among the selected verdicts
    parts = {field.name: getattr(arrays, field.name)[selected] for field in fields(arrays)}
    return replace(arrays, **parts | {"row": place[parts["row"]]})
