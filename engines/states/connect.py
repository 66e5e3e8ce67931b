"""Which engine reads a model's hidden states: llama.cpp, torch or a server."""

from ...errors import DeclarationError
from ..model_string import ModelString
from .reader import ENGINES, EngineName, StateReader


def connect_reader(
    model: str, layer: int | None = None, engine: EngineName = "auto", *, trusted: bool = True
) -> StateReader:
    """The reader of a model's states, without store and budget: see `dicast.engines.states.kept.open_reader`.

    Args:
        layer: 1 to the depth of the model; None: the default layer.
        engine: "auto": llama.cpp for `local/` models, a server for models with an address.
        trusted: the user has named the model's address, so that the user's keys may be sent to it.

    Raises:
        ModelError: the model cannot be read by this engine, or has no such layer.
        DeclarationError: the engine is not installed.
    """
    parsed = ModelString.parse(model)
    if engine == "auto":
        engine = _engine_of(parsed)
    if engine == "llama.cpp":
        from .llama_cpp import LlamaReader

        return LlamaReader(parsed, layer)
    if engine == "server":
        from .embedding_server import ServerReader

        return ServerReader(parsed, layer, trusted=trusted)
    if engine == "transformers":
        from .transformers_reader import TransformersReader

        return TransformersReader(parsed, layer)
    raise DeclarationError(f"engine {engine!r}: there is no such reader of states. Use one of {', '.join(ENGINES)}.")


def _engine_of(model: ModelString) -> EngineName:
    if model.provider == "transformers":
        return "transformers"
    return "llama.cpp" if model.provider == "local" and model.endpoint is None else "server"
