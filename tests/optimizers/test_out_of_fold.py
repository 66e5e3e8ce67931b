"""Certificates of all labels of a compilation: what ranks depend on, and where out-of-fold verdicts may count."""

import math

import numpy as np
import pytest
from made_evidence import pairs

from dicast.data import Case
from dicast.errors import DataError
from dicast.judging.heads import PairHead
from dicast.optimizers.certificates.certainty_table import certainty_table
from dicast.optimizers.certificates.certificate import Certificate
from dicast.optimizers.certificates.out_of_fold import (
    certify_by_share,
    judged_out_of_fold,
    out_of_fold,
    shares,
    start_by_groups,
)
from dicast.optimizers.certify_step import certifiable
from dicast.optimizers.head.fit import fit
from dicast.optimizers.recipe import Recipe

SURE = np.array([0.95] * 60 + [0.8] * 40 + [0.6] * 50)
RIGHT = [True] * 60 + [True] * 38 + [False] * 2 + [True, False] * 25


def test_a_share_counts_the_cases_of_which_the_judge_is_as_certain() -> None:
    assert shares([0.9, 0.7, 0.9, math.nan]).tolist()[:3] == [0.5, 0.75, 0.5]
    assert math.isnan(shares([0.9, 0.7, 0.9, math.nan])[3])
    assert np.isnan(shares([math.nan, math.nan])).all()


def test_a_certified_share_becomes_a_threshold_of_the_final_head() -> None:
    found = certify_by_share(shares(SURE), RIGHT, SURE)
    assert (found.threshold, found.accepted, found.errors, found.n) == (0.8, 100, 2, 150)
    assert found.stopped is not None
    assert (found.stopped.threshold, found.stopped.errors) == (0.6, 27)
    squeezed = certify_by_share(shares(SURE), RIGHT, 0.5 + SURE / 10)
    assert (squeezed.threshold, squeezed.accepted) == (0.58, 100)


def test_without_a_certainty_nothing_is_certified() -> None:
    with pytest.raises(DataError, match="none of 2 cases has a certainty"):
        certify_by_share([0.5, 1.0], [True, True], [math.nan, math.nan])


@pytest.mark.parametrize("seed", range(5))
def test_path_and_start_never_read_labels(seed: int) -> None:
    """Whatever the labels, the same thresholds accept the same cases, and the test starts at the same place."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 100, 300)
    sure = 0.5 + rng.random(300) / 2
    steps = []
    for labels in (rng.random(300) < 0.9, rng.random(300) < 0.1):
        table = certainty_table([(1 - shares(sure), labels)], groups)
        steps.append([table.accepted((1 - percent / 100,)) for percent in range(2, 101)])
    one, other = steps
    assert [(step.groups, step.coverage) for step in one] == [(step.groups, step.coverage) for step in other]
    assert start_by_groups(one, 0.1, 0.05) == start_by_groups(other, 0.1, 0.05)
    start = one[start_by_groups(one, 0.1, 0.05)]
    assert start.groups >= 46
    assert start.coverage >= 0.1
    never, always = (certify_by_share(shares(sure), [value] * 300, sure, groups=groups) for value in (False, True))
    assert never.stopped is not None
    assert (never.threshold, never.stopped.accepted, always.threshold) == (None, start.groups, sure.min())


def test_heads_of_one_feature_rank_as_no_label_can_change() -> None:
    """Other labels give other heads and other certainties; verdicts and shares stay what they are."""
    cases, verdicts = pairs(90, 1)
    heads = [PairHead(weights={"letters": weight}) for weight in (0.3, 0.7, 2.0)]
    found = []
    for own in ([heads[0]] * 90, [heads[number % 3] for number in range(90)]):
        judged, share, _ = judged_out_of_fold(cases, verdicts, heads[2], own)
        found.append(([verdict.winner for verdict in judged], share.tolist()))
    assert found[0] == found[1]


def test_cases_are_judged_without_their_label() -> None:
    """The verdicts are the cross-fitted ones, and another head than the fitted one counts for nothing."""
    cases, verdicts = pairs(120, 2)
    fitted = fit(cases[:80], verdicts[:80])
    parts = (fitted, cases[:80], verdicts[:80], cases[80:], verdicts[80:])
    found = out_of_fold(fitted.head, *parts)
    assert found is not None
    judged = [*fitted.crossfitted, *(fitted.head(*pair) for pair in zip(cases[80:], verdicts[80:], strict=True))]
    labels = [case.label.value for case in cases if case.label is not None and hasattr(case.label, "value")]
    assert list(found.correct) == [verdict.winner == label for verdict, label in zip(judged, labels, strict=True)]
    certificate = found.certificate(risk=0.3, delta=0.05)
    assert (certificate.out_of_fold, certificate.cases) == (80, 120)
    assert certificate.summary().endswith(
        " 80 of the 120 labelled cases also fitted the head; each of them was judged by a head that was fitted without "
        "it and its group."
    )
    earlier = certificate.model_dump()
    del earlier["out_of_fold"]
    assert Certificate.model_validate(earlier).out_of_fold == 0
    assert out_of_fold(PairHead(weights={"letters": 1.0}), *parts) is None


def test_a_search_leaves_the_test_part_as_the_only_evidence() -> None:
    cases, _ = pairs(100, 3)
    parts: dict[str, list[Case]] = {"train": cases[:35], "select": cases[35:50], "test": cases[50:]}
    searched, free = (certifiable(Recipe(), parts, has_verdicts=True, searched=value) for value in (True, False))
    assert (searched.groups, searched.out_of_fold, free.groups, free.out_of_fold) == (50, False, 100, True)
    assert free.summary.endswith("train, select and test have 100 groups")
    without_head = certifiable(Recipe(head=False), parts, has_verdicts=True, searched=False)
    assert (without_head.groups, without_head.out_of_fold) == (50, False)
