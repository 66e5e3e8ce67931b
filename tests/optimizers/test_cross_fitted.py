"""Compilations of few labels: all are learnt from, each is judged out of fold, and the answer says what improved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from leaning_judge import Leaning, worlds

from dicast.data import Case, Finding, Judged, Verdict
from dicast.errors import DeclarationError
from dicast.judging import PROGRAMS, Program
from dicast.judging.judge import Judge, verdict_of
from dicast.judging.judge_file import load, read
from dicast.optimizers.certificates.out_of_fold import ranked_out_of_fold
from dicast.optimizers.claims import same_order
from dicast.optimizers.compile import Compiled, Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.head.fit import fit
from dicast.optimizers.recipe import FEW_LABELS, TRIALS, Parts, Recipe
from dicast.pages.compile_headline import compile_headline
from dicast.pages.compile_page import compilation_markdown

FEW = Recipe(baseline=None)


class Letters(Judge):
    """Reads the letters alone, four times too certain: a head can change its certainty and nothing else."""

    name = "letters"

    def assess(self, case: Case) -> Verdict:
        p = 1 / (1 + np.exp(-5 * case.meta["margin"]))
        return verdict_of(case, [Finding(criterion="letters", distribution={"a": p, "b": 1 - p})])


class Always(Letters):
    """Says a, whatever it reads."""

    name = "always"

    def assess(self, case: Case) -> Verdict:
        return verdict_of(case, [Finding(criterion="letters", distribution={"a": 0.9, "b": 0.1})])


@pytest.fixture(scope="module")
def leaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Compiled, Path]]:
    folder = tmp_path_factory.mktemp("leaning")
    monkeypatch = pytest.MonkeyPatch()
    program = Program("leaning", Leaning, "leans to the first", "-", "pairs", "2")
    monkeypatch.setitem(PROGRAMS._added, "leaning", program)
    monkeypatch.setenv("DICAST_HOME", str(folder / "home"))
    compiled = Compiler(Leaning(), worlds(120), folder, FEW).run()
    compiled.save(folder / "leaning.judge.json")
    yield compiled, folder
    monkeypatch.undo()


def test_with_few_labels_all_are_measured_out_of_fold_and_all_are_learnt_from(leaning: tuple[Compiled, Path]) -> None:
    compiled, folder = leaning
    assert (compiled.result.estimate, compiled.result.n, compiled.training["parts"]) == (
        "cross-fitted",
        120,
        {"all": 120},
    )
    assert compiled.judge.head is not None
    assert compiled.judge.head.n == 120
    assert compiled.training["final"]["sentence"].startswith("the head is fitted to all 120 labels; the figures are")
    final = read(folder / "leaning.judge.json").training["final"]
    assert isinstance(final, dict)
    assert final["of_all"] is True
    assert load(folder / "leaning.judge.json").head == compiled.judge.head


def test_the_verdicts_that_are_measured_are_those_of_heads_without_the_case(leaning: tuple[Compiled, Path]) -> None:
    compiled, _ = leaning
    cases = worlds(120)
    fitted = fit(cases, [Leaning()(case) for case in cases])
    hits = sum(
        Judged.of(case, own).winner == case.label.value for case, own in zip(cases, fitted.crossfitted, strict=True)
    )
    accuracy = compiled.result.compiled.evaluation.measure("accuracy")
    assert accuracy is not None
    assert accuracy.value == pytest.approx(hits / 120)


def test_the_answer_says_what_improved_before_the_figures(leaning: tuple[Compiled, Path]) -> None:
    compiled, folder = leaning
    assert compiled.result.outcome == "improved"
    assert compiled.result.headline.startswith("better verdicts: accuracy 0.49 -> 0.87, p = ")
    assert "; its certainty can now be trusted: log-loss 2.99 -> 0.44, p = " in compiled.result.headline
    assert compiled.result.headline.endswith("(p adjusted for 3 tests, Holm)")
    headline = compile_headline(read_compilation(folder))
    assert headline.sentences[0].startswith("On 120 labelled cases, each judged out of fold, accuracy is ")
    assert headline.sentences[1].startswith("Better verdicts: accuracy 0.49 → 0.87")
    page = compilation_markdown(read_compilation(folder), title="t", now="now")
    assert "All labels, out of fold, 120 cases" in page
    assert "cross-fitted: all labels, each judged by a head fitted without it and its group" in page
    assert "On 120 labelled cases, each judged out of fold, accuracy is " in page


def test_what_cannot_have_changed_is_not_tested_and_that_is_said(tmp_path: Path) -> None:
    result = Compiler(Letters(), worlds(120, seed=1), tmp_path, FEW).run().result
    states = {claim.of: (claim.state, claim.test is None) for claim in result.claims}
    assert states["verdicts"] == ("unchanged", True)
    assert states["selective use"] == ("unchanged", True)
    assert states["certainty"] == ("improved", False)
    (certainty,) = (claim for claim in result.claims if claim.of == "certainty")
    assert certainty.test is not None
    assert certainty.test.p_holm == certainty.test.p  # the only test
    assert result.headline.startswith("same verdicts; its certainty")
    assert result.outcome == "improved"
    assert any(step.startswith("A head of this evidence changes no verdict") for step in result.next_steps)


def test_orders_are_equal_but_for_rounding_and_ties_are_part_of_an_order() -> None:
    first = np.array([0.5, 0.6, 0.7, 0.999999])
    assert same_order(first, first**3)
    assert same_order(first, first + np.array([0, 0, 0, 1e-9]))
    assert not same_order(first, first[[0, 2, 1, 3]])
    assert not same_order(first, np.array([0.5, 0.6, 0.6, 0.9]))
    assert not same_order(np.array([0.5, 0.6, 0.6, 0.9]), first)


def test_one_answer_for_every_case_is_named_first_and_is_no_improvement(tmp_path: Path) -> None:
    cases = [case for case in worlds(160, seed=4) if case.label.value == "a"][:50]
    cases += [case for case in worlds(160, seed=5) if case.label.value == "b"][:30]
    cases = [case.model_copy(update={"id": str(number), "query": f"q {number}"}) for number, case in enumerate(cases)]
    compiled = Compiler(Always(), cases, tmp_path, FEW).run()
    assert compiled.result.faults[0] == (
        "It gives one answer, 'a' in all 80 cases, so it says nothing about any of them."
    )
    assert compiled.result.outcome == "inconclusive"
    assert compile_headline(read_compilation(tmp_path)).words == "One answer for every case"
    assert compiled.result.next_steps[0].startswith("Try a stronger model")


class Contrary(Letters):
    """Prefers what people do not; it has no evidence that a head could use."""

    name = "contrary"

    def assess(self, case: Case) -> Verdict:
        return Verdict(case_id=case.id, winner="b" if case.meta["margin"] > 0 else "a")


def test_a_judge_that_is_worse_than_the_most_frequent_answer_is_called_worse(tmp_path: Path) -> None:
    given = Recipe(baseline=None, head=False)
    result = Compiler(Contrary(), worlds(120), tmp_path, given).run().result
    assert result.outcome == "worse"
    assert result.faults[0].startswith("It is worse than longer: accuracy -") or "majority" in result.faults[0]


def test_the_split_remains_where_there_are_many_labels_parts_or_a_search() -> None:
    def crossed(labels: int, *, searched: bool = False, **fields: Any) -> bool:
        return Recipe(**fields).for_labels(labels).is_cross_fitted(labels, searched=searched)

    assert crossed(FEW_LABELS - 1)
    assert not crossed(FEW_LABELS)
    assert crossed(FEW_LABELS, estimate="cross-fitted")
    assert not crossed(60, estimate="split")
    assert not crossed(60, parts=Parts())
    assert not crossed(60, searched=True)
    assert not Recipe().is_cross_fitted(60, searched=False, many=True)
    assert Recipe(estimate="cross-fitted").is_cross_fitted(60, searched=False, many=True)
    with pytest.raises(DeclarationError, match="repeats the fit of a head in every fold, and nothing else"):
        crossed(60, searched=True, estimate="cross-fitted")


def test_few_labels_are_not_spent_on_a_search_that_nobody_asked_for() -> None:
    assert [Recipe().for_labels(n).trials for n in (FEW_LABELS - 1, FEW_LABELS)] == [0, TRIALS]
    assert Recipe(trials=3).for_labels(60).trials == 3
    assert Recipe(space={"votes": (1, 3)}).for_labels(60).trials == TRIALS


def test_beside_a_split_all_labels_are_measured_out_of_fold_and_the_delivered_head_is_of_all(tmp_path: Path) -> None:
    compiled = Compiler(Leaning(), worlds(120), tmp_path, Recipe(baseline=None, estimate="split")).run()
    result = compiled.result
    assert (result.estimate, result.n, result.beside_n) == ("split", 60, 120)
    assert {claim.of for claim in result.beside} == {"verdicts", "certainty", "selective use", "cost"}
    assert compiled.judge.head is not None
    assert compiled.judge.head.n == 120
    assert "with a head of 60 labels" in compiled.training["final"]["sentence"]
    again = Compiler(Leaning(), worlds(120), tmp_path, Recipe(baseline=None, estimate="split")).run()
    assert again.judge.head == compiled.judge.head
    assert again.training["final"] == compiled.training["final"]


def test_ranks_of_heads_that_read_one_feature_do_not_depend_on_the_head() -> None:
    """Certainties of several heads do: pooled, they put verdicts of a careful fold behind those of a sure one."""
    cases = worlds(90, seed=1)
    verdicts = [Letters()(case) for case in cases]
    fitted = fit(cases, verdicts)
    own = ranked_out_of_fold(cases, verdicts, fitted.without)
    final = ranked_out_of_fold(cases, verdicts, [fitted.head] * len(cases))
    certainty = {judged.case_id: judged.certainty for judged in fitted.crossfitted}
    order = sorted(own, key=lambda name: (own[name], name))
    assert order == sorted(final, key=lambda name: (final[name], name))
    assert order != sorted(own, key=lambda name: (certainty[name], name))
