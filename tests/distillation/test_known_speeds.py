"""Minutes of an estimate rest on what was measured: trainings on this machine, and the calls of a compilation."""

import pytest

from dicast.distillation.known_speeds import note_training, seconds_a_call, training_speed
from dicast.distillation.training_figures import TrainingFigures
from dicast.distillation.training_recipe import TrainingRecipe

RECIPE = TrainingRecipe(base="smollm2-135m", epochs=2)


def figures(seconds: float, speed: float) -> TrainingFigures:
    """Of 1,000 tokens an epoch."""
    return TrainingFigures(
        rows=10, sequences=10, labels=10, tokens=1000, learnt_tokens=10, steps=5, seconds=seconds,
        tokens_per_second=speed, device="cpu", precision="bfloat16", loss=0.5,
    )  # fmt: skip


def test_the_last_training_of_the_same_base_and_method_counts() -> None:
    assert training_speed(RECIPE, "cpu") is None
    note_training(RECIPE, figures(seconds=20.0, speed=100.0))
    note_training(RECIPE, figures(seconds=10.0, speed=200.0))
    speed = training_speed(RECIPE, "cpu")
    assert speed is not None
    assert speed.tokens == 200.0  # 1,000 tokens twice in 10 s
    assert training_speed(RECIPE, "cuda") is None
    for change in ({"base": "other"}, {"method": "full"}, {"first_layer": 0.5}):
        assert training_speed(RECIPE.model_copy(update=change), "cpu") is None
    assert training_speed(RECIPE.model_copy(update={"epochs": 5, "seed": 3}), "cpu") == speed


def test_time_before_the_steps_counts_as_well() -> None:
    """100 tokens/s in the steps, and as long for reading the prompts before."""
    note_training(RECIPE, figures(seconds=40.0, speed=100.0))
    speed = training_speed(RECIPE, "cpu")
    assert speed is not None
    assert speed.tokens == 50.0


def test_a_training_that_was_continued_says_nothing() -> None:
    """Its figures are of the last call: 500 tokens of 2,000."""
    note_training(RECIPE, figures(seconds=5.0, speed=100.0))
    assert training_speed(RECIPE, "cpu") is None


@pytest.mark.parametrize(
    ("spent", "seconds"),
    [
        ({"usage": {"calls": 120}, "recorded": 60, "recording": 4.0}, 2.0),
        ({"usage": {"calls": 3}, "recorded": 2, "recording": 4.0}, None),
        ({"usage": {"calls": 120}, "recorded": 60}, None),
        ({"usage": "many"}, None),
        (None, None),
    ],
)
def test_the_pace_of_a_compilation_is_its_minutes_by_its_calls(spent: object, seconds: float | None) -> None:
    assert seconds_a_call({"spent": spent}) == seconds
