"""Hosted providers as LiteLLM writes them; DSPy's native route where there is one."""

from typing import TYPE_CHECKING

from ...errors import ModelError
from ..engine import Engine, register
from ..keys import address_of, missing_key, strip_environment, variable
from ..model_string import IN_PROCESS, ModelString, check_address
from ..pace import TIMEOUT
from ..weights import OnProgress
from .endpoint import native_engine
from .litellm_route import litellm_transport

if TYPE_CHECKING:
    from ..lm import Transport


@register
class HostedEngine(Engine):
    """Every model string without an address that no engine of this process serves.

    Keys come from the provider's environment variable.
    """

    name = "hosted"
    summary = "a provider that LiteLLM knows"
    example = "openai/gpt-4o-mini"

    def matches(self, model: ModelString) -> bool:
        return model.endpoint is None and model.provider not in IN_PROCESS

    def identity(self, model: ModelString) -> str:
        """Names the address too where the environment moves the provider's."""
        address = address_of(model.provider)
        if address is None:
            return model.identity
        return f"{model.identity}@{check_address(address, model.identity, model.provider)}"

    def prepare(self, model: ModelString, progress: OnProgress) -> None:
        """Refuse a provider of DSPy's native route whose key is missing; LiteLLM refuses its own at the first call."""
        from dspy import lm15

        try:
            route = native_engine(TIMEOUT).resolve(model.address)
        except lm15.LM15Error:
            return
        if route.env_key and not route.placeholder_key and not model.options.headers and not variable(route.env_key):
            raise ModelError(missing_key(model.identity, [route.env_key]))

    def connect(self, model: ModelString, *, trusted: bool) -> "Transport":
        import dspy
        from dspy import lm15

        from ..lm import Transport
        from ..timed_engine import TimedEngine

        strip_environment(model.provider)
        name, options = model.address, model.options
        headers = options.header_values() if trusted else {}
        try:
            pricing = native_engine(TIMEOUT).resolve(name).provider
        except lm15.LM15Error:
            return litellm_transport(model, headers=headers)
        if headers or options.api_version:
            return litellm_transport(model, headers=headers)
        schema = bool(dspy.LM(name).supports_response_schema)
        return Transport(TimedEngine(native_engine, TIMEOUT), wire_model=name, pricing=pricing, schema=schema)
