"""A compilation whose head is fitted to other cases: to the select part alone, or to further labelled cases as well."""

from pathlib import Path

import pytest
from leaning_judge import Leaning, worlds

from dicast.errors import RunError
from dicast.optimizers.compile import Compiler
from dicast.optimizers.recipe import Recipe

PLAIN = Recipe(trials=0, estimate="split", baseline=None)


def test_a_head_of_the_select_part_is_fitted_to_no_case_that_a_model_was_trained_on(tmp_path: Path) -> None:
    compiler = Compiler(Leaning(), worlds(300), tmp_path, PLAIN, head_parts=("select",))
    head = compiler.run().judge.head
    assert head is not None
    assert head.n == len(compiler.parts["select"])
    judged = [path.parent.name for path in (tmp_path / "evidence").glob("*/verdicts.jsonl")]
    lines = sum(len((tmp_path / "evidence" / name / "verdicts.jsonl").read_text().splitlines()) for name in judged)
    assert lines == len(compiler.parts["select"]) + len(compiler.parts["test"])


def test_lessons_are_further_rows_of_the_head(tmp_path: Path) -> None:
    lessons = [case.model_copy(update={"id": f"more {case.id}", "group": f"m{case.id}"}) for case in worlds(80, seed=5)]
    compiler = Compiler(Leaning(), worlds(200), tmp_path, PLAIN, lessons=lessons)
    head = compiler.run().judge.head
    assert head is not None
    assert head.n == len(compiler.parts["train"]) + len(compiler.parts["select"]) + 80


def test_only_the_test_part_certifies_where_the_head_is_fitted_otherwise(tmp_path: Path) -> None:
    compiled = Compiler(Leaning(), worlds(300), tmp_path, PLAIN, head_parts=("select",)).run()
    assert not compiled.certifiable.out_of_fold
    assert compiled.certifiable.part == "test"


def test_a_folder_does_not_continue_with_other_lessons(tmp_path: Path) -> None:
    Compiler(Leaning(), worlds(100), tmp_path, PLAIN).run()
    with pytest.raises(RunError, match="holds a compilation with head_parts"):
        Compiler(Leaning(), worlds(100), tmp_path, PLAIN, head_parts=("select",))
