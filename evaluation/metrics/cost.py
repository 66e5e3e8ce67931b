"""Cost per case: LM calls, tokens, model seconds and US dollars."""

from collections.abc import Iterator

from ...data import Usage
from ..measure_factories import point_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import RunArrays


@register("cost", "calls", "tokens", "seconds", "dollars")
def cost(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Nothing for verdicts without a model, or of other tools."""
    usage, n = run.usage, run.cases
    if usage == Usage():
        return
    yield point_measure("calls", usage.calls / n, n, "LM calls per case, without those that the cache answered")
    tokens = usage.prompt_tokens + usage.completion_tokens
    yield point_measure("tokens", tokens / n, n, "tokens per case, prompt and completion")
    yield point_measure("seconds", usage.seconds / n, n, "model seconds per case, summed over calls")
    if usage.cost is not None:
        yield point_measure("dollars", usage.cost / n, n, "US dollars per case")
