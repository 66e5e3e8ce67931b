"""An OpenAI-compatible server on loopback that can be slow and broken in seeded ways; it counts what it was asked."""

import contextlib
import hashlib
import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[dict[str, Any]], dict[str, Any] | None]
Tokens = Callable[[dict[str, Any]], dict[str, float]]


@dataclass
class MockServer:
    """A running server; `asked` counts answered requests by a digest of their body.

    Args:
        faults: a fault ("429", "500", "garbage", "nothing") -> its probability, drawn anew for each request.
        delay: seconds before an answer.
        reply: request body -> a written answer; None gives the default one (token probabilities or the schema's enums).
        tokens: request body -> the probabilities of the next token; None gives the same ones to every request.
    """

    faults: dict[str, float] = field(default_factory=dict)
    delay: float = 0.0
    reply: Reply | None = None
    tokens: Tokens | None = None
    seed: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    served_faults: Counter[str] = field(default_factory=Counter)
    keys: list[str] = field(default_factory=list)
    most_at_once: int = 0
    url: str = ""

    def __post_init__(self) -> None:
        self._random, self._lock, self._now = random.Random(self.seed), threading.Lock(), 0

    def draw_fault(self) -> str | None:
        with self._lock:
            roll = self._random.random()
            for fault, p in self.faults.items():
                if roll < p:
                    self.served_faults[fault] += 1
                    return fault
                roll -= p
        return None

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            self.asked[digest] += 1
            self.bodies.append(body)
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        written = self.reply(body) if self.reply else None
        if written is None and body.get("logprobs"):
            likely = (
                self.tokens(body) if self.tokens else {"A": math.exp(-0.5), "B": math.exp(-1.2), "3": math.exp(-2.0)}
            )
            top = max(likely, key=lambda token: likely[token])
            first: dict[str, Any] = {"token": top, "logprob": math.log(likely[top])}
            first["top_logprobs"] = [{"token": token, "logprob": math.log(p)} for token, p in likely.items()]
            choice |= {"message": {"role": "assistant", "content": top}, "logprobs": {"content": [first]}}
        else:
            written = written if written is not None else smallest(_schema(body))
            choice["message"] = {"role": "assistant", "content": json.dumps(written)}
        usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
        return {"id": "x", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1


def _schema(body: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return schema


def smallest(schema: dict[str, Any], root: dict[str, Any] | None = None) -> Any:
    """The plainest value that a JSON schema allows: first enum value, one list item, the field's name as text."""
    root = root or schema
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "array":
        return [smallest(schema["items"], root)]
    if kind == "object":
        return {name: smallest(part, root) for name, part in schema.get("properties", {}).items()}
    return {"integer": 1, "number": 1.0, "boolean": True}.get(str(kind), "some text")


@contextlib.contextmanager
def serve(server: MockServer) -> Iterator[MockServer]:
    """The server, listening on a free loopback port, with its `url` set."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.keys.append(self.headers["Authorization"] or "")
            with server.busy():
                fault = server.draw_fault()
                time.sleep(server.delay)
                if fault == "nothing":
                    self.close_connection = True
                    return
                if fault in ("429", "500"):
                    self._send(int(fault), json.dumps({"error": {"message": f"fault {fault}"}}).encode())
                elif fault == "garbage":
                    self._send(200, b"<html>not json")
                else:
                    self._send(200, json.dumps(server.answer(body)).encode())

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

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
