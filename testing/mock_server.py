"""An OpenAI-compatible chat server on loopback that a test controls: answers, delays, faults; it records requests.

Example:
    >>> import httpx
    >>> with MockServer(answer=lambda body: "fine") as server:
    ...     reply = httpx.post(f"{server.url}/chat/completions", json={"model": "m", "messages": []}).json()
    >>> reply["choices"][0]["message"]["content"], len(server.requests)
    ('fine', 1)
"""

import contextlib
import hashlib
import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

from ..errors import DeclarationError
from .schema import DEFAULT_PROBABILITIES, smallest_value

Fault = Literal["429", "500", "invalid_json", "closed_connection"]
Body = dict[str, Any]
FAULTS: tuple[Fault, ...] = ("429", "500", "invalid_json", "closed_connection")


@dataclass
class MockServer:
    """A server that listens on a free loopback port inside a `with` block, for `openai/NAME@URL` model strings.

    Args:
        answer: the request's body -> a text, or a mapping that is sent as JSON; None gives the default, also for one
            request. The default is the smallest value that the request's schema allows, or `token_probabilities`.
        token_probabilities: the request's body -> the probabilities of the next token, where a request reads them.
        faults: the probability of each fault, sampled for every request: "429", "500", "invalid_json",
            "closed_connection".
        delay: seconds before an answer.
        seed: of the faults.

    Raises:
        DeclarationError: an unknown fault.
    """

    answer: Callable[[Body], str | Mapping[str, Any] | None] | None = None
    token_probabilities: Callable[[Body], Mapping[str, float]] | None = None
    faults: Mapping[str, float] = field(default_factory=dict)
    delay: float = 0.0
    seed: int = 0

    url: str = field(default="", init=False)  # its base URL, once it listens
    requests: list[Body] = field(default_factory=list, init=False)  # bodies of the requests it answered
    request_counts: Counter[str] = field(default_factory=Counter, init=False)  # how often, by a digest of the body
    fault_counts: Counter[str] = field(default_factory=Counter, init=False)  # faults served
    authorizations: list[str] = field(default_factory=list, init=False)  # Authorization headers
    peak_concurrency: int = field(default=0, init=False)  # most requests in flight at a time

    def __post_init__(self) -> None:
        unknown = [fault for fault in self.faults if fault not in FAULTS]
        if unknown:
            raise DeclarationError(f"MockServer: there is no fault {unknown[0]!r}. Use {', '.join(FAULTS)}.")
        self._random, self._lock, self._in_flight = random.Random(self.seed), threading.Lock(), 0

    def __enter__(self) -> Self:
        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._httpd.server_address[1]}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join()

    def model_string(self, name: str = "mock") -> str:
        """What --lm, `dicast.judge(lm=)` and `judge.bind` take to reach this server."""
        return f"openai/{name}@{self.url}"

    def sample_fault(self) -> str | None:
        """The fault of the next request, None for most."""
        with self._lock:
            number = self._random.random()
            for fault, probability in self.faults.items():
                if number < probability:
                    self.fault_counts[fault] += 1
                    return fault
                number -= probability
        return None

    def respond(self, body: Body) -> dict[str, Any]:
        """The chat completion for a request's body, which it records."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            self.request_counts[digest] += 1
            self.requests.append(body)
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        answer = self.answer(body) if self.answer else None
        if answer is None and body.get("logprobs"):
            probabilities = self.token_probabilities(body) if self.token_probabilities else DEFAULT_PROBABILITIES
            probabilities = {token: p for token, p in probabilities.items() if p > 0}
            top = max(probabilities, key=lambda token: probabilities[token])
            token: dict[str, Any] = {"token": top, "logprob": math.log(probabilities[top])}
            token["top_logprobs"] = [{"token": name, "logprob": math.log(p)} for name, p in probabilities.items()]
            choice |= {"message": {"role": "assistant", "content": top}, "logprobs": {"content": [token]}}
        else:
            if answer is None:
                answer = smallest_value(body.get("response_format", {}).get("json_schema", {}).get("schema", {}))
            text = answer if isinstance(answer, str) else json.dumps(answer)
            choice["message"] = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
        return {"id": "x", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}

    @contextlib.contextmanager
    def in_flight(self) -> Iterator[None]:
        """Counts a request while it is answered."""
        with self._lock:
            self._in_flight += 1
            self.peak_concurrency = max(self.peak_concurrency, self._in_flight)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1


def _handler(server: MockServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.authorizations.append(self.headers["Authorization"] or "")
            with server.in_flight():
                fault = server.sample_fault()
                time.sleep(server.delay)
                if fault == "closed_connection":
                    self.close_connection = True
                elif fault in ("429", "500"):
                    self._send(int(fault), json.dumps({"error": {"message": f"fault {fault}"}}).encode())
                elif fault == "invalid_json":
                    self._send(200, b"<html>not json")
                else:
                    self._answer(body)

        def _answer(self, body: Body) -> None:
            try:
                status, content = 200, json.dumps(server.respond(body))
            except Exception as error:  # of the test's own functions: the client's message names it
                status, content = 400, json.dumps({"error": {"message": f"MockServer: the test raised {error!r}"}})
            self._send(status, content.encode())

        def _send(self, status: int, content: bytes) -> None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                if status == 429:
                    self.send_header("Retry-After", "0.05")
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
