"""What sways a judge besides quality: place, length, chance, its own texts, ties (Zheng et al. 2023, arXiv 2306.05685).

Winners are codes, one a case: a = 0, b = 1, tie = 2, -1 missing. A case that lacks what a measure needs is left out of
it, and its n says how many are left. Where people say what is right the judge is measured against them on the same
cases, so that longer texts that are truly better are no bias. Groups are as in `resampling`.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from . import paired
from .agreement import kappa, ratio
from .resampling import Estimate, Groups, bootstrap_table, group_codes, mean, proportion

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
A, B, TIE = 0, 1, 2


@dataclass(frozen=True)
class JudgeVsHuman:
    """A proportion of the judge's verdicts, the same of people's labels, and their difference case by case."""

    judge: Estimate
    people: Estimate
    difference: Estimate


@dataclass(frozen=True)
class Position:
    """What the order in which two texts are shown does.

    Args:
        first_slot: proportion of the answers other than ties that name the text shown first; .5 is no bias.
        consistent: proportion of cases on which both orders name the same winner; it and the three below sum to 1.
        primacy: both orders name the text shown first.
        recency: both orders name the text shown second.
        other: one of the orders says tie.
    """

    first_slot: Estimate
    consistent: Estimate
    primacy: Estimate
    recency: Estimate
    other: Estimate


@dataclass(frozen=True)
class Repetition:
    """How far a judge that is asked again says the same; kappa is Cohen's, what is left beyond chance."""

    equal: Estimate
    kappa: Estimate


def position(first_order: Codes, second_order: Codes, groups: Groups = None) -> Position:
    """How the order sways a judge, over the cases that were answered in both.

    As every text is shown first once, .5 is no bias whatever the better texts are: a judge that names the same winner
    in both orders names the first slot once of two times.

    Args:
        first_order: (n,) winners with a shown first, b second.
        second_order: (n,) winners of the same cases with b shown first; a is still the case's own a.
        groups: (n,).
    """
    ab, ba = _pairs("position", first_order, second_order)
    both_orders = (ab >= 0) & (ba >= 0)
    case = group_codes(groups, len(ab))[0][both_orders]
    ab, ba = ab[both_orders], ba[both_orders]
    names_first = np.concatenate([ab == A, ba == B])
    decided = np.concatenate([ab, ba]) != TIE
    primacy, recency, consistent = (ab == A) & (ba == B), (ab == B) & (ba == A), ab == ba
    return Position(
        first_slot=proportion(names_first[decided], np.concatenate([case, case])[decided]),
        consistent=proportion(consistent, case),
        primacy=proportion(primacy, case),
        recency=proportion(recency, case),
        other=proportion(~(primacy | recency | consistent), case),
    )


def length(human: Codes, judge: Codes, length_difference: Floats, groups: Groups = None) -> JudgeVsHuman:
    """How often the longer text wins, over cases of unequal lengths on which neither the judge nor people say tie.

    Args:
        human: (n,) people's winners.
        judge: (n,) the judge's.
        length_difference: (n,) length of a less that of b, in any unit; NaN missing.
        groups: (n,).
    """
    people_longer, judge_longer, selected = _longer("length", human, judge, length_difference)
    return _against(people_longer, judge_longer, _selected(groups, selected))


def length_errors(
    human: Codes, judge: Codes, length_difference: Floats, groups: Groups = None, *, seed: int = 0
) -> Estimate:
    """Errors in favour of the longer text less those in favour of the shorter one, in [-1, 1]; 0 is no bias.

    P(judge names the longer | people name the shorter) - P(judge names the shorter | people name the longer). Unlike
    the difference of `length` it does not depend on how often people like the longer text. NaN unless they name the
    longer and the shorter at least once each. Arguments as `length`; the interval is resampled with `seed`.
    """
    people_longer, judge_longer, selected = _longer("length_errors", human, judge, length_difference)
    return bootstrap_table(_in_favour, people_longer, judge_longer, 2, _selected(groups, selected), seed=seed)


def repetition(first: Codes, second: Codes, k: int = 3, groups: Groups = None, *, seed: int = 0) -> Repetition:
    """The same judge run twice over the same cases, of which both runs gave a verdict.

    Args:
        first: (n,) winners of one run, or indices of choices.
        second: (n,) winners of the other.
        k: how many codes there are.
        groups: (n,).
        seed: of the interval of kappa.
    """
    first_winner, second_winner = _pairs("repetition", first, second, k)
    selected = (first_winner >= 0) & (second_winner >= 0)
    first_winner, second_winner = first_winner[selected], second_winner[selected]
    selected_groups = _selected(groups, selected)
    return Repetition(
        proportion(first_winner == second_winner, selected_groups),
        bootstrap_table(kappa, first_winner, second_winner, k, selected_groups, seed=seed),
    )


def self_preference(
    human: Codes, judge: Codes, systems: Codes, judge_systems: Collection[int], groups: Groups = None
) -> JudgeVsHuman:
    """How often the judge's own texts win, over pairs of an own text and another system's; a tie is half a win.

    Args:
        human: (n,) people's winners.
        judge: (n,) the judge's.
        systems: (n, 2) codes of the systems that wrote a and b; -1 not known.
        judge_systems: the codes that are the judge itself, or of its family.
        groups: (n,).
    """
    people, verdict = _pairs("self_preference", human, judge)
    wrote = np.asarray(systems, dtype=np.int64)
    if wrote.shape != (len(people), 2):
        raise DataError(f"self_preference: systems of shape {wrote.shape} for {len(people)} cases. Give two a case.")
    is_own = np.isin(wrote, list(judge_systems))
    selected = (people >= 0) & (verdict >= 0) & (wrote >= 0).all(axis=1) & (is_own[:, 0] != is_own[:, 1])
    by_people, by_judge = (
        np.where(winner == TIE, 0.5, (winner == A) == is_own[:, 0])[selected] for winner in (people, verdict)
    )
    selected_groups = _selected(groups, selected)
    return JudgeVsHuman(
        mean(by_judge, selected_groups), mean(by_people, selected_groups), mean(by_judge - by_people, selected_groups)
    )


def tie_rate(human: Codes, judge: Codes, groups: Groups = None) -> JudgeVsHuman:
    """How often the judge says tie, over cases that both judged.

    Args:
        human: (n,) people's winners.
        judge: (n,) the judge's.
        groups: (n,).
    """
    people, verdict = _pairs("tie_rate", human, judge)
    selected = (people >= 0) & (verdict >= 0)
    return _against(people[selected] == TIE, verdict[selected] == TIE, _selected(groups, selected))


def _against(people: NDArray[np.bool_], judge: NDArray[np.bool_], groups: Groups) -> JudgeVsHuman:
    difference = paired.difference(judge, people, groups)
    return JudgeVsHuman(proportion(judge, groups), proportion(people, groups), difference)


def _longer(
    who: str, human: Codes, judge: Codes, length_difference: Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether people and the judge name the longer text on the selected cases, and (n,) which are selected."""
    people, verdict = _pairs(who, human, judge)
    longer_by = np.asarray(length_difference, dtype=np.float64)
    if longer_by.shape != people.shape:
        raise DataError(f"{who}: {longer_by.size} lengths for {len(people)} cases. Give one difference a case.")
    longer = np.where(longer_by > 0, A, B)
    uneven = np.isfinite(longer_by) & (longer_by != 0)
    selected = np.isin(people, (A, B)) & np.isin(verdict, (A, B)) & uneven
    return (people == longer)[selected], (verdict == longer)[selected], selected


def _in_favour(table: Floats) -> Floats:
    """Of (..., 2, 2) counts: rows people, columns the judge; 0 names the shorter text, 1 the longer."""
    errors = np.stack([table[..., 0, 1], table[..., 1, 0]], axis=-1)
    chance = ratio(errors, table.sum(axis=-1))
    return np.asarray(chance[..., 0] - chance[..., 1])


def _selected(groups: Groups, selected: NDArray[np.bool_]) -> Groups:
    return None if groups is None else group_codes(groups, len(selected))[0][selected]


def _pairs(who: str, first: Codes, second: Codes, k: int = 3) -> tuple[Codes, Codes]:
    first_winner, second_winner = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if first_winner.ndim != 1 or first_winner.shape != second_winner.shape:
        shapes = f"{first_winner.shape} and {second_winner.shape}"
        raise DataError(f"{who}: shapes {shapes}. Give one winner a case on both sides.")
    both = np.concatenate([first_winner, second_winner])
    unknown = both[(both < -1) | (both >= k)]
    if len(unknown):
        raise DataError(f"{who}: winner {unknown[0]} is none of 0..{k - 1}. Write -1 where there is none.")
    return first_winner, second_winner
