"""Systems ranked by the judge and by people (Fennec, arXiv 2405.12163, section 4): mean scores, or strengths in pairs.

Two rankings agree by Spearman and Kendall's tau-b; n is the number of systems, so few systems say little.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ...errors import DeclarationError
from ...stats import ranking
from ...stats.proportions import FEWEST
from ..answers import by_answer, of_cases
from ..measure_factories import point_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Measure, SystemRow
from ..run_arrays import Floats, RunArrays
from .correlation import COEFFICIENTS


@register("systems")
def system_agreement(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How similar the judge's and people's rankings of the systems are."""
    both = [(row.judge.value, row.people.value) for row in system_rows(run, options.seed) if row.people]
    sides = [(judge, human) for judge, human in both if judge is not None and human is not None]
    if len(sides) < FEWEST:
        return
    agreement = ranking.rank_agreement(*np.array(sides).T)
    for name in ("spearman", "kendall"):
        description = f"{COEFFICIENTS[name]} of the judge's and people's ranking of {agreement.n} systems"
        yield point_measure(f"systems {name}", getattr(agreement, name), agreement.n, description)


@lru_cache(maxsize=1)
def system_rows(run: RunArrays, seed: int) -> tuple[SystemRow, ...]:
    """Systems by mean score of their texts, or by strength in pairs; the best by the judge first."""
    if not run.systems:
        return ()
    rows = _by_score(run) if _has_scores_of_texts(run) else _by_strength(run, seed)
    return tuple(
        sorted(rows, key=lambda row: (-(row.judge.value if row.judge.value is not None else -math.inf), row.system))
    )


def _has_scores_of_texts(run: RunArrays) -> bool:
    """Whether mean scores are comparable: single texts, or pairs whose texts judge and people scored one by one."""
    if run.system.shape[1] == 1 or (run.judge < 0).all():
        return True
    named = (run.system >= 0).any(axis=1)
    of_people = run.human_candidate_scores.shape[1] == 2 or (run.human < 0).all()
    return bool(run.scored_separately[named].all() and of_people)


def _by_score(run: RunArrays) -> list[SystemRow]:
    k, width = len(run.systems), run.system.shape[1]
    wrote, groups = run.system.ravel(), np.repeat(run.group, width)
    separately = np.repeat(run.scored_separately, width)
    judge, human = (_scores(scores, width) for scores in (run.candidate_scores, run.human_candidate_scores))
    by_judge = ranking.mean_scores(np.where(separately, judge, np.nan), wrote, k, groups)
    by_people = ranking.mean_scores(np.where(separately, human, np.nan), wrote, k, groups)
    description = "mean score of its texts"
    return [
        SystemRow(
            system=name,
            judge=to_measure("score", ours, description),
            people=to_measure("score", theirs, description) if theirs.n else None,
        )
        for name, ours, theirs in zip(run.systems, by_judge, by_people, strict=True)
        if ours.n
    ]


def _scores(scores: Floats, width: int) -> Floats:
    """(n * width,) scores of the first `width` candidates; NaN where fewer are scored."""
    padded = np.full((len(scores), width), np.nan)
    padded[:, : min(width, scores.shape[1])] = scores[:, :width]
    return padded.ravel()


def _by_strength(run: RunArrays, seed: int) -> list[SystemRow]:
    pairs, answers = run.pairs, by_answer(run).pairs
    k, description = len(run.systems), "strength in pairs (Bradley-Terry, log-odds)"
    try:
        judge, human = (
            ranking.bootstrap_strengths(side.system[:, 0], side.system[:, 1], outcome, k, side.group, seed=seed)
            for side, outcome in ((answers, answers.judge), (pairs, pairs.human))
        )
    except DeclarationError:  # some systems were never compared: there is no one scale for them
        return []
    return [
        SystemRow(
            system=name,
            judge=next(of_cases([to_measure("strength", ours.strength, description)], run)),
            people=to_measure("strength", theirs.strength, description),
        )
        for name, ours, theirs in zip(run.systems, judge, human, strict=True)
    ]
