"""Soft labels are decided case by case: an adjudicated label changes its case, and no other."""

import math
from pathlib import Path

import numpy as np
import pytest
from leaning_judge import Leaning, worlds

from dicast.cli.show import _short_form
from dicast.data import Case, Judged, Winner
from dicast.evaluation.run_arrays import run_arrays
from dicast.optimizers.compile import Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.evidence import ProgressCallbacks
from dicast.optimizers.head.fit import fit
from dicast.optimizers.head.model_spec import soft_labels_of
from dicast.optimizers.objective import OBJECTIVES
from dicast.optimizers.recipe import Recipe
from dicast.optimizers.soft_labels import soft_labels
from dicast.pages.compile_page import compilation_markdown

LABELS = ("a", "b", "tie")
NONE = [math.nan] * 3


def voted(count: int, seed: int = 0) -> list[Case]:
    """Pairs with three votes each and their majority as the label."""
    random, cases = np.random.default_rng(seed), []
    for case in worlds(count, seed):
        margin = case.meta["margin"]
        votes = ["a" if margin + random.logistic() > 0 else "b" for _ in range(3)]
        label = max(votes, key=votes.count)
        winners = tuple(Winner(value=vote) for vote in votes)
        cases.append(case.model_copy(update={"votes": winners, "label": Winner(value=label)}))
    return cases


def adjudicated(cases: list[Case]) -> tuple[list[Case], int]:
    """The same cases, the first one with a minority vote labelled by it, and its index."""
    index = next(number for number, case in enumerate(cases) if len({vote.winner for vote in case.votes}) == 2)
    case = cases[index]
    other = next(vote for vote in case.votes if case.label and vote.winner != case.label.winner)
    return [*cases[:index], case.model_copy(update={"label": other}), *cases[index + 1 :]], index


def test_the_four_kinds_of_case() -> None:
    two_of_three = [2 / 3, 1 / 3, 0.0]
    labels = np.array([0, 1, -1, 2, -1])
    found = soft_labels(labels, np.array([two_of_three, two_of_three, two_of_three, NONE, NONE]))
    follows, contradicts, unlabelled, unvoted, nothing = found.proportions.tolist()
    assert follows == unlabelled == two_of_three
    assert contradicts == [0, 1, 0]
    assert unvoted == [0, 0, 1]
    assert np.isnan(nothing).all()
    assert (found.soft, found.against) == (2, 1)


def test_a_tie_of_votes_contradicts_neither_label() -> None:
    halves = np.array([[0.5, 0.5, 0.0]] * 3)
    found = soft_labels(np.array([0, 1, 2]), halves)
    assert found.proportions.tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]
    assert (found.soft, found.against) == (2, 1)


def test_one_adjudicated_case_of_300_changes_its_target_alone() -> None:
    cases = voted(300)
    changed, index = adjudicated(cases)
    before, after = soft_labels_of(cases, LABELS), soft_labels_of(changed, LABELS)
    assert before.soft > 80
    assert (after.soft, after.against) == (before.soft - 1, 1)
    others = np.arange(300) != index
    assert (before.proportions[others] == after.proportions[others]).all()


def test_one_adjudicated_case_of_300_hardly_changes_head_and_objective() -> None:
    judge, cases = Leaning(), voted(300)
    changed, _ = adjudicated(cases)
    verdicts = [judge(case) for case in cases]
    before, after = fit(cases, verdicts), fit(changed, verdicts)
    assert before.head.fitted == after.head.fitted
    assert after.labels.soft == before.labels.soft - 1
    assert after.labels.sentence == f"{after.labels.soft} of 300 cases with soft labels, 1 label against the votes"
    values = [
        OBJECTIVES.find("log-loss").value(run_arrays(map(Judged.of, labelled, found.crossfitted)))
        for labelled, found in ((cases, before), (changed, after))
    ]
    assert values[0] == pytest.approx(values[1], abs=0.02)


@pytest.mark.slow
def test_the_line_the_page_and_the_judge_file_count_soft_labels(tmp_path: Path) -> None:
    cases, _ = adjudicated(voted(200))
    lines: dict[str, str] = {}
    progress = ProgressCallbacks(step=lambda name, text: lines.update({name: text}))
    training = (
        Compiler(Leaning(), cases, tmp_path, Recipe(trials=0, estimate="split", baseline=None), progress=progress)
        .run()
        .training
    )
    compilation = read_compilation(tmp_path)
    assert compilation.head_labels is not None
    sentence = compilation.head_labels.sentence
    assert f"of {compilation.head_labels.n} cases with soft labels" in sentence
    assert f"of {compilation.head_labels.n} " not in lines["head"], "the head of the test has fewer labels"
    assert lines["final"].startswith(f"the head is fitted to all {compilation.head_labels.n} labels")
    assert sentence in compilation_markdown(compilation, title="Page", now="now")
    assert training["head"] == compilation.head_labels.model_dump()
    assert _short_form("head", training["head"]) == f"fitted to {compilation.head_labels.n} cases; {sentence}"


def test_heads_and_objectives_have_the_same_targets() -> None:
    """One function: the cross-entropy of equal probabilities is that of the targets in both places."""
    cases, _ = adjudicated(voted(60, seed=1))
    targets = soft_labels_of(cases, ("a", "b")).proportions
    shares = {"a": 0.7, "b": 0.3}
    verdicts = [Leaning()(case).model_copy(update={"distribution": shares}) for case in cases]
    run = run_arrays(map(Judged.of, cases, verdicts))
    expected = -(targets @ np.log([0.7, 0.3])).mean()
    assert OBJECTIVES.find("log-loss").value(run) == pytest.approx(expected)
