"""Two runs compared on the cases of each value of a field."""

import math
from collections.abc import Callable, Iterator, Sequence

from ..stats.paired import holm
from .results import PairedTest
from .run_arrays import RunArrays
from .subgroups import divided, is_testable

MainTests = Callable[[RunArrays, RunArrays, int], Iterator[PairedTest]]


def tests_by_field(
    first: RunArrays, second: RunArrays, fields: Sequence[str], main_tests: MainTests, seed: int
) -> Iterator[PairedTest]:
    """The test of the main figure for each value that has enough cases, called "accuracy (subset=hard)".

    Args:
        first: the first run's verdicts of shared cases, which has the fields.
        second: the other run's verdicts of the same cases, row by row.
        fields: names of attributes, or "aspect".
        main_tests: gives the test of the main figure, or none.

    Raises:
        DeclarationError: a field that the first run does not have.
    """
    for field in dict.fromkeys(fields):
        division = divided(first, first, field)
        for code, value in enumerate(division.values):
            inside = division.codes == code
            if not is_testable(first, inside):
                continue
            for test in main_tests(first.rows(inside), second.rows(inside), seed):
                yield test.model_copy(update={"name": f"{test.name} ({field}={value})"})


def adjusted(tests: Sequence[PairedTest]) -> Iterator[PairedTest]:
    """The tests with p-values adjusted for all of them (Holm 1979)."""
    p_values = holm([math.nan if test.p is None else test.p for test in tests]).tolist()
    for test, p in zip(tests, p_values, strict=True):
        yield test if math.isnan(p) else test.model_copy(update={"p_holm": p})
