"""An OpenAI-compatible server of chats and embeddings on loopback that a test controls: answers, delays, faults.

It records the requests that it answers.

Example:
    >>> import httpx
    >>> with MockServer(answer=lambda body: "fine") as server:
    ...     reply = httpx.post(f"{server.url}/chat/completions", json={"model": "m", "messages": []}).json()
    >>> reply["choices"][0]["message"]["content"], len(server.requests)
    ('fine', 1)

As a separate process, which prints its address and, with --log, writes a digest of each request that it answered:
    python -m dicast.testing.mock_server --port 8000 --faults 0.3 --log answered.txt
"""

import argparse
import contextlib
import hashlib
import json
import math
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import DeclarationError
from .faults import FAULTS, Body, Exchange, Fault, Reply, error_text, http
from .schema import DEFAULT_PROBABILITIES, smallest_value

Faults = Mapping[str, float] | Mapping[Fault, float]
_ports: set[int] = set()  # of the servers of this process


@dataclass
class MockServer:
    """A server that listens on a loopback port inside a `with` block, for `openai/NAME@URL` model strings.

    Args:
        answer: the request's body -> a text, or a mapping that is sent as JSON; None gives the default, also for one
            request. The default is the smallest value that the request's schema allows, or `token_probabilities`.
        token_probabilities: the request's body -> the probabilities of the next token, where a request reads them.
        embedding: a text -> its vector, for requests with an `input`; by default eight numbers drawn by the text.
        faults: the probability of each fault, sampled for every request: names of `dicast.testing.faults.FAULTS`, such
            as "429", "500", "invalid_json", "closed_connection", or `Fault` objects.
        delay: seconds before an answer.
        seed: of the faults.
        port: 0 takes a free port that no earlier server of this process had: an answer store knows servers by address.
        log: a file to which a digest of each answered request's body is appended.

    Raises:
        DeclarationError: an unknown fault.
    """

    answer: Callable[[Body], str | Mapping[str, Any] | None] | None = None
    token_probabilities: Callable[[Body], Mapping[str, float]] | None = None
    embedding: Callable[[str], Sequence[float]] | None = None
    faults: Faults = field(default_factory=dict)
    delay: float = 0.0
    seed: int = 0
    port: int = 0
    log: Path | None = None

    url: str = field(default="", init=False)  # its base URL, once it listens
    requests: list[Body] = field(default_factory=list, init=False)  # bodies of the requests it answered
    request_counts: Counter[str] = field(default_factory=Counter, init=False)  # how often, by a digest of the body
    fault_counts: Counter[str] = field(default_factory=Counter, init=False)  # faults served
    authorizations: list[str] = field(default_factory=list, init=False)  # Authorization headers
    paths: list[str] = field(default_factory=list, init=False)  # of each request, with its query
    headers: list[Mapping[str, str]] = field(default_factory=list, init=False)  # of each request, by lower-case name
    peak_concurrency: int = field(default=0, init=False)  # most requests in flight at a time

    def __post_init__(self) -> None:
        self._random, self._lock, self._in_flight = random.Random(self.seed), threading.Lock(), 0
        self._connections: set[socket.socket] = set()
        self.set_faults(self.faults)

    def set_faults(self, faults: Faults) -> None:
        """From now on these faults are served, with these probabilities.

        Raises:
            DeclarationError: an unknown fault.
        """
        unknown = [fault for fault in faults if not isinstance(fault, Fault) and fault not in FAULTS]
        if unknown:
            raise DeclarationError(f"MockServer: there is no fault {unknown[0]!r}. Use {', '.join(FAULTS)}.")
        self.faults = faults

    def healthy(self) -> None:
        """From now on every request is answered."""
        self.set_faults({})

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Listen; after `stop`, at the same address."""
        self._stopping = threading.Event()
        self._httpd = _listen(self.port, _handler(self))
        self.port = self._httpd.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the port and every connection, as a server that dies does."""
        self._stopping.set()
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def model_string(self, name: str = "mock") -> str:
        """What --lm, `dicast.judge(lm=)` and `judge.bind` take to reach this server."""
        return f"openai/{name}@{self.url}"

    def sample_fault(self) -> Fault | None:
        """The fault of the next request, None for most."""
        with self._lock:
            number = self._random.random()
            for fault, probability in self.faults.items():
                if number < probability:
                    fault = fault if isinstance(fault, Fault) else FAULTS[fault]
                    self.fault_counts[fault.name] += 1
                    return fault
                number -= probability
        return None

    def record(self, body: Body) -> None:
        """Count a request that is answered."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            self.request_counts[digest] += 1
            self.requests.append(body)
            if self.log is not None:
                with self.log.open("a") as file:
                    file.write(digest + "\n")

    def complete(self, body: Body) -> Body:
        """The chat completion for a request's body; the embedding where it has an `input`."""
        if "input" in body:
            text = str(body["input"])
            vector = (
                self.embedding(text) if self.embedding else [random.Random(text + str(i)).gauss() for i in range(8)]
            )
            usage = {"prompt_tokens": len(text.split()), "total_tokens": len(text.split())}
            data = [{"object": "embedding", "index": 0, "embedding": list(vector)}]
            return {"object": "list", "model": body["model"], "data": data, "usage": usage}
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


class _HTTPServer(ThreadingHTTPServer):
    request_queue_size = 128  # a client opens many connections at once


def _listen(port: int, handler: type[BaseHTTPRequestHandler]) -> _HTTPServer:
    while True:
        server = _HTTPServer(("127.0.0.1", port), handler)
        if port or server.server_address[1] not in _ports:
            _ports.add(server.server_address[1])
            return server
        server.server_close()


def _handler(server: MockServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            server._connections.add(self.connection)

        def finish(self) -> None:
            server._connections.discard(self.connection)
            with contextlib.suppress(OSError):  # the client has gone
                super().finish()

        def handle(self) -> None:
            with contextlib.suppress(OSError):
                super().handle()

        def do_POST(self) -> None:
            try:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            except ValueError:  # such as of a client that was killed while it sent
                return self._send(Reply(http(error_text("the request is not JSON"), 400), "close"))
            server.authorizations.append(self.headers["Authorization"] or "")
            server.paths.append(self.path)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            with server.in_flight():
                fault = server.sample_fault()
                time.sleep(server.delay)
                self._send(self._reply(body, fault))

        def _reply(self, body: Body, fault: Fault | None) -> Reply:
            exchange = Exchange(body, lambda: server.complete(body), dict(self.headers), server._random)
            try:
                reply = fault.reply(exchange) if fault else Reply(http(json.dumps(exchange.complete())))
            except Exception as error:  # of the test's own functions: the client's message names it
                return Reply(http(error_text(f"MockServer: the test raised {error!r}"), 400))
            if fault is None or fault.usable:
                server.record(body)
            return reply

        def _send(self, reply: Reply) -> None:
            if reply.seconds_per_byte:
                for byte in reply.data:
                    self.wfile.write(bytes([byte]))
                    if self._gone(reply.seconds_per_byte):
                        break
            else:
                self.wfile.write(reply.data)
            if reply.then == "wait":
                while not self._gone(0.1):
                    pass
            elif reply.then == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()  # with SO_LINGER 0 the kernel sends RST
            self.close_connection = self.close_connection or reply.then != "go on"

        def _gone(self, seconds: float) -> bool:
            """After this many seconds: the client has closed the connection, or the server stops."""
            try:
                self.connection.settimeout(seconds)
                self.connection.recv(1, socket.MSG_PEEK)  # returns when the client closes, or sends more
                return True
            except TimeoutError:
                return server._stopping.is_set()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--faults", type=float, default=0.0, help="proportion of faulty replies, of every kind")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=PROPORTION", help="a fault")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--log", type=Path, help="append a digest of each answered request to this file")
    options = parser.parse_args()
    faults = {name: options.faults / len(FAULTS) for name in FAULTS}
    for name, _, proportion in (item.partition("=") for item in options.fault):
        faults[name] = float(proportion)
    server = MockServer(faults=faults, delay=options.delay, seed=options.seed, port=options.port, log=options.log)
    with server, contextlib.suppress(KeyboardInterrupt):
        print(server.url, flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
