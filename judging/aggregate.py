"""Aggregates findings into a verdict; exchanging the two candidates reverses it exactly.

Sums are correctly rounded (`math.fsum`), so their order cannot matter; every step is odd in the margin. Ties follow
Rao & Kupper (1967): with margin m and threshold t, P(a) = s(m - t), P(b) = s(-m - t), s the logistic function, and a
wins when P(a) > 1/2, that is, when m > t. At a margin of exactly 0 without a threshold each
outcome has probability 1/3. These probabilities are not calibrated; a head calibrates them.

Sampled answers are votes: those of one criterion are counted together, over both orders, with one half added to each
count (Jeffreys' prior). So an option without a vote is improbable in proportion to the number of votes, and the winner
has the most of them.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..data import Finding
from ..data.case import Letter

FLOOR = 1e-6  # in place of a probability of 0, which only means that the server did not list the token
ROUNDING = 1e-9  # as many votes for a tie as for a candidate are equal probabilities but for rounding
ADDED = 0.5  # votes for each option beside those that were cast


def aggregate_findings(
    findings: Sequence[Finding], candidates: int, *, tie_threshold: float = 0.0, score_weight: float = 1.0
) -> dict[str, Any]:
    """The verdict's fields that follow from its findings, from `winner` to `consistent`.

    Args:
        findings: scores (one per candidate) or a distribution over a and b (and tie), or both kinds; factors of a
            guideline are ignored.
        candidates: how many were judged; 1 gives scores alone, 2 a pair's verdict, more the best one's index.
        tie_threshold: a pair's margin of at most this much is a tie, in log-odds; not negative.
        score_weight: log-odds per point of score difference, summed over criteria.
    """
    findings = [finding for finding in findings if not finding.is_factor]
    scores = mean_scores(findings)
    if candidates == 1:
        levels = mean_levels(findings)
        return {"scores": scores, "distribution": levels, "certainty": max(levels.values()) if levels else None}
    if candidates > 2:
        assert scores is not None
        return {"scores": scores} | _best_of(scores, score_weight)
    single = [finding for finding in findings if finding.order is None]
    winners = {
        order: _pair([*single, *(f for f in findings if f.order == order)], tie_threshold, score_weight)["winner"]
        for order in sorted({finding.order for finding in findings if finding.order})
    }
    consistent = winners["ab"] == winners["ba"] if len(winners) == 2 else None
    fields = {"scores": scores, "order_winners": winners, "consistent": consistent}
    return fields | _pair(findings, tie_threshold, score_weight)


def mean_scores(findings: Sequence[Finding]) -> tuple[float, ...] | None:
    """Each candidate's mean score over the findings that hold scores, weighted; None without any."""
    scored = [finding for finding in findings if finding.scores]
    weights = [finding.weight for finding in scored]
    if not math.fsum(weights):
        return None
    columns = zip(*(finding.scores or () for finding in scored), strict=True)
    return tuple(_mean(column, weights) for column in columns)


def mean_levels(findings: Sequence[Finding]) -> dict[str, float] | None:
    """One candidate's distribution over the levels 1, 2, ..., averaged over findings by weight; None without any, or
    where findings differ in the number of levels."""
    read = [finding for finding in findings if finding.levels and finding.weight]
    if len({len(finding.levels[0]) for finding in read if finding.levels}) != 1:
        return None
    weights = [finding.weight for finding in read]
    columns = zip(*(finding.levels[0] for finding in read if finding.levels), strict=True)
    return {str(level): _mean(shares, weights) for level, shares in enumerate(columns, start=1)}


def votes_pooled(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with one in place of those that hold the votes of a criterion: their votes counted together."""
    votes: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    others = []
    for finding in findings:
        if finding.samples > 1 and finding.distribution:
            votes[finding.member, finding.criterion].append(finding)
        else:
            others.append(finding)
    return [*others, *map(_pooled, votes.values())]


def _pooled(votes: Sequence[Finding]) -> Finding:
    options = sorted({option for finding in votes for option in finding.distribution or {}})
    counts = [
        math.fsum(finding.samples * (finding.distribution or {}).get(option, 0.0) for finding in votes) + ADDED
        for option in options
    ]
    shares = {option: count / math.fsum(counts) for option, count in zip(options, counts, strict=True)}
    weight = math.fsum(finding.weight for finding in votes)
    return votes[0].model_copy(update={"distribution": shares, "weight": weight, "order": None, "samples": 1})


def margin(findings: Sequence[Finding], score_weight: float = 1.0) -> float:
    """The log-odds of a against b: letters averaged by weight, score differences summed over criteria and averaged
    over orders, added. Exchanging the candidates negates it exactly."""
    findings = votes_pooled(findings)
    lettered = [(finding.weight, finding.distribution) for finding in findings if finding.distribution]
    letters = [w * (math.log(max(p["a"], FLOOR)) - math.log(max(p["b"], FLOOR))) for w, p in lettered]
    scored = [finding for finding in findings if finding.scores]
    orders = len({finding.order for finding in scored}) or 1
    differences = [finding.weight * (finding.scores[0] - finding.scores[1]) for finding in scored if finding.scores]
    weight = math.fsum(w for w, _ in lettered)
    letter_margin = math.fsum(letters) / weight if weight else 0.0
    return letter_margin + score_weight * (math.fsum(differences) / orders)


def _pair(findings: Sequence[Finding], tie_threshold: float, score_weight: float) -> dict[str, Any]:
    findings = votes_pooled(findings)
    m = margin(findings, score_weight)
    ties = [(f.distribution["tie"], f.weight) for f in findings if f.distribution and "tie" in f.distribution]
    a, b = _logistic(m - tie_threshold), _logistic(-m - tie_threshold)
    winner: Letter = "a" if m > tie_threshold else "b" if -m > tie_threshold else "tie"
    tie = max(0.0, 1 - (a + b))
    if ties:  # the model itself could say tie
        tie_probability = _mean(*zip(*ties, strict=True))
        a, b = a * (1 - tie_probability), b * (1 - tie_probability)
        tie = max(0.0, 1 - (a + b))
        if tie >= max(a, b) * (1 - ROUNDING):
            winner = "tie"
    elif m == 0 and tie_threshold == 0:  # the verdict is a tie, for which the model of margins leaves no room
        a = b = tie = 1 / 3
    distribution = {"a": a, "b": b, "tie": tie}
    return {"winner": winner, "distribution": distribution, "certainty": distribution[winner]}


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted mean; rounding may not take it beyond the values."""
    mean = math.fsum(weight * value for weight, value in zip(weights, values, strict=True)) / math.fsum(weights)
    return min(max(mean, min(values)), max(values))


def best(scores: Sequence[float]) -> Letter | int:
    """The winner by scores: a letter of a pair, an index among more, or a tie."""
    top = [index for index, score in enumerate(scores) if score == max(scores)]
    if len(top) > 1:
        return "tie"
    letters: tuple[Letter, Letter] = ("a", "b")
    return letters[top[0]] if len(scores) == 2 else top[0]


def _best_of(scores: Sequence[float], score_weight: float) -> dict[str, Any]:
    top = max(scores)
    weights = [math.exp(score_weight * (score - top)) for score in scores]
    shares = [weight / math.fsum(weights) for weight in weights]
    winner = best(scores)
    return {
        "winner": winner,
        "distribution": {str(index): share for index, share in enumerate(shares)},
        "certainty": max(shares),  # of a tie: that a given one of the best is the right one
    }


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
