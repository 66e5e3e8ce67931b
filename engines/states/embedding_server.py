"""The embeddings of an OpenAI-compatible server as states: one vector a prompt, pooled as the server does it.

The server decides which layer it is and how tokens are averaged; mean and last state are the same vector. Keys are sent
as in other calls: the user's, to addresses that the user or the environment names.
"""

import atexit
import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ...data import Usage
from ...errors import ContextOverflow, DeclarationError, Infrastructure, ModelError, ModelRefused
from ..connection import check_connection
from ..keys import key_of
from ..ledger import charge
from ..model_string import ModelString, default_endpoint
from ..models import may_see_keys
from ..pace import IN_FLIGHT, TIMEOUT, current_pace
from ..retries import with_retries
from .reader import StateAnswer, StateRequest

HOSTED = {"openai": "https://api.openai.com/v1", "mistral": "https://api.mistral.ai/v1"}
TOO_LONG = ("context length", "too long", "too large", "maximum", "too many tokens")  # in refusals of long prompts


class ServerReader:
    """Reads embeddings: see `StateReader`.

    Args:
        layer: None; servers do not let it be chosen.
        trusted: the user has named the address, so that the user's key may be sent to it.

    Raises:
        ModelError: a layer, or a model string without an address.
    """

    engine, layer, depth, batch, slots, timeout, frame = "server", 0, 0, 1, IN_FLIGHT, TIMEOUT, ""
    gives_options = False

    def __init__(self, model: ModelString, layer: int | None = None, *, trusted: bool = True) -> None:
        url = model.endpoint or HOSTED.get(model.provider)
        if url is None:
            raise ModelError(
                f"model {model.identity!r}: the address of its embeddings is not known. Write "
                f"{model.provider}/NAME@http://HOST/v1."
            )
        if layer is not None:
            raise ModelError(f"model {model.identity!r}: its server decides which layer it gives. Leave @{layer} out.")
        self.model, self.url, self._name = model.identity, url, model.model
        self._answers = False
        known = model.endpoint is None or url == default_endpoint(model.provider)
        self._key = key_of(model.provider) if known or may_see_keys(model.identity, trusted) else None

    @property
    def digest(self) -> str:
        """SHA-256 of the model's name and address: nobody outside the server knows its weights."""
        return hashlib.sha256(f"{self._name}@{self.url}".encode()).hexdigest()

    @cached_property
    def width(self) -> int:
        """Asked of the server with one short text."""
        state, tokens = self._embedding("width")
        charge(Usage(calls=1, prompt_tokens=tokens))
        return len(state)

    def prepare(self) -> None:
        """Once: whether anything listens at the address."""
        if not self._answers:
            check_connection(self.model, self.url)
            self._answers = True

    def read(self, requests: Sequence[StateRequest]) -> list[StateAnswer]:
        return [self._read(request) for request in requests]

    def _read(self, request: StateRequest) -> StateAnswer:
        if request.options:
            raise DeclarationError(f"model {self.model!r}: embeddings hold no probabilities. Ask without options.")
        between = "\n\n" if request.form == "dialogue" else ""
        state, tokens = self._embedding(request.before + between + request.text + request.after)
        return StateAnswer(mean=state, last=state, tokens=tokens, prompt_tokens=tokens)

    def _embedding(self, text: str) -> tuple[NDArray[np.float32], int]:
        """The vector of a text and how many tokens the server read."""
        from dspy.lm15 import LM15Error

        try:
            reply = with_retries(lambda: self._post({"model": self._name, "input": text, "encoding_format": "float"}))
        except LM15Error as error:
            raise Infrastructure(f"model {self.model!r}: {error}") from None
        try:
            (entry,) = reply["data"]
            state = np.asarray(entry["embedding"], dtype=np.float32)
            tokens = int((reply.get("usage") or {}).get("prompt_tokens") or 0)
            if state.ndim != 1 or not state.size or not np.isfinite(state).all():
                raise ValueError(f"an array of the shape {state.shape}, or not finite")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Infrastructure(f"model {self.model!r}: the server's embedding cannot be used ({error}).") from None
        return state, max(tokens, 0)

    def _post(self, body: dict[str, Any]) -> Any:
        """The server's reply; failures that pass are errors that `with_retries` knows."""
        import httpx
        from dspy.lm15 import RateLimitError, ServerError, TransportError

        try:
            response = self._client.post("/embeddings", json=body, timeout=current_pace().timeout or self.timeout)
        except httpx.HTTPError as error:
            raise TransportError(f"{type(error).__name__}: {error}") from error
        if response.status_code == 429:
            raise RateLimitError("the server refused for now (429)", retry_after=_seconds(response))
        if response.status_code >= 500:
            raise ServerError(f"the server failed ({response.status_code})", retry_after=_seconds(response))
        problem = f"model {self.model!r}: the server answered {response.status_code}: {response.text[:300]}"
        if response.status_code in (400, 413, 422) and any(sign in response.text.lower() for sign in TOO_LONG):
            raise ContextOverflow(problem)
        if response.status_code != 200:
            raise ModelRefused(problem)
        try:
            return orjson.loads(response.content)
        except ValueError as error:
            raise ServerError("the server's reply is no JSON") from error

    @cached_property
    def _client(self) -> Any:
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        client = httpx.Client(base_url=self.url, headers=headers, follow_redirects=False)
        atexit.register(client.close)
        return client


def _seconds(response: Any) -> float | None:
    """The pause that the server asks for."""
    try:
        return float(response.headers["retry-after"])
    except (KeyError, ValueError):
        return None
