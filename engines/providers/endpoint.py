"""Any OpenAI-compatible server at an address: vLLM, llama.cpp, Ollama, a gateway."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..connection import check_connection
from ..engine import Engine, register
from ..keys import key_of
from ..model_string import ModelString, default_endpoint
from ..pace import TIMEOUT
from ..weights import OnProgress
from .litellm_route import litellm_transport

if TYPE_CHECKING:
    from dspy.clients.engines.lm15_engine import LM15Engine

    from ..lm import Transport
    from ..timed_engine import TimedEngine

CONNECT_TIMEOUT = 10.0  # seconds
CONNECTIONS = 2048  # more than are ever in flight


@register
class EndpointEngine(Engine):
    """Model strings with an address, and providers whose address the environment names (OPENAI_BASE_URL, ...)."""

    name = "endpoint"
    summary = "an OpenAI-compatible server"
    example = "openai/NAME@http://127.0.0.1:8000/v1"

    def matches(self, model: ModelString) -> bool:
        return model.endpoint is not None

    def connect(self, model: ModelString, *, trusted: bool) -> "Transport":
        from ..lm import Transport

        assert model.endpoint
        may_see_key = trusted or model.endpoint == default_endpoint(model.provider)
        key = key_of(model.provider) if may_see_key else None
        headers = model.options.header_values() if may_see_key else {}
        if model.options.api_version:
            return litellm_transport(model, key=key, headers=headers)
        engine, wire_model = openai_engine(model.endpoint, key, headers=headers), f"endpoint/{model.model}"
        return Transport(engine, wire_model=wire_model, pricing=None, schema=True)

    def prepare(self, model: ModelString, progress: OnProgress) -> None:
        """Open a connection to the server, so that a wrong address is found before the first case."""
        assert model.endpoint
        check_connection(model.identity, model.endpoint)


def openai_engine(
    url: str, key: str | None, timeout: float = TIMEOUT, headers: Mapping[str, str] | None = None
) -> "TimedEngine":
    """DSPy's native engine for one OpenAI-compatible address, with this key alone.

    Args:
        timeout: seconds until the first byte of an answer, where the run does not say.
        headers: of every request, beside those of HTTP and the key's.
    """
    from dspy import lm15

    from ..timed_engine import TimedEngine

    definition = lm15.ProviderDefinition.chat(
        lm15.AccessPolicy(
            provider="endpoint",
            supports=lm15.EndpointSupport(complete=True, stream=True),
            auth_modes=("bearer",),
            base_url=url,
            headers=tuple((headers or {}).items()),
        ),
        compat=lm15.OpenAIChatCompat(
            instruction_role="system",
            max_tokens_field="max_tokens",
            json_schema="send",
            thinking_format="reasoning_effort",
        ),
        placeholder_key="none",
    )
    keys = {"endpoint": key} if key else None
    return TimedEngine(lambda seconds: native_engine(seconds, providers=(definition,), api_keys=keys), timeout)


def native_engine(timeout: float, **options: Any) -> "LM15Engine":
    """DSPy's native engine, which waits so many seconds for a byte.

    Args:
        options: of lm15's `RouterConfig`.
    """
    from dspy import lm15
    from dspy.clients.engines.lm15_engine import LM15Engine

    waits = lm15.Timeouts(connect=min(timeout, CONNECT_TIMEOUT), read=timeout, write=timeout, pool=timeout)
    return LM15Engine(lm15.RouterConfig(timeouts=waits, max_connections=CONNECTIONS, **options))
