"""Training of tiny random models: what packing and checkpoints leave unchanged, and a student that judges."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from tiny_students import label_row, label_rows, row, tiny_recipe, word_rows, write_set
from tiny_torch import save_model, torch_or_skip

from dicast.distillation import launch
from dicast.distillation.learnt_tokens import RowTokenizer
from dicast.distillation.sequences import collator, sequences
from dicast.distillation.train import check_training, train
from dicast.distillation.training_estimate import estimate_training
from dicast.distillation.training_set import read_set
from dicast.engines.torch_models.chat import Chat
from dicast.errors import DataError, DeclarationError, ModelError, RunError
from dicast.optimizers.evidence import Interrupted

pytestmark = pytest.mark.torch
EQUAL = {False: 1.0, True: 1.0}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("base") / "llama", "Llama", num_hidden_layers=2)


@pytest.fixture(scope="module")
def chat(base):
    _, transformers = torch_or_skip()
    return Chat(transformers.AutoTokenizer.from_pretrained(base))


def losses(out):
    lines = map(json.loads, (out / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


def test_packed_rows_do_not_attend_to_each_other(base, chat):
    """A row's logits are those that it has alone, whatever else shares its sequence."""
    torch, transformers = torch_or_skip()
    rows = [RowTokenizer(chat)(each) for each in [*word_rows(3), label_row(9, {"A": 0.5, "B": 0.5})]]
    packed = sequences(rows, length=256, packing=True, weights=EQUAL)
    batch = collator(0)([packed.dataset[0]])
    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    with torch.no_grad():
        together = model(input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False).logits[0]
        alone = {ids: model(torch.tensor([ids])).logits[0] for ids in (row.ids for row in rows)}
    starts = (batch["position_ids"][0] == 0).nonzero()[:, 0].tolist()
    assert packed.count == 1
    assert len(starts) == 4
    for start, end in zip(starts, [*starts[1:], packed.tokens], strict=True):
        ids = tuple(batch["input_ids"][0, start:end].tolist())
        assert torch.allclose(together[start:end], alone.pop(ids), atol=1e-5)


@pytest.mark.parametrize("rows", [label_rows(12), word_rows(12), [*label_rows(6), *word_rows(6)]])
def test_packing_leaves_the_loss_of_a_step_as_it_is(base, tmp_path, rows):
    """A step over all rows, once packed and once each row for itself, by accumulation."""
    folder = write_set(tmp_path / "set", rows)
    for name, packing in (("packed", True), ("unpacked", False)):
        recipe = tiny_recipe(base, packing=packing, global_batch=12, epochs=2, schedule="constant", length=512)
        train(recipe, folder, tmp_path / name)
    assert losses(tmp_path / "packed") == pytest.approx(losses(tmp_path / "unpacked"), rel=1e-4)


def test_the_first_loss_is_the_mean_over_learnt_tokens_of_the_base(base, chat, tmp_path):
    """Computed here row by row from the base's own logits; the weight of a row multiplies its loss."""
    torch, transformers = torch_or_skip()
    rows = [label_row(1, {"A": 0.25, "B": 0.75}), label_row(2, {"A": 1.0, "B": 0.0}, weight=3.0), *word_rows(2)]
    train(tiny_recipe(base, label_weight=2.0), write_set(tmp_path / "set", rows), tmp_path / "out")
    model = transformers.AutoModelForCausalLM.from_pretrained(base).eval()
    total, learnt = 0.0, 0
    for each in rows:
        tokens = RowTokenizer(chat)(each)
        with torch.no_grad():
            log_p = torch.log_softmax(model(torch.tensor([tokens.ids])).logits[0], -1)
        for place, label in enumerate(tokens.labels):
            if label >= 0:
                target = tokens.target or {label: 1.0}
                nats = -sum(p * float(log_p[place - 1, token]) for token, p in target.items())
                total, learnt = total + nats * each.weight * (2.0 if tokens.target else 1.0), learnt + 1
    assert losses(tmp_path / "out")[0] == pytest.approx(total / learnt, rel=1e-4)


def test_trls_own_masks_learn_the_same_tokens(base, chat):
    """trl's assistant mask, by a template with generation marks, against our labels."""
    from dicast.distillation.marked_template import marked_template

    each = row(1, "Which?", "poor")
    ours = RowTokenizer(chat)(each)
    messages = [{"role": message.role, "content": message.content} for message in each.messages]
    read = chat.tokenizer.apply_chat_template(
        messages, chat_template=marked_template(chat.tokenizer), return_assistant_tokens_mask=True, return_dict=True
    )
    learnt = [token for token, is_learnt in zip(read["input_ids"], read["assistant_masks"], strict=True) if is_learnt]
    assert learnt[: ours.learnt] == [label for label in ours.labels if label >= 0]
    assert read["input_ids"][: len(ours.ids)] == list(ours.ids)


def test_a_student_that_is_stopped_continues_with_the_same_losses(base, tmp_path):
    folder, recipe = write_set(tmp_path / "set", label_rows(24), label_rows(4, 1)), tiny_recipe(base, packing=False)
    train(recipe, folder, tmp_path / "whole")
    stop = threading.Event()

    def after_three(progress):
        if progress.step == 3:
            stop.set()

    with pytest.raises(Interrupted):
        train(recipe, folder, tmp_path / "stopped", on_progress=after_three, stop=stop)
    assert len(losses(tmp_path / "stopped")) == 3
    steps = []
    trained = train(recipe, folder, tmp_path / "stopped", on_progress=lambda progress: steps.append(progress.step))
    assert steps == [4, 5, 6]
    assert losses(tmp_path / "stopped") == pytest.approx(losses(tmp_path / "whole"), rel=1e-5)
    assert trained.figures.steps == 6
    assert trained.figures.validation_loss is not None
    assert train(recipe, folder, tmp_path / "stopped", on_progress=pytest.fail) == trained  # it is there already


KILLED = """
import os, signal, sys
from pathlib import Path
from dicast.distillation.train import check_training, train
from dicast.distillation.training_estimate import estimate_training
from dicast.distillation.training_set import read_set
from dicast.distillation.training_folder import TrainingFolder
from dicast.distillation.training_recipe import read_recipe

whole = TrainingFolder.mark_whole
def mark(self, step):
    if step == 4:  # after the files of the checkpoint, before its mark
        os.kill(os.getpid(), signal.SIGKILL)
    whole(self, step)
TrainingFolder.mark_whole = mark
recipe, rows, out = map(Path, sys.argv[1:])
train(read_recipe(recipe), rows, out)
"""


@pytest.mark.fault
@pytest.mark.slow
def test_a_training_that_is_killed_while_it_saves_continues_from_the_checkpoint_before(base, tmp_path):
    """SIGKILL after the files of step 4's checkpoint and before its mark: step 3's is taken, with the same losses."""
    folder = write_set(tmp_path / "set", word_rows(24))
    recipe = tiny_recipe(base, packing=False, save_minutes=1e-9)
    train(recipe, folder, tmp_path / "whole")
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe.model_dump()))
    out = tmp_path / "killed"
    command = [sys.executable, "-P", "-c", KILLED, str(tmp_path / "recipe.yaml"), str(folder), str(out)]
    ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    assert not (out / "student").exists()
    assert (out / "checkpoints" / "checkpoint-4" / "trainer_state.json").exists()
    steps = []
    train(recipe, folder, out, on_progress=lambda progress: steps.append(progress.step))
    assert steps == [4, 5, 6]
    assert losses(out) == pytest.approx(losses(tmp_path / "whole"), rel=1e-5)


@pytest.mark.parametrize("method", ["lora", "full"])
def test_gradient_checkpointing_leaves_the_losses_as_they_are(base, tmp_path, method):
    folder = write_set(tmp_path / "set", label_rows(8))
    for name, checkpointing in (("plain", False), ("checkpointed", True)):
        recipe = tiny_recipe(base, method=method, gradient_checkpointing=checkpointing, packing=False)
        train(recipe, folder, tmp_path / name)
    assert losses(tmp_path / "plain") == pytest.approx(losses(tmp_path / "checkpointed"), rel=1e-5)


def test_adapters_begin_at_the_recipes_layer(base, tmp_path):
    from safetensors import safe_open

    folder = write_set(tmp_path / "set", label_rows(4))
    trained = train(tiny_recipe(base, first_layer=0.5), folder, tmp_path / "out")
    with safe_open(trained.folder / "adapter_model.safetensors", "pt") as file:
        assert {name.split(".layers.")[1][0] for name in file.keys()} == {"1"}  # noqa: SIM118


def test_another_recipe_or_set_in_the_same_folder_is_refused(base, tmp_path):
    folder = write_set(tmp_path / "set", label_rows(4))
    train(tiny_recipe(base), folder, tmp_path / "out")
    with pytest.raises(RunError, match="holds a training with another recipe"):
        train(tiny_recipe(base, rank=2), folder, tmp_path / "out")
    write_set(folder, label_rows(5))
    with pytest.raises(RunError, match="holds a training with another set"):
        train(tiny_recipe(base), folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda base: {"base": str(base / "nothing")}, ModelError, "there is no such model"),
        (lambda base: {"base": ""}, DeclarationError, "names no base"),
        (lambda base: {"length": 16}, DataError, "every row has more than 16 tokens"),
        (lambda base: {"method": "qlora"}, DeclarationError, "qlora needs"),
    ],
)
def test_what_cannot_be_trained_is_said_before_anything_is(base, tmp_path, spoil, error, message):
    recipe = tiny_recipe(base).model_copy(update=spoil(base))
    with pytest.raises(error, match=message):
        train(recipe, write_set(tmp_path / "set", label_rows(4)), tmp_path / "out")
    assert not (tmp_path / "out" / "student").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "qlora"}, "qlora needs"),
        ({"attention": "flash_attention_2"}, "needs a GPU and the package flash-attn"),
    ],
)
def test_what_this_machine_lacks_is_said_before_lessons_are_made(base, tmp_path, changes, message, capsys):
    """Before a teacher is asked, in a dry run of one process and of several."""
    recipe = tiny_recipe(base, **changes)
    folder = write_set(tmp_path / "set", label_rows(4))
    for check in (lambda: check_training(recipe), lambda: estimate_training(read_set(folder), recipe)):
        with pytest.raises(DeclarationError, match=message):
            check()
    (tmp_path / "recipe.yaml").write_text(recipe.model_dump_json())
    arguments = ["--recipe", tmp_path / "recipe.yaml", "--set", folder, "--out", tmp_path / "out", "--dry-run"]
    assert launch.main(list(map(str, arguments))) == 3
    assert message in capsys.readouterr().err


def test_a_base_without_a_template_is_refused_unless_the_recipe_has_one(tmp_path):
    folder = save_model(tmp_path / "base", "Llama", num_hidden_layers=1)
    template = (folder / "chat_template.jinja").rename(tmp_path / "chat.jinja")
    rows = write_set(tmp_path / "set", label_rows(4))
    with pytest.raises(DeclarationError, match="has no chat template"):
        train(tiny_recipe(folder), rows, tmp_path / "out")
    trained = train(tiny_recipe(folder, template=str(template)), rows, tmp_path / "out")
    assert (trained.folder / "chat_template.jinja").read_text() == template.read_text()


def test_a_base_that_writes_no_text_is_refused(tmp_path):
    """A reward model has no output matrix: it would begin with a random one."""
    folder = save_model(tmp_path / "reward", "Llama", head="ForSequenceClassification", num_hidden_layers=1)
    with pytest.raises(ModelError, match="LlamaForSequenceClassification does not write text"):
        train(tiny_recipe(folder), write_set(tmp_path / "set", label_rows(4)), tmp_path / "out")


def test_a_set_that_was_not_written_to_its_end_is_refused(base, tmp_path):
    folder = write_set(tmp_path / "set", label_rows(4))
    (folder / "card.json").unlink()
    with pytest.raises(DataError, match="has no card.json"):
        train(tiny_recipe(base), folder, tmp_path / "out")


def test_a_training_that_does_not_fit_is_refused_and_another_recipe_may_take_its_folder(base, tmp_path, monkeypatch):
    folder = write_set(tmp_path / "set", label_rows(4))
    monkeypatch.setattr("dicast.distillation.memory.free_bytes", lambda: 1000)
    with pytest.raises(DeclarationError, match="No language model fits"):
        train(tiny_recipe(base), folder, tmp_path / "out")
    monkeypatch.undo()
    assert train(tiny_recipe(base, rank=4), folder, tmp_path / "out").figures.rows == 4


def test_progress_says_speed_and_time_left(base, tmp_path):
    seen = []
    folder = write_set(tmp_path / "set", label_rows(8))
    train(tiny_recipe(base, packing=False), folder, tmp_path / "out", on_progress=seen.append)
    assert [(progress.step, progress.steps) for progress in seen] == [(1, 2), (2, 2)]
    assert all(progress.tokens_per_second > 0 for progress in seen)
    assert seen[-1].seconds_left == 0


def test_the_method_tail_is_trained_by_its_own_loop(base, tmp_path):
    """The adapter names the tokens from which on it acts, and the same call returns what was trained."""
    folder = write_set(tmp_path / "set", label_rows(8))
    seen = []
    recipe = tiny_recipe(base, method="tail", first_layer=0.5)
    trained = train(recipe, folder, tmp_path / "out", on_progress=seen.append)
    config = json.loads((trained.folder / "adapter_config.json").read_text())
    assert config["alora_invocation_tokens"]
    assert (seen[-1].step, trained.figures.steps, trained.figures.rows) == (2, 2, 8)
    assert train(recipe, folder, tmp_path / "out", on_progress=pytest.fail) == trained
