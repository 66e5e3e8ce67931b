"""A parameter says how it is searched; a structure search needs to know no program by name."""

from typing import Any

import pytest

from dicast.judging import Judge, Panel
from dicast.judging.hparam import HParam
from dicast.judging.stage import Stage
from dicast.optimizers.structure.space import Space, space_of
from dicast.signatures.direct import Prefer


class Steps(Judge):
    """A judge of another package, with parameters of every kind."""

    name = "steps"

    def __init__(self, *, most: int = 4) -> None:
        super().__init__()
        self.most = HParam(most, range(1, 9), search=())
        self.steps = HParam(2, range(1, 11), search=lambda judge: range(1, judge.most.value + 1))
        self.k = HParam(10, range(10, 91))
        self.points = HParam(30, range(10, 91), search=(10, 30, 90))
        self.explain = HParam("no", ("no", "short", "long"))
        self.style = HParam("a", tuple("abcdefgh"))
        self.log = HParam(False, (True, False), affects_verdict=False)
        self.margin = HParam(0.5, least=0.0)
        self.grid = HParam(0.5, least=0.0, search=(0.1, 0.5, 0.9))
        self.length = HParam(3, (1, 2, 3), idle_when={"explain": "no"})
        self.ask = Stage(Prefer, "judgment")
        self.comment = Stage(Prefer, "comment", affects_verdict=False)


def test_the_parameters_of_a_plug_in_are_searched():
    assert space_of(Steps()) == {
        "steps": [2, 1, 3, 4],
        "k": [10, 30, 50, 70, 90],
        "points": [30, 10, 90],
        "explain": ["no", "short", "long"],
        "grid": [0.5, 0.1, 0.9],
        "length": [3, 1, 2],
    }


def test_a_search_function_reads_the_judge_that_has_the_parameter():
    space = space_of(Panel([Steps(most=3), Steps(most=2)]))
    assert space["members[0].steps"] == [2, 1, 3]
    assert space["members[1].steps"] == [2, 1]


def test_no_model_is_offered_to_a_role_that_cannot_change_a_verdict():
    assert space_of(Steps(), models=["local/b"])["model"] == ["", "local/b"]


@pytest.mark.parametrize("member", ["", "members[0]."])
def test_an_idle_parameter_is_not_varied(member: str):
    judge: Judge = Panel([Steps()]) if member else Steps()
    space = Space.of(judge, {f"{member}explain": ["no", "short"], f"{member}length": [1, 2, 3]})
    distinct = {space.distinct(point) for point in space.points()}
    settings = [space.settings(point) for point in distinct]
    assert len(settings) == 1 + 3
    assert [one[f"{member}length"] for one in settings if one[f"{member}explain"] == "no"] == [3]


@pytest.mark.parametrize(
    ("choices", "searched"),
    [
        (range(1, 6), (1, 2, 3, 4, 5)),
        (range(1, 7), (1, 2, 3, 5, 6)),
        (range(0, 101), (0, 25, 50, 75, 100)),
        ((0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), (0.1, 0.3, 0.5, 0.7, 0.9)),
        (tuple("abcdef"), ()),
        ((True, False), (True, False)),
        (None, ()),
    ],
)
def test_the_values_that_are_searched_by_default(choices: Any, searched: tuple[Any, ...]):
    first = 1 if choices is None else choices[0]
    assert HParam(first, choices).search_values() == searched
