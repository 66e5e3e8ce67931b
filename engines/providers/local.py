"""The embedded server: llama.cpp inside this process (xllamacpp), speaking the OpenAI protocol on loopback.

One server for each weights file; it starts at first use (1.5 s for 135M, 5 s for 1.5B) and ends with the process. Only
this process knows its key, so no other program or web page on the machine can use it.
"""

import atexit
import os
import secrets
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import DeclarationError, ModelError, install_hint
from ..engine import Engine, register
from ..gguf import control_tokens, model_shape
from ..model_string import ModelString
from ..pace import LOCAL_TIMEOUT
from ..quick_digest import quick_digest
from ..weights import OnProgress, find_weights, get_weights
from .endpoint import openai_engine

if TYPE_CHECKING:
    from ..lm import Transport

PROMPTS_MIB = (
    1024  # for the states of earlier prompts, whose prefixes need not be read again; llama.cpp's default is 8 GiB
)
# Reading on from the kept state of an earlier prompt rounds differently: enough to draw another answer.
WITH_SEED = {"cache_prompt": False}

_servers: dict[tuple[Path, bool], "LocalServer"] = {}
_lock = threading.Lock()


@register
class LocalEngine(Engine):
    """`local/NAME` of `dicast models list`, whose weights are fetched once, and `local/PATH.gguf`, a file of yours."""

    name = "local"
    summary = "llama.cpp in this process"
    example = "local/qwen2.5-coder-1.5b"
    workers = 2
    in_turn = True  # questions that start together read their common beginning twice

    def identity(self, model: ModelString) -> str:
        """Changes when the weights do."""
        if model.model.endswith(".gguf"):
            path = _file(model)
            try:
                return f"local/{path.name}-{path.stat().st_size}-{quick_digest(path)[:12]}"
            except OSError as error:
                raise ModelError(f"local/{model.model}: cannot be read ({error.strerror}).") from None
        return f"local/{model.model}-{find_weights(model.model).sha256[:12]}"

    def connect(self, model: ModelString, *, trusted: bool) -> "Transport":
        from ..lm import Transport

        path = weights_file(model)
        server = serve(path)
        engine, wire_model = openai_engine(server.url, server.key, LOCAL_TIMEOUT), f"endpoint/{model.model}"
        return Transport(
            engine,
            wire_model=wire_model,
            pricing=None,
            schema=True,
            max_in_flight=server.slots,
            special_tokens=control_tokens(path),
            with_seed=WITH_SEED,
        )

    def prepare(self, model: ModelString, progress: OnProgress) -> None:
        """Fetch the weights."""
        if not model.model.endswith(".gguf"):
            get_weights(model.model, progress=progress)


def weights_file(model: ModelString) -> Path:
    """The weights of a local model, fetched when they are not in the store yet.

    Raises:
        ModelError: no such model or file, or no source gave it.
    """
    return _file(model) if model.model.endswith(".gguf") else get_weights(model.model)


def _file(model: ModelString) -> Path:
    try:
        path = Path(model.model).expanduser()
        if path.is_file():
            return path
    except (OSError, RuntimeError, ValueError):  # no such user, a name that no file can have
        pass
    raise ModelError(f"local/{model.model}: there is no such file. Give the path of a .gguf file.")


@dataclass(frozen=True)
class LocalServer:
    """A running server: where it listens, its key, and how many requests it answers at once."""

    url: str
    key: str
    slots: int
    context: int  # tokens a request may hold, prompt and answer together
    handle: Any


def serve(weights: Path, *, states: bool = False) -> LocalServer:
    """The server of a weights file, started when it does not run yet.

    Settings: DICAST_LOCAL_SLOTS (default 4), DICAST_LOCAL_CONTEXT (tokens a request, default 4096),
    DICAST_LOCAL_THREADS (default: the cores of the machine).

    Args:
        states: a server that gives the state of each token of a prompt, one prompt at a time, and writes nothing.

    Raises:
        ModelError: the file is missing or is no GGUF file that llama.cpp can load.
        DeclarationError: xllamacpp is not installed.
    """
    with _lock:
        path = weights.resolve()
        if (path, states) not in _servers:
            _servers[path, states] = _start(path, states)
        return _servers[path, states]


def is_serving() -> bool:
    """Whether a server runs in this process."""
    return bool(_servers)


def client_of(server: LocalServer) -> Any:
    """An `httpx.Client` of the server's own address, without `/v1`, that sends its key."""
    return _client(server.url.removesuffix("/v1"), server.key)


@cache
def _client(url: str, key: str) -> Any:
    import httpx

    authorization = {"Authorization": f"Bearer {key}"}
    client = httpx.Client(base_url=url, headers=authorization, timeout=LOCAL_TIMEOUT, trust_env=False)
    atexit.register(client.close)
    return client


def most_tokens() -> int:
    """Tokens that a request may have: DICAST_LOCAL_CONTEXT, by default 4096."""
    return _setting("DICAST_LOCAL_CONTEXT", 4096)


def _start(path: Path, states: bool) -> LocalServer:
    try:
        import xllamacpp
    except ImportError:
        raise DeclarationError(f"local models need xllamacpp. {install_hint('local')}") from None
    if not path.is_file():
        raise ModelError(f"{path}: there is no such weights file. Run: dicast models list")
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ModelError(f"{path}: not a GGUF file (it begins with {magic!r}). Give a .gguf file.")
    slots, context = _setting("DICAST_LOCAL_SLOTS", 4), most_tokens()
    threads = _setting("DICAST_LOCAL_THREADS", os.cpu_count() or 1)
    key = secrets.token_urlsafe(24)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {path.name}  # what replies call it: without the folder, which is stored with them
    parameters.cache_ram_mib = PROMPTS_MIB
    if states:
        slots, context = 1, min(context, model_shape(path).context)
        parameters.embedding, parameters.cache_ram_mib = True, 0
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_NONE
        parameters.n_batch = parameters.n_ubatch = context  # llama.cpp gives states of prompts that are one batch
    parameters.n_parallel, parameters.n_ctx = slots, slots * context
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.api_keys = [key]
    parameters.verbosity = -1
    parameters.ui = False
    parameters.warmup = False
    try:
        handle = xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise ModelError(f"{path}: llama.cpp cannot load it ({error}). Is the file whole and supported?") from None
    return LocalServer(url=f"{handle.listening_address}/v1", key=key, slots=slots, context=context, handle=handle)


def _setting(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    if not value.isdigit() or int(value) < 1:
        raise DeclarationError(f"{name}: must be a whole number from 1, got {value!r}.")
    return int(value)
