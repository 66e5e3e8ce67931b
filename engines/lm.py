"""The LM that judges call: a `dspy.LM` with metered and rate-limited calls, whose answers are kept.

`Transport` is a DSPy engine (`complete(Request) -> Response`) around a native lm15 or LiteLLM engine. It looks a
request up in the answer store, bounds the time of a call, asks again after failures that pass, checks replies before
they are stored, charges usage to the context's ledger and adapts concurrency. DSPy's own retries and its cache are not
used: the cache's key lacks the address, and it is a pickle. A request goes out in the shape that the model takes
(`adapting`).
"""

import asyncio
import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import dspy
from dspy.clients.costs import estimate_cost
from dspy.lm15 import LM15Error, ProviderError, RateLimitError, Request, Response, ServerError
from dspy.utils.exceptions import LMError

from ..data import Usage
from ..errors import DicastError, NoTokenProbabilities
from .adapting import adapted
from .answer_store import AnswerStore, default_store
from .capabilities import KeptCard
from .cut_answers import note_cut
from .kept_answers import KeptAnswers, keeping_answers
from .ledger import charge, current_deadline
from .limiter import Limiter
from .model_options import ModelOptions
from .pace import TIMEOUT, current_pace
from .reply import NO_PROBABILITIES, ReplyWithoutProbabilities, check_reply
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
        special_tokens: what the model reads as structure, where the server says so; texts are shown without them.
        with_seed: further fields of a request that has a seed, without which its answer may differ.
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
        special_tokens: frozenset[str] = frozenset(),
        with_seed: Mapping[str, Any] | None = None,
    ) -> None:
        self.with_seed = dict(with_seed or {})
        self.answers_json = schema
        self.inner, self.wire_model, self.pricing = inner, wire_model, pricing
        self.limiter, self._most_attempts = Limiter(max_in_flight), attempts
        self._timed = (
            inner if isinstance(inner, TimedEngine) else TimedEngine(lambda seconds: inner, timeout, renew=False)
        )
        self.supports_response_schema, self.special_tokens = schema, special_tokens
        self.supported_params = {"temperature", "max_tokens", "top_p", "seed", "logprobs", "top_logprobs"}
        if schema:
            self.supported_params.add("response_format")
        self._answers = KeptAnswers()
        self.card = KeptCard()

    def complete(self, request: Request) -> Response:
        """The answer: a stored one, that of an equal call in flight, or a new one, which is stored."""
        response = self._answers.answer(request, self._ask)
        note_cut(response)
        return response

    def _ask(self, request: Request) -> Response:
        config = request.config
        if config.seed is not None and self.with_seed:
            config = dataclasses.replace(config, extensions=(config.extensions or {}) | self.with_seed)
        wire = dataclasses.replace(request, model=self.wire_model, config=config)
        return adapted(wire, self.card, lambda shape: self._paid(shape, request.model))

    def _paid(self, wire: Request, model: str) -> Response:
        response, seconds = with_retries(lambda: self._attempt(wire, model), self._most_attempts)
        charge(self._usage(response, wire, seconds))
        return response

    def _attempt(self, wire: Request, model: str) -> tuple[Response, float]:
        """The checked answer to one request, and the seconds that it took."""
        pace = current_pace()
        self.limiter.allow(pace.in_flight)
        with self.limiter.slot(current_deadline()) as has_slot:
            if not has_slot:
                raise NoAnswerInTime("the minutes of the budget are used up.")
            started = time.perf_counter()
            try:
                with pace.requests.sent(model, self._timed.seconds):
                    response = check_reply(self._timed.complete(wire), wire)
            except RateLimitError:
                self.limiter.refused()
                raise
            except ProviderError as error:
                if type(error) is ProviderError and error.status == 200:
                    raise ServerError(error.message) from error  # a broken reply, such as a gateway's: retried
                raise
            except (LM15Error, LMError, DicastError, ImportError, Warning):
                raise
            except Exception as error:  # a body that the engine's reader did not expect
                problem = (str(error).strip().splitlines() or [""])[0]
                raise ServerError(f"the server's reply cannot be read ({type(error).__name__}: {problem})") from error
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

    def wait(self, seconds: float | None) -> None:
        """Wait so long for the first byte of an answer, whatever a run says; None: as the run says."""
        self._timed.own_timeout = seconds

    def close(self) -> None:
        self._timed.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # DSPy's optimizers deep-copy programs; a connection is shared, never copied


class AsyncTransport:
    """A Transport for `lm.acall`: the same calls, each in a thread."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.supports_response_schema = transport.supports_response_schema
        self.supported_params = transport.supported_params

    async def complete(self, request: Request) -> Response:
        return await asyncio.to_thread(self.transport.complete, request)

    async def aclose(self) -> None:
        await asyncio.to_thread(self.transport.close)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class MeteredLM(dspy.LM):
    """A `dspy.LM` on a Transport.

    Args:
        identity: names model and address; part of the key of its answers.
        cache: whether answers are kept and used again; `lm(..., cache=False)` and `lm.copy(cache=False)` likewise.
        options: of its model string. Its timeout holds for every call, its decoding where a judge sets none.
        store: where; by default that of the user (`default_store`).
    """

    uses_dspy_cache = False

    def __init__(
        self,
        identity: str,
        transport: Transport,
        *,
        cache: bool = True,
        options: ModelOptions | None = None,
        store: AnswerStore | None = None,
    ) -> None:
        self.options = options or ModelOptions()
        transport.wait(self.options.timeout)
        asynchronous = AsyncTransport(transport)
        super().__init__(identity, engine=transport, async_engine=asynchronous, cache=cache, num_retries=0)
        self.transport = transport
        self.store = store or (default_store() if cache else None)

    @property
    def answers_json(self) -> bool:
        """Whether written answers are asked for as JSON: where a schema is enforced, or the model was trained so."""
        return self.transport.answers_json

    @property
    def special_tokens(self) -> frozenset[str]:
        """What the model reads as structure, where the server says so."""
        return self.transport.special_tokens

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        with self._calling(prompt, kwargs):
            return super().__call__(prompt, messages=messages, **kwargs | {"cache": False})  # False: not DSPy's

    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        with self._calling(prompt, kwargs):
            return await super().acall(prompt, messages=messages, **kwargs | {"cache": False})

    @contextmanager
    def _calling(self, prompt: Any, kwargs: dict[str, Any]) -> Iterator[None]:
        """Say to the transport where answers are kept; raise dicast's own errors as they are."""
        typed = isinstance(prompt, Request) or "request" in kwargs  # such a request has its settings in itself
        rollout = kwargs.get("rollout_id", None if typed else self.kwargs.get("rollout_id"))
        try:
            with keeping_answers(self.store if kwargs.get("cache", self.cache) else None, rollout):
                yield
        except LMError as error:
            match error.__cause__:
                case DicastError() as cause:
                    raise cause from None
                case ReplyWithoutProbabilities():
                    raise NoTokenProbabilities(f"model {self.model!r}: {NO_PROBABILITIES}") from error
            raise

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _bare(model: str) -> str:
    return model.split("/", 1)[-1]
