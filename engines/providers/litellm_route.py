"""The route through LiteLLM, for what DSPy's native one does not carry: its other providers, headers, API versions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..model_string import DEFAULT_MODEL, ModelString
from ..pace import TIMEOUT

if TYPE_CHECKING:
    from ..lm import Transport

VERSIONED = ("azure", "azure_ai")  # providers whose addresses take an API version


def litellm_transport(
    model: ModelString, *, key: str | None = None, headers: Mapping[str, str] | None = None
) -> "Transport":
    """The transport of a model that LiteLLM reaches.

    Args:
        model: with its address, if it has one.
        key: for the address; None: LiteLLM reads the provider's variables.
        headers: of every request.

    Raises:
        ModelError: LiteLLM knows no such provider, or the provider has no API versions.
    """
    import dspy
    from dspy.clients.engines.litellm_engine import LiteLLMEngine

    from ..lm import Transport
    from ..timed_engine import TimedEngine

    name = f"{model.provider}/{model.model}"
    check_litellm_knows(name)
    client: dict[str, Any] = {"extra_headers": dict(headers)} if headers else {}
    if version := model.options.api_version:
        if model.provider not in VERSIONED:
            raise ModelError(f"model {name!r}: api_version is an option of {VERSIONED[0]}/ models. Leave it out.")
        client |= {"api_version": version}
    if model.endpoint:
        client |= {"api_base": model.endpoint, "api_key": key or "none"}
    engine = TimedEngine(lambda seconds: LiteLLMEngine(timeout=seconds, **client), TIMEOUT)
    schema = bool(dspy.LM(name).supports_response_schema)
    return Transport(engine, wire_model=name, pricing=None if model.endpoint else model.provider, schema=schema)


def check_litellm_knows(model: str) -> None:
    """Raises ModelError for a provider that LiteLLM does not know."""
    import litellm

    litellm.suppress_debug_info = True  # it prints advice to standard output otherwise
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError:
        raise ModelError(
            f"model {model!r}: the provider {model.split('/')[0]!r} is not known. Write provider/model as LiteLLM "
            f"does, {DEFAULT_MODEL}, or openai/NAME@http://HOST/v1 for a server of yours."
        ) from None
