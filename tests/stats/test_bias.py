"""Position, length, repetition, self-preference and ties: counts by hand, swaps, statsmodels and scikit-learn."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from dicast.errors import DataError
from dicast.stats.bias import JudgeVsHuman, length, length_errors, position, repetition, self_preference, tie_rate

SEEDS = range(5)
A, B, TIE, NONE = 0, 1, 2, -1
OTHER_LETTER = np.array([B, A, TIE, NONE])  # the last one is that of -1
POSITIONS = ("first_slot", "consistent", "primacy", "recency", "other")


def codes(letters: str) -> np.ndarray:
    """Winners written as a, b, t (tie) and - (missing)."""
    return np.array([{"a": A, "b": B, "t": TIE, "-": NONE}[letter] for letter in letters])


def winners(seed: int, n: int = 150) -> np.ndarray:
    return np.random.default_rng(seed).choice([A, B, TIE, NONE], size=n, p=[0.45, 0.3, 0.2, 0.05])


def values(found: JudgeVsHuman) -> tuple[float, float, float]:
    return found.judge.value, found.people.value, found.difference.value


def flat(found: object) -> list[float]:
    return [number for estimate in vars(found).values() for number in vars(estimate).values()]


# position


def test_position_by_hand() -> None:
    # consistent a, b and tie; a then b names the first slot twice; b then a the second twice; a then tie; - is left out
    found = position(codes("abtabaa-"), codes("abtbat-b"))
    assert [round(getattr(found, name).value * 6) for name in POSITIONS[1:]] == [3, 1, 1, 1]
    assert (found.consistent.n, found.consistent.groups) == (6, 6)
    # answers: a a, b b, a b, b a, a: the first slot once, once, twice, never, once
    assert (found.first_slot.value, found.first_slot.n, found.first_slot.groups) == (5 / 9, 9, 5)


def test_a_judge_without_position_bias_has_exactly_one_half() -> None:
    random = np.random.default_rng(0)
    for share_of_a in (0.01, 0.5, 0.9):
        verdicts = np.where(random.random(80) < 0.2, TIE, random.random(80) > share_of_a)
        found = position(verdicts, verdicts)
        assert (found.first_slot.value, found.consistent.value, found.other.value) == (0.5, 1.0, 0.0)


@pytest.mark.parametrize(("ab", "ba", "first_slot", "kind"), [(A, B, 1.0, "primacy"), (B, A, 0.0, "recency")])
def test_a_judge_that_looks_at_the_place_alone(ab: int, ba: int, first_slot: float, kind: str) -> None:
    found = position(np.full(20, ab), np.full(20, ba))
    assert (found.first_slot.value, getattr(found, kind).value, found.consistent.value) == (first_slot, 1.0, 0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_kinds_of_a_pair_of_orders_sum_to_one(seed: int) -> None:
    found = position(winners(seed), winners(seed + 100))
    assert sum(getattr(found, name).value for name in POSITIONS[1:]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_calling_the_second_order_the_first_turns_the_position_round(seed: int) -> None:
    ab, ba = winners(seed), winners(seed + 100)
    here, turned = position(ab, ba), position(ba, ab)
    assert turned.first_slot.value == pytest.approx(1 - here.first_slot.value, abs=1e-12)
    assert turned.first_slot.low == pytest.approx(1 - here.first_slot.high, abs=1e-12)
    assert (turned.primacy, turned.recency) == (here.recency, here.primacy)
    assert (turned.consistent, turned.other) == (here.consistent, here.other)


@pytest.mark.parametrize("seed", SEEDS)
def test_renaming_the_texts_of_every_pair_keeps_the_position(seed: int) -> None:
    # the same answers about the same two prompts: what was order ab is ba now, and the letters are exchanged
    ab, ba = winners(seed), winners(seed + 100)
    assert flat(position(OTHER_LETTER[ba], OTHER_LETTER[ab])) == pytest.approx(flat(position(ab, ba)), abs=1e-12)


def test_the_interval_of_a_kind_is_wilsons() -> None:
    found = position(winners(0), winners(1)).primacy
    low, high = proportion_confint(round(found.value * found.n), found.n, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)


def test_both_answers_about_a_case_belong_to_its_group() -> None:
    found = position(codes("abab"), codes("babb"), groups=["p", "p", "q", "r"])
    assert (found.first_slot.n, found.first_slot.groups, found.primacy.groups) == (8, 3, 3)


# length


def test_length_by_hand() -> None:
    # people, the judge, and which text is the longer; the last four are left out: a tie each, equal lengths, missing
    human, judge = codes("aabbatbaa"), codes("abbaaata-")
    gap = np.array([5.0, -5.0, 2.0, 9.0, -1.0, 3.0, 3.0, 0.0, 4.0])
    # longer: a b a a b; people name it: yes no no no no; the judge: yes yes no yes no
    found = length(human, judge, gap)
    assert values(found) == pytest.approx((3 / 5, 1 / 5, 2 / 5), abs=1e-12)
    assert (found.judge.n, found.people.n, found.difference.n) == (5, 5, 5)
    assert length_errors(human, judge, gap).value == pytest.approx(2 / 4 - 0 / 1, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_swapping_every_pair_keeps_the_length_bias(seed: int) -> None:
    human, judge = winners(seed), winners(seed + 100)
    gap = np.random.default_rng(seed).normal(size=len(human)).round(1)
    swapped = OTHER_LETTER[human], OTHER_LETTER[judge], -gap
    assert flat(length(*swapped)) == flat(length(human, judge, gap))
    assert length_errors(*swapped) == length_errors(human, judge, gap)


@pytest.mark.parametrize("seed", SEEDS)
def test_liking_the_shorter_text_turns_the_sign(seed: int) -> None:
    human, judge = winners(seed), winners(seed + 100)
    gap = np.random.default_rng(seed).normal(size=len(human))
    assert length(human, judge, -gap).difference.value == -length(human, judge, gap).difference.value
    assert length_errors(human, judge, -gap).value == pytest.approx(-length_errors(human, judge, gap).value, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_judge_that_errs_alike_on_both_sides_has_no_length_errors(seed: int) -> None:
    # 20 % errors whatever is longer; people name the longer text in 75 of 100 cases
    random = np.random.default_rng(seed)
    longer_is_right = random.random(20_000) < 0.75
    right = longer_is_right != (random.random(20_000) < 0.2)
    human, judge = np.where(longer_is_right, A, B), np.where(right, A, B)
    gap = np.ones(20_000)
    assert length_errors(human, judge, gap).value == pytest.approx(0, abs=0.02)
    # the shares alone say that it likes shorter texts: .75 x .8 + .25 x .2 = .65 against .75
    assert length(human, judge, gap).difference.value == pytest.approx(-0.1, abs=0.02)


def test_the_interval_of_the_difference_is_paired() -> None:
    human, judge = winners(3), winners(4)
    gap = np.random.default_rng(3).normal(size=len(human))
    kept = np.isin(human, (A, B)) & np.isin(judge, (A, B))
    longer = np.where(gap > 0, A, B)
    apart = ((judge == longer).astype(float) - (human == longer))[kept]
    interval = ttest_1samp(apart, 0).confidence_interval(0.95)
    found = length(human, judge, gap).difference
    assert found.value == pytest.approx(apart.mean(), abs=1e-9)
    # half a discordant case on each side (Agresti & Min 2005) moves the interval by less than one case
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1 / kept.sum())


def test_errors_of_one_kind_only_are_not_defined() -> None:
    gap = np.array([1.0, 2.0, 3.0])
    assert math.isnan(length_errors(codes("aaa"), codes("aba"), gap).value)
    assert length(codes("aaa"), codes("aba"), gap).difference.value == pytest.approx(-1 / 3, abs=1e-12)


# repetition


@pytest.mark.parametrize("seed", SEEDS)
def test_repetition_is_the_share_of_equals_and_cohens_kappa(seed: int) -> None:
    first = winners(seed)
    second = np.where(np.random.default_rng(seed).random(len(first)) < 0.7, first, winners(seed + 100))
    both = (first >= 0) & (second >= 0)
    found = repetition(first, second)
    assert (found.equal.value, found.equal.n) == ((first[both] == second[both]).mean(), both.sum())
    assert found.kappa.value == pytest.approx(cohen_kappa_score(first[both], second[both]), abs=1e-9)
    assert found.kappa.low < found.kappa.value < found.kappa.high
    turned = repetition(second, first)
    assert (turned.equal, turned.kappa.value) == (found.equal, found.kappa.value)


def test_a_judge_that_repeats_itself_agrees_with_itself() -> None:
    found = repetition(codes("abtab"), codes("abtab"))
    assert (found.equal.value, found.equal.high, found.kappa.value) == (1.0, 1.0, 1.0)
    always = repetition(codes("aaaa"), codes("aaaa"))
    assert always.equal.value == 1.0
    assert math.isnan(always.kappa.value)


def test_repeated_choices_have_more_than_three_codes() -> None:
    found = repetition(np.array([0, 3, 4, 2]), np.array([0, 3, 1, 2]), k=5)
    assert found.equal.value == 0.75


# self-preference


def test_self_preference_by_hand() -> None:
    # systems 7 and 8 are the judge's family; own against other: a, b, a, b; the rest: two own, none own, not known
    systems = np.array([[7, 1], [2, 8], [8, 3], [1, 7], [7, 8], [1, 2], [7, -1]])
    human, judge = codes("abbtaaa"), codes("abatbbb")
    found = self_preference(human, judge, systems, {7, 8})
    # own wins: people 1, 1, 0, 1/2; the judge 1, 1, 1, 1/2
    assert values(found) == pytest.approx((3.5 / 4, 2.5 / 4, 1 / 4), abs=1e-12)
    assert (found.difference.n, found.difference.groups) == (4, 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_swapping_every_pair_keeps_self_preference(seed: int) -> None:
    human, judge = winners(seed), winners(seed + 100)
    systems = np.random.default_rng(seed).integers(-1, 4, size=(len(human), 2))
    here = self_preference(human, judge, systems, [0])
    there = self_preference(OTHER_LETTER[human], OTHER_LETTER[judge], systems[:, ::-1], [0])
    assert flat(there) == pytest.approx(flat(here), abs=1e-12)
    assert here.difference.value == pytest.approx(here.judge.value - here.people.value, abs=1e-12)


def test_a_judge_that_agrees_with_people_has_no_self_preference() -> None:
    systems = np.random.default_rng(0).integers(3, size=(150, 2))
    found = self_preference(winners(0), winners(0), systems, [1])
    assert (found.difference.value, found.judge) == (0.0, found.people)


def test_no_text_of_its_own_has_no_figure() -> None:
    found = self_preference(codes("ab"), codes("ab"), np.array([[0, 1], [1, 0]]), [])
    assert found.difference.n == 0
    assert all(map(math.isnan, values(found)))


# ties


def test_ties_are_counted_on_the_same_cases() -> None:
    found = tie_rate(codes("attb-t"), codes("atattt"))
    assert values(found) == pytest.approx((3 / 5, 3 / 5, 0.0), abs=1e-12)
    assert (found.judge.n, found.difference.n) == (5, 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_swapping_every_pair_keeps_the_tie_rate(seed: int) -> None:
    human, judge = winners(seed), winners(seed + 100)
    here = tie_rate(human, judge)
    assert tie_rate(OTHER_LETTER[human], OTHER_LETTER[judge]) == here
    assert here.difference.value == pytest.approx(here.judge.value - here.people.value, abs=1e-12)


def test_cases_of_one_group_widen_the_interval() -> None:
    human, judge = np.repeat(winners(0, 40), 5), np.repeat(winners(1, 40), 5)
    alone, grouped = tie_rate(human, judge), tie_rate(human, judge, np.repeat(np.arange(40), 5))
    assert grouped.difference.value == alone.difference.value
    assert (grouped.difference.n, grouped.difference.groups) == (alone.difference.n, alone.difference.n // 5)
    width = [found.difference.high - found.difference.low for found in (alone, grouped)]
    assert width[1] > 2 * width[0]


# degenerate input


def test_nothing_to_compare_has_no_figure() -> None:
    nothing, no_gap = np.array([], dtype=np.int64), np.array([])
    missing = codes("--")
    for none, gap in ((nothing, no_gap), (missing, np.array([1.0, math.nan]))):
        found = [*vars(position(none, none)).values(), *vars(repetition(none, none)).values()]
        found += [*vars(tie_rate(none, none)).values(), *vars(length(none, none, gap)).values()]
        found += [length_errors(none, none, gap)]
        assert {estimate.n for estimate in found} == {0}
        assert all(math.isnan(estimate.value) for estimate in found)


def test_ties_everywhere_leave_no_slot_and_no_length() -> None:
    found = position(codes("ttt"), codes("ttt"))
    assert (found.first_slot.n, found.consistent.value) == (0, 1.0)
    assert length(codes("tt"), codes("ab"), np.array([1.0, 2.0])).judge.n == 0


def test_a_missing_length_leaves_the_case_out() -> None:
    assert length(codes("ab"), codes("ab"), np.array([math.nan, 2.0])).judge.n == 1


@pytest.mark.parametrize("code", [-2, 3])
def test_an_unknown_winner_is_refused(code: int) -> None:
    with pytest.raises(DataError, match=rf"tie_rate: winner {code} is none of 0\.\.2\. Write -1"):
        tie_rate(np.array([0, code]), np.array([0, 1]))


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(DataError, match=r"position: shapes \(2,\) and \(1,\)"):
        position(codes("ab"), codes("a"))
    with pytest.raises(DataError, match="length: 3 lengths for 2 cases"):
        length(codes("ab"), codes("ab"), np.array([1.0, 2.0, 3.0]))
    with pytest.raises(DataError, match=r"systems of shape \(1, 2\) for 2 cases"):
        self_preference(codes("ab"), codes("ab"), np.array([[0, 1]]), [0])
