"""The features of a head: named numbers, computed from a case and its verdict.

Odd features of a pair are negated exactly when the candidates are exchanged, even ones stay: sums are correctly rounded
(`math.fsum`), so neither their order nor the exchange can matter. A feature without evidence is left out: a
head reads it as 0, and a missing score of a text as the mean of its other scores, so that a panel member that failed
has no effect. `length` is always included; a head uses it only if the recipe says `length: true`.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..data import Case, Finding, Verdict
from ..data.verdict import Order
from .aggregate import FLOOR, margin, mean_scores
from .blocks import DISTANCE
from .features_by_name import QUESTION, answers_by_name
from .probabilities import mean_logs

LENGTH = "length"
IS = "is "  # begins the name of the feature that is 1 for one category
ASPECT = "aspect "  # begins the name of the feature of an aspect
MOST_PARTS = 10  # criteria, and members, with separate features


@dataclass(frozen=True)
class PairFeatures:
    """`odd` features change sign when the pair is exchanged (positive favours a); `even` ones stay and predict ties."""

    odd: dict[str, float]
    even: dict[str, float]


def pair_features(case: Case, verdict: Verdict) -> PairFeatures:
    """The features of a pair.

    Odd, in log-odds or points of score: `letters` (averaged by weight), `agreed letters` (0 where the orders differ in
    sign), `scores` (differences of candidates shown together, summed over criteria, averaged over orders), `single
    scores` (of candidates read alone), `merged` (their sum, the margin of the verdict itself), `median` and `wins` of
    the criteria, `criterion 1` ..., `question NAME` (`features_by_name`), `votes` of a panel, `member NAME`, `stated`
    (certainty in words, with its sign); `verdict` where there are no findings; `length` (log ratio of the characters).

    Even: the sizes of the kinds of evidence, `|letters|` ..., `spread` of the criteria, `position effect` and whether
    the `orders disagree`, the `tie share` where the judge could say tie, and the `mean score` of both candidates:
    on PandaLM people call two bad ones a tie more often than two good ones; `aspect NAME`, 1 for a case of this one.

    Of each measured evidence: odd its difference, by its name; even the difference's size and the mean, `mean NAME`. Of
    a distance, `NAME distance`, which is the same for both candidates: even, by its name.
    """
    readings = _readings(verdict)
    odd = _evidence(readings) if readings else {"verdict": _verdict_margin(verdict)}
    even = {f"|{name}|": abs(odd[name]) for name in ("letters", "scores", "single scores", "verdict") if name in odd}
    separate = _separate(readings, margin)
    if criteria := separate.get("criterion", {}).values():
        odd |= {"median": statistics.median(criteria), "wins": math.fsum(map(_sign, criteria))}
        even["spread"] = _spread(list(criteria))
    if members := separate.get("member", {}).values():
        odd["votes"] = math.fsum(map(_sign, members))
    odd |= _named(separate) | _stated(readings)
    odd |= {name: said[0] - said[1] for name, said in answers_by_name(readings, 2).items()}
    even |= _of_orders(readings) | _tie_share(readings)
    if scores := mean_scores(readings):
        even["mean score"] = _mean(scores)
    if case.aspect:
        even[ASPECT + case.aspect] = 1.0
    for name, (a, b) in _measured(case, verdict).items():
        if name.endswith(DISTANCE):
            even[name] = (a + b) / 2
        else:
            odd[name], even[f"|{name}|"], even[f"mean {name}"] = a - b, abs(a - b), (a + b) / 2
    first, second = _log_lengths(case)
    return PairFeatures(odd | {LENGTH: first - second}, even)


def text_features(case: Case, verdict: Verdict) -> dict[str, float]:
    """The features of a single text: `mean` and `median` of its scores, `lowest`, `highest` and `spread` where there
    are several criteria, `criterion 1` ..., `question NAME`, `member NAME`; where levels were read, the probabilities
    `top level` and `above bottom` and the levels' standard deviation `doubt`; measured evidence by its name; `length`
    (log characters)."""
    readings = [finding for finding in _readings(verdict) if finding.scores]
    mean = mean_scores(readings) or verdict.scores
    features = {} if mean is None else {"mean": mean[0]}
    if len(readings) > 1:
        scores = [finding.scores[0] for finding in readings if finding.scores]
        features |= {"median": statistics.median(scores), "lowest": min(scores), "highest": max(scores)}
        features |= {"spread": _spread(scores)}
    features |= _named(_separate(readings, _mean_score))
    features |= {name: said[0] for name, said in answers_by_name(readings, 1).items()}
    levels = [finding.levels[0] for finding in readings if finding.levels]
    if levels:
        features |= {
            "top level": _mean(shares[-1] for shares in levels),
            "above bottom": 1 - _mean(shares[0] for shares in levels),
            "doubt": _mean(map(_deviation, levels)),
        }
    features |= {name: value for name, (value,) in _measured(case, verdict).items()}
    return features | {LENGTH: _log_lengths(case)[0]}


def impute(features: Mapping[str, float], names: Iterable[str]) -> dict[str, float]:
    """The features of a text by these names: scores that it lacks are its mean score, anything else is 0.

    Example:
        >>> impute({"mean": 4.0, "member x": 4.0}, ["member x", "member y", "spread"])
        {'member x': 4.0, 'member y': 4.0, 'spread': 0.0}
    """
    mean = features.get("mean", 0.0)
    scores = ("median", "lowest", "highest", "criterion ", "member ", QUESTION)
    return {name: features.get(name, mean if name.startswith(scores) else 0.0) for name in names}


def option_features(case: Case, verdict: Verdict) -> dict[str, tuple[float, ...]]:
    """The features of a choice, a number for each option: `score`, `share` (log of its probability),
    `rank` (0 the worst; equal ones share the mean), `criterion 1` ..., `question NAME`, `member NAME`, measured
    evidence by its name, `length` (log characters)."""
    readings = _readings(verdict)
    names = [str(index) for index in range(len(case.candidates))]
    distributions = [finding.distribution for finding in readings if finding.distribution]
    if not readings and verdict.distribution:
        distributions = [verdict.distribution]
    features: dict[str, tuple[float, ...]] = {}
    if scores := mean_scores(readings) or (verdict.scores if not readings else None):
        features["score"] = scores
    if distributions:
        features["share"] = tuple(
            math.log(max(_mean(shares.get(name, 0.0) for shares in distributions), FLOOR)) for name in names
        )
    if features:
        features["rank"] = _ranks(next(iter(features.values())))
    for title, group in _groups(readings).items():
        if len(group) > 1:
            parts = {name: mean_scores(findings) for name, findings in list(group.items())[:MOST_PARTS]}
            features |= {f"{title} {name}": values for name, values in parts.items() if values}
    features |= answers_by_name(readings, len(case.candidates))
    return features | _measured(case, verdict) | {LENGTH: tuple(_log_lengths(case))}


def category_features(case: Case, verdict: Verdict) -> dict[str, tuple[float, ...]]:
    """The features of a text with categories, a number for each category: `share` (its mean log-probability by all
    findings), `criterion 1` ..., `member NAME` (the same of these alone), and `is NAME` for all but the first, 1 for
    that category and 0 for the others, whose weight is the category's constant. Of two categories also, for the
    positive one: `score`, measured evidence by its name and `length` (log characters)."""
    names, readings = case.categories, [f for f in _readings(verdict) if f.distribution]
    features: dict[str, tuple[float, ...]] = {}
    if readings:
        features["share"] = _log_shares(readings, names)
    elif verdict.distribution and verdict.category is not None:
        features["share"] = tuple(math.log(max(verdict.distribution.get(name, 0.0), FLOOR)) for name in names)
    for title, group in _groups(readings).items():
        if len(group) > 1:
            parts = list(group.items())[:MOST_PARTS]
            features |= {f"{title} {name}": _log_shares(findings, names) for name, findings in parts}
    if len(names) == 2:
        scores = {"score": verdict.scores[0]} if verdict.scores else {}
        numbers = scores | {name: values[0] for name, values in _measured(case, verdict).items()}
        features |= {name: (0.0, value) for name, value in numbers.items()}
        features[LENGTH] = (0.0, _log_lengths(case)[0])
    return features | {f"{IS}{name}": tuple(float(other == name) for other in names) for name in names[1:]}


def _log_shares(readings: Sequence[Finding], names: Sequence[str]) -> tuple[float, ...]:
    return tuple(mean_logs(readings, names).values())


def _measured(case: Case, verdict: Verdict) -> dict[str, tuple[float, ...]]:
    """The measured evidence that has a number for each candidate."""
    return {name: values for name, values in verdict.measured.items() if len(values) == len(case.candidates)}


def _readings(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if not finding.is_factor]


def _evidence(readings: Sequence[Finding]) -> dict[str, float]:
    """Letters, scores and their sum, of the readings that there are."""
    lettered = [finding for finding in readings if finding.distribution]
    features = {}
    if lettered:
        features["letters"] = letters = _letters(lettered)
        orders: tuple[Order, Order] = ("ab", "ba")
        sides = [[finding for finding in lettered if finding.order == order] for order in orders]
        if all(sides):
            first, second = map(_letters, sides)
            features["agreed letters"] = letters if _sign(first) * _sign(second) > 0 else 0.0
    if together := [finding for finding in readings if finding.scores and finding.order]:
        features["scores"] = _difference(together)
    if single := [finding for finding in readings if finding.scores and not finding.order]:
        features["single scores"] = _difference(single)
    return features | {"merged": margin(readings)}


def _separate(
    readings: Sequence[Finding], value: Callable[[list[Finding]], float | None]
) -> dict[str, dict[str, float]]:
    """What each criterion and each panel member says by itself, where there are several."""
    return {
        title: {name: said for name, findings in group.items() if (said := value(findings)) is not None}
        for title, group in _groups(readings).items()
        if len(group) > 1
    }


def _named(separate: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {
        f"{title} {name}": value
        for title, values in separate.items()
        for name, value in list(values.items())[:MOST_PARTS]
    }


def _groups(readings: Iterable[Finding]) -> dict[str, dict[str, list[Finding]]]:
    """The readings by criterion, numbered as they were first met, and by member."""
    criteria: dict[str, list[Finding]] = defaultdict(list)
    members: dict[str, list[Finding]] = defaultdict(list)
    for finding in readings:
        criteria[finding.criterion].append(finding)
        members[finding.member].append(finding)
    numbered = {str(number): findings for number, findings in enumerate(criteria.values(), start=1)}
    return {"criterion": numbered, "member": dict(sorted(members.items()))}


def _of_orders(readings: Iterable[Finding]) -> dict[str, float]:
    """Half the difference of the two orders' margins, above 0 where the first place is liked; whether they disagree."""
    by_order: dict[Order, list[Finding]] = {"ab": [], "ba": []}
    for finding in readings:
        if finding.order:
            by_order[finding.order].append(finding)
    if not all(by_order.values()):
        return {}
    first, second = margin(by_order["ab"]), margin(by_order["ba"])
    return {"position effect": (first - second) / 2, "orders disagree": float(_sign(first) * _sign(second) < 0)}


def _tie_share(readings: Iterable[Finding]) -> dict[str, float]:
    ties = [f.distribution["tie"] for f in readings if f.distribution and "tie" in f.distribution]
    return {"tie share": _mean(ties)} if ties else {}


def _stated(readings: Iterable[Finding]) -> dict[str, float]:
    stated = [
        _sign(_log_odds(f.distribution)) * f.certainty for f in readings if f.distribution and f.certainty is not None
    ]
    return {"stated": _mean(stated)} if stated else {}


def _verdict_margin(verdict: Verdict) -> float:
    """The log-odds of a verdict without findings; of a bare winner its sign."""
    if verdict.distribution:
        return _log_odds(verdict.distribution)
    return {"a": 1.0, "b": -1.0}.get(str(verdict.winner), 0.0)


def _letters(lettered: Sequence[Finding]) -> float:
    return margin(lettered, score_weight=0.0)


def _difference(scored: Sequence[Finding]) -> float:
    differences = [finding.weight * (finding.scores[0] - finding.scores[1]) for finding in scored if finding.scores]
    return math.fsum(differences) / len({finding.order for finding in scored})


def _log_odds(shares: Mapping[str, float]) -> float:
    return math.log(max(shares.get("a", 0.0), FLOOR)) - math.log(max(shares.get("b", 0.0), FLOOR))


def _mean_score(findings: Sequence[Finding]) -> float | None:
    mean = mean_scores(findings)
    return mean[0] if mean else None


def _deviation(shares: Sequence[float]) -> float:
    mean = math.fsum(level * p for level, p in enumerate(shares))
    return math.sqrt(math.fsum(p * (level - mean) ** 2 for level, p in enumerate(shares)))


def _spread(values: Sequence[float]) -> float:
    """The standard deviation; that of `statistics` sums fractions, which takes ten times as long."""
    mean = _mean(values)
    return math.sqrt(_mean((value - mean) ** 2 for value in values))


def _ranks(values: Sequence[float]) -> tuple[float, ...]:
    return tuple((sum(x < value for x in values) + sum(x <= value for x in values) - 1) / 2 for value in values)


def _log_lengths(case: Case) -> list[float]:
    return [math.log(1 + len(candidate.text)) for candidate in case.candidates]


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)
