"""The estimate of memory: counted by hand on a tiny model, ordered as the methods are, and what it proposes fits."""

import pytest
from tiny_students import label_rows, tiny_recipe, write_set
from tiny_torch import save_model, torch_or_skip

from dicast.distillation.base_model import open_base
from dicast.distillation.memory import GIB, NetworkShape, check_memory, estimate, shape_of, what_fits, what_tail_fits
from dicast.distillation.presets import recipe_of
from dicast.distillation.quiet_libraries import quiet_libraries
from dicast.distillation.student_network import open_student
from dicast.distillation.train import train
from dicast.distillation.training_recipe import TrainingRecipe
from dicast.errors import DeclarationError

# Qwen2.5-7B: 28 layers of q 3584x3584, k and v 3584x512, o 3584x3584, gate, up and down 3584x18944; its config.json.
SIDES = 2 * 2 * 3584 + 2 * (3584 + 512) + 3 * (3584 + 18944)
LINEAR = 28 * (2 * 3584 * 3584 + 2 * 3584 * 512 + 3 * 3584 * 18944)
QWEN_7B = NetworkShape(7_615_616_512, LINEAR, (SIDES,) * 28, 28, 3584, 18944, 152_064)
# Qwen2.5-1.5B: 28 layers of width 1536, two heads of keys and values of 128, feed-forward 8960; its config.json.
TAIL_SIDES = 2 * 2 * 1536 + 2 * (1536 + 256) + 3 * (1536 + 8960)
QWEN_15B = NetworkShape(1_543_714_304, 1_309_409_280, (TAIL_SIDES,) * 28, 28, 1536, 8960, 151_936, 2 * 2 * 128)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    torch_or_skip()
    return open_base(str(save_model(tmp_path_factory.mktemp("base") / "llama", "Llama", num_hidden_layers=2)))


@pytest.mark.torch
@pytest.mark.parametrize("first_layer", [0.0, 0.5])
def test_weights_and_adapters_are_counted_as_the_model_has_them(base, first_layer):
    """Against the parameters of the network that is trained: 4 bytes a weight in fp32, 16 a trained one."""
    recipe = tiny_recipe(base.folder, rank=4, first_layer=first_layer)
    needed = estimate(recipe, shape_of(base), precision="float32")
    with quiet_libraries():
        parameters = list(open_student(base, recipe).parameters())
    trained = sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
    frozen = sum(parameter.numel() for parameter in parameters if not parameter.requires_grad)
    assert needed.training == 16 * trained
    assert needed.weights == 4 * frozen


@pytest.mark.torch
def test_a_refusal_says_what_is_needed_what_is_free_and_what_fits(base):
    recipe = recipe_of("gpu-7b-full", base="b", precision="fp32", gradient_checkpointing=False)
    needed = check_memory(recipe, base, room=10 * GIB)
    with pytest.raises(DeclarationError, match=r"by full takes about 0\.\d GiB a device \(weights .* are free\. With"):
        check_memory(recipe, base, room=needed.bytes - 1)


def test_methods_of_a_7b_model_need_what_their_weights_say():
    """bf16 weights alone are 14.2 GiB, in four bits 4.5 with the embeddings; all weights with Adam 113 to 128."""
    gib = {
        name: estimate(recipe_of(name), QWEN_7B, precision="bfloat16").bytes / GIB
        for name in ("gpu-7b-qlora", "gpu-7b", "gpu-7b-full")
    }
    assert 5 < gib["gpu-7b-qlora"] < 12 < 14.2 < gib["gpu-7b"] < 24
    assert 113 < gib["gpu-7b-full"] < 140


def test_what_is_proposed_fits():
    recipe = recipe_of("gpu-7b-full", gradient_checkpointing=False)
    full = what_fits(recipe, QWEN_7B, 24 * GIB, precision="bfloat16", devices=1, gpu=True)
    assert full == "With gradient_checkpointing=true, length=512, method=lora it fits."
    changed = TrainingRecipe(method="lora", gradient_checkpointing=True, length=512)
    assert estimate(changed, QWEN_7B, precision="bfloat16").bytes <= 24 * GIB
    small = what_fits(recipe, QWEN_7B, 12 * GIB, precision="bfloat16", devices=1, gpu=True)
    assert "method=qlora" in small
    processor = what_fits(recipe, QWEN_7B, 12 * GIB, precision="bfloat16", devices=1, gpu=False)
    assert "at most about 5." in processor


def test_devices_share_weights_and_optimizer():
    recipe = recipe_of("gpu-7b-full")
    alone, eight = (estimate(recipe, QWEN_7B, precision="bfloat16", devices=n) for n in (1, 8))
    assert (eight.weights, eight.training) == (alone.weights // 8, alone.training // 8)
    assert (eight.states, eight.logits) == (alone.states, alone.logits)


def test_a_tail_needs_the_keys_and_values_of_its_pass():
    """By hand for 1,024 tokens in bf16: 17 layers, 8 prompts; keys and values of 512 numbers a token twice, and those
    of 12 heads, 3,072; the tail's 64 tokens of 12 widths and 5 inner ones; logits of 8 last tokens."""
    recipe = recipe_of("cpu")
    needed = estimate(recipe, QWEN_15B, precision="bfloat16", longest=1024)
    assert needed.states == 8 * 17 * 2 * (1024 * (2 * 512 + 3072) + 64 * (12 * 1536 + 5 * 8960))
    assert needed.logits == 8 * 151_936 * (2 + 12)
    assert needed.weights == 2 * 1_543_714_304
    assert needed.training == 16 * 8 * 17 * TAIL_SIDES
    longer = estimate(recipe, QWEN_15B, precision="bfloat16", longest=4096)
    assert longer.states > 2 * needed.states


@pytest.mark.parametrize(
    ("gib", "advice"),
    [
        (7.0, "With first_layer=0.6 it fits."),
        (5.5, "With first_layer=0.8 it fits."),
        (5.0, "To fit, set first_layer=0.8, and leave out cases whose prompts have more than "),
        (3.0, "Take a base of at most about 1."),
    ],
)
def test_what_is_proposed_for_a_tail_fits(gib, advice):
    recipe, longest = recipe_of("cpu"), 3000
    assert estimate(recipe, QWEN_15B, precision="bfloat16", longest=longest).bytes > gib * GIB
    said = what_tail_fits(recipe, QWEN_15B, int(gib * GIB), precision="bfloat16", longest=longest)
    assert said.startswith(advice)
    if "more than" in said:
        tokens = int(said.split("more than ")[1].split(" ")[0].replace(",", ""))
        changed = recipe.model_copy(update={"first_layer": 0.8})
        assert estimate(changed, QWEN_15B, precision="bfloat16", longest=tokens).bytes <= gib * GIB < 5.13 * GIB
    elif "first_layer" in said:
        changed = recipe.model_copy(update={"first_layer": float(said.split("=")[1].split(" ")[0])})
        assert estimate(changed, QWEN_15B, precision="bfloat16", longest=longest).bytes <= gib * GIB


@pytest.mark.torch
def test_a_tail_that_does_not_fit_is_refused_before_anything_is_read(base, tmp_path, monkeypatch):
    rows = write_set(tmp_path / "set", label_rows(4))
    monkeypatch.setattr("dicast.distillation.memory.free_bytes", lambda: 1000)
    with pytest.raises(DeclarationError, match="training it by tail takes about"):
        train(tiny_recipe(base.folder, method="tail"), rows, tmp_path / "out")
    assert not (tmp_path / "out").exists()
