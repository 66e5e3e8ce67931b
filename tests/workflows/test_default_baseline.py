"""Which judge a compilation is compared with where its recipe names none."""

import pytest

from dicast.data import Case
from dicast.judging import build
from dicast.optimizers.recipe import Baseline, Recipe
from dicast.workflows.compilations import _baseline
from dicast.workflows.progress import Progress

LOCAL = "local/smollm2-135m"
PAIR = Case(id="p", query="q", candidates=[{"text": "a"}, {"text": "b"}])
CHOICE = Case(id="c", query="q", candidates=[{"text": "a"}, {"text": "b"}, {"text": "c"}])


class Steps(Progress):
    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []

    def step(self, name: str, text: str) -> None:
        self.steps.append((name, text))


@pytest.mark.parametrize(
    ("case", "recipe", "name", "said"),
    [
        (PAIR, Recipe(), "direct", 0),
        (CHOICE, Recipe(), "zero-shot (readout=probability)", 1),
        (CHOICE, Recipe(baseline=Baseline()), "direct", 0),
        (CHOICE, Recipe(baseline=None), None, 0),
    ],
)
def test_options_are_not_graded_one_by_one_unless_a_recipe_says_so(
    case: Case, recipe: Recipe, name: str | None, said: int
) -> None:
    progress = Steps()
    built = _baseline(recipe, build("probe").bind(LOCAL), [case], progress)
    assert (built and built.name) == name
    assert built is None or {seat.model for seat in built.seats()} == {LOCAL}
    assert len(progress.steps) == said


def test_the_judge_itself_is_no_baseline_of_choices() -> None:
    progress = Steps()
    judge = build("zero-shot", readout="probability").bind(LOCAL)
    assert _baseline(Recipe(), judge, [CHOICE], progress) is None
    assert progress.steps == []
