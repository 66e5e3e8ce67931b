"""Folders of random adapters, as peft writes them."""

import json

SOME = ("self_attn.q_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.up_proj", "mlp.down_proj")
QUESTION = "\n\nWhich response is better, A or B?"


def save_adapter(torch, folder, base, model, *, marker=None, layers=(1, 3), rank=3, seed=0, **settings):
    """The folder of an adapter of a model whose weights are in another folder; its changes are large."""
    from safetensors.torch import save_file

    generator, tensors = torch.Generator().manual_seed(seed), {}
    for layer in range(*layers):
        for name in SOME:
            module = f"model.layers.{layer}.{name}"
            outputs, inputs = model.get_submodule(module).weight.shape
            for end, shape in (("lora_A", (rank, inputs)), ("lora_B", (outputs, rank))):
                values = torch.randn(shape, generator=generator) * 0.4
                tensors[f"base_model.model.{module}.{end}.weight"] = values
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": str(base),
        "r": rank,
        "lora_alpha": 2 * rank,
        "target_modules": sorted({name.rpartition(".")[2] for name in SOME}),
        "layers_to_transform": list(range(*layers)),
        "alora_invocation_tokens": marker,
        "bias": "none",
    }
    (folder / "adapter_config.json").write_text(json.dumps(config | settings))
    return folder
