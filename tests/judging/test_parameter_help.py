"""Every parameter of every judge and preparation is explained."""

import pytest

from dicast.judging import PROGRAMS, HParam, build_panel
from dicast.judging.parameter_help import arguments, parameter_help, values_of
from dicast.preparation.registry import PREPARATIONS

BUILT_IN = {**PROGRAMS.built_in(), **PREPARATIONS.built_in()}


class Elder:
    """An ancestor.

    Args:
        count: how many,
            on two lines.
        word: of the ancestor.
    """


class Younger(Elder):
    """A class.

    Args:
        word: of the class.

    Raises:
        ValueError: not an argument.
    """


def test_arguments_are_read_from_the_class_and_its_ancestors():
    assert arguments(Younger) == {"count": "how many, on two lines.", "word": "of the class."}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_parameter_is_explained(name):
    built = BUILT_IN[name].build()
    assert {parameter for parameter, sentence in parameter_help(built).items() if len(sentence.split()) < 2} == set()


def test_parameters_of_members_are_explained_by_their_class():
    sentences = parameter_help(build_panel("direct", samples=3))
    assert "samples" in sentences
    assert all(sentences.values())


@pytest.mark.parametrize(
    ("hparam", "words"),
    [
        (HParam("a", ("a", "b")), "a, b"),
        (HParam(3, range(1, 11)), "1 to 10"),
        (HParam("all", ("all", *range(21))), "all, 0 to 20"),
        (HParam(0.0, least=0.0), "a number from 0"),
        (HParam(0.0, least=0.0, most=1.0), "a number from 0 to 1"),
        (HParam(""), "any text"),
        (HParam(True, (True, False)), "True, False"),
    ],
)
def test_the_values_in_words(hparam, words):
    assert values_of(hparam) == words
