"""Registries: built-in entries, entries of a notebook, and plug-ins."""

import subprocess
import sys

import pytest

from dicast.errors import DeclarationError
from dicast.judging import PROGRAMS, Judge, new_judge, register
from dicast.registry import Registry

FACTS = {"summary": "-", "source": "-", "inputs": "pairs", "calls": "0"}


@pytest.fixture
def judges():
    yield PROGRAMS
    PROGRAMS.reset()


class Quiet(Judge):
    name = "quiet"


def test_a_notebook_registers_a_judge_and_may_run_its_cell_twice(judges):
    for _ in range(2):
        register("quiet", **FACTS)(Quiet)
    assert isinstance(new_judge("quiet"), Quiet)
    assert "quiet" in judges
    assert "quiet" not in judges.built_in()
    assert [program.name for program in judges].count("quiet") == 1


def test_a_notebook_cannot_take_the_name_of_a_built_in_judge(judges):
    with pytest.raises(DeclarationError, match="judge 'direct': registered twice. Choose another name."):
        register("direct", **FACTS)(Quiet)


def test_a_removed_entry_is_gone(judges):
    register("quiet", **FACTS)(Quiet)
    judges.remove("quiet")
    with pytest.raises(DeclarationError, match="judge 'quiet': there is no such judge. Use one of .*longer, "):
        new_judge("quiet")


def test_one_class_serves_several_names(judges):
    class Named(Judge):
        def __init__(self, *, name: str = "first") -> None:
            super().__init__()
            self.name = name

    register("first", **FACTS)(Named)
    register("second", **FACTS, settings={"name": "second"})(Named)
    assert (new_judge("first").name, new_judge("second").name) == ("first", "second")


def test_the_built_in_entries_of_a_registry_are_those_of_its_package():
    registry: Registry[str] = Registry("thing", None, "dicast.things")
    registry.add("x", "entry")
    with pytest.raises(DeclarationError, match="thing 'x': registered twice"):
        registry.add("x", "another")
    assert (registry.find("x"), registry.names()) == ("entry", ["x"])


@pytest.mark.slow
def test_the_order_of_built_in_entries_does_not_depend_on_what_was_imported_first():
    code = "import dicast.programs.{}; from dicast.judging import PROGRAMS; print(PROGRAMS.names())"
    orders = {
        subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True).stdout
        for module in ("persona", "matrix_factorization")
    }
    assert len(orders) == 1


def test_the_order_of_engines_does_not_depend_on_what_was_imported_first():
    code = "import dicast.engines.providers.local; from dicast.engines.engine import ENGINES; print(ENGINES.names())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "['endpoint', 'hosted', 'local', 'transformers']\n"
