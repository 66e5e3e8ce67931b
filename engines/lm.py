"""The LM that judges call: a `dspy.LM` with metered and rate-limited calls; equal calls in flight are made once.

`Transport` is a DSPy engine (`complete(Request) -> Response`) around a native lm15 or LiteLLM engine. It bounds the
time of a call, asks again after failures that pass, charges usage to the context's ledger and adapts concurrency; DSPy
has the cache. The LM's model id
includes the endpoint, because DSPy's cache key does not hold `api_base`.
"""

import dataclasses
import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import dspy
from dspy.clients.costs import estimate_cost
from dspy.lm15 import ProviderError, RateLimitError, Request, Response, ServerError

from ..data import Usage
from .ledger import charge, current_deadline
from .limiter import Limiter
from .pace import TIMEOUT, current_pace
from .retries import ATTEMPTS, NoAnswerInTime, with_retries
from .timed_engine import TimedEngine


class Transport:
    """A metered DSPy engine around another one.

    Args:
        inner: an engine with `complete(Request) -> Response`.
        wire_model: the model string that `inner` expects.
        pricing: the provider whose price list applies; None when calls cost nothing or have no known price.
        schema: the server enforces a JSON schema (`response_format`).
        max_in_flight: most requests in flight at a time; None: as many as the run allows (`--in-flight`).
        timeout: seconds until the first byte of an answer where the run says none (`--timeout`); an engine that is
            no `TimedEngine` is left at twice this time.
        attempts: requests for one answer at most.
    """

    def __init__(
        self,
        inner: Any,
        *,
        wire_model: str,
        pricing: str | None,
        schema: bool,
        max_in_flight: int | None = None,
        timeout: float = TIMEOUT,
        attempts: int = ATTEMPTS,
    ) -> None:
        self.inner, self.wire_model, self.pricing = inner, wire_model, pricing
        self.limiter, self._most_attempts = Limiter(max_in_flight), attempts
        self._timed = (
            inner if isinstance(inner, TimedEngine) else TimedEngine(lambda seconds: inner, timeout, renew=False)
        )
        self.supports_response_schema = schema
        self.supported_params = {"temperature", "max_tokens", "top_p", "logprobs", "top_logprobs"}
        if schema:
            self.supported_params.add("response_format")
        self._attempts = threading.local()

    @property
    def attempts(self) -> int:
        """Requests sent so far by the calling thread."""
        return getattr(self._attempts, "count", 0)

    def complete(self, request: Request) -> Response:
        wire = _with_model(request, self.wire_model)
        response, seconds = with_retries(lambda: self._attempt(wire, request.model), self._most_attempts)
        charge(self._usage(response, wire, seconds))
        return response

    def _attempt(self, wire: Request, model: str) -> tuple[Response, float]:
        """The answer to one request, and the seconds that it took."""
        pace = current_pace()
        self.limiter.allow(pace.in_flight)
        with self.limiter.slot(current_deadline()) as has_slot:
            if not has_slot:
                raise NoAnswerInTime("the minutes of the budget are used up.")
            self._attempts.count = self.attempts + 1
            started = time.perf_counter()
            try:
                with pace.requests.sent(model, pace.timeout or self._timed.timeout):
                    response = self._timed.complete(wire)
            except RateLimitError:
                self.limiter.refused()
                raise
            except ProviderError as error:
                if type(error) is ProviderError and error.status == 200:
                    raise ServerError(error.message) from error  # a broken reply, such as a gateway's: retried
                raise
            self.limiter.answered()
        return response, time.perf_counter() - started

    def _usage(self, response: Response, request: Request, seconds: float) -> Usage:
        cost = None
        if self.pricing is not None:
            cost, _ = estimate_cost(
                response, provider=self.pricing, requested_model=_bare(self.wire_model), request=request
            )
        return Usage(
            calls=1,
            prompt_tokens=response.usage.input_tokens or 0,
            completion_tokens=response.usage.output_tokens or 0,
            cost=cost,
            seconds=seconds,
        )

    def close(self) -> None:
        self._timed.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # DSPy's optimizers deep-copy programs; a connection is shared, never copied


class MeteredLM(dspy.LM):
    """A `dspy.LM` on a Transport: equal calls in flight are made once, cache hits are counted as such."""

    def __init__(self, identity: str, transport: Transport, *, cache: bool = True) -> None:
        super().__init__(identity, engine=transport, cache=cache, num_retries=0)  # the transport asks again
        self.transport = transport
        self._flights: dict[str, threading.Event] = {}
        self._flights_lock = threading.Lock()

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        with self._only_one_in_flight((prompt, messages, kwargs)):
            before = self.transport.attempts
            result = super().__call__(prompt, messages=messages, **kwargs)
            if self.transport.attempts == before:
                charge(_cached(result))
            return result

    @contextmanager
    def _only_one_in_flight(self, call: object) -> Iterator[None]:
        """Wait while an equal call is under way; its answer is then in the cache."""
        if not self.cache:
            yield
            return
        key = hashlib.sha256(repr(call).encode("utf-8", "replace")).hexdigest()
        while True:
            with self._flights_lock:
                landed = self._flights.get(key)
                if landed is None:
                    landed = self._flights[key] = threading.Event()
                    break
            landed.wait()
        try:
            yield
        finally:
            with self._flights_lock:
                del self._flights[key]
            landed.set()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _cached(answer: Any) -> Usage:
    """The usage of an answer from the cache; DSPy stores tokens only with answers to a whole `Request`."""
    usage = answer.usage if isinstance(answer, Response) else None
    if usage is None or usage.input_tokens is None:
        return Usage(cached=1)
    return Usage(cached=1, counted=1, cached_tokens=usage.input_tokens + (usage.output_tokens or 0))


def _with_model(request: Request, model: str) -> Request:
    return dataclasses.replace(request, model=model)


def _bare(model: str) -> str:
    return model.split("/", 1)[-1]
