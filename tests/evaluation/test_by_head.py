"""What each order said is of the readings that a head weighed: the head's verdict has no both-orders accuracy."""

import pytest

from dicast.data import Case, Finding, Judged, Verdict
from dicast.evaluation.evaluate import evaluate
from dicast.evaluation.results import Evaluation
from dicast.evaluation.run_arrays import run_arrays
from dicast.evaluation.unsure import chosen_by
from dicast.judging.heads import CategoryHead, ChoiceHead, PairHead
from dicast.judging.judge import verdict_of
from dicast.optimizers.recipe import Recipe
from dicast.pages.case_browser import rows
from dicast.pages.run_report import Disagreement, RunReport

IDENTITY = {"judge": "j", "lm": "m", "settings": {}, "data": "d"}
OF_ORDERS = {"both-orders accuracy", "consistency", "mean of orders", "order a, b", "order b, a", "first position"}


def pair(number: int) -> Case:
    candidates = [{"text": "x"}, {"text": "y"}]
    return Case.model_validate(
        {"id": f"{number}", "query": "q", "candidates": candidates, "label": {"value": "ab"[number % 2]}}
    )


def read(case: Case) -> Verdict:
    """A judge that names the text shown first, a little surer of A."""
    orders = (("ab", {"a": 0.9, "b": 0.1}), ("ba", {"a": 0.2, "b": 0.8}))
    return verdict_of(case, [Finding(criterion="c", order=order, distribution=shares) for order, shares in orders])


def measured(verdicts: list[Judged]) -> tuple[Evaluation, set[str]]:
    evaluation = evaluate(verdicts, IDENTITY)
    return evaluation, {measure.name for section in evaluation.sections.values() for measure in section}


def both() -> tuple[list[Judged], list[Judged]]:
    """The verdicts of the letters, and those of a head that turns each of them."""
    cases = [pair(number) for number in range(20)]
    head = PairHead(weights={"letters": -1.0})
    plain = [read(case) for case in cases]
    headed = [head(case, verdict) for case, verdict in zip(cases, plain, strict=True)]
    return [Judged.of(*row) for row in zip(cases, plain, strict=True)], [
        Judged.of(*row) for row in zip(cases, headed, strict=True)
    ]


def test_the_figures_of_orders_are_of_the_letters_alone() -> None:
    plain, headed = both()
    assert measured(plain)[1] >= OF_ORDERS
    evaluation, names = measured(headed)
    assert names & OF_ORDERS == set()
    accuracy = evaluation.measure("accuracy")
    assert accuracy is not None
    assert accuracy.value == 0.5
    assert {judged.winner for judged in plain} == {"a"}
    assert {judged.winner for judged in headed} == {"b"}


def test_the_readings_stay_in_the_record() -> None:
    plain, headed = both()
    assert headed[0].order_winners == plain[0].order_winners == {"ab": "a", "ba": "b"}
    assert headed[0].findings == plain[0].findings
    assert Judged.model_validate_json(headed[0].model_dump_json()).by_head
    assert "by_head" not in plain[0].model_dump()  # as earlier versions wrote it
    assert headed[0].swapped().by_head


def test_a_head_of_two_orders_is_not_unsure_because_the_orders_differ() -> None:
    plain, headed = both()
    sure = [judged.model_copy(update={"certainty": 0.99}) for judged in (plain[0], headed[0])]
    assert [chosen_by("unsure", sure)(judged) for judged in sure] == [True, False]


def test_the_pages_mark_no_orders_of_a_head() -> None:
    plain, headed = both()
    for judged, differ in ((plain[1], True), (headed[0], False)):
        report = RunReport("r", measured([judged])[0], [Disagreement(judged, None)])
        (row,) = rows([report])
        assert row.orders_differ is differ


@pytest.mark.parametrize("seed", range(3))
def test_every_head_of_winners_says_that_it_named_them(seed: int) -> None:
    case = Case.model_validate({"id": "1", "query": "q", "candidates": [{"text": "x"}], "categories": ["no", "yes"]})
    said = Verdict(case_id="1", category="no", distribution={"no": 0.6, "yes": 0.4})
    assert CategoryHead(weights={"share": 1.0 + seed}, categories=("no", "yes"))(case, said).by_head
    several = Case.model_validate({"id": "1", "query": "q", "candidates": [{"text": t} for t in "xyz"]})
    chosen = Verdict(case_id="1", winner=0, scores=(3.0, 1.0, 2.0))
    assert ChoiceHead(weights={"score": 1.0 + seed})(several, chosen).by_head
    assert not PairHead()(pair(1), Verdict(case_id="1", status="unscored", reason="refusal")).by_head


def test_arrays_know_no_order_of_a_head() -> None:
    arrays = run_arrays(both()[1])
    assert (arrays.consistent == -1).all()
    assert (arrays.by_order == -1).all()


@pytest.mark.parametrize("name", ["both-orders accuracy", "agreement"])
def test_no_head_is_fitted_for_an_objective_of_each_order(name: str) -> None:
    assert not Recipe(objective=name).for_labels(1000).head
    assert Recipe(objective="accuracy").for_labels(1000).head
