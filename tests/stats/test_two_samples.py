"""Differences of two proportions of other cases, where the cases of a group correlate equally on both sides."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dicast.stats.resampling import Estimate, proportion, quantile, wilson
from dicast.stats.two_samples import difference_interval, pooled_difference_interval


def in_groups(hits: int, n: int, groups: int, effect: float | None) -> Estimate:
    return Estimate(hits / n, math.nan, math.nan, n, groups, n / max(1.0, effect or 2.0), None, effect)


def test_independent_cases_have_newcombes_interval() -> None:
    first, second = proportion(np.arange(100) < 80), proportion(np.arange(50) < 30)
    assert pooled_difference_interval(first, second) == difference_interval(first, second)


def test_the_sides_share_one_correlation() -> None:
    """Groups of 4 and of 6 with design effects 1.9 and 1.5; by hand."""
    first, second = in_groups(60, 80, 20, 1.9), in_groups(30, 60, 10, 1.5)
    correlation = (20 * 3 * 0.9 + 10 * 5 * 0.5) / (20 * 3**2 + 10 * 5**2)
    t = quantile(0.9, 19 + 9)
    low_first, high_first = wilson(0.75, 80 / (1 + 3 * correlation), t)
    low, high = wilson(0.5, 60 / (1 + 5 * correlation), t)
    assert pooled_difference_interval(first, second) == pytest.approx(
        (-0.25 - math.hypot(0.5 - low, high_first - 0.75), -0.25 + math.hypot(high - 0.5, 0.75 - low_first))
    )


def test_design_effects_below_1_count_as_no_correlation() -> None:
    first, second = in_groups(60, 80, 20, 0.6), in_groups(40, 80, 20, 0.8)
    alone = replace(first, groups=80), replace(second, groups=80)
    width = np.diff(pooled_difference_interval(first, second)) / np.diff(difference_interval(*alone))
    assert width == pytest.approx(quantile(0.9, 38) / quantile(0.9), rel=0.01)


def test_where_all_are_hits_the_other_side_shows_the_correlation() -> None:
    first, second = in_groups(60, 80, 20, 1.9), in_groups(20, 20, 5, None)
    interval = pooled_difference_interval(first, replace(second, effective_n=5.0))
    wider = pooled_difference_interval(replace(first, design_effect=3.0), replace(second, effective_n=5.0))
    assert wider[0] < interval[0] < 0.25 < interval[1] < wider[1]


def test_records_without_a_design_effect_count_by_their_effective_size() -> None:
    first, second = in_groups(60, 80, 20, 2.0), in_groups(40, 80, 20, 2.0)
    assert pooled_difference_interval(replace(first, design_effect=None), second) == pooled_difference_interval(
        first, second
    )


def test_a_side_of_one_group_says_nothing() -> None:
    one_group = proportion([True, False, True], ["x"] * 3)
    assert pooled_difference_interval(one_group, in_groups(60, 80, 20, 2.0)) == (-1.0, 1.0)
