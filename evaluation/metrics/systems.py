"""Systems ranked by the judge and by people (Fennec, arXiv 2405.12163, section 4): mean scores, or strengths in pairs.

Two rankings agree by Pearson, Spearman and Kendall's tau-b; n is the number of systems, so few systems say little. The
intervals draw prompts and systems again (`stats.system_agreement`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from ...errors import DeclarationError
from ...stats import ranking
from ...stats.proportions import FEWEST
from ...stats.resampling import Estimate
from ...stats.system_agreement import GroupDraws, draw_groups, mean_score_draws, strength_draws, system_agreement
from ..answers import by_answer, of_cases
from ..measure_factories import to_measure
from ..metric import MetricOptions, register
from ..results import Measure, SystemRow
from ..run_arrays import Codes, Floats, RunArrays
from .correlation import COEFFICIENTS


@dataclass(frozen=True)
class RankedSystems:
    """The systems of a run, the best by the judge first, and how far judge and people rank them the same way."""

    rows: tuple[SystemRow, ...] = ()
    agreement: dict[str, Estimate] = field(default_factory=dict)


@register("systems", *(f"systems {name}" for name in COEFFICIENTS))
def system_measures(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How similar the judge's and people's rankings of the systems are."""
    for name, estimate in ranked_systems(run, options.seed).agreement.items():
        if estimate.n >= FEWEST:
            description = f"{COEFFICIENTS[name]} of the judge's and people's ranking of {estimate.n} systems"
            yield to_measure(f"systems {name}", estimate, f"{description}; prompts and systems drawn again")


def system_rows(run: RunArrays, seed: int) -> tuple[SystemRow, ...]:
    """Systems by mean score of their texts, or by strength in pairs; the best by the judge first."""
    return ranked_systems(run, seed).rows


@lru_cache(maxsize=1)
def ranked_systems(run: RunArrays, seed: int) -> RankedSystems:
    """The ranking of the systems by mean score of their texts, or by strength in pairs."""
    if not run.systems:
        return RankedSystems()
    ranked = _by_score(run, seed) if _has_scores_of_texts(run) else _by_strength(run, seed)
    rows = sorted(
        ranked.rows, key=lambda row: (-(row.judge.value if row.judge.value is not None else -math.inf), row.system)
    )
    return RankedSystems(tuple(rows), ranked.agreement)


def _has_scores_of_texts(run: RunArrays) -> bool:
    """Whether mean scores are comparable: single texts, or pairs whose texts judge and people scored one by one."""
    if run.system.shape[1] == 1 or (run.judge < 0).all():
        return True
    named = (run.system >= 0).any(axis=1)
    of_people = run.human_candidate_scores.shape[1] == 2 or (run.human < 0).all()
    return bool(run.scored_separately[named].all() and of_people)


def _by_score(run: RunArrays, seed: int) -> RankedSystems:
    k, width = len(run.systems), run.system.shape[1]
    wrote, groups = run.system.ravel(), np.repeat(run.group, width)
    separately = np.repeat(run.scored_separately, width)
    judge, human = (_scores(scores, width) for scores in (run.candidate_scores, run.human_candidate_scores))
    sides = [np.where(separately, side, np.nan) for side in (judge, human)]
    by_judge, by_people = (ranking.mean_scores(side, wrote, k, groups) for side in sides)
    drawn = draw_groups(groups, len(groups), seed=seed)
    agreement = system_agreement(
        np.array([mean.value for mean in by_judge]),
        np.array([mean.value for mean in by_people]),
        mean_score_draws(sides[0], wrote, k, drawn),
        mean_score_draws(sides[1], wrote, k, drawn),
        seed=seed,
    )
    description = "mean score of its texts"
    rows = tuple(
        SystemRow(
            system=name,
            judge=to_measure("score", ours, description),
            people=to_measure("score", theirs, description) if theirs.n else None,
        )
        for name, ours, theirs in zip(run.systems, by_judge, by_people, strict=True)
        if ours.n
    )
    return RankedSystems(rows, agreement)


def _scores(scores: Floats, width: int) -> Floats:
    """(n * width,) scores of the first `width` candidates; NaN where fewer are scored."""
    padded = np.full((len(scores), width), np.nan)
    padded[:, : min(width, scores.shape[1])] = scores[:, :width]
    return padded.ravel()


def _by_strength(run: RunArrays, seed: int) -> RankedSystems:
    pairs, answers = run.pairs, by_answer(run).pairs
    k, description = len(run.systems), "strength in pairs (Bradley-Terry, log-odds)"
    try:
        judge, human = (
            ranking.bootstrap_strengths(side.system[:, 0], side.system[:, 1], outcome, k, side.group, seed=seed)
            for side, outcome in ((answers, answers.judge), (pairs, pairs.human))
        )
    except DeclarationError:  # some systems were never compared: there is no one scale for them
        return RankedSystems()
    drawn = draw_groups(np.concatenate([answers.group, pairs.group]), answers.n + pairs.n, seed=seed)
    blocks = np.split(drawn.block, [answers.n])
    agreement = system_agreement(
        np.array([of_system.strength.value for of_system in judge]),
        np.array([of_system.strength.value for of_system in human]),
        _draws_of_strengths(answers, answers.judge, replace(drawn, block=blocks[0])),
        _draws_of_strengths(pairs, pairs.human, replace(drawn, block=blocks[1])),
        seed=seed,
    )
    rows = tuple(
        SystemRow(
            system=name,
            judge=next(of_cases([to_measure("strength", ours.strength, description)], run)),
            people=to_measure("strength", theirs.strength, description),
        )
        for name, ours, theirs in zip(run.systems, judge, human, strict=True)
    )
    return RankedSystems(rows, agreement)


def _draws_of_strengths(pairs: RunArrays, outcome: Codes, resampled: GroupDraws) -> Floats:
    return strength_draws(pairs.system[:, 0], pairs.system[:, 1], outcome, len(pairs.systems), resampled)
