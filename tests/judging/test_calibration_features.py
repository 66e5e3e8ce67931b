"""Features: what turns over with the pair, what stays, and what is left out; on random findings of every kind."""

import math

import numpy as np
import pytest
from made_evidence import judged, lettered, pair, random_findings, scored

from dicast.data import Candidate, Case, Finding, Verdict
from dicast.judging.aggregate import margin
from dicast.judging.calibration_features import option_features, pair_features, text_features

ROUNDS = 100


@pytest.mark.parametrize("seed", range(3))
def test_exchanging_the_candidates_negates_odd_features_and_keeps_even_ones_exactly(seed: int) -> None:
    random = np.random.default_rng(seed)
    seen: set[str] = set()
    for _ in range(ROUNDS):
        case, verdict = pair("a" * random.integers(9), "b" * random.integers(9)), judged(random_findings(random))
        here, there = pair_features(case, verdict), pair_features(case.swapped(), verdict.swapped())
        assert there.odd == {name: -value for name, value in here.odd.items()}
        assert there.even == here.even
        seen |= {*here.odd, *here.even}
    expected = {"letters", "agreed letters", "scores", "single scores", "merged", "median", "wins", "votes", "stated"}
    expected |= {"mean score"}
    assert seen >= expected | {
        "criterion 1",
        "member m1",
        "length",
        "spread",
        "position effect",
        "tie share",
        "|letters|",
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_equal_evidence_does_not_matter(seed: int) -> None:
    """But for the criteria, which are numbered as they come."""
    random = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        findings = random_findings(random)
        shuffled = [findings[i] for i in random.permutation(len(findings))]
        here, there = pair_features(pair(), judged(findings)), pair_features(pair(), judged(shuffled))
        assert here.even == there.even
        named = {name for name in here.odd if not name.startswith("criterion")}
        assert {name: here.odd[name] for name in named} == {name: there.odd[name] for name in named}


def test_two_orders_of_letters_by_hand() -> None:
    found = pair_features(pair(), judged([lettered(0.8, "ab"), lettered(0.4, "ba")]))
    first, second = math.log(4), math.log(2 / 3)
    assert found.odd["letters"] == pytest.approx((first + second) / 2)
    assert found.odd["agreed letters"] == 0  # the orders name different winners
    assert found.even["position effect"] == pytest.approx((first - second) / 2)
    assert found.even["orders disagree"] == 1
    agreed = pair_features(pair(), judged([lettered(0.8, "ab"), lettered(0.6, "ba")]))
    assert agreed.odd["agreed letters"] == agreed.odd["letters"] == pytest.approx((math.log(4) + math.log(1.5)) / 2)
    assert agreed.even["orders disagree"] == 0


def test_criteria_by_hand() -> None:
    findings = [
        scored(5, 1, criterion="right", order="ab"),
        scored(3, 1, criterion="right", order="ba"),
        scored(2, 3, criterion="clear", order="ab"),
        scored(2, 2, criterion="clear", order="ba"),
        scored(4, 3, criterion="kind", order="ab"),
        scored(4, 4, criterion="kind", order="ba"),
    ]
    found = pair_features(pair(), judged(findings))
    assert found.odd["scores"] == found.odd["merged"] == margin(findings) == 3.0  # 3 - 0.5 + 0.5
    assert [found.odd[f"criterion {k}"] for k in (1, 2, 3)] == [3.0, -0.5, 0.5]
    assert found.odd["median"] == 0.5
    assert found.odd["wins"] == 1  # two won, one lost
    assert found.even["spread"] == pytest.approx(np.std([3.0, -0.5, 0.5]))
    assert found.even["mean score"] == pytest.approx((5 + 3 + 2 + 2 + 4 + 4 + 1 + 1 + 3 + 2 + 3 + 4) / 12)
    assert "letters" not in found.odd


def test_a_panel_has_a_feature_a_member_and_their_votes() -> None:
    findings = [lettered(0.9, member="x"), lettered(0.4, member="y"), lettered(0.3, member="z")]
    odd = pair_features(pair(), judged(findings)).odd
    assert odd["votes"] == -1
    assert odd["member x"] == pytest.approx(math.log(9))
    assert odd["member y"] == pytest.approx(math.log(2 / 3))


def test_a_stated_certainty_has_the_sign_of_what_it_was_said_of() -> None:
    verdict = judged([lettered(0.9, "ab", certainty=0.8), lettered(0.1, "ba", certainty=0.6)])
    assert pair_features(pair(), verdict).odd["stated"] == pytest.approx(0.1)


def test_written_letters_are_finite() -> None:
    assert pair_features(pair(), judged([lettered(1.0)])).odd["letters"] == pytest.approx(math.log(1e6))


def test_votes_of_both_orders_are_counted_together() -> None:
    first, second = (
        Finding(criterion="c", order=order, samples=5, distribution={"a": a, "b": b, "tie": tie})
        for order, a, b, tie in (("ab", 0.2, 0.0, 0.8), ("ba", 0.2, 0.8, 0.0))
    )
    found = pair_features(pair(), judged([first, second]))
    assert found.odd["letters"] == found.odd["merged"] == pytest.approx(math.log(2.5 / 4.5))  # 2 : 4 votes
    assert found.odd["agreed letters"] == 0  # 1 : 0, and 1 : 4
    assert found.even["tie share"] == pytest.approx(0.4)


def test_a_verdict_without_findings_gives_itself_as_evidence() -> None:
    result = Verdict(case_id="1", winner="a", distribution={"a": 0.75, "b": 0.25})
    assert pair_features(pair(), result).odd["verdict"] == pytest.approx(math.log(3))
    assert pair_features(pair(), Verdict(case_id="1", winner="b")).odd["verdict"] == -1
    assert pair_features(pair(), Verdict(case_id="1", winner="tie")).odd["verdict"] == 0


def test_factors_of_a_guideline_are_no_evidence() -> None:
    factor = Finding(criterion="accuracy", weight=9)
    assert pair_features(pair(), judged([factor, scored(4, 3)])) == pair_features(pair(), judged([scored(4, 3)]))


def test_length_is_the_log_ratio_of_the_characters() -> None:
    assert pair_features(pair("x" * 99, "x" * 9), judged([scored(1, 2)])).odd["length"] == pytest.approx(math.log(10))


def test_a_single_text_by_hand() -> None:
    findings = [
        scored(4, criterion="clear", weight=3, levels=((0.0, 0.5, 0.5),)),
        scored(2, criterion="right", levels=((0.25, 0.5, 0.25),)),
    ]
    found = text_features(Case(id="1", query="q", candidates=(Candidate(text="xxx"),)), judged(findings, 1))
    assert found == pytest.approx(
        {
            "mean": 3.5,
            "median": 3.0,
            "lowest": 2.0,
            "highest": 4.0,
            "spread": 1.0,
            "criterion 1": 4.0,
            "criterion 2": 2.0,
            "question clear": 4.0,
            "question right": 2.0,
            "top level": 0.375,
            "above bottom": 0.875,
            "doubt": (0.5 + math.sqrt(0.5)) / 2,
            "length": math.log(4),
        }
    )


def test_a_criterion_that_weighs_nothing_says_nothing() -> None:
    findings = [scored(4, criterion="clear"), scored(2, criterion="right"), scored(1, criterion="kind", weight=0)]
    found = text_features(Case(id="1", query="q", candidates=(Candidate(text="x"),)), judged(findings, 1))
    assert {name for name in found if name.startswith("criterion")} == {"criterion 1", "criterion 2"}


def test_a_bare_score_is_the_only_feature_of_a_text_beside_its_length() -> None:
    case = Case(id="1", query="q", candidates=(Candidate(text=""),))
    assert text_features(case, Verdict(case_id="1", scores=(7.0,))) == {"mean": 7.0, "length": 0.0}


def test_options_by_hand() -> None:
    case = pair("", "x", "xxx")
    shares = Finding(criterion="choice", distribution={"0": 0.5, "1": 0.5, "2": 0.0})
    found = option_features(case, Verdict(case_id="1", findings=(shares,)))
    assert found["share"] == pytest.approx((math.log(0.5), math.log(0.5), math.log(1e-6)))
    assert found["rank"] == (1.5, 1.5, 0.0)
    assert found["length"] == pytest.approx((0.0, math.log(2), math.log(4)))
    scores = option_features(case, Verdict(case_id="1", scores=(1.0, 3.0, 2.0)))
    assert (scores["score"], scores["rank"]) == ((1.0, 3.0, 2.0), (0.0, 2.0, 1.0))
