"""The main figure of a run for each value of a field: where is the judge worst?

Each value is tested against all other cases (`stats.contrasts`), and the p-values are adjusted for all values of all
fields together (Holm 1979), so that a run without any difference names a worst value in at most 5 % of runs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..errors import DeclarationError
from ..stats.contrasts import Contrast, proportion_contrasts, statistic_contrast
from ..stats.paired import holm
from ..stats.proportions import correlation
from ..stats.resampling import Estimate
from .aspects import Strata, mean_estimate, mean_of_figures, strata_of
from .attribute_arrays import MOST_VALUES
from .measure_factories import difference_measure, proportion_measure, to_measure
from .results import Measure, Subgroup, Subgroups, SubgroupTable
from .run_arrays import Codes, Flags, RunArrays

ALPHA = 0.05
FEWEST_CASES = 10  # of a value, and of all others, for a test
FEWEST_GROUPS = 3
NO_VALUE = "(none)"
TOO_FEW = f"no test: the value or the others have fewer than {FEWEST_CASES} cases or {FEWEST_GROUPS} groups"
NO_TEST = "no test: too little varies between the groups"
ASPECT = "aspect"


@dataclass(frozen=True, eq=False)
class Division:
    """The cases of a run divided by a field.

    Attributes:
        values: of the field; "(none)" last, where cases have no value.
        codes: (n,) the value of each labelled verdict.
        cases: (values,) cases with each value, scored or not.
    """

    field: str
    values: tuple[str, ...]
    codes: Codes
    cases: Codes


def subgroups(run: RunArrays, fields: Sequence[str], seed: int = 0) -> Subgroups:
    """The accuracy of verdicts, or Spearman's correlation of scores, for each value of the fields.

    Args:
        fields: names of attributes, or "aspect".
        seed: of everything that is resampled.

    Raises:
        DeclarationError: a field that no case has or that has more than 100 values, or no labelled verdict.
    """
    measured = run.labelled if run.labelled.n else run.rated
    if not measured.n:
        raise DeclarationError("--by: no verdict has a human label to compare it with. Leave --by out, or add labels.")
    divisions = [divided(run, measured, field) for field in dict.fromkeys(fields)]
    tables = _adjusted([_table(measured, division, seed) for division in divisions])
    return Subgroups(tables=tuple(tables), summary=_summary(tables))


def divided(run: RunArrays, part: RunArrays, field: str) -> Division:
    """The verdicts of `part`, rows of the run, by a field.

    Raises:
        DeclarationError: a field that no case has, or that has more than 100 values.
    """
    names = run.attributes.names
    if field not in names:
        known = f"It has: {', '.join(names)}." if names else NO_FIELD
        problem = f"the run has no such field. {known}"
        if field in run.attributes.too_many:
            problem = f"it has more than {MOST_VALUES} values, too many for subgroups. Give another field. {known}"
        raise DeclarationError(f"--by {field}: {problem}")
    column = names.index(field)
    values, codes, all_codes = run.attributes.values[column], part.attributes.codes, run.attributes.case_codes
    k = len(values)
    of_part, of_cases = (np.where(array[:, column] < 0, k, array[:, column]) for array in (codes, all_codes))
    if (of_cases == k).any():
        values = (*values, NO_VALUE)
    return Division(field, values, of_part, np.bincount(of_cases, minlength=len(values)))


NO_FIELD = (
    "It has none: fields are the aspect, and columns of the cases that are no other field and hold short values. "
    "--cases FILE names other cases with the same ids."
)


def _table(part: RunArrays, division: Division, seed: int) -> SubgroupTable:
    """The values of one field, the lowest figure first; p-values are not adjusted yet."""
    tested = [_is_testable(part, division.codes == code) for code in range(len(division.values))]
    contrasts = list(_contrasts(part, division, tested, seed))
    rows = []
    for code, (value, contrast) in enumerate(zip(division.values, contrasts, strict=True)):
        figure = _figure(part, division.codes == code, seed)
        row = Subgroup(value=value, cases=int(division.cases[code]), figure=figure, note=TOO_FEW)
        if contrast is not None:
            p = None if math.isnan(contrast.p) else contrast.p
            difference = _difference(figure, contrast)
            row = row.model_copy(update={"difference": difference, "p": p, "note": NO_TEST if p is None else ""})
        rows.append(row)
    rows.sort(key=lambda row: math.inf if row.figure.value is None else row.figure.value)
    test = next((contrast.test for contrast in contrasts if contrast), "")
    return SubgroupTable(field=division.field, rows=tuple(rows), test=test)


def _is_testable(part: RunArrays, inside: Flags) -> bool:
    """Whether the cases of a value and all others are enough for a test."""
    return is_testable(part, inside) and is_testable(part, ~inside)


def is_testable(part: RunArrays, inside: Flags) -> bool:
    """Whether some verdicts, where `inside`, (n,), is true, are of enough cases and groups for a test."""
    return bool(inside.sum() >= FEWEST_CASES) and len(np.unique(part.group[inside])) >= FEWEST_GROUPS


def _contrasts(part: RunArrays, division: Division, tested: list[bool], seed: int) -> Iterator[Contrast | None]:
    if not part.labelled.n:
        for code, is_tested in enumerate(tested):
            yield _score_contrast(part, division.codes == code, division.field) if is_tested else None
        return
    hits = part.answers == part.human[:, None]
    codes, groups = (np.repeat(column, hits.shape[1]) for column in (division.codes, part.group))
    contrasts = proportion_contrasts(hits.ravel(), codes, len(tested), groups, seed=seed) if any(tested) else []
    for code, is_tested in enumerate(tested):
        yield contrasts[code] if is_tested else None


def _score_contrast(texts: RunArrays, inside: Flags, field: str) -> Contrast:
    """Of the mean over aspects of Spearman's correlation; over the aspects on which both sides have one, or, where the
    field is the aspect, over all that have one."""
    strata = strata_of(texts)
    first, second = (_defined_aspects(texts, strata, np.flatnonzero(side)) for side in (inside, ~inside))
    names = first | second if field == ASPECT else first & second
    used = np.isin(strata.codes, [strata.names.index(name) for name in names])
    places = np.flatnonzero(used)

    def mean_spearman(rows: NDArray[np.intp]) -> float:
        chosen = places[rows]
        return mean_of_figures(strata.part(chosen).figures(lambda part: _spearman(texts, chosen[part])))

    return statistic_contrast(mean_spearman, inside[used], texts.group[used])


def _defined_aspects(texts: RunArrays, strata: Strata, rows: NDArray[np.intp]) -> set[str]:
    """The aspects on which these texts have a correlation: of some texts and not of constant scores."""
    return set(strata.part(rows).defined(lambda part: _spearman(texts, rows[part])))


def _spearman(texts: RunArrays, rows: NDArray[np.intp]) -> float:
    return correlation("spearman", texts.score[rows], texts.human_score[rows])


def _figure(part: RunArrays, inside: Flags, seed: int) -> Measure:
    """The measure of a value's cases, as in the sections of the evaluation."""
    cases = part.rows(inside)
    if part.labelled.n:
        hits = cases.answers == cases.human[:, None]
        return proportion_measure("accuracy", hits, cases.group, "the verdict equals the human label")
    estimate, words = mean_estimate(strata_of(cases), lambda rows: _spearman(cases, rows), cases.group, seed=seed)
    return to_measure("spearman", estimate, f"Spearman's rho of the judge's and human scores{words}")


def _difference(figure: Measure, contrast: Contrast) -> Measure:
    estimate = Estimate(contrast.difference, contrast.low, contrast.high, figure.n, figure.groups or figure.n)
    measure = difference_measure if figure.kind == "proportion" else partial(to_measure, null_value=0.0)
    return measure(figure.name, estimate, "less the figure of all other cases")


def _adjusted(tables: Sequence[SubgroupTable]) -> list[SubgroupTable]:
    """With p-values adjusted for all tests of all tables; the two values of a field are one test."""
    places = {
        (table.field, row.value if len(table.rows) > 2 else ""): row.p
        for table in tables
        for row in table.rows
        if row.p is not None
    }
    adjusted = dict(zip(places, holm(list(places.values())).tolist(), strict=True))

    def row_of(table: SubgroupTable, row: Subgroup) -> Subgroup:
        p = adjusted.get((table.field, row.value if len(table.rows) > 2 else ""))
        return row if row.p is None else row.model_copy(update={"p_holm": p})

    return [table.model_copy(update={"rows": tuple(row_of(table, row) for row in table.rows)}) for table in tables]


def _summary(tables: Sequence[SubgroupTable]) -> str:
    """Where the judge is worst, in one line; or that no value is shown to differ from the others."""
    tested = [(table.field, row) for table in tables for row in table.rows if row.p_holm is not None]
    fields = ", ".join(table.field for table in tables)
    if not tested:
        return f"No value of {fields} has enough cases and groups for a test"
    different = [(field, row) for field, row in tested if row.p_holm is not None and row.p_holm <= ALPHA]
    below = sorted(filter(_is_below, different), key=lambda pair: _value(pair[1].figure))
    if not below:
        least = min((row.p_holm or 0.0 for field, row in tested if _is_below((field, row))), default=None)
        p_value = "" if least is None else f" (least p {p_text(least)}, Holm)"
        above = ", ".join(f"{field}={row.value}" for field, row in different)
        above = f"; above them: {above}" if above else ""
        return f"No value of {fields} is shown to be below the other cases{p_value}{above}"
    (field, row), *more = below
    others = f"; also below: {', '.join(f'{field}={row.value}' for field, row in more)}" if more else ""
    distance = f"{-_value(row.difference):.3f} below the other cases"
    return f"Worst on {field}={row.value}: {_in_words(row.figure)}, {distance}, p {p_text(row.p_holm)} (Holm){others}"


def _is_below(field_and_row: tuple[str, Subgroup]) -> bool:
    return _value(field_and_row[1].difference) < 0


def _value(measure: Measure | None) -> float:
    return 0.0 if measure is None or measure.value is None else measure.value


def _in_words(figure: Measure) -> str:
    interval = "" if figure.low is None or figure.high is None else f" [{figure.low:.3f}, {figure.high:.3f}]"
    return f"{figure.name} {_value(figure):.3f}{interval}"


def p_text(p: float | None) -> str:
    """`= 0.012`, or `< 0.001`."""
    return "< 0.001" if (p or 0.0) < 0.001 else f"= {p:.3f}"
