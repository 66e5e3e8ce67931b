"""Added factors, exclusions and the explanation check, on guidelines made by hand."""

import numpy as np
import pytest
from runs import distinct, evaluated, fraction, measure, value
from scipy import stats

from dicast.data import Finding, Judged
from dicast.data.exclusions import asks_to_leave_out, names_an_aversion
from dicast.evaluation import Evaluation
from dicast.evaluation.evidence_arrays import guidelines, words_of


def is_exclusion(one: Finding) -> bool:
    return asks_to_leave_out(words_of(one))


def factor(
    name: str, weight: float = 5, explained: float | None = None, *, test: str = "", member: str = ""
) -> Finding:
    return Finding(criterion=name, guideline=test, weight=weight, explained_weight=explained, member=member)


def added(name: str, weight: float = 8, reason: str = "the person said so", member: str = "") -> Finding:
    return Finding(criterion=name, weight=weight, added=True, explanation=reason, member=member)


SCORE = Finding(criterion="personalised guideline", scores=(3.0, 7.0))


def verdict(*findings: Finding) -> Judged:
    return Judged(case_id="c", findings=(*findings, SCORE))


def weighted(*weights: tuple[float, float], member: str = "") -> Judged:
    return verdict(*(factor(f"f{n}", ours, theirs, member=member) for n, (ours, theirs) in enumerate(weights)))


def evaluation(*verdicts: Judged) -> Evaluation:
    whole: Evaluation = evaluated(*distinct(verdicts))
    return whole


# augmentation


def test_added_factors_are_counted_among_all():
    # 3 + 2 factors, of which 2 + 1 were added, one of the three an exclusion
    found = evaluation(
        verdict(factor("accuracy"), added("Avoid crowded places"), added("budget")),
        verdict(factor("no mistakes"), added("vegetarian options")),
    )
    assert (fraction(found, "added factors"), fraction(found, "exclusions")) == ((3, 5), (1, 3))
    assert (fraction(found, "keyword exclusions"), fraction(found, "general exclusions")) == ((1, 3), (1, 2))
    assert "1.50 per guideline" in measure(found, "added factors").description
    assert measure(found, "added factors").groups == 2  # factors of one guideline are not independent


def test_readings_of_the_candidates_are_no_factors():
    assert "findings" not in evaluation(Judged(case_id="c", findings=(SCORE,))).sections


def test_nothing_added_has_no_exclusions():
    found = evaluation(verdict(factor("do not ramble")))
    assert (value(found, "added factors"), found.measure("exclusions"), found.measure("keyword exclusions")) == (
        0.0,
        None,
        None,
    )
    assert fraction(found, "general exclusions") == (1, 1)


def test_the_keywords_of_the_paper_alone_are_counted_apart():
    found = evaluation(verdict(added("Dislikes: fish"), added("avoiding crowds"), added("no meat"), added("budget")))
    assert (fraction(found, "exclusions"), fraction(found, "keyword exclusions")) == ((3, 4), (2, 4))
    assert found.measure("general exclusions") is None


@pytest.mark.parametrize(
    "name", ["Dislikes: fish", "dislike of crowds", "Avoids spicy food", "Avoiding noise", "avoidance"]
)
def test_dislike_and_avoid_are_found_in_any_form(name: str):
    assert is_exclusion(added(name))
    assert names_an_aversion(name)


@pytest.mark.parametrize(
    "name",
    [
        "Avoid seafood", "avoidance of jargon", "Dishes without meat", "No violence", "Not spicy", "Never late",
        "Excludes chain hotels", "exclusion of alcohol", "Free of nuts", "free from gluten", "Don't mention prices",
        "Doesn’t need a car", "must not be long", "Omit politics", "Gluten-free", "Non-alcoholic drinks", "NO ADS",
        "Nothing fried", "neither fish nor meat", "cannot require a visa", "refrains from flattery", "Disliked brands",
        "Aversion to heights", "hates cilantro", "Ignore accuracy", "disregards price", "skips the tourist spots",
    ],
)  # fmt: skip
def test_what_asks_to_leave_out_is_an_exclusion(name: str):
    assert is_exclusion(added(name))
    assert is_exclusion(factor("other", test=name))


@pytest.mark.parametrize(
    "name",
    ["Notable detail", "Nordic places", "Exclusive offers", "knowledge", "Free entry", "Not only cheap but good",
     "unavoidable costs", "likes fish", "hats and coats", "skipper",
     "annotations", "nonsense", "Casino nights", "freedom of choice", ""],
)  # fmt: skip
def test_words_that_hold_a_keyword_are_none(name: str):
    assert not is_exclusion(added(name or "x"))


def test_the_reason_is_not_read():
    assert not is_exclusion(added("vegetarian options", reason="the person does not eat meat"))


def test_each_member_of_a_panel_has_a_guideline_of_its_own():
    one = verdict(factor("a", member="m1"), added("b", member="m2"), factor("c", member="m2"))
    assert [[f.criterion for f in guideline] for guideline in guidelines(one)] == [["a"], ["b", "c"]]
    assert "0.50 per guideline" in measure(evaluation(one), "added factors").description


# explanation check


NAMES = ("pearson", "spearman", "kendall")


def test_weights_are_correlated_over_all_factors_and_over_guidelines():
    # 0.8, 0.8 and 0.6 by hand (see test_measures_by_hand), and a guideline of the opposite order: -1 each
    first = weighted((1, 2), (2, 1), (3, 4), (4, 3), (5, 5))
    opposite = weighted((1, 3), (2, 2), (3, 1))
    found = evaluation(first, opposite)
    by_guideline = [measure(found, f"explained {name} by guideline") for name in NAMES]
    assert [one.value for one in by_guideline] == pytest.approx([(0.8 - 1) / 2, (0.8 - 1) / 2, (0.6 - 1) / 2])
    assert [one.n for one in by_guideline] == [2, 2, 2]
    # over all: products of deviations from 21/8 and 21/8 sum to 63 - 441/8 = 63/8, squares to 69 - 441/8 = 111/8
    assert value(found, "explained pearson") == pytest.approx(63 / 111)
    assert measure(found, "explained pearson").n == 8


def test_pooled_correlations_are_those_of_scipy():
    random = np.random.default_rng(0)
    table = random.integers(0, 11, size=(20, 6, 2)).astype(float)
    found = evaluation(*(weighted(*map(tuple, rows)) for rows in table))
    ours, theirs = table.reshape(-1, 2).T
    expected = [function(ours, theirs).statistic for function in (stats.pearsonr, stats.spearmanr, stats.kendalltau)]
    assert [value(found, f"explained {name}") for name in NAMES] == pytest.approx(expected)


@pytest.mark.parametrize("weights", [[(5, 1), (5, 2), (5, 3)], [(1, 5), (2, 5), (3, 5)], [(1, 2), (2, 4)], [(3, 3)]])
def test_a_guideline_without_a_correlation_is_left_out_and_counted(weights: list[tuple[float, float]]):
    found = evaluation(weighted(*weights), weighted((1, 1), (2, 2), (3, 3)))
    kendall = measure(found, "explained kendall by guideline")
    assert (kendall.value, kendall.n) == (pytest.approx(1.0), 1)
    assert "1 left out" in kendall.description
    assert measure(found, "explained kendall").n == len(weights) + 3


def test_added_factors_and_unexplained_factors_have_no_part_in_it():
    base = weighted((1, 1), (2, 2), (3, 3))
    explained = added("season", 10).model_copy(update={"explained_weight": 1.0})
    more = base.model_copy(update={"findings": (*base.findings, explained, added("budget"), factor("tone", 10))})
    for name in NAMES:
        assert measure(evaluation(more), f"explained {name}") == measure(evaluation(base), f"explained {name}")


def test_without_explanations_there_is_no_check():
    assert evaluation(verdict(factor("a"), factor("b"))).measure("explained pearson") is None


def test_constant_weights_everywhere_have_no_correlation():
    found = evaluation(weighted((5, 1), (5, 2), (5, 3)))
    assert (measure(found, "explained pearson").value, measure(found, "explained pearson").note) == (
        None,
        "constant weights",
    )
    assert found.measure("explained pearson by guideline") is None


def test_the_order_of_factors_changes_no_correlation():
    random = np.random.default_rng(1)
    rows = [[(float(a), float(b)) for a, b in random.integers(0, 11, size=(7, 2))] for _ in range(10)]
    expected = evaluation(*(weighted(*row) for row in rows))
    shuffled = evaluation(*(weighted(*(row[index] for index in random.permutation(7))) for row in rows))
    for name in NAMES:
        assert value(shuffled, f"explained {name}") == pytest.approx(value(expected, f"explained {name}"))
