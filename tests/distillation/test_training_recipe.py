"""Recipes and presets are what the papers and the measurements say; wrong values are refused."""

import pytest

from dicast.distillation import launch
from dicast.distillation.presets import PRESETS, recipe_of
from dicast.distillation.training_recipe import TrainingRecipe, read_recipe
from dicast.errors import DeclarationError


def test_the_7b_presets_are_fennecs():
    """arXiv 2405.12163: 3 epochs, cosine, 10 % warm-up, batch 512, packing 2,048, 1e-5; adapters ten times the rate."""
    adapters, full = PRESETS.find("gpu-7b"), PRESETS.find("gpu-7b-full")
    assert (adapters.method, adapters.highest_rate) == ("lora", 1e-4)
    assert (full.method, full.highest_rate) == ("full", 1e-5)
    for recipe in (adapters, full):
        assert (recipe.epochs, recipe.schedule, recipe.warm_up, recipe.global_batch) == (3, "cosine", 0.1, 512)
        assert (recipe.packing, recipe.length) == (True, 2048)


def test_the_cpu_preset_trains_the_tail_of_the_upper_layers():
    recipe = PRESETS.find("cpu")
    assert (recipe.method, recipe.first_layer, recipe.highest_rate, recipe.epochs) == ("tail", 0.4, 2e-4, 2)


@pytest.mark.parametrize("name", PRESETS.names())
def test_every_preset_takes_a_base(name):
    assert recipe_of(name, base="local").base == "local"


def test_a_method_brings_its_learning_rate_unless_one_is_chosen():
    assert recipe_of("gpu-small", method="full").highest_rate == 1e-5
    assert recipe_of("gpu-small", learning_rate=3e-4).highest_rate == 3e-4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epoch": 2}, "no field epoch. It has base, method"),
        ({"method": "dora"}, "field 'method' is \"dora\""),
        ({"method": "full", "first_layer": 0.5}, "first_layer is for adapters"),
        ({"learning_rate": 0}, "field 'learning_rate' is 0"),
        ({"method": "tail", "epochs": 0.5}, "the method tail makes whole passes, got epochs=0.5"),
    ],
)
def test_wrong_values_are_refused_by_field_and_value(changes, message):
    with pytest.raises(DeclarationError, match=message):
        recipe_of("gpu-7b", **changes)


def test_an_unknown_preset_names_the_nearest():
    with pytest.raises(DeclarationError, match="Did you mean 'gpu-7b'"):
        recipe_of("gpu7b")


def test_a_recipe_is_read_from_yaml(tmp_path):
    file = tmp_path / "recipe.yaml"
    file.write_text("base: local\nmethod: full\nepochs: 1\n")
    assert read_recipe(file) == TrainingRecipe(base="local", method="full", epochs=1)
    file.write_text("base: local\nrang: 8\n")
    with pytest.raises(DeclarationError, match="recipe.yaml: field 'rang'"):
        read_recipe(file)


def test_several_processes_do_not_train_the_tail_in_one_folder(tmp_path, monkeypatch, capsys):
    file = tmp_path / "recipe.yaml"
    file.write_text("base: local\nmethod: tail\nepochs: 2\n")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for more in ([], ["--dry-run"]):
        assert launch.main(["--recipe", str(file), "--set", "set", "--out", str(tmp_path / "out"), *more]) == 3
        assert "the method tail trains in one process, and there are 2" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
