"""The examples in docstrings run and give what they show."""

import doctest
import importlib
import re

import pytest
from words import ROOT, files

MODULES = sorted(
    ".".join(["dicast", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for path in files()
    if path.suffix == ".py"
    and path.parts[len(ROOT.parts)] not in ("benchmarks", "tests")
    and re.search(r"^\s*>>> ", path.read_text(), re.MULTILINE)
)


def test_there_are_examples():
    assert len(MODULES) > 10


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(example)
    assert (runner.tries > 0, runner.failures) == (True, 0)
