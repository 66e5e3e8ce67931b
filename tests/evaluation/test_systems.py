"""Systems ranked by mean scores, and how two rankings agree."""

import numpy as np
import pytest
from scipy import stats

from dicast.data import Finding, Judged, Scores
from dicast.data.verdict import Order
from dicast.evaluation import Systems
from dicast.evaluation.system_ranking import agreement


def alone(systems: tuple[str | None, ...], *scores: float, human: tuple[float, ...] | None = None) -> Judged:
    label = None if human is None else Scores(values=human, lo=0, hi=10)
    return Judged(
        case_id="c", scores=scores, systems=systems, label=label, findings=(Finding(criterion="c", scores=scores),)
    )


def counted(*verdicts: Judged) -> Systems:
    systems = Systems()
    for verdict in verdicts:
        systems.add(verdict)
    return systems


def test_systems_are_ranked_by_the_mean_of_their_texts() -> None:
    # x: 4, 5, 3; y: 2; z: 4
    systems = counted(alone(("x",), 4), alone(("x", "y"), 5, 2), alone(("z", "x"), 4, 3))
    assert [(name, mean.value, mean.n) for name, mean in systems.ranking()] == [("x", 4, 3), ("z", 4, 1), ("y", 2, 1)]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_texts_that_were_compared_are_no_single_evaluations(order: Order) -> None:
    compared = Judged(
        case_id="c", scores=(4, 2), systems=("x", "y"), findings=(Finding(criterion="c", scores=(4, 2), order=order),)
    )
    assert counted(compared).as_dict() == {}


def test_scores_beside_letters_in_both_orders_are_single_evaluations() -> None:
    letters = tuple(Finding(criterion="l", distribution={"a": 0.7, "b": 0.3}, order=order) for order in ("ab", "ba"))
    judged = alone(("x", "y"), 4, 2)
    both = judged.model_copy(update={"findings": (*letters, *judged.findings)})
    assert [name for name, _ in counted(both).ranking()] == ["x", "y"]


def test_shares_of_a_choice_are_no_single_evaluations() -> None:
    share = Finding(criterion="own choice", distribution={"0": 0.5, "1": 0.3, "2": 0.2})
    judged = Judged(case_id="c", scores=(0.5, 0.3, 0.2), systems=("x", "y", "z"), findings=(share,))
    assert counted(judged).as_dict() == {}


def test_texts_without_a_system_are_passed_over() -> None:
    assert counted(alone((), 4, 2)).as_dict() == {}
    assert [name for name, _ in counted(alone((None, "y"), 4, 2)).ranking()] == ["y"]


def test_peoples_scores_are_ranked_beside() -> None:
    systems = counted(
        alone(("x",), 4, human=(9,)), alone(("y",), 2, human=(5,)), alone(("z",), 3, human=(2,)), alone(("w",), 1)
    )
    told = systems.as_dict()
    assert told["scores"]["x"] == {"value": 4.0, "n": 1, "people": 9.0}
    assert told["scores"]["w"] == {"value": 1.0, "n": 1}
    # 4 2 3 against 9 5 2: of three pairs two agree, ranks 3 1 2 and 3 2 1: 1 - 6 * 2 / 24
    assert told["agreement"] == {"n": 3, "spearman": pytest.approx(0.5), "kendall": pytest.approx(1 / 3)}


def test_another_ranking_can_be_any_mapping() -> None:
    systems = counted(alone(("x",), 4), alone(("y",), 2), alone(("z",), 3))
    assert systems.agreement({"x": 1, "y": 2, "z": 3, "more": 9}) == {
        "n": 3, "spearman": pytest.approx(-0.5), "kendall": pytest.approx(-1 / 3)
    }  # fmt: skip
    assert systems.agreement() == {"n": 0}


@pytest.mark.parametrize("shared", [{}, {"x": 1.0}, {"x": 1.0, "y": 2.0}])
def test_under_three_systems_nothing_is_said(shared: dict[str, float]) -> None:
    assert agreement({"x": 1.0, "y": 2.0, "z": 3.0}, shared) == {"n": len(shared)}


def test_a_constant_side_has_no_agreement() -> None:
    assert agreement({"x": 1.0, "y": 1.0, "z": 1.0}, {"x": 1.0, "y": 2.0, "z": 3.0}) == {"n": 3}


def test_agreement_is_symmetric_and_that_of_scipy() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        table = random.integers(0, 6, size=(2, 8)).astype(float)
        ours, theirs = ({f"s{n}": float(score) for n, score in enumerate(row)} for row in table)
        found = agreement(ours, theirs)
        assert found == pytest.approx(agreement(theirs, ours))
        assert found["spearman"] == pytest.approx(stats.spearmanr(*table).statistic)
        assert found["kendall"] == pytest.approx(stats.kendalltau(*table).statistic)


def test_neither_the_order_of_verdicts_nor_of_candidates_matters() -> None:
    random = np.random.default_rng(1)
    verdicts = []
    for _ in range(30):
        names = tuple(str(name) for name in random.choice(["x", "y", "z"], size=2))
        ours, theirs = random.uniform(0, 10, size=(2, 2))
        verdicts.append(alone(names, *map(float, ours), human=tuple(map(float, theirs))))
    expected = counted(*verdicts).as_dict()
    assert counted(*(verdicts[index] for index in random.permutation(30))).as_dict() == expected
    assert counted(*(verdict.swapped() for verdict in verdicts)).as_dict() == expected
