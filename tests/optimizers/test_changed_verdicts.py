"""Which verdicts a compilation changed: the counts are those of the test, whatever the verdicts are."""

from pathlib import Path

import numpy as np
import pytest
from known_judge import Known, known_cases

from dicast.data import Judged
from dicast.errors import RunError
from dicast.evaluation.compare import compare
from dicast.evaluation.run_arrays import run_arrays
from dicast.optimizers.changed_verdicts import FILE, changed_verdicts, changes_of, read_changed, write_changed
from dicast.optimizers.compile import Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.recipe import Recipe


def pair(number: int, winner: str | None, label: str | None) -> Judged:
    said = {"winner": winner} if winner else {"status": "unscored", "reason": "parse_failure"}
    return Judged.model_validate({"case_id": f"{number:03}", "label": label and {"value": label}, **said})


def verdicts(seed: int, n: int = 60) -> tuple[list[Judged], list[Judged]]:
    """Two runs of the same cases, some without a label, some that only one of them has answered."""
    rng = np.random.default_rng(seed)
    words: list[str | None] = ["a", "b", "tie", None]
    labels = [words[place] for place in rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])]
    sides = [[words[place] for place in rng.choice(4, n, p=[0.4, 0.4, 0.1, 0.1])] for _ in range(2)]
    first, second = ([pair(i, side[i], labels[i]) for i in range(n)] for side in sides)
    return first, second


@pytest.mark.parametrize("seed", range(8))
def test_the_counts_are_those_of_the_test_of_accuracy(seed: int) -> None:
    after, before = verdicts(seed)
    changes, kinds = changes_of(after, before)
    test = compare([("after", run_arrays(after)), ("before", run_arrays(before))])[0].tests[0]
    assert test.discordant == (changes.counts.get("became right", 0), changes.counts.get("became wrong", 0))
    assert changes.n == test.difference.n
    assert changes.changed == len(kinds)
    hits = sum(one.answer == one.human_answer for one in after if one.label and one.answer)
    assert changes.right + changes.counts.get("became right", 0) <= hits


def test_each_kind_by_hand() -> None:
    labels = ["a", "a", "a", "a", "a", None, "a"]
    before = [pair(i, winner, labels[i]) for i, winner in enumerate(["a", "b", "a", "b", "b", "a", None])]
    after = [pair(i, winner, labels[i]) for i, winner in enumerate(["a", "a", "b", "tie", "b", "b", "a"])]
    changes, kinds = changes_of(after, before)
    assert kinds == {"001": "became right", "002": "became wrong", "003": "changed, still wrong"}
    assert (changes.n, changes.right, changes.changed) == (5, 1, 3)


def test_scores_are_nearer_or_farther_by_their_place() -> None:
    def texts(scores: list[float]) -> list[Judged]:
        label = [1.0, 2.0, 3.0, 4.0]
        return [
            Judged.model_validate(
                {"case_id": str(i), "scores": [score], "label": {"values": [label[i]], "lo": 1, "hi": 5}}
            )
            for i, score in enumerate(scores)
        ]

    changes, kinds = changes_of(texts([10, 20, 40, 30]), texts([2, 1, 3, 4]))
    assert kinds == {"0": "nearer", "1": "nearer", "2": "farther", "3": "farther"}
    assert (changes.n, changes.right) == (4, 0)
    assert changes_of(texts([1, 2, 3, 4]), texts([1, 3, 5, 7]))[1] == {}  # another scale, the same places


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = tuple(changed_verdicts(*verdicts(1)))
    write_changed(tmp_path, rows)
    assert read_changed(tmp_path) == rows
    assert rows
    (tmp_path / FILE).write_text("{}\n")
    with pytest.raises(RunError, match=r"changed.jsonl line 1: not a changed verdict"):
        read_changed(tmp_path)


@pytest.mark.parametrize("estimate", ["split", "cross-fitted"])
def test_a_compilation_writes_what_its_test_counts(tmp_path: Path, estimate: str) -> None:
    recipe = Recipe.model_validate({"baseline": None, "trials": 0, "estimate": estimate})
    Compiler(Known(), known_cases(60), tmp_path, recipe).run()
    compilation = read_compilation(tmp_path)
    changes = compilation.result.changes
    assert changes is not None
    (accuracy,) = [
        test
        for comparison in compilation.result.comparisons
        if comparison.second == "uncompiled"
        for test in comparison.tests
        if test.name == "accuracy"
    ]
    assert accuracy.difference.n == changes.n
    assert accuracy.discordant == (changes.counts.get("became right", 0), changes.counts.get("became wrong", 0))
    assert len(compilation.changed) == changes.changed
    (tmp_path / FILE).unlink()
    assert read_compilation(tmp_path).changed == ()  # as a folder of an earlier version
