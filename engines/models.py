"""Model strings to LMs, and which stage of a judge is answered by which LM.

    local/qwen2.5-coder-1.5b           embedded llama.cpp, weights from the catalogue
    local//path/to/model.gguf          embedded llama.cpp, a file of yours
    openai/gpt-4o-mini                 a provider as LiteLLM writes it; DSPy's native route where there is one
    openai/NAME@http://127.0.0.1:8000/v1   any OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...)

Keys come from the providers' own environment variables (OPENAI_API_KEY, ...) or a `.env` file; they are never stored.
"""

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..errors import ModelError
from .weights import CATALOG, DEFAULT, Progress, find_weights, get_weights

if TYPE_CHECKING:
    from dspy.clients.engines.lm15_engine import LM15Engine

    from .lm import MeteredLM, Transport

# Must be set before DSPy is first imported: without it the first use fetches price metadata over the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

DEFAULT_MODEL = f"local/{DEFAULT}"
ENDPOINT_IN_FLIGHT = 32  # requests at once to one server; 429 answers lower it
CONNECT_TIMEOUT = 5.0  # seconds
TIMEOUT = 600.0  # seconds without a byte from the server
# Providers that a base-URL variable turns into an OpenAI-compatible endpoint, with the address they have by default.
OPENAI_COMPATIBLE: Mapping[str, str | None] = {
    "openai": None,
    "ollama": "http://127.0.0.1:11434/v1",
    "hosted_vllm": "http://127.0.0.1:8000/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}


@dataclass(frozen=True)
class ModelString:
    """A parsed model string; `identity` names model, weights and endpoint, and never a key."""

    provider: str
    model: str
    endpoint: str | None = None

    @property
    def identity(self) -> str:
        return f"{self.provider}/{self.model}" + (f"@{self.endpoint}" if self.endpoint else "")

    @classmethod
    def parse(cls, text: str) -> "ModelString":
        """Parse `provider/model[@url]`; MLflow's `provider:/model` is taken too.

        Raises:
            ModelError: no provider, no model, a URL that is not http(s), or one that holds a key.
        """
        model, _, endpoint = text.strip().partition("@http")
        provider, slash, name = model.replace(":/", "/", 1).partition("/")
        if not slash or not provider or not name:
            hint = f"Did you mean local/{text}?" if text in CATALOG else f"Write provider/model, as in {DEFAULT_MODEL}."
            raise ModelError(f"model {text!r}: a model string has a provider and a name. {hint}")
        if "@" in name and provider in OPENAI_COMPATIBLE:
            raise ModelError(f"model {text!r}: what follows @ is no address. Write it whole, as in @http://HOST/v1.")
        url = f"http{endpoint}".rstrip("/") if endpoint else _default_endpoint(provider)
        if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
            raise ModelError(f"model {text!r}: {url!r} is not an http(s) address.")
        if url and (urlsplit(url).username is not None or urlsplit(url).query):
            raise ModelError(
                f"model {model!r}: its address holds a user, a key or a query. Put the key in "
                f"{provider.upper()}_API_KEY instead."
            )
        return cls(provider, name, url)


def _default_endpoint(provider: str) -> str | None:
    if provider not in OPENAI_COMPATIBLE:
        return None
    prefix = provider.upper()
    url = os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL") or OPENAI_COMPATIBLE[provider]
    return url.rstrip("/") if url else None


_lms: "dict[tuple[str, bool, bool], MeteredLM]" = {}
_lock = threading.Lock()


def get_lm(text: str, *, cache: bool = True, trusted: bool = True) -> "MeteredLM":
    """The LM of a model string; the same object for the same string, so that equal calls meet.

    Args:
        trusted: the user has named its address. One that a judge file names gets no key, unless the environment names
            it as well (OPENAI_API_BASE, ...), or whoever wrote the file could have the user's keys sent to himself.

    Raises:
        ModelError: an unknown model, a missing key or a weights file that cannot be used.
    """
    parsed = ModelString.parse(text)
    with _lock:
        key = (parsed.identity, cache, trusted)
        if key not in _lms:
            _lms[key] = _build(parsed, cache, trusted)
        return _lms[key]


def _build(parsed: ModelString, cache: bool, trusted: bool) -> "MeteredLM":
    from .lm import MeteredLM, Transport

    if parsed.provider == "local":
        from .local import serve

        path, identity = _local_weights(parsed.model)
        server = serve(path)
        transport = Transport(
            _endpoint_engine(server.url, server.key),
            wire_model=f"endpoint/{parsed.model}",
            pricing=None,
            schema=True,
            most=server.slots,
        )
        return MeteredLM(identity, transport, cache=cache)
    if parsed.endpoint:
        known = trusted or parsed.endpoint == _default_endpoint(parsed.provider)
        key = os.environ.get(f"{parsed.provider.upper()}_API_KEY") if known else None
        transport = Transport(
            _endpoint_engine(parsed.endpoint, key),
            wire_model=f"endpoint/{parsed.model}",
            pricing=None,
            schema=True,
            most=ENDPOINT_IN_FLIGHT,
        )
        return MeteredLM(parsed.identity, transport, cache=cache)
    return MeteredLM(parsed.identity, _provider_transport(parsed), cache=cache)


def _local_weights(name: str) -> tuple[Path, str]:
    """The weights file of `local/NAME` or `local/PATH.gguf`, and an identity that changes when the bytes do."""
    if name.endswith(".gguf"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ModelError(f"local/{name}: there is no such file. Give the path of a .gguf file.")
        status = path.stat()
        return path, f"local/{path.name}-{status.st_size}-{status.st_mtime_ns}"
    weights = find_weights(name)
    return get_weights(name), f"local/{name}-{weights.sha256[:12]}"


def _endpoint_engine(url: str, key: str | None) -> "LM15Engine":
    """DSPy's native engine on one OpenAI-compatible address, private to this LM."""
    from dspy import lm15
    from dspy.clients.engines.lm15_engine import LM15Engine

    definition = lm15.ProviderDefinition.chat(
        lm15.AccessPolicy(
            provider="endpoint",
            supports=lm15.EndpointSupport(complete=True, stream=True),
            auth_modes=("bearer",),
            base_url=url,
        ),
        compat=lm15.OpenAIChatCompat(instruction_role="system", max_tokens_field="max_tokens", json_schema="send"),
        placeholder_key="none",
    )
    config = lm15.RouterConfig(
        providers=(definition,),
        api_keys={"endpoint": key} if key else None,
        timeouts=lm15.Timeouts(read=TIMEOUT, write=TIMEOUT, pool=TIMEOUT),
    )
    return LM15Engine(config)


def _provider_transport(parsed: ModelString) -> "Transport":
    import dspy
    from dspy import lm15
    from dspy.clients.engines.litellm_engine import LiteLLMEngine
    from dspy.clients.engines.lm15_engine import LM15Engine

    from .lm import Transport

    model = parsed.identity
    native = LM15Engine(lm15.RouterConfig(timeouts=lm15.Timeouts(read=TIMEOUT, write=TIMEOUT, pool=TIMEOUT)))
    engine: object
    try:
        pricing = native.resolve(model).provider
        engine = native
    except lm15.LM15Error:
        pricing = parsed.provider
        engine = LiteLLMEngine(timeout=TIMEOUT)
        _check_litellm_knows(model)
    schema = bool(dspy.LM(model).supports_response_schema)
    return Transport(engine, wire_model=model, pricing=pricing, schema=schema, most=ENDPOINT_IN_FLIGHT)


def _check_litellm_knows(model: str) -> None:
    import litellm

    litellm.suppress_debug_info = True  # it prints advice to standard output otherwise
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError:
        raise ModelError(
            f"model {model!r}: the provider {model.split('/')[0]!r} is not known. Write provider/model as LiteLLM "
            f"does, {DEFAULT_MODEL}, or openai/NAME@http://HOST/v1 for a server of yours."
        ) from None


class Roles(Mapping[str, str]):
    """Which model string answers which stage: `judge=...,criteria=...`; a lone string answers all of them.

    Example:
        >>> roles = Roles.parse("local/qwen2.5-coder-1.5b,criteria=openai/gpt-4o-mini")
        >>> roles["criteria"], roles["judgment"]
        ('openai/gpt-4o-mini', 'local/qwen2.5-coder-1.5b')
    """

    def __init__(self, models: Mapping[str, str]) -> None:
        self._models = dict(models)

    @classmethod
    def parse(cls, text: str) -> "Roles":
        """Raises ModelError for an empty entry or a role given twice."""
        models: dict[str, str] = {}
        for part in text.split(","):
            role, equals, model = part.strip().partition("=")
            if not equals:
                role, model = "judge", part.strip()
            if not role or not model:
                raise ModelError(f"--lm {text!r}: {part!r} names no model. Write role=provider/model,... or one model.")
            if role in models:
                raise ModelError(f"--lm {text!r}: the role {role!r} is given twice.")
            ModelString.parse(model)
            models[role] = model
        return cls(models)

    def __getitem__(self, role: str) -> str:
        return self._models.get(role) or self._models.get("judge") or DEFAULT_MODEL

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def __str__(self) -> str:
        if list(self._models) == ["judge"]:
            return self._models["judge"]
        return ",".join(f"{role}={model}" for role, model in self._models.items()) or DEFAULT_MODEL


def prepare(text: str, progress: Progress) -> None:
    """Make a model ready before the first case: fetch local weights, knock at a server's door, build the LM.

    Raises:
        ModelError: the weights cannot be had, or nothing listens at the endpoint.
    """
    parsed = ModelString.parse(text)
    if parsed.provider == "local" and not parsed.model.endswith(".gguf"):
        get_weights(parsed.model, progress=progress)
    elif parsed.endpoint:
        address = urlsplit(parsed.endpoint)
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            socket.create_connection((str(address.hostname), port), timeout=CONNECT_TIMEOUT).close()
        except OSError as error:
            raise ModelError(
                f"model {text!r}: nothing answers at {parsed.endpoint} ({error}). Start the server or mend the address."
            ) from None
    get_lm(text)
