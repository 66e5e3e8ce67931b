"""A tiny student learns fifty rows, and gives the same verdicts trained, merged, exported and loaded by the engines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from letter_answers import answers
from tiny_students import label_rows, tiny_recipe, word_rows, write_set
from tiny_torch import save_model, torch_or_skip

from dicast.distillation.export import export
from dicast.distillation.gguf_file import write_gguf
from dicast.distillation.launch import main
from dicast.distillation.marked_template import marked_template
from dicast.distillation.merge import merge
from dicast.distillation.model_card import model_card, read_set_card
from dicast.distillation.train import train
from dicast.engines import models
from dicast.errors import DeclarationError, ModelError

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    torch_or_skip()
    return save_model(tmp_path_factory.mktemp("base") / "llama", "Llama", num_hidden_layers=2)


@pytest.fixture(scope="module")
def rows():
    return label_rows(50)


@pytest.fixture(scope="module")
def trained(base, rows, tmp_path_factory):
    """A LoRA of the tiny model, which has learnt the fifty rows by heart."""
    folder = tmp_path_factory.mktemp("student")
    recipe = tiny_recipe(base, rank=8, epochs=12, global_batch=10, learning_rate=2e-2, label_weight=1.0)
    return train(recipe, write_set(folder / "set", rows), folder / "out")


@pytest.fixture
def in_fp32(monkeypatch):
    monkeypatch.setenv("DICAST_TORCH_DTYPE", "float32")
    monkeypatch.setattr("dicast.engines.torch_models.network._networks", {})
    monkeypatch.setattr(models, "_lms", {})


def agreement(given, rows):
    pairs = zip(given, rows, strict=True)
    right = [max("AB", key=lambda label: answer.get(label, -99.0)) == row.answer for answer, row in pairs]
    return sum(right) / len(right)


@pytest.mark.usefixtures("in_fp32")
def test_a_tiny_model_learns_fifty_rows_and_judges_the_same_after_every_step(base, trained, rows, tmp_path):
    before = answers(f"transformers/{base}", rows)
    adapters = answers(f"transformers/{trained.folder}", rows)
    exported = export(trained.folder, tmp_path / "export", name="tiny")
    merged = answers(f"transformers/{exported.merged}", rows)
    assert agreement(before, rows) < 0.9
    assert agreement(adapters, rows) == agreement(merged, rows) == 1.0
    for row, one, other in zip(rows, adapters, merged, strict=True):
        both = set(one) & set(other)
        assert row.answer in both
        assert {token: one[token] for token in both} == pytest.approx({token: other[token] for token in both}, abs=2e-3)
    assert export(trained.folder, tmp_path / "export", name="tiny") == exported  # what is whole is used


def test_a_student_of_all_weights_is_served_as_it_is(base, tmp_path):
    trained = train(
        tiny_recipe(base, method="full", learning_rate=1e-3),
        write_set(tmp_path / "set", word_rows(8)),
        tmp_path / "out",
    )
    exported = export(trained.folder, tmp_path / "export", name="tiny")
    assert exported.merged == trained.folder
    assert not list(trained.folder.glob("*.bin"))
    assert len(exported.serve) == 1


def test_the_lines_that_serve_a_student_name_it_and_ask_for_twenty_alternatives(base, trained, tmp_path):
    exported = export(trained.folder, tmp_path / "out", name="tiny")
    whole, beside = exported.serve
    merged = tmp_path / "out" / "merged"
    options = "--max-logprobs 20 --max-model-len 512"
    assert whole == f"vllm serve {merged} --served-model-name tiny {options}"
    lora = f"--enable-lora --max-lora-rank 8 --lora-modules tiny={trained.folder}"
    assert beside == f"vllm serve {base} {lora} {options}"


def test_the_card_says_base_recipe_figures_and_data(base, trained):
    recipe = tiny_recipe(base)
    card = model_card(
        "tiny",
        recipe,
        trained.figures,
        versions={"torch": "2"},
        set_card=read_set_card(trained.log.parents[1] / "set"),
        results={"agreement on 300 pairs": ".75"},
    )
    assert card.startswith("---\nlibrary_name: peft\n")
    assert f"A judge trained from `{base}`" in card
    assert "- agreement on 300 pairs: .75" in card
    assert "| learning rate | 0.01 |" in card
    assert "| rows | 50 | training rows that were learnt |" in card
    assert '"one_token": 50' in card


def test_a_merge_that_finds_a_folder_leaves_it_alone(trained, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(DeclarationError, match="exists"):
        merge(trained.folder, tmp_path / "out")


def test_adapters_of_another_base_are_refused(trained, base, tmp_path):
    import shutil

    student = Path(shutil.copytree(trained.folder, tmp_path / "student"))
    named = json.loads((student / "base.json").read_text())
    (student / "base.json").write_text(json.dumps(named | {"digest": "0" * 64}))
    with pytest.raises(ModelError, match="belongs to"):
        merge(student, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_without_llama_cpp_the_message_says_where_to_get_its_converter(tmp_path, monkeypatch):
    monkeypatch.setenv("DICAST_LLAMA_CPP", str(tmp_path))
    with pytest.raises(DeclarationError, match="has no convert_hf_to_gguf.py"):
        write_gguf(tmp_path, tmp_path / "x.gguf")


def test_a_converter_that_fails_leaves_no_file_and_says_why(tmp_path, monkeypatch):
    script = "import sys; open(sys.argv[3], 'w').write('half'); sys.exit('Model OddForCausalLM is not supported')"
    (tmp_path / "convert_hf_to_gguf.py").write_text(script)
    monkeypatch.setenv("DICAST_LLAMA_CPP", str(tmp_path))
    with pytest.raises(ModelError, match="OddForCausalLM is not supported"):
        write_gguf(tmp_path, tmp_path / "x.gguf")
    assert not list(tmp_path.glob("x.gguf*"))


def test_smollm2s_template_is_marked_around_what_the_assistant_says():
    _, transformers = torch_or_skip()
    from tiny_torch import tokenizer

    own = (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
        "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}"
        "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )
    words = tokenizer(transformers, own)
    messages = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "poor"}]
    read = words.apply_chat_template(
        messages, chat_template=marked_template(words), return_assistant_tokens_mask=True, return_dict=True
    )
    learnt = [token for token, is_said in zip(read["input_ids"], read["assistant_masks"], strict=True) if is_said]
    assert words.decode(learnt) == "poor<|im_end|>"
    assert words.decode(read["input_ids"]) == words.apply_chat_template(messages, tokenize=False)
    words.chat_template = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}{% endfor %}"
    with pytest.raises(DeclarationError, match="neither trl nor dicast has it with marks"):
        marked_template(words)


def test_a_dry_run_checks_everything_and_trains_nothing(base, tmp_path, capsys):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(json.dumps(tiny_recipe(base).model_dump()))
    folder = write_set(tmp_path / "set", label_rows(4))
    options = ["--recipe", str(recipe), "--set", str(folder), "--out", str(tmp_path / "out")]
    assert main([*options, "--dry-run"]) == 0
    assert "4 rows, lora of" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
    assert main(options) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "out" / "student")
    recipe.write_text("method: dora\n")
    assert main(options) == 3
    assert "field 'method'" in capsys.readouterr().err


FULL = """
import resource, sys
from pathlib import Path
from dicast.distillation.launch import main
recipe, rows, out, most = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.exit(main(["--recipe", recipe, "--set", rows, "--out", out]))
"""


@pytest.mark.fault
@pytest.mark.slow
def test_a_disk_that_takes_no_more_is_said_and_leaves_no_student(base, tmp_path):
    """No file may grow beyond 30 kB: the adapters do not fit, as on a full disk."""
    recipe, folder = tmp_path / "recipe.yaml", write_set(tmp_path / "set", label_rows(8))
    recipe.write_text(json.dumps(tiny_recipe(base, rank=8).model_dump()))
    out = tmp_path / "out"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-P", "-c", FULL, str(recipe), str(folder), str(out), "30000"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 3, ended.stderr[-2000:]
    assert "cannot be written (" in ended.stderr
    assert not (out / "student").exists()
    assert train(tiny_recipe(base, rank=8), folder, out).figures.steps == 2


@pytest.mark.slow
def test_the_launch_command_of_several_devices_reads_the_shipped_configuration(base, tmp_path):
    """accelerate starts two processes with the FSDP configuration; each checks everything, and none trains."""
    recipe, folder = tmp_path / "recipe.yaml", write_set(tmp_path / "set", label_rows(4))
    recipe.write_text(json.dumps(tiny_recipe(base).model_dump()))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    python = [sys.executable, "-P", "-m"]
    config = subprocess.check_output([*python, "dicast.distillation.launch", "--config"], env=environment, text=True)
    options = ["--recipe", str(recipe), "--set", str(folder), "--out", str(tmp_path / "out"), "--dry-run"]
    launcher = ["accelerate.commands.launch", "--config_file", config.strip(), "--num_processes", "2", "-m"]
    command = [*python, *launcher, "dicast.distillation.launch", *options]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.count("4 rows, lora of") == 1
    assert "2 processes: about" in ended.stdout


def test_memory_that_runs_out_is_said_in_words(base, tmp_path, monkeypatch):
    torch, transformers = torch_or_skip()

    def forward(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", forward)
    with pytest.raises(DeclarationError, match="ran out of memory. Set gradient_checkpointing"):
        train(tiny_recipe(base), write_set(tmp_path / "set", label_rows(4)), tmp_path / "out")
    assert not (tmp_path / "out" / "student").exists()
