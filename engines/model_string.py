"""Model strings: they name a model and where it is, and never hold a key.

    local/qwen2.5-coder-1.5b           embedded llama.cpp, weights from the catalogue
    local//path/to/model.gguf          embedded llama.cpp, a file of yours
    transformers/qwen2.5-coder-1.5b    torch in this process; also a .gguf file, a folder, OWNER/NAME of the hub
    openai/gpt-4o-mini                 a provider as LiteLLM writes it; DSPy's native route where there is one
    openai/NAME@http://127.0.0.1:8000/v1   any OpenAI-compatible server (vLLM, llama.cpp, Ollama, ...)

Options follow, as in `openai/gpt-5-mini,reasoning=low,timeout=600`: see `model_options`.

Keys come from the providers' own environment variables (OPENAI_API_KEY, ...) or a `.env` file; they are never stored.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from ..errors import ModelError
from .keys import address_of, prefix_of
from .model_options import ModelOptions, is_option, read_options
from .weights import CATALOG, DEFAULT

DEFAULT_MODEL = f"local/{DEFAULT}"
IN_PROCESS = frozenset({"local", "transformers"})  # providers whose models run in this process: texts stay in it
# Providers with a base-URL variable for an OpenAI-compatible endpoint, and their default address.
OPENAI_COMPATIBLE: Mapping[str, str | None] = {
    "openai": None,
    "ollama": "http://127.0.0.1:11434/v1",
    "hosted_vllm": "http://127.0.0.1:8000/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}
UNADDRESSABLE = re.compile(r'[\s<>"\\^`{|}]')
SECRET = re.compile(
    r"@https?://(?:[^/\s,]*@|[^\s,]*[?#])", re.IGNORECASE
)  # an address with a user, a query, a fragment
MLFLOW = re.compile(r"^([^/:]+):/")
EXAMPLE = f"Write provider/model, as in {DEFAULT_MODEL}."


@dataclass(frozen=True)
class ModelString:
    """A parsed model string; `identity` names model, weights, endpoint and the options that change answers, and never a
    key."""

    provider: str
    model: str
    endpoint: str | None = None
    options: ModelOptions = field(default_factory=ModelOptions)

    @property
    def identity(self) -> str:
        return self.address + self.options.text

    @property
    def address(self) -> str:
        """Model and endpoint, without options."""
        return f"{self.provider}/{self.model}" + (f"@{self.endpoint}" if self.endpoint else "")

    @property
    def without_options(self) -> "ModelString":
        """Without options."""
        return replace(self, options=ModelOptions())

    @classmethod
    def parse(cls, text: str) -> "ModelString":
        """Parse `provider/model[@url][,option=value...]`; MLflow's `provider:/model` is taken too.

        Raises:
            ModelError: no provider, no model, a URL that is not http(s), a URL that holds a key, or a wrong option.
        """
        refuse_secret(text)
        text, *parts = _named(text)
        if not text.strip().isprintable():
            raise ModelError(f"model {text!r}: holds a character that no model name has. {EXAMPLE}")
        model, _, endpoint = text.strip().partition("@http")
        provider, slash, name = MLFLOW.sub(r"\1/", model).partition("/")
        if not slash or not provider or not name or ":" in provider:
            hint = f"Did you mean local/{text}?" if text in CATALOG else EXAMPLE
            raise ModelError(f"model {text!r}: a model string has a provider and a name. {hint}")
        if "@" in name and provider in OPENAI_COMPATIBLE:
            raise ModelError(
                f"model {text!r}: the part after @ is not an address. Write it in full, as in @http://HOST/v1."
            )
        url = f"http{endpoint}".rstrip("/") if endpoint else default_endpoint(provider)
        options = read_options(parts, model)
        return cls(provider, name, check_address(url, model, provider) if url else None, options)


def _named(text: str) -> list[str]:
    """The model string without options, and what follows it; a comma that begins no `name=value` is of the name."""
    parts = text.split(",")
    first = next((at for at, part in enumerate(parts) if at and "=" in part), len(parts))
    return [",".join(parts[:first]), *parts[first:]]


def entries(text: str) -> list[str]:
    """The entries of a list of models, each with the options behind it.

    Example:
        >>> entries("judge=openai/gpt-5,reasoning=low,criteria=local/qwen2.5-coder-1.5b")
        ['judge=openai/gpt-5,reasoning=low', 'criteria=local/qwen2.5-coder-1.5b']
    """
    listed: list[str] = []
    for part in text.split(","):
        if listed and is_option(part):
            listed[-1] += f",{part.strip()}"
        else:
            listed.append(part)
    return listed


def refuse_secret(text: str) -> None:
    """Raises ModelError for model strings of which an address holds a user or a query; no part of these is repeated."""
    if match := SECRET.search(text):
        model = text[: match.start()].rpartition(",")[2].strip()
        raise _secret(model.rpartition("=")[2])


def _secret(model: str, provider: str = "") -> ModelError:
    provider = provider or model.partition("/")[0]
    return ModelError(
        f"model {model!r}: its address holds a user, a key or a query. Put the key in {prefix_of(provider)}_API_KEY "
        "instead."
    )


def default_endpoint(provider: str) -> str | None:
    """The address that the environment, or the provider's convention, gives; None for a provider without one."""
    if provider not in OPENAI_COMPATIBLE:
        return None
    return address_of(provider) or OPENAI_COMPATIBLE[provider]


def check_address(url: str, model: str, provider: str) -> str:
    """The address, when it is an http(s) one without a user, a key or a query.

    Args:
        model: what messages call the model, without its address.

    Raises:
        ModelError: it is not; a part that may be a key is not repeated.
    """
    try:
        parts = urlsplit(url)
        secret = parts.username is not None or bool(parts.query or parts.fragment)
        valid = parts.scheme in ("http", "https") and parts.port != 0 and not UNADDRESSABLE.search(url)
        valid = valid and bool(parts.hostname and (parts.hostname.encode("idna") or ":" in parts.hostname))
    except ValueError:  # a bracket without its end, a port that is no number, an empty label
        secret, valid = any(mark in url for mark in "@?#"), False
    if secret:
        raise _secret(model, provider)
    if not valid:
        raise ModelError(f"model {model!r}: {url!r} is not an http(s) address. Write http://HOST:PORT/v1.")
    return url
