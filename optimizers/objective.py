"""Objectives: measures of a run that a compilation improves, each with its direction and its kinds of case.

Every objective is one entry of `OBJECTIVES`, registered by a module of `objectives/` or by another package. An
objective is computed from the scored verdicts only; compare the counts of unscored verdicts beside it. NaN means that
it is not defined on a run.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Case
from ..data.case import CaseKind
from ..errors import DeclarationError
from ..evaluation.aspects import mean_of_figures, strata_of
from ..evaluation.compare import Tests
from ..evaluation.paired_answers import recoded
from ..evaluation.renamed_measures import current_name
from ..evaluation.results import PairedTest
from ..evaluation.run_arrays import Floats, RunArrays
from ..evaluation.score_tests import Statistic, mean_tests, statistic_test, statistic_tests
from ..registry import Registry
from .error_costs import COST, check_costs, costs_in, parse_costs

PAIRS: frozenset[CaseKind] = frozenset({"pairs"})
CHOICES: frozenset[CaseKind] = frozenset({"choices"})
CATEGORIES: frozenset[CaseKind] = frozenset({"categories"})
LABELS: frozenset[CaseKind] = PAIRS | CHOICES | CATEGORIES
TEXTS: frozenset[CaseKind] = frozenset({"texts"})
DEFAULTS: dict[CaseKind, str] = {
    "pairs": "accuracy", "choices": "accuracy", "texts": "spearman", "categories": "accuracy",
}  # fmt: skip
# `evaluation.compare` tests these itself
TESTED_BY_COMPARE = ("accuracy", "both-orders accuracy", "pearson", "spearman")


@dataclass(frozen=True)
class Objective:
    """A measure of a run that a compilation improves; make one with `mean_objective` or `statistic_objective`.

    Attributes:
        summary: one line for tables and help.
        value: the measure of a run; NaN where it is not defined.
        kinds: the kinds of case that it is defined for.
        uses_probabilities: whether it reads the judge's probabilities, not only its winners.
        case_values: of a mean: each scored verdict's number (n,), NaN where it has none.
        table_name: its name in tables, if that is another, as a measure has the name already; else "".
        statistic: of a measure without per-case numbers: its value for the judge's and people's (n,) winners or scores.
        by_aspect: the measure of each aspect of a run, NaN where it is not defined; of scores of texts the value is
            the mean of these. None: the value is of all verdicts together.
    """

    name: str
    summary: str
    value: Callable[[RunArrays], float]
    greater_is_better: bool
    kinds: frozenset[CaseKind]
    uses_probabilities: bool = False
    case_values: Callable[[RunArrays], Floats] | None = None
    statistic: Statistic | None = None
    by_aspect: Callable[[RunArrays], dict[str, float]] | None = None
    table_name: str = ""

    @property
    def title(self) -> str:
        """The name in tables."""
        return self.table_name or self.name

    def value_as_of(self, run: RunArrays) -> Callable[[RunArrays], float]:
        """The measure over exactly the aspects that it is defined on in this run, so that it can be compared with that
        of a part of the run; NaN where one of them is not defined."""
        if self.by_aspect is None:
            return self.value
        by_aspect, used = self.by_aspect, _defined(self.by_aspect(run))

        def value(part: RunArrays) -> float:
            figures = by_aspect(part)
            return mean_of_figures({name: figures.get(name, math.nan) for name in used})

        return value

    def is_better(self, value: float, than: float) -> bool:
        """Whether `value` is strictly better; any number is better than NaN."""
        if math.isnan(value) or math.isnan(than):
            return not math.isnan(value)
        return value > than if self.greater_is_better else value < than

    def gain(self, test: PairedTest) -> float:
        """The first judge's advantage in a paired test of this objective; 0 where the difference is not known."""
        value = test.difference.value or 0.0
        return value if self.greater_is_better else -value


def mean_objective(
    name: str,
    case_values: Callable[[RunArrays], Floats],
    *,
    summary: str,
    kinds: Iterable[CaseKind],
    greater_is_better: bool = True,
    uses_probabilities: bool = False,
    table_name: str = "",
) -> Objective:
    """An objective that is the mean of one number per scored verdict.

    Args:
        case_values: the (n,) numbers of a run; NaN leaves a verdict out.
        table_name: its name in tables, if that is another.
    """

    kinds = frozenset(kinds)

    def by_aspect(run: RunArrays) -> dict[str, float]:
        values = case_values(run)
        usable = ~np.isnan(values)
        known = values[usable]
        strata = strata_of(run, by_aspect=kinds == TEXTS).part(usable)
        return strata.figures(lambda rows: float(known[rows].mean()))

    return Objective(
        name, summary, _mean_over(by_aspect), greater_is_better, kinds, uses_probabilities,
        case_values=case_values, by_aspect=by_aspect if kinds == TEXTS else None, table_name=table_name,
    )  # fmt: skip


def statistic_objective(
    name: str, statistic: Statistic, *, summary: str, kinds: Iterable[CaseKind], greater_is_better: bool = True
) -> Objective:
    """An objective in [-1, 1] of all verdicts together, such as a correlation; of scores the mean over aspects.

    Args:
        statistic: its value for the judge's (n,) and people's (n,) scores of texts, or codes of winners. The paired
            test of two judges of texts takes it of ranks, so that judges may score on different scales.
    """
    kinds = frozenset(kinds)

    def by_aspect(run: RunArrays) -> dict[str, float]:
        texts = run.rated
        return strata_of(texts).figures(lambda rows: statistic(texts.score[rows], texts.human_score[rows]))

    def of_winners(run: RunArrays) -> float:
        both = run.labelled
        return statistic(both.judge, both.human)

    if kinds != TEXTS:
        return Objective(name, summary, of_winners, greater_is_better, kinds, statistic=statistic)
    return Objective(
        name, summary, _mean_over(by_aspect), greater_is_better, kinds, statistic=statistic, by_aspect=by_aspect
    )


def _mean_over(by_aspect: Callable[[RunArrays], dict[str, float]]) -> Callable[[RunArrays], float]:
    """The mean over the aspects on which the measure is defined; NaN if there is none."""
    return lambda run: mean_of_figures(_defined(by_aspect(run)))


def _defined(figures: dict[str, float]) -> dict[str, float]:
    return {name: figure for name, figure in figures.items() if not math.isnan(figure)}


def _plugin(name: str, loaded: Any) -> Objective:
    if not isinstance(loaded, Objective) or loaded.name != name:
        raise DeclarationError(f"objective {name!r}: its entry point gives {loaded!r}. Give an Objective of this name.")
    return loaded


def cost_objective(name: str) -> Objective:
    """The objective of this name, as `objective_name` writes it.

    Raises:
        DeclarationError: as `parse_costs`.
    """
    costs = parse_costs(name.removeprefix(COST))

    def cost_of_each(run: RunArrays) -> Floats:
        """(n,) the cost of each verdict, 0 of a right one; NaN without a verdict or a label."""
        by_label = np.array([costs.get(label, 1.0) for label in run.labels])
        values = np.where(run.judge == run.human, 0.0, by_label[run.human])
        return np.where((run.judge >= 0) & (run.human >= 0), values, math.nan)

    words = ", ".join(f"{category} {cost:g}" for category, cost in sorted(costs.items()))
    return mean_objective(
        name, cost_of_each, kinds=CATEGORIES, greater_is_better=False,
        summary=f"mean cost of a verdict; of an error by what people say: {words}, others 1",
    )  # fmt: skip


class _Objectives(Registry[Objective]):
    """The registered objectives, also by earlier names, and those of costs, whose names hold the costs."""

    def find(self, name: str, hint: str = "") -> Objective:
        if name.startswith(COST):
            return cost_objective(name)
        return super().find(name if name in self else current_name(name), hint)


OBJECTIVES: Registry[Objective] = _Objectives(
    "objective", ".optimizers.objectives", "dicast.objectives", convert=_plugin
)


def register(objective: Objective) -> Objective:
    """Add a built-in objective."""
    return OBJECTIVES.add(objective.name, objective)


def title_of(name: str) -> str:
    """The name of an objective in tables, as in "log-loss of votes"; the name itself of an unknown one."""
    try:
        return OBJECTIVES.find(name).title
    except DeclarationError:
        return name


def shared_kind(cases: Iterable[Case]) -> CaseKind:
    """The kind of all cases; raises DeclarationError for no case and for several kinds."""
    kinds = sorted({case.kind for case in cases})
    if len(kinds) != 1:
        listed = " and ".join(kinds) or "no case"
        raise DeclarationError(f"objective: the cases are {listed}. Give labelled cases of one kind.")
    return kinds[0]


def objective_for(name: str | None, cases: Iterable[Case]) -> Objective:
    """The objective of this name, or the default of these cases: accuracy of pairs, choices and categories, Spearman of
    scores.

    Pairs default to accuracy, not to both-orders accuracy: accuracy is of the merged verdict, which is delivered; a
    head changes it without changing the answer in each order, and a judge that asks in one order has none of these.

    Raises:
        DeclarationError: no case, cases of several kinds, or an objective that does not exist or is not for this kind.
    """
    cases = list(cases)
    kind = shared_kind(cases)
    objective = OBJECTIVES.find(name or DEFAULTS[kind])
    if kind not in objective.kinds:
        names = ", ".join(other.name for other in OBJECTIVES if kind in other.kinds)
        raise DeclarationError(f"objective {name!r}: is not defined for {kind}. Use one of {names}.")
    if name and name.startswith(COST):
        check_costs(costs_in(name), sorted({category for case in cases for category in case.categories}))
    return objective


def paired_tests(objective: Objective) -> Tests:
    """The paired test of this objective, to be passed to `evaluation.compare`; none where `compare` has it already."""

    def tests(first: RunArrays, second: RunArrays, seed: int) -> Iterator[PairedTest]:
        if objective.name in TESTED_BY_COMPARE:
            return
        if objective.case_values is not None:
            yield from _test_of_means(objective, objective.case_values, first, second, seed)
        elif objective.statistic is not None:
            test = _test_of_scores if objective.kinds == TEXTS else _test_of_winners
            yield from test(objective, objective.statistic, first, second, seed)

    return tests


def _test_of_means(
    objective: Objective, case_values: Callable[[RunArrays], Floats], first: RunArrays, second: RunArrays, seed: int
) -> Iterator[PairedTest]:
    ours, theirs = case_values(first), case_values(second)
    known = ~(np.isnan(ours) | np.isnan(theirs))
    if known.any():
        strata, groups = strata_of(first).part(known), first.group[known]
        sides, pooled = (ours[known], theirs[known]), objective.by_aspect is None
        yield from mean_tests(
            objective.title, *sides, groups, seed, _description(objective), strata=strata, pooled=pooled
        )


def _test_of_winners(
    objective: Objective, statistic: Statistic, first: RunArrays, second: RunArrays, seed: int
) -> Iterator[PairedTest]:
    other, people = recoded(second, first.labels), first.human
    known = (first.judge >= 0) & (other >= 0) & (people >= 0)
    if known.any():
        sides, groups = (first.judge[known], other[known]), first.group[known]
        yield statistic_test(objective.name, statistic, sides, people[known], groups, seed, _description(objective))


def _test_of_scores(
    objective: Objective, statistic: Statistic, first: RunArrays, second: RunArrays, seed: int
) -> Iterator[PairedTest]:
    people = first.human_score
    known = ~(np.isnan(first.score) | np.isnan(second.score) | np.isnan(people))
    if known.any():
        sides, groups = (first.score[known], second.score[known]), first.group[known]
        yield from statistic_tests(
            objective.name, statistic, sides, people[known], groups, seed, _description(objective),
            strata=strata_of(first).part(known),
        )  # fmt: skip


def _description(objective: Objective) -> str:
    direction = "greater" if objective.greater_is_better else "lower"
    return f"{objective.title} of the first less that of the second; {direction} is better"
