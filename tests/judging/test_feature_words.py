"""Every feature that a head can weigh has a phrase, and what a weight does is computed."""

import math

import pytest

from dicast.data import Case, Finding, Verdict
from dicast.judging.calibration_features import category_features, option_features, pair_features, text_features
from dicast.judging.feature_words import HeadKind, feature_words, tie_words, weight_words


def readings(n: int) -> tuple[Finding, ...]:
    """Two criteria in two orders by two members."""
    return tuple(
        Finding(criterion=criterion, member=member, order=order, scores=tuple(range(1, n + 1)),
                distribution={"a": 0.5, "b": 0.3, "tie": 0.2} if n == 2 else None, certainty=0.8)
        for criterion in ("clear: says it plainly", "true")
        for member in ("x", "y")
        for order in (("ab", "ba") if n == 2 else (None,))
    )  # fmt: skip


def case_of(n: int, **fields: object) -> Case:
    return Case.model_validate({"id": "1", "query": "q", "candidates": [{"text": f"t{i}"} for i in range(n)], **fields})


def names() -> list[tuple[HeadKind, str]]:
    measured = {"state": (0.1, 0.2), "state distance": (0.5, 0.5)}
    pair = pair_features(
        case_of(2, aspect="tone"), Verdict(case_id="1", winner="a", findings=readings(2), measured=measured)
    )
    levels = tuple(finding.model_copy(update={"levels": ((0.2, 0.8),)}) for finding in readings(1))
    text = text_features(case_of(1), Verdict(case_id="1", scores=(1.0,), findings=levels))
    option = option_features(case_of(3), Verdict(case_id="1", winner=0, findings=readings(3)))
    shares = {"fail": 0.3, "pass": 0.7}
    category = category_features(
        case_of(1, categories=("fail", "pass")), Verdict(case_id="1", category="pass", distribution=shares)
    )
    listed: list[tuple[HeadKind, str]] = [("pair", name) for name in (*pair.odd, *pair.even, "verdict")]
    listed += [("score", name) for name in text]
    listed += [("choice", name) for name in option]
    return listed + [("category", name) for name in category]


@pytest.mark.parametrize(("kind", "name"), names())
def test_every_feature_has_a_phrase_of_several_words(kind: HeadKind, name: str) -> None:
    words = feature_words(name, kind)
    assert len(words.split()) >= 3 or words == "criterion " + name.removeprefix("criterion ")
    assert words != name or name.startswith("criterion ")


@pytest.mark.parametrize(("weight", "odds"), [(1.0, "9 to 1"), (0.5, "3 to 1"), (2.0, "81 to 1"), (-1.0, "1 to 9")])
def test_the_example_is_the_power_of_the_odds(weight: float, odds: str) -> None:
    assert weight_words("merged", weight, "pair") == f"9 to 1 counts as {odds}"


def test_what_a_unit_does() -> None:
    assert weight_words("wins", math.log(2), "pair") == "odds × 2 a unit of it"
    assert weight_words("mean", -0.5, "score") == "-0.5 a unit of it"
    assert weight_words("wins", 0.0, "pair") == "nothing"
    assert [tie_words(weight) for weight in (1.0, -1.0, 0.0)] == [
        "more ties where it is high",
        "fewer ties where it is high",
        "nothing",
    ]
