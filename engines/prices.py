"""What calls of a model cost, by the price table that comes with LiteLLM."""

from ..errors import ModelError
from .model_string import IN_PROCESS, ModelString
from .models import get_lm


def price_of(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """US dollars for these tokens; 0 for a model in this process, None where no price is known.

    Raises:
        ModelError: what is no model string.
    """
    from dspy.clients.costs import estimate_cost
    from dspy.lm15 import Message, Response, TextPart, Usage

    parsed = ModelString.parse(model)
    if parsed.provider in IN_PROCESS:
        return 0.0
    try:
        pricing = get_lm(model).transport.pricing
    except ModelError:
        return None
    if pricing is None:
        return None
    response = Response(
        id=None,
        model=parsed.model,
        message=Message.assistant([TextPart("")]),
        finish_reason="stop",
        usage=Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens),
    )
    cost, _ = estimate_cost(response, provider=pricing, requested_model=parsed.model)
    return None if cost is None else float(cost)
