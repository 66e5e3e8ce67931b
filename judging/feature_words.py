"""What a head weighs, in plain words: a sentence for each feature by its name, and what its weight does to the odds.

The names are those of `calibration_features`.
"""

import math
import re
from typing import Literal

from .blocks import DISTANCE
from .calibration_features import ASPECT, IS, LENGTH
from .features_by_name import QUESTION

HeadKind = Literal["pair", "score", "choice", "category"]
LOG_ODDS = frozenset({"letters", "agreed letters", "merged", "verdict", "share"})
ODDS = 9.0  # to 1, of the example: what a certainty of 90 % is

PAIRS = {
    "letters": "how far the model's letters lean to A, averaged over both orders",
    "agreed letters": "the same, where both orders lean to the same side; else nothing",
    "scores": "how far A's score is above B's, where both were read together",
    "single scores": "how far A's score is above B's, where each was read alone",
    "merged": "how far all that the judge read leans to A: its own verdict before any label",
    "median": "how far the criterion in the middle leans to A",
    "wins": "criteria that lean to A less those that lean to B",
    "votes": "members of the panel for A less those for B",
    "stated": "how sure the model says that it is, for the side that it names",
    "verdict": "the bare verdict: A or B",
    LENGTH: "how much longer A is than B",
}
TIES = {
    "spread": "how far the criteria lie apart",
    "position effect": "how much the place in the prompt moves the letters, towards the text shown first",
    "orders disagree": "whether the two orders lean to different sides",
    "tie share": "how probable the model itself finds a tie",
    "mean score": "how high both texts are scored",
}
TEXTS = {
    "mean": "the judge's score, averaged over criteria and orders",
    "median": "the score of the criterion in the middle",
    "lowest": "the lowest score of a criterion",
    "highest": "the highest score of a criterion",
    "spread": "how far the scores of the criteria lie apart",
    "top level": "how probable the highest level is",
    "above bottom": "how probable any level but the lowest is",
    "doubt": "how widely the model spreads over the levels",
    LENGTH: "how long the text is",
}
CHOICES = {
    "score": "the option's score",
    "share": "how probable the model finds the option",
    "rank": "the option's place among all",
    LENGTH: "how long the option is",
}
CATEGORIES = {
    "share": "how probable the model finds the category",
    "score": "the text's score, for the positive category",
    LENGTH: "how long the text is, for the positive category",
}
SOURCES = {
    "state": "the model's hidden states of each text, read after the query",
    "personal-state": "the model's hidden states of each text, read after what is known of the person",
    "reward": "the reward model's number",
}
OF_KIND = {"pair": PAIRS, "score": TEXTS, "choice": CHOICES, "category": CATEGORIES}


def feature_words(name: str, kind: HeadKind) -> str:
    """What a feature of a head says, as a phrase.

    Args:
        name: of the feature, as the head holds it.
        kind: of the head.

    Example:
        >>> feature_words("criterion 2", "pair")
        'how far criterion 2 leans to A'
    """
    if fixed := OF_KIND[kind].get(name) or (TIES.get(name) if kind == "pair" else None):
        return fixed
    if name.startswith(IS):
        return f"how often people say {name.removeprefix(IS)}, whatever the judge read"
    if name.startswith(ASPECT):
        return f"whether the case is of the aspect {name.removeprefix(ASPECT)}"
    if size := re.fullmatch(r"\|(.+)\|", name):
        return f"how strongly it leans by {_source(size[1])}, whichever side it favours"
    if name.endswith(DISTANCE):
        return f"how far apart both texts are by {_source(name.removesuffix(DISTANCE))}"
    if name.startswith("mean "):
        return f"the mean over both texts by {_source(name.removeprefix('mean '))}"
    if name.startswith(QUESTION):
        return _leaning(f"the answer to {name.removeprefix(QUESTION)!r}", kind)
    if name.startswith("member "):
        return _leaning(f"the panel's member {name.removeprefix('member ')}", kind)
    if name.startswith("criterion "):
        return _leaning(name, kind)
    return f"how far A is better by {_source(name)}" if kind == "pair" else f"how good it is by {_source(name)}"


def weight_words(name: str, weight: float, kind: HeadKind) -> str:
    """What a weight does: to the odds of an example where the feature is of log-odds, else to those of one unit more.

    Example:
        >>> weight_words("merged", 0.5, "pair")
        '9 to 1 counts as 3 to 1'
    """
    if kind == "score":
        return f"{weight:+.3g} a unit of it"
    if weight == 0:
        return "nothing"
    if name in LOG_ODDS:
        return f"9 to 1 counts as {_odds(weight * math.log(ODDS))}"
    return f"odds × {_factor(weight)} a unit of it"


def tie_words(weight: float) -> str:
    """What a weight of the evidence for ties does."""
    return "nothing" if weight == 0 else f"{'more' if weight > 0 else 'fewer'} ties where it is high"


def _source(name: str) -> str:
    """A source of evidence in words; letters and scores by their names."""
    return SOURCES.get(re.split("[@=]", name)[0], name)


def _leaning(phrase: str, kind: HeadKind) -> str:
    return f"how far {phrase} leans to A" if kind == "pair" else phrase


def _odds(log_odds: float) -> str:
    odds = math.exp(min(abs(log_odds), 14.0))
    return f"{odds:,.3g} to 1" if log_odds > 0 else f"1 to {odds:,.3g}"


def _factor(weight: float) -> str:
    return f"{math.exp(min(max(weight, -14.0), 14.0)):,.3g}"
