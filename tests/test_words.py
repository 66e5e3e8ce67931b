"""The code and its texts use the field's words: `python tests/support/words.py PATH` prints what to change."""

import importlib
import pkgutil
from typing import Literal, get_args, get_origin

import pytest
from words import ROOT, classes_defined_twice, files, problems

import dicast
from dicast.data.case import Record

FILES = files()


def test_no_file_has_a_banned_identifier_or_phrase():
    assert {str(path.relative_to(ROOT)): lines for path in FILES if (lines := problems(path))} == {}


def test_no_class_name_is_defined_twice():
    assert classes_defined_twice(FILES) == {}


def records(base: type[Record] = Record) -> list[type[Record]]:
    return [base, *(below for child in base.__subclasses__() for below in records(child))]


def test_every_field_of_a_record_has_a_description():
    for module in pkgutil.walk_packages(dicast.__path__, "dicast."):
        if not module.name.startswith(("dicast.tests", "dicast.benchmarks", "dicast.__main__", "dicast.build")):
            importlib.import_module(module.name)
    undescribed = {
        f"{record.__name__}.{name}"
        for record in records()
        if record.__module__.startswith("dicast.")
        for name, field in record.model_fields.items()
        # A tag that can only have one value says what it is.
        if not (field.description or (get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1))
    }
    assert undescribed == set()


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def f(told): pass", "1: the identifier `told` names nothing"),
        ("self.found = 1", "1: the identifier `found` names nothing"),
        ("x = {'held': 1}", "1: the identifier `held` names nothing"),
        ("class A:\n    what: str", "2: the identifier `what` names nothing"),
        ("[one for one in rows]", "1: the identifier `one` names nothing"),
        ('"""Which of them\nare alike."""', "2: 'alike': write equal"),
        ("x = 1  # a share of it", "1: 'share of': write proportion of"),
        ("def is_told_so(): pass", "1: the identifier `is_told_so` names nothing"),
        ("x = 1  # as it stands", "1: 'stands': write is, are"),
    ],
)
def test_the_lint_finds_what_it_should(tmp_path, code, problem):
    (tmp_path / "module.py").write_text(code)
    assert problems(tmp_path / "module.py")[0].startswith(problem)


def test_prose_between_blocks_of_code_is_read_and_what_a_program_printed_is_not(tmp_path):
    (tmp_path / "page.md").write_text("```sh\nrun\n```\n\nThe one that won.\n\n```\ntold by a program\n```\n")
    assert problems(tmp_path / "page.md") == ["5: 'one that': write name the noun: a judge that ..."]


def test_the_strings_of_tests_are_data_and_their_names_and_notes_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr("words.ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    test = tmp_path / "tests" / "test_x.py"
    test.write_text('def test_it_is_told():\n    """As it stands."""\n    found = "he told"  # one that is\n')
    assert [line.partition(":")[0] for line in problems(test)] == ["3", "2", "1"]


def test_the_lint_leaves_other_packages_names_alone(tmp_path):
    (tmp_path / "module.py").write_text("library.rate = other.found(what=3)['told']\n".replace("library.rate", "x"))
    assert problems(tmp_path / "module.py") == ["1: 'told': write reported, named, shown"]
