"""A student as a .gguf file by llama.cpp's real converter, asked by the embedded llama.cpp: the letters' probabilities.

The base is a random Llama with the tokenizer of SmolLM2, whose pre-tokenizer the converter knows.
"""

import math
import shutil
from pathlib import Path

import pytest
from letter_answers import answers
from tiny_students import label_rows, tiny_recipe, write_set
from tiny_torch import torch_or_skip

from dicast.distillation.export import Form, export
from dicast.distillation.gguf_file import converter
from dicast.distillation.train import train
from dicast.engines import models
from dicast.engines.torch_models.weights import find_torch_weights
from dicast.errors import DeclarationError

pytestmark = [pytest.mark.torch, pytest.mark.model, pytest.mark.slow]
SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
GGUF: Form = "gguf"
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    torch, transformers = torch_or_skip()
    pytest.importorskip("xllamacpp")
    try:
        converter()
    except DeclarationError as error:
        pytest.skip(str(error))
    smollm = find_torch_weights("smollm2-135m").folder()
    settings = transformers.AutoConfig.from_pretrained(smollm).to_dict() | SIZES | {"num_key_value_heads": 2}
    settings = {name: value for name, value in settings.items() if name not in ("head_dim", "dtype", "torch_dtype")}
    torch.manual_seed(1)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings | {"initializer_range": 0.2}))
    model.save_pretrained(tmp_path / "base")
    for name in TOKENIZER:
        if (smollm / name).is_file():
            shutil.copy(smollm / name, tmp_path / "base")
    return tmp_path / "base"


def test_llama_cpp_gives_a_students_letters_the_probabilities_that_transformers_gives(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DICAST_TORCH_DTYPE", "float32")
    monkeypatch.setattr("dicast.engines.torch_models.network._networks", {})
    monkeypatch.setattr(models, "_lms", {})
    rows = label_rows(12)
    recipe = tiny_recipe(base, rank=8, epochs=6, learning_rate=2e-2, label_weight=1.0)
    trained = train(recipe, write_set(tmp_path / "set", rows), tmp_path / "out")
    exported = export(trained.folder, tmp_path / "export", name="tiny", forms=[GGUF], gguf="f32")
    by_torch = answers(f"transformers/{trained.folder}", rows)
    by_llama = answers(f"local/{exported.gguf}", rows)
    known = 0
    for one, other in zip(by_torch, by_llama, strict=True):
        for letter in {"A", "B"} & one.keys() & other.keys():
            known += 1
            assert math.exp(one[letter]) == pytest.approx(math.exp(other[letter]), abs=0.01)
    assert known >= 12
    assert not list(exported.gguf.parent.glob("*.part")) if exported.gguf else False
