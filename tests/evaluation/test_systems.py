"""Systems ranked by the mean scores of their texts."""

import pytest
from runs import evaluated, value

from dicast.data import Finding, Judged, Scores, Winner
from dicast.data.verdict import Order


def scored(
    name: str, systems: tuple[str | None, ...], *scores: float, human: tuple[float, ...] | None = None
) -> Judged:
    """A verdict whose texts the judge read one by one."""
    label = None if human is None else Scores(values=human, lo=0, hi=10)
    finding = Finding(criterion="c", scores=scores)
    return Judged(case_id=name, scores=scores, systems=systems, label=label, findings=(finding,))


def ranking(*verdicts: Judged) -> list[tuple[str, float | None, int]]:
    return [(row.system, row.judge.value, row.judge.n) for row in evaluated(*verdicts).systems]


def test_systems_are_ranked_by_the_mean_of_their_texts():
    # x: 4, 5, 3; y: 2; z: 4
    verdicts = scored("1", ("x",), 4), scored("2", ("x", "y"), 5, 2), scored("3", ("z", "x"), 4, 3)
    assert ranking(*verdicts) == [("x", 4, 3), ("z", 4, 1), ("y", 2, 1)]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_texts_that_were_compared_have_no_mean_score(order: Order):
    finding = Finding(criterion="c", scores=(4, 2), order=order)
    compared = Judged(
        case_id="c", winner="a", scores=(4, 2), systems=("x", "y"), findings=(finding,), label=Winner(value="a")
    )
    assert [row.judge.name for row in evaluated(compared).systems] == ["strength", "strength"]


def test_pairs_whose_texts_judge_and_people_scored_one_by_one_have_mean_scores():
    judged = scored("1", ("x", "y"), 4, 2, human=(3, 1)).model_copy(update={"winner": "a"})
    (x, y) = evaluated(judged).systems
    assert (x.system, x.judge.value, y.judge.value) == ("x", 4.0, 2.0)
    assert x.people is not None
    assert x.people.value == 3.0


def test_texts_without_a_system_are_left_out():
    assert ranking(scored("1", (), 4, 2)) == []
    assert [name for name, *_ in ranking(scored("1", (None, "y"), 4, 2))] == ["y"]


def test_human_scores_are_ranked_beside():
    found = evaluated(
        scored("1", ("x",), 4, human=(9,)),
        scored("2", ("y",), 2, human=(5,)),
        scored("3", ("z",), 3, human=(2,)),
        scored("4", ("w",), 1),
    )
    people = {row.system: row.people.value if row.people else None for row in found.systems}
    assert people == {"x": 9.0, "z": 2.0, "y": 5.0, "w": None}
    # 4 2 3 against 9 5 2: of three pairs two agree, ranks 3 1 2 and 3 2 1: 1 - 6 * 2 / 24
    assert value(found, "systems spearman") == pytest.approx(0.5)
    assert value(found, "systems kendall") == pytest.approx(1 / 3)


def test_agreement_of_rankings_has_an_interval_over_prompts_and_systems():
    verdicts = [
        scored(f"{prompt} {system}", (f"s{system}",), system + 7 * prompt % 4, human=(system % 5 + prompt % 2,))
        .model_copy(update={"group": f"prompt {prompt}"})
        for prompt in range(12)
        for system in range(8)
    ]  # fmt: skip
    found = evaluated(*verdicts)
    for name in ("pearson", "spearman", "kendall"):
        measure = found.measure(f"systems {name}")
        assert measure is not None
        assert measure.n == 8
        assert measure.value is not None
        assert measure.low is not None
        assert measure.high is not None
        assert -1 <= measure.low <= measure.value <= measure.high <= 1
    assert found.measure("systems spearman") == evaluated(*verdicts[::-1]).measure("systems spearman")


def test_under_three_systems_there_is_no_agreement_of_rankings():
    assert "systems" not in evaluated(scored("1", ("x",), 4, human=(9,)), scored("2", ("y",), 2, human=(5,))).sections


def test_neither_the_order_of_verdicts_nor_of_candidates_matters():
    verdicts = [
        scored(str(n), ("xyz"[n % 3], "xyz"[(n * n + 1) % 3]), n % 7, n % 5, human=(n % 4, n % 6)) for n in range(30)
    ]
    expected = evaluated(*verdicts).systems
    assert evaluated(*verdicts[::-1]).systems == expected
    swapped = {row.system: row.judge.value for row in evaluated(*(one.swapped() for one in verdicts)).systems}
    assert swapped == pytest.approx({row.system: row.judge.value for row in expected})
