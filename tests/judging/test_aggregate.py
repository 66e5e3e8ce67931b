"""Findings to a verdict: exact under exchange and reordering, on random findings of every kind."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dicast.data import Finding
from dicast.data.verdict import OTHER, Order, swap_distribution
from dicast.judging.aggregate import aggregate_findings, margin, mean_levels, mean_scores

ROUNDS = 200
ORDERS: tuple[Order, Order] = ("ab", "ba")
EXCHANGED = {"a": "b", "b": "a", "tie": "tie"}


def random_finding(random: np.random.Generator) -> Finding:
    """Scores, letters or both, in one order or in none, with a weight, and sometimes with a tie."""
    order: Order | None = (None, "ab", "ba")[random.integers(3)]
    kinds = random.integers(1, 4)
    scores = tuple(float(score) for score in random.uniform(1, 5, size=2)) if kinds & 1 else None
    letters = ("a", "b", "tie") if random.random() < 0.5 else ("a", "b")
    shares = [float(p) for p in random.dirichlet([0.4] * len(letters))]
    return Finding(
        criterion="c",
        order=order,
        weight=float(random.choice([0.1, 0.5, 1.0, 3.0])),
        scores=scores,
        distribution=dict(zip(letters, shares, strict=True)) if kinds & 2 else None,
    )


def cases(seed: int) -> Iterator[tuple[list[Finding], dict[str, Any], np.random.Generator]]:
    random = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        findings = [random_finding(random) for _ in range(random.integers(1, 8))]
        rules = {
            "tie_threshold": float(random.choice([0.0, 0.2, 1.0])),
            "score_weight": float(random.choice([0.3, 1.0])),
        }
        yield findings, rules, random


def scored(*scores: tuple[float, ...], order: Order | None = None) -> list[Finding]:
    return [Finding(criterion="c", scores=each, order=order) for each in scores]


def lettered(a: float, b: float, tie: float | None = None, order: Order | None = None) -> Finding:
    distribution = {"a": a, "b": b} | ({} if tie is None else {"tie": tie})
    return Finding(criterion="c", distribution=distribution, order=order)


# properties of every pair


@pytest.mark.parametrize("seed", range(5))
def test_exchanging_the_candidates_exchanges_the_verdict_exactly(seed: int) -> None:
    for findings, rules, _ in cases(seed):
        verdict = aggregate_findings(findings, 2, **rules)
        swapped = aggregate_findings([finding.swapped() for finding in findings], 2, **rules)
        assert swapped == verdict | {
            "winner": EXCHANGED[verdict["winner"]],
            "scores": verdict["scores"][::-1] if verdict["scores"] else None,
            "distribution": swap_distribution(verdict["distribution"]),
            "order_winners": {OTHER[order]: EXCHANGED[winner] for order, winner in verdict["order_winners"].items()},
        }


def test_exchanging_the_candidates_negates_the_margin_exactly() -> None:
    for findings, _, _ in cases(10):
        assert margin([finding.swapped() for finding in findings]) == -margin(findings)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_findings_changes_nothing(seed: int) -> None:
    for findings, rules, random in cases(seed):
        shuffled = [findings[index] for index in random.permutation(len(findings))]
        assert aggregate_findings(shuffled, 2, **rules) == aggregate_findings(findings, 2, **rules)


def test_a_distribution_sums_to_one() -> None:
    for findings, rules, _ in cases(20):
        assert math.fsum(aggregate_findings(findings, 2, **rules)["distribution"].values()) == pytest.approx(
            1, abs=1e-12
        )


def test_the_winner_is_the_likelier_of_the_two() -> None:
    for findings, rules, _ in cases(21):
        verdict = aggregate_findings(findings, 2, **rules)
        distribution = verdict["distribution"]
        if verdict["winner"] != "tie":
            assert distribution[verdict["winner"]] == max(distribution.values())


def test_certainty_is_the_probability_of_the_winner() -> None:
    for findings, rules, _ in cases(22):
        verdict = aggregate_findings(findings, 2, **rules)
        assert verdict["certainty"] == verdict["distribution"][verdict["winner"]]


def test_scores_stay_on_the_scale() -> None:
    random = np.random.default_rng(0)
    for _ in range(ROUNDS):
        size = int(random.integers(1, 9))
        findings = scored(*(tuple(map(float, pair)) for pair in random.choice([1.0, 1.7, 4.9, 5.0], size=(size, 2))))
        assert all(1 <= score <= 5 for score in aggregate_findings(findings, 2)["scores"])


def test_weighted_scores_stay_on_the_scale() -> None:
    findings = [Finding(criterion="c", weight=weight, scores=(5.0, 1.0)) for weight in (0.7, 0.2)]
    assert all(1 <= score <= 5 for score in aggregate_findings(findings, 2)["scores"])


# sums of scores


def test_the_larger_sum_wins_and_equal_sums_tie() -> None:
    random = np.random.default_rng(1)
    met = set()
    for _ in range(ROUNDS):
        table = random.integers(1, 6, size=(random.integers(1, 6), 2))
        a, b = table.sum(axis=0)
        winner = aggregate_findings(scored(*(tuple(map(float, row)) for row in table)), 2)["winner"]
        assert winner == ("a" if a > b else "b" if b > a else "tie")
        met.add(winner)
    assert met == {"a", "b", "tie"}


def test_the_same_scores_in_another_sequence_tie() -> None:
    random = np.random.default_rng(2)
    for _ in range(ROUNDS):
        column = random.uniform(1, 5, size=random.integers(1, 6))
        findings = scored(*zip(map(float, column), map(float, random.permutation(column)), strict=True))
        assert aggregate_findings(findings, 2)["winner"] == "tie"


def test_a_heavier_criterion_counts_for_more() -> None:
    light, heavy = scored((5.0, 3.0), (3.0, 4.0))
    assert aggregate_findings([light, heavy], 2)["winner"] == "a"
    assert aggregate_findings([light, heavy.model_copy(update={"weight": 3.0})], 2)["winner"] == "b"


def test_scores_are_weighted_means() -> None:
    findings = [Finding(criterion="c", weight=3.0, scores=(5.0, 1.0)), Finding(criterion="d", scores=(1.0, 5.0))]
    assert mean_scores(findings) == (4.0, 2.0)  # (3 * 5 + 1) / 4 and (3 * 1 + 5) / 4


@pytest.mark.parametrize("findings", [[], [lettered(0.6, 0.4)]])
def test_without_scores_there_is_no_mean(findings: list[Finding]) -> None:
    assert mean_scores(findings) is None


def test_a_criterion_asked_in_both_orders_counts_once() -> None:
    once = scored((4.0, 3.0), order="ab")
    assert margin(once + scored((4.0, 3.0), order="ba")) == margin(once) == 1.0


# log-odds


def test_the_margin_of_letters_is_their_log_odds() -> None:
    # P(a) = s(log 3) = 3/4 for letters of .6 and .2: only their ratio counts
    verdict = aggregate_findings([lettered(0.6, 0.2)], 2)
    assert verdict["distribution"] == pytest.approx({"a": 0.75, "b": 0.25, "tie": 0.0})


def test_letters_are_averaged_over_orders() -> None:
    findings = [lettered(0.9, 0.1, order="ab"), lettered(0.5, 0.5, order="ba")]
    assert margin(findings) == pytest.approx(math.log(9) / 2)


def test_letters_and_scores_are_added() -> None:
    assert margin([lettered(0.75, 0.25), *scored((2.0, 4.0))], 0.5) == pytest.approx(math.log(3) - 1)


def test_a_letter_never_seen_does_not_decide_for_ever() -> None:
    # a probability of 0 is read as one in a million: log 1e6 = 13.8 points
    assert margin([lettered(1.0, 0.0)]) == pytest.approx(6 * math.log(10))
    assert aggregate_findings([lettered(1.0, 0.0), *scored((1.0, 5.0))], 2, score_weight=4.0)["winner"] == "b"


@pytest.mark.parametrize("side", [1, -1])
def test_margins_up_to_the_threshold_tie(side: int) -> None:
    findings = scored((3.0 + side / 2, 3.0))
    assert aggregate_findings(findings, 2, tie_threshold=0.5)["winner"] == "tie"
    assert aggregate_findings(findings, 2, tie_threshold=0.49)["winner"] == ("a" if side > 0 else "b")


def test_a_threshold_gives_the_probabilities_of_rao_and_kupper() -> None:
    # Rao & Kupper (1967), JASA 62:194: with strengths e^m and 1 and theta = e^t,
    # P(a) = e^m / (e^m + theta), P(b) = 1 / (1 + theta e^m). Here e^m = 3 and theta = 2: 3/5, 1/7, the rest is a tie.
    verdict = aggregate_findings([lettered(0.75, 0.25)], 2, tie_threshold=math.log(2))
    assert verdict["distribution"] == pytest.approx({"a": 3 / 5, "b": 1 / 7, "tie": 9 / 35})


def test_a_model_that_says_tie_gets_a_tie() -> None:
    verdict = aggregate_findings([lettered(0.3, 0.1, tie=0.6)], 2)
    assert (verdict["winner"], verdict["certainty"]) == ("tie", pytest.approx(0.6))
    assert verdict["distribution"] == pytest.approx({"a": 0.3, "b": 0.1, "tie": 0.6})


def test_a_huge_margin_neither_overflows_nor_leaves_the_unit_interval() -> None:
    for scores in ((1e6, 0.0), (0.0, 1e6)):
        distribution = aggregate_findings(scored(scores), 2)["distribution"]
        assert sorted(distribution.values()) == [0.0, 0.0, 1.0]


# consistency


@pytest.mark.parametrize(
    ("ab", "ba", "consistent"),
    [((4.0, 2.0), (5.0, 3.0), True), ((4.0, 2.0), (1.0, 3.0), False), ((4.0, 2.0), (3.0, 3.0), False)],
)
def test_orders_are_consistent_when_each_alone_names_the_same_winner(
    ab: tuple[float, float], ba: tuple[float, float], consistent: bool
) -> None:
    findings = scored(ab, order="ab") + scored(ba, order="ba")
    assert aggregate_findings(findings, 2)["consistent"] is consistent


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_one_order_says_nothing_of_consistency(order: Order) -> None:
    assert aggregate_findings(scored((4.0, 2.0), order=order), 2)["consistent"] is None


def test_texts_read_alone_say_nothing_of_orders() -> None:
    verdict = aggregate_findings(scored((4.0, 2.0)), 2)
    assert (verdict["consistent"], verdict["order_winners"]) == (None, {})


def test_what_was_read_alone_counts_beside_each_order() -> None:
    orders = [lettered(0.6, 0.4, order="ab"), lettered(0.4, 0.6, order="ba")]
    assert aggregate_findings(orders, 2)["consistent"] is False
    assert aggregate_findings([*orders, *scored((5.0, 1.0))], 2)["consistent"] is True


# votes: sampled answers, of which the distribution has the proportions


def votes(a: int, b: int, tie: int, order: Order | None = None) -> Finding:
    n = a + b + tie
    return lettered(a / n, b / n, tie / n, order).model_copy(update={"samples": n})


def test_a_candidate_with_two_of_ten_votes_does_not_win() -> None:
    # 1 : 0 with 4 ties, then 1 : 4 without any: 2, 4 and 4 of ten votes
    verdict = aggregate_findings([votes(1, 0, 4, "ab"), votes(1, 4, 0, "ba")], 2)
    assert verdict["winner"] == "tie"  # as many votes as b has
    assert verdict["order_winners"] == {"ab": "tie", "ba": "b"}
    assert verdict["distribution"] == pytest.approx({"a": 2.5 / 11.5, "b": 4.5 / 11.5, "tie": 4.5 / 11.5})


@pytest.mark.parametrize("samples", [2, 5])
def test_the_winner_has_a_plurality_of_the_votes_of_both_orders(samples: int) -> None:
    tables = [(a, b, samples - a - b) for a in range(samples + 1) for b in range(samples + 1 - a)]
    for first, second in itertools.product(tables, tables):
        counts = dict(zip(("a", "b", "tie"), map(sum, zip(first, second, strict=True)), strict=True))
        verdict = aggregate_findings([votes(*first, "ab"), votes(*second, "ba")], 2)
        most = [name for name, count in counts.items() if count == max(counts.values())]
        assert verdict["winner"] == (most[0] if len(most) == 1 else "tie")
        assert verdict["distribution"] == pytest.approx(
            {name: (count + 0.5) / (2 * samples + 1.5) for name, count in counts.items()}
        )


def test_votes_of_one_order_are_smoothed_by_their_number() -> None:
    assert margin([votes(5, 0, 0)]) == pytest.approx(math.log(5.5 / 0.5))
    assert margin([votes(20, 0, 0)]) == pytest.approx(math.log(20.5 / 0.5))


def test_exchanging_the_candidates_exchanges_voted_verdicts_exactly() -> None:
    random = np.random.default_rng(4)
    for _ in range(ROUNDS):
        tables = random.multinomial(5, [1 / 3] * 3, size=2).tolist()
        first, second = (votes(a, b, tie, order) for (a, b, tie), order in zip(tables, ORDERS, strict=True))
        verdict = aggregate_findings([first, second], 2)
        swapped = aggregate_findings([second.swapped(), first.swapped()], 2)
        assert swapped["winner"] == EXCHANGED[verdict["winner"]]
        assert swapped["distribution"] == swap_distribution(verdict["distribution"])


def test_votes_by_two_criteria_are_counted_for_each() -> None:
    other = votes(0, 5, 0, "ab").model_copy(update={"criterion": "d"})
    by_criterion = math.log(5.5 / 0.5), math.log(0.5 / 5.5)
    assert margin([votes(5, 0, 0, "ab"), other]) == pytest.approx(sum(by_criterion) / 2)


# choices and single texts


@pytest.mark.parametrize("seed", range(3))
def test_permuting_the_options_of_a_choice_permutes_the_verdict(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(ROUNDS):
        count = int(random.integers(3, 7))
        table = [tuple(map(float, row)) for row in random.uniform(0, 10, size=(random.integers(1, 4), count))]
        moved = [int(index) for index in random.permutation(count)]
        before = aggregate_findings(scored(*table), count)
        after = aggregate_findings(scored(*(tuple(row[index] for index in moved) for row in table)), count)
        assert after["winner"] == moved.index(before["winner"])
        assert after["scores"] == tuple(before["scores"][index] for index in moved)
        assert after["distribution"] == {str(to): before["distribution"][str(come)] for to, come in enumerate(moved)}
        assert after["certainty"] == before["certainty"]


def test_the_best_option_wins_with_the_likeliest_share() -> None:
    verdict = aggregate_findings(scored((2.0, 9.0, 2.0), (4.0, 7.0, 1.0)), 3)
    assert (verdict["winner"], verdict["scores"]) == (1, (3.0, 8.0, 1.5))
    assert verdict["certainty"] == max(verdict["distribution"].values())
    assert math.fsum(verdict["distribution"].values()) == pytest.approx(1, abs=1e-12)


def test_two_best_options_tie() -> None:
    verdict = aggregate_findings(scored((9.0, 9.0, 2.0)), 3)
    assert (verdict["winner"], verdict["certainty"]) == ("tie", pytest.approx(0.5, abs=1e-3))


def test_a_tie_without_room_for_ties_is_a_third_each() -> None:
    verdict = aggregate_findings(scored((3.0, 3.0)), 2)
    assert (verdict["winner"], verdict["certainty"]) == ("tie", pytest.approx(1 / 3))
    assert verdict["distribution"] == dict.fromkeys(("a", "b", "tie"), pytest.approx(1 / 3))


def test_a_single_text_has_scores_and_no_winner() -> None:
    verdict = aggregate_findings(scored((3.0,), (4.0,)), 1)
    assert verdict == {"scores": (3.5,), "distribution": None, "certainty": None}


def test_a_single_text_has_the_mean_distribution_over_its_levels() -> None:
    findings = [
        Finding(criterion="c", scores=(2.5,), levels=((0.0, 0.5, 0.5),)),
        Finding(criterion="d", scores=(1.5,), levels=((0.5, 0.5, 0.0),)),
    ]
    verdict = aggregate_findings(findings, 1)
    assert mean_levels(findings) == verdict["distribution"] == {"1": 0.25, "2": 0.5, "3": 0.25}
    assert (verdict["scores"], verdict["certainty"]) == ((2.0,), 0.5)


def test_the_order_of_findings_of_a_single_text_changes_nothing() -> None:
    random = np.random.default_rng(3)
    for _ in range(ROUNDS):
        findings = [
            Finding(criterion="c", scores=(float(random.uniform(1, 5)),), levels=(tuple(random.dirichlet([1] * 5)),))
            for _ in range(random.integers(1, 6))
        ]
        shuffled = [findings[index] for index in random.permutation(len(findings))]
        assert aggregate_findings(shuffled, 1) == aggregate_findings(findings, 1)
