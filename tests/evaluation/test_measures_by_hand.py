"""The measures of runs made by hand: the values are worked out beside them."""

import math

import numpy as np
import pytest
from runs import choice, distinct, evaluated, fraction, measure, pair, text, unscored, value
from scipy import stats

from dicast.data import Case, Correction, Finding, Judged, Scores, Usage, Winner
from dicast.data.verdict import BLANK
from dicast.evaluation import RunningCounts
from dicast.programs.probe import Probe
from dicast.stats import resampling
from dicast.stats.proportions import Proportion

MIXED = distinct(
    [
        #    human   judge  both orders say the same
        pair("a", "a", True),
        pair("b", "b", False),  # right when aggregated, but one order by itself said otherwise
        pair("a", "b", True),
        pair("tie", "tie", True),
        pair(None, "a", True),  # no label: only for consistency and coverage
        pair("a", "a", None),  # one order asked: only for accuracy and coverage
        unscored("b"),
        pair("a", status="abstained"),
    ]
)


def test_accuracy_is_the_proportion_of_labelled_verdicts_that_are_right():
    # scored and labelled: rows 1, 2, 3, 4, 6; right: all but row 3
    assert fraction(evaluated(*MIXED), "accuracy") == (4, 5)


def test_consistency_is_the_proportion_of_pairs_on_which_both_orders_agree():
    # both orders asked: rows 1 to 5; the same winner: all but row 2
    assert fraction(evaluated(*MIXED), "consistency") == (4, 5)


def test_agreement_is_the_proportion_on_which_both_orders_name_the_human_winner():
    # both orders asked and labelled: rows 1 to 4; rows 1 and 4 are right in both
    assert fraction(evaluated(*MIXED), "both-orders accuracy") == (2, 4)


def test_coverage_is_the_proportion_of_cases_with_a_verdict():
    # 8 cases; the last two have no verdict
    assert fraction(evaluated(*MIXED), "coverage") == (6, 8)


def test_the_interval_of_coverage_takes_whole_groups():
    run = [verdict.model_copy(update={"group": str(n // 4)}) for n, verdict in enumerate(MIXED)]
    coverage = measure(evaluated(*run), "coverage")
    assert (coverage.n, coverage.groups) == (8, 2)


def test_reasons_for_no_verdict_are_counted():
    assert evaluated(*distinct([*MIXED, unscored(), unscored(reason="refusal")])).unscored == {
        "parse_failure": 2,
        "abstained": 1,
        "refusal": 1,
    }


@pytest.mark.parametrize("failure", [unscored("a"), pair("a", status="abstained"), unscored("a", "refusal")])
def test_no_verdict_is_never_counted_as_wrong(failure: Judged):
    before, after = evaluated(*MIXED), evaluated(*distinct([*MIXED, failure]))
    for name in ("accuracy", "consistency", "both-orders accuracy"):
        assert measure(after, name) == measure(before, name)
    assert fraction(after, "coverage") == (6, 9)


def test_an_unscored_text_is_not_a_score_of_zero():
    texts = distinct([text(None, 3, status="unscored", reason="refusal"), *(text(n, n) for n in (2, 3, 4))])
    assert measure(evaluated(*texts), "pearson").n == 3
    assert value(evaluated(*texts), "pearson") == pytest.approx(1.0)


@pytest.mark.parametrize("winner", ["a", "b"])
def test_a_tie_is_a_label_like_the_others(winner: str):
    assert fraction(evaluated(pair("tie", winner, True)), "accuracy") == (0, 1)


def test_two_human_scores_name_the_higher_one():
    labels = [Scores(values=values, lo=1, hi=5) for values in ((4, 2), (2, 4), (3, 3))]
    verdicts = distinct(Judged(case_id="c", winner="b", label=label) for label in labels)
    assert [fraction(evaluated(verdict), "accuracy")[0] for verdict in verdicts] == [0, 1, 0]
    assert fraction(evaluated(*verdicts), "accuracy") == (1, 3)


def test_a_choice_is_right_when_the_index_is():
    verdicts = distinct(Judged(case_id="c", winner=winner, label=Winner(value=0)) for winner in (0, 1, "tie"))
    assert fraction(evaluated(*verdicts), "accuracy") == (1, 3)


def test_a_score_without_a_winner_is_only_for_correlation():
    found = evaluated(text(3, 4))
    assert (found.measure("accuracy"), fraction(found, "coverage"), found.labelled) == (None, (1, 1), 1)


def test_usage_is_summed_over_all_cases():
    usage = Usage(calls=2, cached=1, prompt_tokens=10, completion_tokens=3, cost=0.5, seconds=0.25)
    failed = unscored().model_copy(update={"usage": usage, "case_id": "d"})
    assert evaluated(pair("a", "a", usage=usage), failed).usage == usage + usage


def test_running_counts_are_those_of_the_evaluation():
    counts, whole = RunningCounts(), evaluated(*MIXED)
    for verdict in MIXED:
        counts.add(verdict)
    assert (counts.correct, counts.labelled) == fraction(whole, "accuracy")
    assert (counts.scored, counts.cases, dict(counts.unscored)) == (whole.scored, whole.cases, whole.unscored)


def test_blanks_of_a_judge_without_its_head_have_no_accuracy():
    """A probe before its compilation says tie of every pair, which people seldom do."""
    counts = RunningCounts()
    for letter in ("a", "b", "tie"):
        counts.add(pair(letter, "tie", notes=(BLANK,)))
    assert (counts.scored, counts.labelled, counts.correct) == (3, 0, 0)
    assert BLANK in Probe().assess(Case(id="c", query="?", candidates=({"text": "x"}, {"text": "y"}))).notes


# Wilson's interval


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The roots of (p - hits/n)^2 = z^2 p (1 - p) / n, Wilson (1927), JASA 22:209."""
    squared = stats.norm.ppf(0.975) ** 2
    proportion = hits / n
    roots = np.roots([1 + squared / n, -(2 * proportion + squared / n), proportion**2]).real
    return float(min(roots)), float(max(roots))


# Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine 17:857-872,
# table I, method 3 (score, without continuity correction).
@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_the_published_one(hits: int, n: int, low: float, high: float):
    assert Proportion(hits, n).interval == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("n", [1, 2, 10, 97, 1000])
def test_the_interval_solves_wilsons_equation(n: int):
    for hits in {0, 1, n // 3, n - 1, n}:
        assert Proportion(hits, n).interval == pytest.approx(wilson(hits, n), abs=1e-9)


def test_the_interval_is_that_of_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for hits, n in ((0, 7), (3, 7), (7, 7), (450, 1000)):
        expected = proportion.proportion_confint(hits, n, method="wilson")
        assert Proportion(hits, n).interval == pytest.approx(expected, abs=1e-12)


def test_the_interval_stays_between_zero_and_one_and_holds_the_value():
    for n in range(1, 40):
        for hits in range(n + 1):
            low, high = Proportion(hits, n).interval
            assert 0 <= low <= hits / n <= high <= 1


def test_hits_and_misses_have_mirrored_intervals():
    for hits, n in ((0, 9), (2, 9), (40, 100)):
        low, high = Proportion(hits, n).interval
        assert Proportion(n - hits, n).interval == pytest.approx((1 - high, 1 - low))


def test_the_accuracy_of_independent_cases_has_wilsons_interval():
    accuracy = measure(evaluated(*MIXED), "accuracy")
    assert (accuracy.low, accuracy.high) == pytest.approx(wilson(4, 5))
    assert accuracy.effective_n == 5


# correlations


def test_correlations_of_five_texts_worked_by_hand():
    # 1 2 3 4 5 against 2 1 4 3 5: products of deviations sum to 2 + 2 + 0 + 0 + 4 = 8, squares to 10 and 10, and the
    # scores are their own ranks; of 10 pairs of texts 8 are in the same order and 2 do not: tau = (8 - 2) / 10
    scores = zip([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], strict=True)
    found = evaluated(*distinct(text(*both) for both in scores))
    assert [value(found, name) for name in ("pearson", "spearman", "kendall")] == pytest.approx([0.8, 0.8, 0.6])


def test_correlations_with_ties_worked_by_hand():
    # judge 1 1 2 3, human 1 2 2 3. Deviations from the means 1.75 and 2: products sum to 2, squares to 2.75 and 2.
    # Ranks 1.5 1.5 3 4 and 1 2.5 2.5 4: products sum to 3.75, squares to 4.5 and 4.5.
    # Of 6 pairs 4 agree, none disagree, one is tied on each side: tau-b = 4 / sqrt(5 * 5).
    scores = zip([1, 1, 2, 3], [1, 2, 2, 3], strict=True)
    found = evaluated(*distinct(text(*both) for both in scores))
    expected = [2 / math.sqrt(2.75 * 2), 3.75 / 4.5, 0.8]
    assert [value(found, name) for name in ("pearson", "spearman", "kendall")] == pytest.approx(expected)


def test_correlations_are_only_of_single_texts():
    both = Judged(case_id="c", scores=(1, 5), winner="b", label=Scores(values=(1, 5), lo=1, hi=5))
    assert evaluated(*distinct([both, both, both])).measure("pearson") is None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_under_three_texts_there_is_no_correlation(count: int):
    assert evaluated(*distinct(text(number, number) for number in range(count))).measure("pearson") is None


@pytest.mark.parametrize("scores", [([3, 3, 3], [1, 2, 3]), ([1, 2, 3], [3, 3, 3]), ([3, 3, 3], [3, 3, 3])])
def test_constant_scores_have_no_correlation(scores: tuple[list[float], list[float]]):
    found = evaluated(*distinct(text(*both) for both in zip(*scores, strict=True)))
    assert [(measure(found, name).value, measure(found, name).note) for name in ("pearson", "kendall")] == [
        (None, "constant scores")
    ] * 2


def test_scores_that_differ_only_by_rounding_raise_no_warning():
    found = evaluated(*distinct([text(3.0, 1), text(3.0000000000000004, 2), text(3.0, 3)]))
    assert measure(found, "pearson").value is None


# hardly anything


def test_a_run_in_which_nothing_was_scored_has_only_coverage():
    found = evaluated(*distinct([unscored("a"), unscored("b")]))
    assert {name: [one.name for one in part] for name, part in found.sections.items()} == {"agreement": ["coverage"]}
    assert (value(found, "coverage"), found.unscored) == (0.0, {"parse_failure": 2})


def test_one_case_has_every_proportion():
    found = evaluated(pair("a", "a", True))
    assert [value(found, name) for name in ("accuracy", "consistency", "both-orders accuracy")] == [1.0, 1.0, 1.0]


# choices, factors, corrections, systems, notes


def corrected(*scores: tuple[float | None, float | None]) -> Judged:
    fixes = tuple(Correction(candidate=0, text="new", before=before, after=after) for before, after in scores)
    judged: Judged = pair("a", "a", True, corrections=fixes)
    return judged


FACTORS = (Finding(criterion="accuracy", weight=9), Finding(criterion="no fish", weight=7, added=True))
WHOLE = distinct(
    [
        *MIXED,
        choice(0, 9.0, 4.0, 2.0, notes=("preference: no weight was given to tone",), findings=FACTORS),
        choice(2, 8.0, 6.0, 6.0),
        corrected((2.0, 4.0), (1.0, 1.0)),
        text(4, 3, systems=("x",), findings=(Finding(criterion="c", scores=(4.0,)),)),
        text(1, 2, systems=("y",), findings=(Finding(criterion="c", scores=(1.0,)),), notes=("cut",)),
        text(2, 9, systems=("z",), findings=(Finding(criterion="c", scores=(2.0,)),)),
    ]
)


def test_choices_have_rank_and_gain():
    # the right ones are first, and second or third: 1 and 2.5; gains 1 and (1 / log2(3) + 1 / log2(4)) / 2
    found = evaluated(*WHOLE)
    assert (measure(found, "rank").n, value(found, "rank")) == (2, 1.75)
    assert value(found, "nDCG") == pytest.approx((1 + (1 / math.log2(3) + 0.5) / 2) / 2)
    assert found.measure("MSE") is None


def test_squared_errors_are_computed_only_on_the_scale_from_0_to_10():
    # (1, 16, 4) and (64, 36, 16): 137 over 6 answers
    mse = measure(evaluated(*WHOLE, scale=(0.0, 10.0)), "MSE")
    assert (mse.value, mse.n, mse.groups) == (pytest.approx(137 / 6), 6, 2)
    for scale in ((0.0, 1.0), None):
        assert evaluated(*WHOLE, scale=scale).measure("MSE") is None


def test_a_choice_without_scores_has_only_accuracy():
    found = evaluated(*distinct([choice(0, winner=0), choice(1, winner=0)]))
    assert (fraction(found, "accuracy"), found.measure("nDCG")) == ((1, 2), None)


def test_corrections_are_counted_before_and_after():
    found = evaluated(*distinct([*WHOLE, corrected((None, None))]))
    assert fraction(found, "improved rewrites") == (1, 2)
    assert value(found, "rewrite gain") == 1.0
    assert "1.50 -> 2.50" in measure(found, "rewrite gain").description
    assert "3 in all" in measure(found, "rewrites").description


def test_notes_are_counted_and_one_is_shown():
    found = evaluated(*WHOLE)
    assert (found.noted, found.note) == (2, "cut")


def test_factors_and_systems_are_measured():
    found = evaluated(*WHOLE)
    assert fraction(found, "added factors") == (1, 2)
    assert [(row.system, row.judge.value) for row in found.systems] == [("x", 4.0), ("z", 2.0), ("y", 1.0)]
    assert value(found, "systems spearman") == pytest.approx(0.5)
    assert value(found, "systems kendall") == pytest.approx(1 / 3)


def test_the_order_of_verdicts_of_every_kind_changes_no_measure():
    random, expected = np.random.default_rng(1), evaluated(*WHOLE)
    for _ in range(3):
        assert evaluated(*(WHOLE[index] for index in random.permutation(len(WHOLE)))) == expected


def test_exchanging_the_candidates_of_every_kind_of_pair_changes_no_measure():
    scored = (Finding(criterion="c", scores=(4.0, 1.0)), Finding(criterion="d", scores=(5.0, 3.0)))
    human = Scores(values=(3, 2), lo=1, hi=5)
    verdicts = distinct(
        [
            Judged(case_id="c", winner="a", scores=(4.5, 2.0), findings=scored, systems=("x", "y"), label=human),
            corrected((2.0, 4.0)).model_copy(update={"findings": FACTORS}),
            *(pair(human, winner, True) for human, winner in (("a", "a"), ("a", "b"), ("b", "b"))),
        ]
    )
    whole, swapped = evaluated(*verdicts), evaluated(*(verdict.swapped() for verdict in verdicts))
    assert whole.systems == swapped.systems
    for name in (
        "accuracy",
        "both-orders accuracy",
        "consistency",
        "added factors",
        "improved rewrites",
        "kappa",
        "MCC",
    ):
        assert value(swapped, name) == pytest.approx(value(whole, name), abs=1e-12)


def test_an_unscored_verdict_has_no_part_in_any_measure():
    failed = choice(0, status="unscored", reason="parse_failure", findings=FACTORS)
    assert [one.name for part in evaluated(failed).sections.values() for one in part] == ["coverage"]


@pytest.mark.parametrize("size", [1, 4])
def test_equal_values_have_an_interval_of_as_many_cases_or_groups(size):
    votes = [Winner(value="a")] * 3
    run = [pair("a", "a", votes=tuple(votes), certainty=0.9, group=str(at // size)) for at in range(20 * size)]
    found = evaluated(*distinct(run))
    low, _ = resampling.wilson(1.0, 20, resampling.quantile(0.95, 19))
    for name in ("human ceiling", "judge as annotator", "annotator pairs"):
        assert (measure(found, name).low, measure(found, name).high) == (pytest.approx(low), 1.0), name
    above = measure(found, "judge above ceiling")
    assert (above.low, above.high) == (pytest.approx(-above.high), pytest.approx(-above.low))
    assert above.low < -0.1
    assert measure(found, "Brier").low < measure(found, "Brier").value < measure(found, "Brier").high
