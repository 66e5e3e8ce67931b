"""Tiny random models of published architectures with a tokenizer of their own, for tests that have torch."""

from pathlib import Path

import pytest

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZES = {
    "vocab_size": 400,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
}


def torch_or_skip():
    """torch and transformers, or a skip that says what is missing."""
    for package in ("torch", "transformers"):
        pytest.importorskip(package, reason=f"needs {package}: `make test-torch` installs it")
    import torch
    import transformers

    return torch, transformers


def tokenizer(transformers, template=TEMPLATE):
    """Byte-level BPE with the marks of ChatML."""
    import tokenizers

    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=marks, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    bpe.train_from_iterator(["A fine answer is better than a poor answer. Which answer is better?"] * 4, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=template
    )


def save_model(folder: Path, architecture: str, head: str = "ForCausalLM", **settings) -> Path:
    """A folder with a random model of an architecture, such as Llama or Qwen3."""
    torch, transformers = torch_or_skip()
    torch.manual_seed(1)
    words = tokenizer(transformers)
    config = getattr(transformers, f"{architecture}Config")(**SIZES | {"pad_token_id": 0} | settings)
    model = getattr(transformers, f"{architecture}{head}")(config)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
