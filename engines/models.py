"""Model strings, the LMs that they name, and which LM answers which stage of a judge.

    local/qwen2.5-coder-1.5b           embedded llama.cpp, weights from the catalogue
    local//path/to/model.gguf          embedded llama.cpp, a file of yours
    openai/gpt-4o-mini                 a provider as LiteLLM writes it; DSPy's native route where there is one
    openai/NAME@http://127.0.0.1:8000/v1   any OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...)

Keys come from the providers' own environment variables (OPENAI_API_KEY, ...) or a `.env` file; they are never stored.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..errors import ModelError
from .engine import Engine, OnProgress, engine_of
from .weights import CATALOG, DEFAULT

if TYPE_CHECKING:
    from .lm import MeteredLM

# Must be set before DSPy is first imported: without it the first use fetches price metadata over the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

DEFAULT_MODEL = f"local/{DEFAULT}"
# Providers with a base-URL variable for an OpenAI-compatible endpoint, and their default address.
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
            ModelError: no provider, no model, a URL that is not http(s), or a URL that holds a key.
        """
        model, _, endpoint = text.strip().partition("@http")
        provider, slash, name = model.replace(":/", "/", 1).partition("/")
        if not slash or not provider or not name:
            hint = f"Did you mean local/{text}?" if text in CATALOG else f"Write provider/model, as in {DEFAULT_MODEL}."
            raise ModelError(f"model {text!r}: a model string has a provider and a name. {hint}")
        if "@" in name and provider in OPENAI_COMPATIBLE:
            raise ModelError(f"model {text!r}: what follows @ is no address. Write it whole, as in @http://HOST/v1.")
        url = f"http{endpoint}".rstrip("/") if endpoint else default_endpoint(provider)
        if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
            raise ModelError(f"model {text!r}: {url!r} is not an http(s) address.")
        if url and (urlsplit(url).username is not None or urlsplit(url).query):
            raise ModelError(
                f"model {model!r}: its address holds a user, a key or a query. Put the key in "
                f"{provider.upper()}_API_KEY instead."
            )
        return cls(provider, name, url)


def default_endpoint(provider: str) -> str | None:
    """The address that the environment, or the provider's custom, gives; None for a provider without one."""
    if provider not in OPENAI_COMPATIBLE:
        return None
    prefix = provider.upper()
    url = os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL") or OPENAI_COMPATIBLE[provider]
    return url.rstrip("/") if url else None


_lms: "dict[tuple[str, bool, bool], MeteredLM]" = {}
_lock = threading.Lock()


def get_lm(text: str, *, cache: bool = True, trusted: bool = True) -> "MeteredLM":
    """The LM of a model string; the same object for the same string, so that equal calls are made once.

    Args:
        trusted: the user has named its address. An address from a judge file gets no key, unless the environment names
            it as well (OPENAI_API_BASE, ...): else the author of a judge file could have the user's keys sent away.

    Raises:
        ModelError: an unknown model, a missing key or a weights file that cannot be used.
    """
    parsed = ModelString.parse(text)
    with _lock:
        key = (parsed.identity, cache, trusted)
        if key not in _lms:
            from .lm import MeteredLM

            engine = engine_of(parsed)
            identity = engine.identity(parsed)
            _lms[key] = MeteredLM(identity, engine.connect(parsed, trusted=trusted), cache=cache)
        return _lms[key]


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


def prepare(text: str, progress: OnProgress) -> None:
    """Make a model ready before the first case: fetch local weights, connect to the server, build the LM.

    Raises:
        ModelError: the weights cannot be fetched, or nothing listens at the endpoint.
    """
    parsed = ModelString.parse(text)
    engine_of(parsed).prepare(parsed, progress)
    get_lm(text)


def default_workers(models: Iterable[str]) -> int:
    """Cases judged at once by default: a local model is limited by the processor, a server by the network."""
    return min((engine_of(ModelString.parse(model)).workers for model in models if model), default=Engine.workers)
