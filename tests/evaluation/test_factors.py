"""Added factors, exclusions and the explanation check, on guidelines made by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from dicast.data import Finding, Verdict
from dicast.evaluation import Proportion
from dicast.evaluation.factor_metrics import Factors, guidelines, is_exclusion


def factor(
    name: str, weight: float = 5, explained: float | None = None, *, test: str = "", member: str = ""
) -> Finding:
    return Finding(criterion=name, guideline=test, weight=weight, explained_weight=explained, member=member)


def added(name: str, weight: float = 8, reason: str = "the person said so", member: str = "") -> Finding:
    return Finding(criterion=name, weight=weight, added=True, explanation=reason, member=member)


SCORE = Finding(criterion="personalised guideline", scores=(3.0, 7.0))


def verdict(*findings: Finding) -> Verdict:
    return Verdict(case_id="c", findings=(*findings, SCORE))


def weighed(*weights: tuple[float, float], member: str = "") -> Verdict:
    return verdict(*(factor(f"f{n}", ours, theirs, member=member) for n, (ours, theirs) in enumerate(weights)))


def counted(*verdicts: Verdict) -> Factors:
    factors = Factors()
    for one in verdicts:
        factors.add(one)
    return factors


# augmentation


def test_added_factors_are_counted_among_all() -> None:
    # 3 + 2 factors, of which 2 + 1 were added, one of the three an exclusion
    factors = counted(
        verdict(factor("accuracy"), added("Avoid crowded places"), added("budget")),
        verdict(factor("no mistakes"), added("vegetarian options")),
    )
    assert (factors.guidelines, factors.added_each) == (2, 1.5)
    assert (factors.share_added, factors.exclusions) == (Proportion(3, 5), Proportion(1, 3))


def test_readings_of_the_candidates_are_no_factors() -> None:
    assert counted(Verdict(case_id="c", findings=(SCORE,))).as_dict() == {}


def test_nothing_added_has_no_exclusions() -> None:
    told = counted(verdict(factor("do not ramble"))).as_dict()
    assert (told["added_each"], told["share_added"]["hits"], told["exclusions"]) == (0.0, 0, {"n": 0})


def test_no_guideline_at_all_has_no_mean() -> None:
    assert math.isnan(Factors().added_each)


@pytest.mark.parametrize(
    "name",
    [
        "Avoid seafood", "avoidance of jargon", "Dishes without meat", "No violence", "Not spicy", "Never late",
        "Excludes chain hotels", "exclusion of alcohol", "Free of nuts", "free from gluten", "Don't mention prices",
        "Doesn’t need a car", "must not be long", "Omit politics", "Gluten-free", "Non-alcoholic drinks", "NO ADS",
        "Nothing fried", "neither fish nor meat", "cannot require a visa", "refrains from flattery",
    ],
)  # fmt: skip
def test_what_asks_to_leave_out_is_an_exclusion(name: str) -> None:
    assert is_exclusion(added(name))
    assert is_exclusion(factor("other", test=name))


@pytest.mark.parametrize(
    "name",
    ["Notable detail", "Nordic places", "Exclusive offers", "knowledge", "Free entry", "Not only cheap but good",
     "unavoidable costs", "annotations", "nonsense", "Casino nights", "freedom of choice", ""],
)  # fmt: skip
def test_words_that_hold_a_keyword_are_none(name: str) -> None:
    assert not is_exclusion(added(name or "x"))


def test_the_reason_is_not_read() -> None:
    assert not is_exclusion(added("vegetarian options", reason="the person does not eat meat"))


def test_each_member_of_a_panel_has_a_guideline_of_its_own() -> None:
    one = verdict(factor("a", member="m1"), added("b", member="m2"), factor("c", member="m2"))
    assert [[f.criterion for f in guideline] for guideline in guidelines(one)] == [["a"], ["b", "c"]]
    assert (counted(one).guidelines, counted(one).added_each) == (2, 0.5)


# explanation check


def test_weights_are_correlated_over_all_factors_and_over_guidelines() -> None:
    # one after the other: 0.8, 0.8 and 0.6 by hand (see test_tally), and a guideline of the opposite order: -1 each
    first = weighed((1, 2), (2, 1), (3, 4), (4, 3), (5, 5))
    opposite = weighed((1, 3), (2, 2), (3, 1))
    told = counted(first, opposite).as_dict()["explained"]
    assert told["mean"]["pearson"] == {"value": pytest.approx((0.8 - 1) / 2), "n": 2}
    assert told["mean"]["spearman"] == {"value": pytest.approx((0.8 - 1) / 2), "n": 2}
    assert told["mean"]["kendall"] == {"value": pytest.approx((0.6 - 1) / 2), "n": 2}
    # pooled: products of deviations from 21/8 and 21/8 sum to 63 - 441/8 = 63/8, squares to 69 - 441/8 = 111/8
    assert told["pooled"]["pearson"] == pytest.approx(63 / 111)
    assert (told["factors"], told["left_out"]) == (8, 0)


def test_pooled_correlations_are_those_of_scipy() -> None:
    random = np.random.default_rng(0)
    table = random.integers(0, 11, size=(20, 6, 2)).astype(float)
    pooled = counted(*(weighed(*map(tuple, rows)) for rows in table)).pooled()
    ours, theirs = table.reshape(-1, 2).T
    assert pooled == pytest.approx(
        {
            "pearson": stats.pearsonr(ours, theirs).statistic,
            "spearman": stats.spearmanr(ours, theirs).statistic,
            "kendall": stats.kendalltau(ours, theirs).statistic,
        }
    )


@pytest.mark.parametrize("weights", [[(5, 1), (5, 2), (5, 3)], [(1, 5), (2, 5), (3, 5)], [(1, 2), (2, 4)], [(3, 3)]])
def test_a_guideline_without_a_correlation_is_left_out_and_counted(weights: list[tuple[float, float]]) -> None:
    told = counted(weighed(*weights), weighed((1, 1), (2, 2), (3, 3))).as_dict()["explained"]
    assert (told["left_out"], told["mean"]["kendall"]) == (1, {"value": pytest.approx(1.0), "n": 1})
    assert told["factors"] == len(weights) + 3


def test_added_factors_and_unexplained_ones_have_no_part_in_it() -> None:
    plain = weighed((1, 1), (2, 2), (3, 3))
    explained = added("season", 10).model_copy(update={"explained_weight": 1.0})
    more = plain.model_copy(update={"findings": (*plain.findings, explained, added("budget"), factor("tone", 10))})
    assert counted(more).as_dict()["explained"] == counted(plain).as_dict()["explained"]


def test_without_explanations_there_is_no_check() -> None:
    assert "explained" not in counted(verdict(factor("a"), factor("b"))).as_dict()


def test_constant_weights_everywhere_leave_nothing_to_tell() -> None:
    told = counted(weighed((5, 1), (5, 2), (5, 3))).as_dict()["explained"]
    assert told == {"factors": 3, "pooled": {}, "mean": {}, "left_out": 1}


def test_the_order_of_factors_and_of_verdicts_changes_nothing() -> None:
    random = np.random.default_rng(1)
    verdicts = [weighed(*map(tuple, random.integers(0, 11, size=(7, 2)).astype(float))) for _ in range(10)]
    expected = counted(*verdicts).as_dict()
    for _ in range(5):
        shuffled = [verdicts[index] for index in random.permutation(10)]
        assert counted(*shuffled).as_dict() == expected
