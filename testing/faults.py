"""What servers send in place of a good answer: a table of faults, each with what it sends and where it was seen.

`MockServer(faults={"reset": 0.1})` serves them. A `Fault` of your own is served likewise: `faults={Fault(...): 1.0}`.
"Seen" names an issue tracker's thread where the fault is described; `attack` means that we know it from attacks only.

Example:
    >>> exchange = Exchange(body={"model": "m"}, complete=lambda: {"choices": [{"message": {"content": "fine"}}]})
    >>> FAULTS["half_json"].reply(exchange).data.partition(b"\\r\\n\\r\\n")[2]
    b'{"choices": [{"message'
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

Body = dict[str, Any]


@dataclass(frozen=True)
class Exchange:
    """A request, and the good answer that the server would give.

    Args:
        body: the request's JSON.
        complete: makes the good answer; each call makes a new one.
        headers: of the request.
        random: of the server's seed.
    """

    body: Body
    complete: Callable[[], Body]
    headers: Mapping[str, str] = field(default_factory=dict)
    random: Random = field(default_factory=Random)


@dataclass(frozen=True)
class Reply:
    """Bytes for the wire, headers among them, and what becomes of the connection after them.

    Args:
        then: "go on" (the next request may come), "close", "reset" (TCP RST), "wait" (nothing more comes).
        seconds_per_byte: how slowly the bytes go out; 0 is at once.
    """

    data: bytes = b""
    then: Literal["go on", "close", "reset", "wait"] = "go on"
    seconds_per_byte: float = 0.0


@dataclass(frozen=True)
class Fault:
    """A way in which a server answers badly.

    Args:
        name: for `MockServer(faults=)`.
        sends: what goes over the wire.
        seen: where, as far as we know.
        reply: makes it.
        usable: a client may take the reply as an answer; it is then counted as one.
    """

    name: str
    sends: str
    seen: str
    reply: Callable[[Exchange], Reply]
    usable: bool = False


def http(
    content: bytes | str,
    status: int = 200,
    *,
    length: int | None = None,
    kind: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """The bytes of an HTTP response; `length` is its Content-Length, that of the content by default."""
    content = content.encode() if isinstance(content, str) else content
    length = len(content) if length is None else length
    lines = {"Content-Type": kind, "Content-Length": str(length), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} {'OK' if status == 200 else 'Fault'}\r\n{head}\r\n".encode("latin-1") + content


def error_text(message: str) -> str:
    """The body of an error as OpenAI's API writes it."""
    return json.dumps({"error": {"message": message, "type": "fault"}})


def status(code: int, **headers: str) -> Callable[[Exchange], Reply]:
    """A reply maker: an HTTP error of this code, whose headers have hyphens for underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange: Reply(http(error_text(f"fault {code}"), code, headers=named))


def content(text: str | bytes, kind: str = "application/json") -> Callable[[Exchange], Reply]:
    """A reply maker: status 200 and this body."""
    return lambda exchange: Reply(http(text, kind=kind))


def changed(change: Callable[[Body], object]) -> Callable[[Exchange], Reply]:
    """A reply maker: the good answer after `change`, which edits it in place or returns another."""

    def reply(exchange: Exchange) -> Reply:
        answer = exchange.complete()
        result = change(answer)
        return Reply(http(json.dumps(answer if result is None else result)))

    return reply


def without(key: str) -> Callable[[Exchange], Reply]:
    """A reply maker: the good answer without this key."""
    return changed(lambda answer: {name: value for name, value in answer.items() if name != key})


def first_choice(change: Callable[[Body], object]) -> Callable[[Exchange], Reply]:
    """A reply maker: the good answer with its first choice edited in place."""
    return changed(lambda answer: (change(answer["choices"][0]), None)[1])


def token_scores(logprob: object, token: str | None = None) -> Callable[[Exchange], Reply]:
    """A reply maker: every token of the good answer with this log-probability, and this text if one is given."""

    def change(choice: Body) -> None:
        for position in (choice.get("logprobs") or {}).get("content", []):
            for scored in (position, *position["top_logprobs"]):
                scored["logprob"] = logprob
                scored["token"] = scored["token"] if token is None else token

    return first_choice(change)


def answer_text(text: object) -> Callable[[Exchange], Reply]:
    """A reply maker: the good answer with this text in place of the model's."""
    return first_choice(lambda choice: choice["message"].update(content=text))


def _good(exchange: Exchange) -> str:
    return json.dumps(exchange.complete())


def _no_logprobs(value: object) -> Callable[[Exchange], Reply]:
    return first_choice(lambda choice: choice.update(logprobs=value) if "logprobs" in choice else None)


def _half_emoji(exchange: Exchange) -> Reply:
    """Half an emoji in the answer's text; inside the strings of an answer that is JSON."""
    answer = exchange.complete()
    message = answer["choices"][0]["message"]
    try:
        value = json.loads(message["content"])
    except ValueError:
        value = None
    if isinstance(value, dict):
        value = {name: text + " \ud83d" if isinstance(text, str) else text for name, text in value.items()}
        message["content"] = json.dumps(value)
    else:
        message["content"] += " \ud83d"
    return Reply(http(json.dumps(answer)))


def _unknown_tokens(choice: Body) -> None:
    choice["message"]["content"] = "\n"
    for position in (choice.get("logprobs") or {}).get("content", []):
        position |= {"token": "\n", "logprob": 0.0, "top_logprobs": [{"token": "\n", "logprob": 0.0}]}


def _echoed(exchange: Exchange) -> Reply:
    headers = dict(exchange.headers)
    return Reply(http(error_text(f"upstream failed; request headers: {headers}"), 500))


def _damaged_gzip(exchange: Exchange) -> Reply:
    import gzip

    packed = bytearray(gzip.compress(_good(exchange).encode()))
    packed[len(packed) // 2] ^= 0xFF
    return Reply(http(bytes(packed), headers={"Content-Encoding": "gzip"}))


def _damaged_chunks(exchange: Exchange) -> Reply:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Reply(head + b"10\r\n" + _good(exchange).encode()[:16] + b"\r\nnot a length\r\n", "close")


def _duplicate_keys(exchange: Exchange) -> Reply:
    text = _good(exchange)
    return Reply(http('{"choices": [], "usage": {"prompt_tokens": 0}, ' + text[1:]))


def _long_number(exchange: Exchange) -> Reply:
    text = json.dumps(exchange.complete() | {"created": 0})
    return Reply(http(text.replace('"created": 0', '"created": ' + "9" * 5000)))


def _huge(exchange: Exchange) -> Reply:
    answer = exchange.complete()
    answer["choices"][0]["message"]["content"] += " and so on" * 500_000
    return Reply(http(json.dumps(answer)))


def _random_bytes(exchange: Exchange) -> Reply:
    return Reply(http(exchange.random.randbytes(exchange.random.randrange(1, 2000))))


_USAGE = "prompt_tokens", "completion_tokens", "total_tokens"
_ESCAPES = "\x1b]0;PWNED\x07 \x1b[2J \x9b31m \x9d0;PWNED\x9c"

FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        # status codes
        Fault("429", "429 and Retry-After: 0.05", "hosted APIs under load", status(429, Retry_After="0.05")),
        Fault("500", "500", "every server", status(500)),
        Fault("429_no_header", "429 without Retry-After", "gateways", status(429)),
        Fault("429_after_1_s", "429 and Retry-After: 1", "hosted APIs under load", status(429, Retry_After="1")),
        Fault("429_after_600_s", "429 and Retry-After: 600", "daily quotas", status(429, Retry_After="600")),
        Fault("503", "503", "a server that loads its model", status(503)),
        Fault("401", "401", "a key that was revoked", status(401)),
        Fault("400", "400", "an input that is too long", status(400)),
        Fault("404", "404", "a model's name that is wrong", status(404)),
        Fault("307", "307 to nowhere", "proxies", status(307, Location="http://127.0.0.1:9/v1/chat/completions")),
        # connections
        Fault("reset", "TCP reset", "load balancers", lambda exchange: Reply(b"", "reset")),
        Fault("closed_connection", "an empty reply", "servers that restart", lambda exchange: Reply(b"", "close")),
        Fault(
            "cut_body",
            "a good answer but for its end; Content-Length is that of the whole",
            "servers that die",
            lambda exchange: Reply(http(_good(exchange)[:-40], length=len(_good(exchange))), "close"),
        ),
        Fault("hang", "nothing, ever", "a stuck GPU", lambda exchange: Reply(b"", "wait")),
        Fault(
            "trickle",
            "a good answer at a byte a second",
            "attack",
            lambda exchange: Reply(http(_good(exchange)), seconds_per_byte=1.0),
        ),
        # bodies that are no JSON
        Fault("invalid_json", "a tag and text as JSON", "gateways", content("<html>not json")),
        Fault(
            "half_json", "the first 22 bytes of a good answer", "proxies", lambda e: Reply(http(_good(e).encode()[:22]))
        ),
        Fault("bad_json", "JSON with a comma too many", "proxies", content('{"choices": [],, }')),
        Fault("html", "a page", "captive portals", content("<html>Sign in</html>", "text/html")),
        Fault("empty_body", "no body", "proxies", content("")),
        Fault("invalid_utf8", "bytes that are no UTF-8", "attack", content(b'{"choices": "\xff\xfe\xc0"}')),
        Fault("damaged_gzip", "gzip with a flipped bit", "proxies", _damaged_gzip),
        Fault("damaged_chunks", "a chunk without a length", "proxies", _damaged_chunks),
        Fault("random_bytes", "up to 2,000 random bytes", "attack", _random_bytes),
        Fault(
            "wrong_content_type",
            "a good answer as text/plain",
            "home-made servers",
            lambda exchange: Reply(http(_good(exchange), kind="text/plain")),
            usable=True,
        ),
        # JSON of another shape
        Fault("null_body", "null", "proxies", content("null")),
        Fault("list_body", "a list", "home-made servers", content("[1, 2]")),
        Fault("number_body", "a number", "home-made servers", content("5")),
        Fault(
            "error_in_200", "an error with status 200", "openai-agents-python 604", content(error_text("overloaded"))
        ),
        Fault("empty_choices", "choices: []", "content filters", changed(lambda answer: answer | {"choices": []})),
        Fault("null_choices", "choices: null", "garak 1525", changed(lambda answer: answer | {"choices": None})),
        Fault("missing_choices", "no choices", "langchain 32252", without("choices")),
        Fault("empty_content", "an empty text", "a thinking model that ran out of tokens", answer_text("")),
        Fault("null_content", "content: null", "refusals", answer_text(None)),
        Fault("duplicate_keys", "choices twice, the second is good", "attack", _duplicate_keys, usable=True),
        Fault("deep_brackets", "100,000 brackets", "attack", content("[" * 100_000)),
        Fault("long_number", "a good answer with a number of 5,000 digits", "attack", _long_number),
        Fault("huge_answer", "an answer of 5 MB", "a model that does not stop", _huge, usable=True),
        # usage
        Fault("no_usage", "no usage", "home-made servers", without("usage"), usable=True),
        Fault(
            "negative_usage",
            "usage of -5 tokens",
            "attack",
            changed(lambda answer: answer | {"usage": dict.fromkeys(_USAGE, -5)}),
            usable=True,
        ),
        Fault(
            "absurd_usage",
            "usage of 10^30 tokens",
            "attack",
            changed(lambda answer: answer | {"usage": dict.fromkeys(_USAGE, 10**30)}),
            usable=True,
        ),
        # token probabilities; where a request reads none, the answer is good
        Fault(
            "no_logprobs",
            "no logprobs where they were asked for",
            "servers that do not know the parameter",
            first_choice(lambda choice: choice.pop("logprobs", None)),
        ),
        Fault("null_logprobs", "logprobs: null", "langchain 32252", _no_logprobs(None)),
        Fault("empty_logprobs", "logprobs without a position", "gateways", _no_logprobs({"content": []})),
        Fault("text_logprobs", "log-probabilities as text", "home-made servers", token_scores("-0.5")),
        Fault("positive_logprob", "log-probabilities of 1000", "attack", token_scores(1000.0)),
        Fault("nan_logprob", "log-probabilities NaN", "sglang 5984", token_scores(math.nan)),
        Fault("infinite_logprob", "log-probabilities -Infinity", "vllm 10234", token_scores(-math.inf)),
        Fault("null_logprob", "log-probabilities null", "gateways that write NaN so", token_scores(None)),
        Fault("unknown_tokens", "a newline as the only token", "chat templates", first_choice(_unknown_tokens)),
        # text
        Fault("half_emoji", "half an emoji in the text", "inspect_ai 3802", _half_emoji),
        Fault("half_emoji_token", "half an emoji as the tokens", "byte-level tokens", token_scores(-0.5, "\ud83d")),
        Fault(
            "terminal_escapes",
            "an error that sets the terminal's title",
            "attack",
            lambda exchange: Reply(http(error_text(_ESCAPES), 500)),
        ),
        Fault("echoed_headers", "500 with the request's headers, the key among them", "debug pages", _echoed),
    )
}
