"""Reward models by name: Skywork-Reward-V2 (Liu et al. 2025, https://arxiv.org/abs/2507.01352), eight sizes.

Names, base models and, of the Qwen3 sizes, the licence are those of the model cards. None of them was run here: this
machine has no such weights.
"""

from dataclasses import dataclass

SEE_CARD = "see the model card; that of its base model applies too"


@dataclass(frozen=True)
class RewardModel:
    """An entry of the catalogue.

    Attributes:
        hub: OWNER/NAME of the Hugging Face hub.
        base: the model that it was trained from, likewise.
        size: parameters, in billions, as its name says.
    """

    name: str
    hub: str
    base: str
    size: float
    licence: str


def _skywork(name: str, size: float, base: str, licence: str) -> RewardModel:
    return RewardModel(f"skywork-{name.lower()}", f"Skywork/Skywork-Reward-V2-{name}", base, size, licence)


REWARD_MODELS: dict[str, RewardModel] = {
    model.name: model
    for model in (
        _skywork("Qwen3-0.6B", 0.6, "Qwen/Qwen3-0.6B", "Apache-2.0"),
        _skywork("Qwen3-1.7B", 1.7, "Qwen/Qwen3-1.7B", "Apache-2.0"),
        _skywork("Qwen3-4B", 4.0, "Qwen/Qwen3-4B", "Apache-2.0"),
        _skywork("Qwen3-8B", 8.0, "Qwen/Qwen3-8B", "Apache-2.0"),
        _skywork("Llama-3.2-1B", 1.0, "meta-llama/Llama-3.2-1B-Instruct", SEE_CARD),
        _skywork("Llama-3.2-3B", 3.0, "meta-llama/Llama-3.2-3B-Instruct", SEE_CARD),
        _skywork("Llama-3.1-8B", 8.0, "meta-llama/Llama-3.1-8B-Instruct", SEE_CARD),
        _skywork("Llama-3.1-8B-40M", 8.0, "meta-llama/Llama-3.1-8B-Instruct", SEE_CARD),
    )
}


def model_string_of(name: str) -> str:
    """The model string of a name of the catalogue; any other text is one already.

    Example:
        >>> model_string_of("skywork-qwen3-0.6b"), model_string_of("local//models/reward.gguf")
        ('transformers/Skywork/Skywork-Reward-V2-Qwen3-0.6B', 'local//models/reward.gguf')
    """
    name = name.removeprefix("transformers/") if name.removeprefix("transformers/") in REWARD_MODELS else name
    return f"transformers/{REWARD_MODELS[name].hub}" if name in REWARD_MODELS else name
