"""Heads: exact under exchange, honest about ties, saved as JSON."""

import json
import math

import numpy as np
import pytest
from made_evidence import judged, lettered, pair, random_findings, scored
from pydantic import TypeAdapter

from dicast.data import Candidate, Case, Finding, Verdict
from dicast.errors import DeclarationError
from dicast.judging.heads import ChoiceHead, Head, PairHead, ScoreHead

WEIGHTS = {"letters": 0.7, "scores": 0.21, "single scores": 0.4, "wins": -0.3, "member m1": 0.11, "length": 0.05}
THRESHOLD = {"position effect": 0.2, "|letters|": -0.3, "spread": 0.1}
HEADS = [
    PairHead(weights=WEIGHTS),
    PairHead(weights=WEIGHTS, intercept=-0.5, threshold=THRESHOLD),
    PairHead(weights=WEIGHTS, intercept=0.1, knots=((0.0, 0.0), (0.5, 0.2), (2.0, 1.7))),
]
SCORE = ScoreHead(weights={"mean": 0.5}, intercept=1.0, lo=1, hi=5, knots=((1.0, 1.5), (3.0, 4.0)))
CHOICE = ChoiceHead(fitted="score", n=40, weights={"score": 0.3, "share": 1.0})
ALL = [*HEADS, SCORE, CHOICE]


def single(text: str = "x") -> Case:
    return Case(id="1", query="q", candidates=(Candidate(text=text),))


def test_the_verdict_of_a_swapped_pair_is_the_swapped_verdict_bit_for_bit() -> None:
    random = np.random.default_rng(0)
    winners = set()
    for _ in range(300):
        case, verdict = pair("a" * random.integers(9), "b" * random.integers(9)), judged(random_findings(random))
        for head in HEADS:
            calibrated = head(case, verdict)
            assert head(case.swapped(), verdict.swapped()) == calibrated.swapped()
            winners.add(calibrated.winner)
    assert winners == {"a", "b", "tie"}


def test_a_pair_by_hand() -> None:
    """Rao & Kupper's model at margin 1 and threshold 1/2: P(a) = s(0.5), P(b) = s(-1.5)."""
    head = PairHead(weights={"scores": 0.5}, intercept=math.log(0.5))
    verdict = head(pair(), judged([scored(4, 2, order="ab")]))
    a, b = 1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(1.5))
    assert verdict.distribution == pytest.approx({"a": a, "b": b, "tie": 1 - a - b})
    assert verdict.winner == "a"
    assert verdict.certainty == pytest.approx(a)


@pytest.mark.parametrize("kind", ["member", "criterion"])
@pytest.mark.parametrize("left", ["xyz", "xy", "x"])
def test_a_part_of_a_texts_judgment_that_failed_says_nothing(kind: str, left: str) -> None:
    """All parts that are there give 8, so the missing ones are taken to give 8, and so for their median."""
    names = [f"{kind} {name}" for name in ("xyz" if kind == "member" else "123")]
    weights = dict.fromkeys([*names, "median", "lowest", "highest"], 0.05) | {"spread": 0.3}
    head = ScoreHead(weights=weights, intercept=1.0, lo=0, hi=10)
    part = {"member": {"criterion": "overall"}, "criterion": {}}[kind]
    verdict = judged([scored(8, **(part | {kind: name})) for name in left], 1)
    assert head(single(), verdict).scores == pytest.approx((1 + 0.05 * 6 * 8,))


def test_ties_are_described_by_their_share_at_margin_0() -> None:
    result = dict(PairHead(weights={"letters": 1.0}, intercept=math.log(0.4)).describe())
    verdict = PairHead(weights={"letters": 1.0}, intercept=math.log(0.4))(pair(), judged([lettered(0.5)]))
    assert verdict.distribution is not None
    assert verdict.distribution["tie"] == pytest.approx(0.197, abs=5e-4)
    assert result["ties"] == "19.7 % of cases at margin 0"
    by_case = PairHead(weights={"letters": 1.0}, intercept=-3.0, threshold={"mean score": 0.5})
    assert dict(by_case.describe())["ties"] == "2.49 % of cases at margin 0 whose other evidence of ties is 0"
    typical = by_case.model_copy(update={"typical": math.log(0.4)})
    assert dict(typical.describe())["ties"] == "19.7 % of typical cases at margin 0"
    assert dict(PairHead(intercept=-99.0).describe())["ties"] == "0.0168 % of cases at margin 0"


def test_evidence_usage_and_orders_stay() -> None:
    verdict = judged([lettered(0.8, "ab"), lettered(0.4, "ba")], rationale="because")
    calibrated = HEADS[1](pair(), verdict)
    kept = ("findings", "usage", "order_winners", "consistent", "rationale", "notes", "scores")
    assert [getattr(calibrated, name) for name in kept] == [getattr(verdict, name) for name in kept]
    assert HEADS[1](pair(), calibrated) == calibrated, "only the evidence counts, so that a head can be applied anew"


def test_no_evidence_for_either_side_is_a_tie_that_is_never_right_where_people_know_none() -> None:
    verdict = PairHead(weights=WEIGHTS)(pair("x", "x"), judged([lettered(0.5)]))
    assert verdict.distribution == {"a": 0.5, "b": 0.5, "tie": 0.0}
    assert (verdict.winner, verdict.certainty) == ("tie", 0.0)


def test_a_wide_threshold_makes_ties_and_no_number_overflows() -> None:
    verdict = judged([lettered(0.9)])
    tied = PairHead(weights={"letters": 1.0}, intercept=2.0)(pair(), verdict)
    assert tied.winner == "tie"
    assert tied.certainty == pytest.approx(1, abs=0.01)
    assert PairHead(weights={"letters": 1e9}, intercept=1e9)(pair(), verdict).winner == "a"


def test_features_that_a_verdict_lacks_count_as_nothing() -> None:
    verdict = judged([lettered(0.8)])
    whole, part = PairHead(weights=WEIGHTS), PairHead(weights={"letters": 0.7, "length": 0.05})
    assert whole(pair(), verdict) == part(pair(), verdict)


def test_a_score_is_moved_to_peoples_scale_and_held_there() -> None:
    head = ScoreHead(weights={"mean": 0.05}, intercept=1.0, lo=1, hi=5)
    given = Verdict(case_id="1", scores=(40.0,), certainty=0.3, distribution={"1": 1.0})
    verdict = head(single(), given)
    assert (verdict.scores, verdict.certainty, verdict.distribution) == ((3.0,), None, None)
    assert head(single(), given.model_copy(update={"scores": (100.0,)})).scores == (5.0,)
    bent = head.model_copy(update={"knots": ((1.0, 2.0), (5.0, 4.0))})
    assert bent(single(), given).scores == (3.0,)
    assert bent(single(), given.model_copy(update={"scores": (0.0,)})).scores == (2.0,)


def test_permuted_options_permute_the_choice_exactly() -> None:
    random = np.random.default_rng(1)
    head = ChoiceHead(weights={"score": 0.3, "share": 0.9, "rank": 0.2, "length": 0.01})
    for _ in range(100):
        texts = ["x" * random.integers(9) for _ in range(4)]
        scores, shares = random.uniform(0, 10, size=4), random.dirichlet([1.0] * 4)
        order = random.permutation(4)
        seen = []
        for places in (range(4), order):
            result = {str(new): float(shares[old]) for new, old in enumerate(places)}
            finding = Finding(criterion="c", scores=tuple(float(scores[old]) for old in places), distribution=result)
            seen.append(head(pair(*(texts[old] for old in places)), Verdict(case_id="1", findings=(finding,))))
        here, there = seen
        assert here.distribution is not None
        assert there.distribution == {str(new): here.distribution[str(old)] for new, old in enumerate(order)}
        assert isinstance(there.winner, int)
        assert here.winner == order[there.winner]
        assert here.certainty == there.certainty == max(here.distribution.values())


def test_equal_options_tie() -> None:
    verdict = ChoiceHead(weights={"score": 1.0})(pair("x", "y", "z"), Verdict(case_id="1", scores=(2.0, 2.0, 1.0)))
    assert verdict.winner == "tie"


@pytest.mark.parametrize("head", ALL)
def test_a_head_comes_back_from_json(head: PairHead | ScoreHead | ChoiceHead) -> None:
    text = head.model_dump_json()
    assert TypeAdapter(Head).validate_json(text) == head
    assert json.loads(text)["kind"] == head.kind


@pytest.mark.parametrize("head", ALL)
def test_a_head_says_what_it_learnt(head: PairHead | ScoreHead | ChoiceHead) -> None:
    result = dict(head.describe())
    assert set(head.weights) <= set(result)
    assert ("isotonic" in result) == bool(getattr(head, "knots", ()))


def test_what_was_not_judged_stays() -> None:
    failed = Verdict(case_id="1", status="unscored", reason="refusal")
    assert HEADS[0](pair(), failed) is failed


def test_a_head_refuses_other_kinds_of_cases() -> None:
    with pytest.raises(DeclarationError, match=r"head of a pair: case '1' has 1 candidates"):
        HEADS[0](single(), Verdict(case_id="1", scores=(1.0,)))
    with pytest.raises(DeclarationError, match="head of a single text"):
        SCORE(pair(), judged([lettered(0.8)]))
    with pytest.raises(DeclarationError, match="head of a choice"):
        CHOICE(pair(), judged([lettered(0.8)]))
