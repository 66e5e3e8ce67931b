"""Criteria and aspects that say nothing of people's labels, as far as these labels show: what a rubric can drop.

A criterion of pairs is silent if the text that it favours is the preferred one in about half of the cases: the interval
holds one half and ends below .65. An aspect of texts is silent if the interval of the judge's correlation with people
holds 0 and ends below .3. Many more labels could still show something small.
"""

from collections import defaultdict
from collections.abc import Sequence

from ..data import Judged
from ..evaluation.measure_factories import proportion_measure
from ..evaluation.results import Measure
from .aspect_results import AspectResult

SHARE = 0.9  # of the cases must have a criterion; others were made up for a case
MOST_RIGHT, MOST_CORRELATED = 0.65, 0.3
CORRELATIONS = ("spearman", "kendall", "pearson")


def silent_criteria(verdicts: Sequence[Judged]) -> tuple[str, ...]:
    """The silent criteria of a judge of pairs, each with its figures; none of a judge with one criterion."""
    hits: dict[str, list[bool]] = defaultdict(list)
    groups: dict[str, list[str]] = defaultdict(list)
    cases = [judged for judged in verdicts if judged.status == "scored" and judged.human_answer in ("a", "b")]
    seen: dict[str, int] = defaultdict(int)
    for judged in cases:
        margins: dict[str, float] = defaultdict(float)
        for finding in judged.findings:
            if finding.is_factor or finding.member:
                continue
            if finding.scores is not None and len(finding.scores) == 2:
                margins[finding.criterion] += finding.scores[0] - finding.scores[1]
            elif finding.distribution is not None and {"a", "b"} <= finding.distribution.keys():
                margins[finding.criterion] += finding.distribution["a"] - finding.distribution["b"]
        for criterion, margin in margins.items():
            seen[criterion] += 1
            if margin:
                hits[criterion].append((margin > 0) == (judged.human_answer == "a"))
                groups[criterion].append(judged.group_name)
    named = [criterion for criterion, n in seen.items() if cases and n >= SHARE * len(cases)]
    if len(named) < 2:
        return ()
    measures = {
        criterion: proportion_measure(criterion, hits[criterion], groups[criterion], "favours the preferred text")
        for criterion in named
        if hits[criterion]
    }
    return tuple(
        f"the criterion {criterion!r}: it favours the text that people prefer in {_figures(measure)} of "
        f"{measure.n:,} pairs, no better than chance"
        for criterion, measure in measures.items()
        if _is_silent(measure, 0.5, MOST_RIGHT)
    )


def silent_aspects(aspects: Sequence[AspectResult]) -> tuple[str, ...]:
    """The silent aspects of texts, each with its figures."""
    return tuple(
        f"the aspect {row.aspect!r}: the judge's correlation with people is {_figures(row.after)} on {row.after.n:,} "
        "texts"
        for row in aspects
        if row.after is not None
        and row.after.name.partition(" ")[0] in CORRELATIONS
        and _is_silent(row.after, 0.0, MOST_CORRELATED)
    )


def _is_silent(measure: Measure, chance: float, most: float) -> bool:
    if measure.low is None or measure.high is None:
        return False
    return measure.low <= chance <= measure.high < most


def _figures(measure: Measure) -> str:
    return f"{measure.value:.2f} [{measure.low:.2f}, {measure.high:.2f}]"
