"""Features of criteria by their names, for questions that recur from case to case, however many they are.

What recurs of a criterion that a model writes for each request is its head, the words before the colon ("accuracy:
every fact is right"); a question of a bank is its name. Numbers of criteria say which came first, names what was asked.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ..data import Finding
from .aggregate import FLOOR, margin

QUESTION = "question "  # begins the name of the feature of a question
MOST_NAMED = 200  # questions with separate features
RECURS = 1 / 3  # of the rows at least that have a feature of a question, for a head to be offered it


def answers_by_name(readings: Iterable[Finding], candidates: int, least: int = 2) -> dict[str, tuple[float, ...]]:
    """What each question says of each candidate, where there are `least` questions: `question NAME` -> numbers.

    A number is the score, averaged over findings; where two levels were read, no and yes, their log-odds, which are not
    cut off at the ends as probabilities are. An answer about a pair is half its log-odds for a, and the negative for b,
    so that the difference is the log-odds; exchanging the candidates exchanges the numbers exactly.
    """
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in readings:
        groups[QUESTION + criterion_head(finding.criterion)].append(finding)
    if len(groups) < least:
        return {}
    said = {name: _answer(findings, candidates) for name, findings in list(groups.items())[:MOST_NAMED]}
    return {name: numbers for name, numbers in said.items() if numbers is not None}


def recurring(names: Iterable[str], rows: Sequence[Mapping[str, object]], most_numbered: int) -> list[str]:
    """The names without questions that too few rows have; numbered criteria go where more than so many recur by name.

    Example:
        >>> rows = [{"question a": 1, "question b": 1}, {"question a": 2}, {"question a": 1}, {"question a": 1}]
        >>> recurring(["letters", "question a", "question b"], rows, 10)
        ['letters', 'question a']
    """
    listed = [
        name
        for name in names
        if not name.startswith(QUESTION) or sum(name in row for row in rows) >= RECURS * len(rows)
    ]
    if sum(name.startswith(QUESTION) for name in listed) <= most_numbered:
        return listed
    return [name for name in listed if not name.startswith("criterion ")]


def criterion_head(criterion: str) -> str:
    """The words of a criterion before its colon, in lower case.

    Example:
        >>> criterion_head("Accuracy: every fact is right")
        'accuracy'
    """
    return criterion.partition(":")[0].strip().casefold()


def _answer(findings: Sequence[Finding], candidates: int) -> tuple[float, ...] | None:
    scored = [finding for finding in findings if finding.scores]
    lettered = [finding.model_copy(update={"weight": 1.0}) for finding in findings if finding.distribution]
    if lettered and candidates == 2:
        half = margin(lettered, score_weight=0.0) / 2
        return half, -half
    if not scored:
        return None
    return tuple(math.fsum(_number(finding, index) for finding in scored) / len(scored) for index in range(candidates))


def _number(finding: Finding, index: int) -> float:
    if finding.levels and len(finding.levels[index]) == 2:
        no, yes = finding.levels[index]
        return math.log(max(yes, FLOOR)) - math.log(max(no, FLOOR))
    return finding.scores[index] if finding.scores else 0.0
