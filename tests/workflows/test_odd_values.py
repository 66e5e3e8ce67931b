"""Values of other types in Python calls: a DeclarationError of one line each, and nothing is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dicast
from dicast.errors import DataError, DeclarationError

ROWS = [{"id": "1", "query": "q", "response_a": "x", "response_b": "yy", "label": "b"}]
odd: Any = 5
CALLS: dict[str, Callable[[], Any]] = {
    "run(out=5)": lambda: dicast.run("longer", ROWS, out=odd),
    "run(out='')": lambda: dicast.run("longer", ROWS, out=""),
    "run(out=NUL)": lambda: dicast.run("longer", ROWS, out="a\0b"),
    "run(lm=5)": lambda: dicast.run("direct", ROWS, lm=odd),
    "run(trust='no')": lambda: dicast.run("longer", ROWS, trust="no"),  # type: ignore[arg-type]
    "report(5)": lambda: dicast.report(odd),
    "report([5])": lambda: dicast.report([odd]),
    "report(out=5)": lambda: dicast.report("x", odd),
    "compare(5)": lambda: dicast.compare(odd),
    "compare([5, 6])": lambda: dicast.compare([odd, odd]),
    "judge(None)": lambda: dicast.judge(None),  # type: ignore[arg-type]
    "judge(lm=5)": lambda: dicast.judge("direct", lm=odd),
    "judge(lm={})": lambda: dicast.judge("direct", lm={"judge": odd}),
    "bind(5)": lambda: dicast.judge("direct").bind(odd),
    "check(lm=5)": lambda: dicast.check(lm=odd),
    "compile(out=5)": lambda: dicast.compile("direct", ROWS, out=odd),
    "cascade(5)": lambda: dicast.cascade(odd, ROWS),
    "cascade(out=5)": lambda: dicast.cascade(["longer", "majority"], ROWS, out=odd),
    "prepare(out=5)": lambda: dicast.prepare("anonymise", ROWS, odd),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_value_of_another_type_is_refused_in_one_line(call):
    with pytest.raises(DeclarationError) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1
    assert list(Path().iterdir()) == []


def test_a_mapping_of_roles_binds_as_its_text_does():
    judge = dicast.judge("direct").bind({"judge": "openai/a@http://127.0.0.1:9/v1"})
    assert {stage.model for stage in judge.stages()} == {"openai/a@http://127.0.0.1:9/v1"}


def test_rows_of_which_the_first_cannot_be_read_leave_no_folder():
    with pytest.raises(DataError, match="the columns are none"):
        dicast.run("longer", [{}])
    assert list(Path().iterdir()) == []
    Path("out").mkdir()
    with pytest.raises(DataError, match="the columns are none"):
        dicast.run("longer", [{}], out="out")
    assert Path("out").is_dir()  # it was there before
