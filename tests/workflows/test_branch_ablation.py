"""The first n criteria of a run: the same as merging just those, and the verdict itself with all of them."""

import numpy as np
import pytest

from dicast.data import Case, Correction, Finding, Judged, Usage
from dicast.data.verdict import Order
from dicast.errors import DeclarationError
from dicast.judging.aggregate import aggregate_findings
from dicast.judging.judge import verdict_of
from dicast.workflows.branch_ablation import MEASURES, criteria, first_branches, sweep

ORDERS: tuple[Order, ...] = ("ab", "ba")


def judged(random: np.random.Generator, label: str | None = None, name: str = "c", threshold: float = 0.0) -> Judged:
    """A verdict of one to five criteria in both orders."""
    findings = [
        Finding(
            criterion=f"criterion {n}", order=order, explanation=f"because of {n} {order}",
            scores=tuple(float(score) for score in random.integers(1, 6, size=2)),
        )
        for n in range(random.integers(1, 6))
        for order in ORDERS
    ]  # fmt: skip
    case = Case(
        id=name, query="q", candidates=[{"text": "x"}, {"text": "y"}], label={"value": label} if label else None
    )
    return Judged.of(case, verdict_of(case, findings, tie_threshold=threshold))


@pytest.mark.parametrize("seed", range(5))
def test_the_first_criteria_give_what_merging_them_gives(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(40):
        threshold = float(random.choice([0.0, 1.0]))
        whole = judged(random, threshold=threshold)
        n = int(random.integers(1, 7))
        names = [f"criterion {number}" for number in range(n)]
        kept = [finding for finding in whole.findings if finding.criterion in names]
        part = first_branches(whole, n, 2, tie_threshold=threshold)
        merged = aggregate_findings(kept, 2, tie_threshold=threshold)
        assert {name: getattr(part, name) for name in merged} == merged
        assert part.findings == tuple(kept)


@pytest.mark.parametrize("threshold", [0.0, 2.0])
def test_all_criteria_give_the_verdict_itself(threshold: float) -> None:
    random = np.random.default_rng(7)
    for _ in range(40):
        whole = judged(random, "a", threshold=threshold)
        read_back = Judged.model_validate_json(whole.model_dump_json())
        for n in (len(criteria(whole)), 10):
            assert first_branches(read_back, n, 2, tie_threshold=threshold) == whole


def test_the_verdict_of_a_part_turns_over_with_the_pair() -> None:
    random = np.random.default_rng(8)
    for _ in range(40):
        whole = judged(random, "b").model_copy(update={"rationale": ""})
        for n in range(1, 5):
            part = first_branches(whole, n).model_copy(update={"rationale": ""})
            turned = first_branches(whole.swapped(), n).model_copy(update={"rationale": ""})
            assert turned == part.swapped()


def test_single_texts_are_swept_as_well() -> None:
    findings = (Finding(criterion="c", scores=(2.0,)), Finding(criterion="d", scores=(5.0,)))
    whole = Judged(case_id="c", scores=(3.5,), findings=findings)
    assert [first_branches(whole, n, 1).scores for n in (1, 2)] == [(2.0,), (3.5,)]


def test_corrections_stay_with_all_criteria_alone() -> None:
    findings = (Finding(criterion="c", scores=(2.0, 5.0)), Finding(criterion="d", scores=(5.0, 5.0)))
    fix = Correction(candidate=0, text="new", criteria=("c",))
    whole = Judged(case_id="c", winner="b", findings=findings, corrections=(fix,), usage=Usage(calls=4))
    assert [first_branches(whole, n).corrections for n in (1, 2)] == [(), (fix,)]
    assert first_branches(whole, 1).usage.calls == 4


def test_a_verdict_without_a_score_stays_as_it_is() -> None:
    failed = Judged(case_id="c", status="unscored", reason="refusal")
    assert first_branches(failed, 1) is failed


def test_what_cannot_be_swept_is_refused() -> None:
    whole = judged(np.random.default_rng(0))
    with pytest.raises(DeclarationError, match=r"n must be at least 1, got 0\."):
        first_branches(whole, 0)
    panel = whole.model_copy(update={"findings": (Finding(criterion="c", scores=(1, 2), member="m"),)})
    with pytest.raises(DeclarationError, match=r"'c' was judged by a panel\. Give a run of one judge\."):
        first_branches(panel, 1)


# the whole sweep


def by_hand(name: str, label: str, *scores: tuple[float, float]) -> Judged:
    """A pair with the same scores in both orders."""
    findings = [Finding(criterion=f"c{n}", scores=pair, order=o) for n, pair in enumerate(scores) for o in ORDERS]
    case = Case(id=name, query=name, candidates=[{"text": "x"}, {"text": "y"}], label={"value": label})
    return Judged.of(case, verdict_of(case, findings))


RUN = [
    by_hand("1", "a", (5, 1), (1, 2)),  # a by the first, a by both
    by_hand("2", "b", (3, 2), (1, 5)),  # a by the first, b by both
    by_hand("3", "tie", (3, 2)),  # a by the one there is
    Judged(case_id="4", status="unscored", reason="refusal"),
]


def test_the_sweep_tells_what_the_first_criteria_alone_would_have_said() -> None:
    first, both = sweep(RUN)
    assert [(one.n, one.full) for one in (first, both)] == [(1, 3), (2, 2)]
    expected = [{one.name: (one.value, one.n) for one in branch.measures} for branch in (first, both)]
    assert expected[0] == {
        "accuracy": (pytest.approx(1 / 3), 3),
        "both-orders accuracy": (pytest.approx(1 / 3), 3), "consistency": (1.0, 3),
        "accuracy without ties": (0.5, 2),
        "both-orders accuracy without ties": (0.5, 2), "consistency without ties": (1.0, 2),
    }  # fmt: skip
    assert list(expected[0]) == list(MEASURES)
    assert expected[1]["accuracy without ties"] == (1.0, 2)


def test_the_runs_own_tie_threshold_counts() -> None:
    random = np.random.default_rng(3)
    run = [judged(random, "a", name=str(n), threshold=2.0) for n in range(30)]
    right = sum(one.winner == "a" for one in run)
    last = sweep(run, tie_threshold=2.0)[-1]
    assert last.measures[0].value == pytest.approx(right / 30)
    with pytest.raises(DeclarationError, match=r"is no pair whose verdict is the sum of its criteria"):
        sweep(run)


def test_without_labels_or_a_second_criterion_there_is_nothing_to_sweep() -> None:
    assert sweep([judged(np.random.default_rng(0), name=str(n)) for n in range(5)]) == ()
    assert sweep(RUN[2:]) == ()
    assert sweep([]) == ()
