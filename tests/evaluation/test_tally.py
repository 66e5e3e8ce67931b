"""Measures of a run on verdicts made by hand: the figures are worked out beside them."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dicast.data import Case, Correction, Finding, Judged, Scores, Usage, Verdict, Winner
from dicast.evaluation import Proportion, Tally


def pair(human: str | None = None, winner: str | None = None, consistent: bool | None = None, **fields: Any) -> Judged:
    label = {"value": human} if human else None
    return Judged.model_validate({"case_id": "c", "winner": winner, "consistent": consistent, "label": label} | fields)


def text(score: float | None, human: float | None, **fields: Any) -> Judged:
    label = None if human is None else Scores(values=(human,), lo=0, hi=10)
    return Judged(case_id="c", scores=None if score is None else (score,), label=label, **fields)


def unscored(human: str | None = None, reason: str = "parse_failure") -> Judged:
    return pair(human, status="unscored", reason=reason)


def tally(*verdicts: Judged) -> Tally:
    counted = Tally()
    for verdict in verdicts:
        counted.add(verdict)
    return counted


MIXED = (
    #    human   judge  both orders say the same
    pair("a", "a", True),
    pair("b", "b", False),  # right when merged, but one order alone said otherwise
    pair("a", "b", True),
    pair("tie", "tie", True),
    pair(None, "a", True),  # no label: for consistency and coverage alone
    pair("a", "a", None),  # one order asked: for accuracy and coverage alone
    unscored("b"),
    pair("a", status="abstained"),
)


def test_accuracy_is_the_share_of_labelled_verdicts_that_are_right() -> None:
    # scored and labelled: rows 1, 2, 3, 4, 6; right: all but row 3
    assert tally(*MIXED).accuracy == Proportion(4, 5)


def test_consistency_is_the_share_of_pairs_on_which_both_orders_agree() -> None:
    # both orders asked: rows 1 to 5; the same winner: all but row 2
    assert tally(*MIXED).consistency == Proportion(4, 5)


def test_agreement_is_the_share_on_which_both_orders_name_the_human_winner() -> None:
    # both orders asked and labelled: rows 1 to 4; rows 1 and 4 are right in both
    assert tally(*MIXED).agreement == Proportion(2, 4)


def test_coverage_is_the_share_of_cases_with_a_verdict() -> None:
    # 8 cases; the last two have no verdict
    assert tally(*MIXED).coverage == Proportion(6, 8)


def test_reasons_for_no_verdict_are_counted() -> None:
    assert tally(*MIXED, unscored(), unscored(reason="refusal")).reasons == {
        "parse_failure": 2,
        "abstained": 1,
        "refusal": 1,
    }


@pytest.mark.parametrize("failure", [unscored("a"), pair("a", status="abstained"), unscored("a", "refusal")])
def test_no_verdict_is_never_counted_as_wrong(failure: Judged) -> None:
    before, after = tally(*MIXED), tally(*MIXED, failure)
    for name in ("accuracy", "consistency", "agreement"):
        assert getattr(after, name) == getattr(before, name)
    assert after.coverage == Proportion(6, 9)


def test_an_unscored_text_is_not_a_score_of_zero() -> None:
    assert tally(text(None, 3, status="unscored", reason="refusal"), text(2, 3)).pairs == [(2.0, 3.0)]


def test_an_inconsistent_pair_cannot_agree() -> None:
    assert tally(pair("a", "a", False)).agreement == Proportion(0, 1)


@pytest.mark.parametrize("winner", ["a", "b"])
def test_a_tie_is_a_label_like_the_others(winner: str) -> None:
    assert tally(pair("tie", winner, True)).accuracy == Proportion(0, 1)


def test_two_human_scores_name_the_higher_one() -> None:
    labels = [Scores(values=values, lo=1, hi=5) for values in ((4, 2), (2, 4), (3, 3))]
    verdicts = [Judged(case_id="c", winner="b", label=label) for label in labels]
    assert [tally(verdict).hits for verdict in verdicts] == [0, 1, 0]
    assert tally(*verdicts).accuracy == Proportion(1, 3)


def test_a_choice_is_right_when_the_index_is() -> None:
    verdicts = [Judged(case_id="c", winner=winner, label=Winner(value=0)) for winner in (0, 1, "tie")]
    assert tally(*verdicts).accuracy == Proportion(1, 3)


def test_a_score_without_a_winner_is_for_correlation_alone() -> None:
    counted = tally(text(3, 4))
    assert (counted.accuracy.n, counted.coverage, counted.pairs) == (0, Proportion(1, 1), [(3.0, 4.0)])


def test_exchanging_the_candidates_changes_no_measure() -> None:
    verdicts = [verdict for verdict in MIXED if verdict.status == "scored"]
    swapped = []
    for verdict in verdicts:
        case = Case(id="c", query="q", candidates=[{"text": "x"}, {"text": "y"}], label=verdict.label)
        plain = Verdict(**{name: getattr(verdict, name) for name in Verdict.model_fields})
        swapped.append(Judged.of(case.swapped(), plain.swapped()))
    assert tally(*swapped).as_dict() == tally(*verdicts).as_dict()


def test_the_order_of_verdicts_changes_no_measure() -> None:
    random = np.random.default_rng(0)
    expected = tally(*MIXED).as_dict()
    for _ in range(10):
        assert tally(*(MIXED[index] for index in random.permutation(len(MIXED)))).as_dict() == expected


def test_usage_is_summed_over_all_cases() -> None:
    usage = Usage(calls=2, cached=1, prompt_tokens=10, completion_tokens=3, cost=0.5, seconds=0.25)
    counted = tally(pair("a", "a", usage=usage), unscored().model_copy(update={"usage": usage}))
    assert counted.usage == usage + usage


# Wilson's interval


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The roots of (p - hits/n)^2 = z^2 p (1 - p) / n, Wilson (1927), JASA 22:209."""
    squared = stats.norm.ppf(0.975) ** 2
    share = hits / n
    roots = np.roots([1 + squared / n, -(2 * share + squared / n), share**2]).real
    return float(min(roots)), float(max(roots))


# Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine 17:857-872,
# table I, method 3 (score, without continuity correction).
@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_the_published_one(hits: int, n: int, low: float, high: float) -> None:
    assert Proportion(hits, n).interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("n", [1, 2, 10, 97, 1000])
def test_the_interval_solves_wilsons_equation(n: int) -> None:
    for hits in {0, 1, n // 3, n - 1, n}:
        assert Proportion(hits, n).interval == pytest.approx(wilson(hits, n), abs=1e-9)


def test_the_interval_is_that_of_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for hits, n in ((0, 7), (3, 7), (7, 7), (450, 1000)):
        expected = proportion.proportion_confint(hits, n, method="wilson")
        assert Proportion(hits, n).interval == pytest.approx(expected, abs=1e-12)


def test_the_interval_stays_between_zero_and_one_and_holds_the_value() -> None:
    for n in range(1, 40):
        for hits in range(n + 1):
            low, high = Proportion(hits, n).interval
            assert 0 <= low <= hits / n <= high <= 1


def test_hits_and_misses_have_mirrored_intervals() -> None:
    for hits, n in ((0, 9), (2, 9), (40, 100)):
        low, high = Proportion(hits, n).interval
        assert Proportion(n - hits, n).interval == pytest.approx((1 - high, 1 - low))


# correlations


def test_correlations_of_five_texts_worked_by_hand() -> None:
    # 1 2 3 4 5 against 2 1 4 3 5: products of deviations sum to 2 + 2 + 0 + 0 + 4 = 8, squares to 10 and 10, and the
    # scores are their own ranks; of 10 pairs of texts 8 stand in the same order and 2 do not: tau = (8 - 2) / 10
    judged = zip([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], strict=True)
    assert tally(*(text(*scores) for scores in judged)).correlations() == pytest.approx(
        {"pearson": 0.8, "spearman": 0.8, "kendall": 0.6}
    )


def test_correlations_with_ties_worked_by_hand() -> None:
    # judge 1 1 2 3, human 1 2 2 3. Deviations from the means 1.75 and 2: products sum to 2, squares to 2.75 and 2.
    # Ranks 1.5 1.5 3 4 and 1 2.5 2.5 4: products sum to 3.75, squares to 4.5 and 4.5.
    # Of 6 pairs 4 agree, none disagree, one is tied on each side: tau-b = 4 / sqrt(5 * 5).
    judged = zip([1, 1, 2, 3], [1, 2, 2, 3], strict=True)
    assert tally(*(text(*scores) for scores in judged)).correlations() == pytest.approx(
        {"pearson": 2 / math.sqrt(2.75 * 2), "spearman": 3.75 / 4.5, "kendall": 0.8}
    )


@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_those_of_their_definitions(seed: int) -> None:
    random = np.random.default_rng(seed)
    human = random.integers(1, 6, size=30).astype(float)
    judge = np.round(human + random.normal(0, 1.5, size=30) + 2, 1)
    concordance = np.sign(np.subtract.outer(judge, judge)) * np.sign(np.subtract.outer(human, human))
    untied = [np.count_nonzero(np.subtract.outer(side, side)) for side in (judge, human)]
    expected = {
        "pearson": np.corrcoef(judge, human)[0, 1],
        "spearman": np.corrcoef(stats.rankdata(judge), stats.rankdata(human))[0, 1],
        "kendall": concordance.sum() / math.sqrt(untied[0] * untied[1]),
    }
    shifted = [text(float(one), float(other)) for one, other in zip(judge, human, strict=True)]
    assert tally(*shifted).correlations() == pytest.approx(expected)
    assert expected["kendall"] == pytest.approx(stats.kendalltau(judge, human).statistic)


def test_correlations_are_of_single_texts_alone() -> None:
    both = Judged(case_id="c", scores=(1, 5), winner="b", label=Scores(values=(1, 5), lo=1, hi=5))
    assert tally(both, both, both).correlations() == {}


# hardly anything


def test_nothing_at_all_has_no_measures() -> None:
    empty = Tally()
    assert math.isnan(empty.accuracy.value)
    assert all(math.isnan(bound) for bound in empty.accuracy.interval)
    assert empty.accuracy.as_dict() == {"n": 0}
    assert empty.correlations() == {}
    assert set(empty.as_dict()) == {"cases", "scored", "unscored", "usage"}


def test_a_run_in_which_nothing_was_scored_has_coverage_alone() -> None:
    counted = tally(unscored("a"), unscored("b")).as_dict()
    assert set(counted) == {"cases", "scored", "unscored", "usage", "coverage"}
    assert (counted["coverage"]["value"], counted["unscored"]) == (0.0, {"parse_failure": 2})


def test_one_case_has_every_share() -> None:
    counted = tally(pair("a", "a", True))
    assert [counted.accuracy.value, counted.consistency.value, counted.agreement.value] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_under_three_texts_there_is_no_correlation(count: int) -> None:
    assert tally(*(text(number, number) for number in range(count))).correlations() == {}


@pytest.mark.parametrize("scores", [([3, 3, 3], [1, 2, 3]), ([1, 2, 3], [3, 3, 3]), ([3, 3, 3], [3, 3, 3])])
def test_constant_scores_have_no_correlation(scores: tuple[list[float], list[float]]) -> None:
    counted = tally(*(text(*both) for both in zip(*scores, strict=True)))
    assert all(math.isnan(value) for value in counted.correlations().values())
    assert not {"pearson", "spearman", "kendall"} & set(counted.as_dict())


def test_a_summary_is_plain_json() -> None:
    counted = tally(*MIXED, *(text(number, number**2) for number in range(1, 4))).as_dict()
    assert counted["accuracy"].keys() == {"value", "low", "high", "hits", "n"}
    assert {type(value) for value in counted["accuracy"].values()} == {float, int}
    assert counted["spearman"] == pytest.approx(1.0)


def test_scores_that_differ_by_rounding_alone_raise_no_warning() -> None:
    assert tally(text(3.0, 1), text(3.0000000000000004, 2), text(3.0, 3)).correlations()


# choices, factors, corrections, systems, notes


def choice(right: int, scores: tuple[float, ...] | None, **fields: Any) -> Judged:
    return Judged(case_id="c", scores=scores, label=Winner(value=right), **fields)


def corrected(*scores: tuple[float | None, float | None]) -> Judged:
    fixes = tuple(Correction(candidate=0, text="new", before=before, after=after) for before, after in scores)
    return pair("a", "a", True, corrections=fixes)


FACTORS = (Finding(criterion="accuracy", weight=9), Finding(criterion="no fish", weight=7, added=True))
WHOLE = (
    *MIXED,
    choice(0, (9.0, 4.0, 2.0), notes=("preference: no weight was given to tone",), findings=FACTORS),
    choice(2, (8.0, 6.0, 6.0)),
    corrected((2.0, 4.0), (1.0, 1.0)),
    text(4, 3, systems=("x",), findings=(Finding(criterion="c", scores=(4.0,)),)),
    text(1, 2, systems=("y",), findings=(Finding(criterion="c", scores=(1.0,)),), notes=("cut",)),
    text(2, 9, systems=("z",), findings=(Finding(criterion="c", scores=(2.0,)),)),
)


def test_choices_have_rank_and_gain() -> None:
    # the right ones stand first, and second or third: 1 and 2.5; gains 1 and (1 / log2(3) + 1 / log2(4)) / 2
    told = tally(*WHOLE).as_dict()["choices"]
    assert (told["n"], told["rank"]) == (2, 1.75)
    assert told["ndcg"] == pytest.approx((1 + (1 / math.log2(3) + 0.5) / 2) / 2)
    assert "mse" not in told


def test_squared_errors_are_taken_on_the_scale_from_0_to_10_alone() -> None:
    # (1, 16, 4) and (64, 36, 16): 137 over 6 answers
    for scale, expected in (((0.0, 10.0), 137 / 6), ((0.0, 1.0), None), (None, None)):
        counted = Tally(scale=scale)
        for verdict in WHOLE:
            counted.add(verdict)
        assert counted.as_dict()["choices"].get("mse") == expected


def test_a_choice_without_scores_has_accuracy_alone() -> None:
    counted = tally(choice(0, None, winner=0), choice(1, None, winner=0))
    assert (counted.accuracy, "choices" in counted.as_dict()) == (Proportion(1, 2), False)


def test_corrections_are_counted_before_and_after() -> None:
    told = tally(*WHOLE, corrected((None, None))).as_dict()["corrections"]
    assert (told["texts"], told["before"], told["after"]) == (3, 1.5, 2.5)
    assert (told["improved"]["hits"], told["improved"]["n"]) == (1, 2)


def test_notes_are_counted_and_one_is_kept() -> None:
    assert tally(*WHOLE).as_dict()["notes"] == {"n": 2, "example": "cut"}


def test_factors_and_systems_are_in_the_summary() -> None:
    told = tally(*WHOLE).as_dict()
    assert (told["factors"]["factors"], told["factors"]["share_added"]["hits"]) == (2, 1)
    assert list(told["systems"]["scores"]) == ["x", "z", "y"]
    assert told["systems"]["agreement"] == {"n": 3, "spearman": pytest.approx(0.5), "kendall": pytest.approx(1 / 3)}


def test_the_order_of_verdicts_of_every_kind_changes_no_measure() -> None:
    random = np.random.default_rng(1)
    expected = tally(*WHOLE).as_dict()
    for _ in range(10):
        assert tally(*(WHOLE[index] for index in random.permutation(len(WHOLE)))).as_dict() == expected


def test_exchanging_the_candidates_of_every_kind_of_pair_changes_no_measure() -> None:
    alone = (Finding(criterion="c", scores=(4.0, 1.0)), Finding(criterion="d", scores=(5.0, 3.0)))
    human = Scores(values=(3, 2), lo=1, hi=5)
    verdicts = [
        Judged(case_id="c", winner="a", scores=(4.5, 2.0), findings=alone, systems=("x", "y"), label=human),
        corrected((2.0, 4.0)).model_copy(update={"findings": FACTORS}),
    ]
    assert tally(*(verdict.swapped() for verdict in verdicts)).as_dict() == tally(*verdicts).as_dict()


def test_an_unscored_verdict_has_no_part_in_any_measure() -> None:
    failed = choice(0, None, status="unscored", reason="parse_failure", findings=FACTORS)
    assert set(tally(failed).as_dict()) == {"cases", "scored", "unscored", "usage", "coverage"}
