"""Hosted providers as LiteLLM writes them; DSPy's native route where there is one."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ModelError
from ..engine import Engine, register
from ..keys import address_of, strip_environment
from ..model_string import DEFAULT_MODEL, IN_PROCESS, ModelString, check_address
from ..pace import TIMEOUT
from .endpoint import native_engine

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

    def connect(self, model: ModelString, *, trusted: bool) -> "Transport":
        import dspy
        from dspy import lm15
        from dspy.clients.engines.litellm_engine import LiteLLMEngine

        from ..lm import Transport
        from ..timed_engine import TimedEngine

        strip_environment(model.provider)
        name = model.identity
        build: Callable[[float], object] = native_engine
        try:
            pricing = native_engine(TIMEOUT).resolve(name).provider
        except lm15.LM15Error:
            pricing, build = model.provider, lambda seconds: LiteLLMEngine(timeout=seconds)
            _check_litellm_knows(name)
        schema = bool(dspy.LM(name).supports_response_schema)
        return Transport(TimedEngine(build, TIMEOUT), wire_model=name, pricing=pricing, schema=schema)


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
