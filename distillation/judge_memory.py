"""The bytes of weights that a judge's models take on this machine, by the size of their files."""

from pathlib import Path

from ..engines.model_string import IN_PROCESS, ModelString
from ..engines.torch_models.weights import find_torch_weights
from ..engines.weights import CATALOG
from ..errors import DicastError
from ..judging import Judge
from ..parsing import read_object

ADAPTER, BASE_FIELD = "adapter_config.json", "base_model_name_or_path"


def judge_memory(judge: Judge) -> int | None:
    """The sum over the models in this process, each once; None for a judge that only asks servers, or nothing."""
    sizes = [size for model in models_in_process(judge) if (size := weights_size(model)) is not None]
    return sum(sizes) if sizes else None


def models_in_process(judge: Judge) -> list[str]:
    """The model strings of stages and evidence that run in this process, each once."""
    sources = [source.item.model for source in judge.sources()]
    models = [*(stage.model for stage in judge.stages()), *sources]
    return [model for model in dict.fromkeys(models) if model and ModelString.parse(model).provider in IN_PROCESS]


def weights_size(model: str) -> int | None:
    """The bytes of the files of a local model, with the base of an adapter; None where they are not at hand."""
    parsed = ModelString.parse(model)
    name = parsed.model
    if name in CATALOG and parsed.provider == "transformers":
        return _dequantised(name)
    if name in CATALOG:
        return CATALOG[name].size
    path = Path(name).expanduser()
    if path.is_file():
        return path.stat().st_size
    files = sum(file.stat().st_size for file in path.glob("*.safetensors")) if path.is_dir() else 0
    if (path / ADAPTER).is_file():
        try:
            base = read_object(path / ADAPTER, error=DicastError).get(BASE_FIELD)
        except DicastError:
            base = None
        return files + (weights_size(f"transformers/{base}") or 0) if base else files or None
    return files or None


def _dequantised(name: str) -> int | None:
    """The bytes of a catalogue's model as torch runs it, in bf16; None where it is not on this machine."""
    try:
        folder = find_torch_weights(name).folder()
    except DicastError:
        return None
    return sum(file.stat().st_size for file in folder.glob("*.safetensors")) or None
