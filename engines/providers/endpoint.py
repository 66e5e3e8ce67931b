"""Any OpenAI-compatible server at an address: vLLM, llama.cpp, Ollama, a gateway."""

import os
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...errors import ModelError
from ..engine import Engine, register
from ..model_string import ModelString, default_endpoint
from ..weights import OnProgress

if TYPE_CHECKING:
    from dspy.clients.engines.lm15_engine import LM15Engine

    from ..lm import Transport

MAX_IN_FLIGHT = 32  # requests at once to one server; 429 answers lower it
CONNECT_TIMEOUT = 5.0  # seconds
TIMEOUT = 600.0  # seconds without a byte from the server


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
        key = os.environ.get(f"{model.provider.upper()}_API_KEY") if may_see_key else None
        engine, wire_model = openai_engine(model.endpoint, key), f"endpoint/{model.model}"
        return Transport(engine, wire_model=wire_model, pricing=None, schema=True, max_in_flight=MAX_IN_FLIGHT)

    def prepare(self, model: ModelString, progress: OnProgress) -> None:
        """Open a connection to the server, so that a wrong address is found before the first case."""
        assert model.endpoint
        address = urlsplit(model.endpoint)
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            socket.create_connection((str(address.hostname), port), timeout=CONNECT_TIMEOUT).close()
        except OSError as error:
            raise ModelError(
                f"model {model.identity!r}: nothing answers at {model.endpoint} ({error}). Start the server or fix "
                "the address."
            ) from None


def openai_engine(url: str, key: str | None) -> "LM15Engine":
    """DSPy's native engine for one OpenAI-compatible address, with this key alone."""
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
