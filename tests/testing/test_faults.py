"""The table of faults: each is served as its line says, and a client that takes none for an answer sees why."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from dicast.testing import FAULTS, Fault, MockServer, Reply

KEY = "Bearer sk-dummy-for-tests"


def ask(server, seconds=0.3, **body):
    body = {"model": "m", "messages": [], "logprobs": True} | body
    return httpx.post(f"{server.url}/chat/completions", json=body, timeout=seconds, headers={"Authorization": KEY})


def outcome(server):
    """What httpx and JSON make of a reply: an answer, or the name of what is wrong."""
    try:
        reply = ask(server)
        if reply.status_code != 200:
            return reply.status_code
        return reply.json()
    except (httpx.HTTPError, ValueError, RecursionError) as error:
        return type(error).__name__


BROKEN = {
    **{name: int(name[:3]) for name in FAULTS if name[:3].isdigit()},
    "reset": "ReadError",
    "closed_connection": "RemoteProtocolError",
    "cut_body": "RemoteProtocolError",
    "hang": "ReadTimeout",
    **dict.fromkeys(("invalid_json", "half_json", "bad_json", "html", "empty_body"), "JSONDecodeError"),
    "invalid_utf8": "UnicodeDecodeError",
    "damaged_gzip": "DecodingError",
    "damaged_chunks": "RemoteProtocolError",
    "null_body": None,
    "list_body": [1, 2],
    "number_body": 5,
    "error_in_200": {"error": {"message": "overloaded", "type": "fault"}},
    "deep_brackets": "RecursionError",
    "long_number": "ValueError",
    "terminal_escapes": 500,
    "echoed_headers": 500,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reply_is_what_its_line_says(name):
    with MockServer(faults={name: 1.0}) as server:
        assert outcome(server) == BROKEN[name]
    assert (server.fault_counts[name], len(server.requests)) == (1, 0)


def choice(name, **body):
    with MockServer(faults={name: 1.0}) as server:
        return ask(server, seconds=5, **body).json()["choices"][0]


@pytest.mark.parametrize(
    ("name", "logprob"),
    [
        ("text_logprobs", "-0.5"),
        ("positive_logprob", 1000),
        ("null_logprob", None),
        ("infinite_logprob", -math.inf),
        ("half_emoji_token", -0.5),
    ],
)
def test_log_probabilities_are_those_of_the_fault(name, logprob):
    (position,) = choice(name)["logprobs"]["content"]
    assert [scored["logprob"] for scored in (position, *position["top_logprobs"])] == [logprob] * 4


def test_logprobs_are_left_out_null_empty_or_of_tokens_that_no_option_has():
    assert "logprobs" not in choice("no_logprobs")
    assert choice("null_logprobs")["logprobs"] is None
    assert choice("empty_logprobs")["logprobs"] == {"content": []}
    (position,) = choice("unknown_tokens")["logprobs"]["content"]
    assert position["top_logprobs"] == [{"token": "\n", "logprob": 0.0}]
    assert math.isnan(choice("nan_logprob")["logprobs"]["content"][0]["logprob"])


def test_an_answer_without_token_probabilities_is_good_where_none_were_asked_for():
    for name in ("no_logprobs", "null_logprobs", "nan_logprob", "unknown_tokens"):
        assert "logprobs" not in choice(name, logprobs=False)


def test_texts_and_choices_are_those_of_the_fault():
    assert choice("empty_content")["message"]["content"] == ""
    assert choice("null_content")["message"]["content"] is None
    assert choice("half_emoji")["message"]["content"] == "A \ud83d"
    schema = {"type": "object", "properties": {"why": {"type": "string"}, "score": {"const": 3}}}
    text = choice("half_emoji", logprobs=False, response_format={"json_schema": {"schema": schema}})["message"]
    assert json.loads(text["content"]) == {"why": "some text \ud83d", "score": 3}
    assert len(choice("huge_answer")["message"]["content"]) > 5_000_000
    assert choice("duplicate_keys")["message"]["content"] == "A"
    for name, choices in {"empty_choices": [], "null_choices": None, "missing_choices": "missing"}.items():
        with MockServer(faults={name: 1.0}) as server:
            assert ask(server).json().get("choices", "missing") == choices


def test_usage_is_that_of_the_fault_and_such_a_reply_counts_as_an_answer():
    for name, usage in {"no_usage": None, "negative_usage": -5, "absurd_usage": 10**30}.items():
        with MockServer(faults={name: 1.0}) as server:
            assert (ask(server).json().get("usage") or {}).get("total_tokens") == usage
        assert len(server.requests) == server.fault_counts[name] == 1


def test_errors_hold_escapes_and_the_key():
    with MockServer(faults={"terminal_escapes": 1.0}) as server:
        assert "\x1b]0;PWNED\x07" in ask(server).json()["error"]["message"]
    with MockServer(faults={"echoed_headers": 1.0}) as server:
        assert KEY in ask(server).json()["error"]["message"]


def test_a_trickle_sends_a_byte_a_second():
    with MockServer(faults={"trickle": 1.0}) as server:
        client = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        client.sendall(b'POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 14\r\n\r\n{"model": "m"}')
        assert [client.recv(100) for _ in range(2)] == [b"H", b"T"]
        client.close()


def test_random_bytes_are_those_of_the_seed():
    def body(seed):
        with MockServer(faults={"random_bytes": 1.0}, seed=seed) as server:
            return ask(server).content

    assert body(1) == body(1) != body(2)


def test_a_fault_of_your_own_is_served():
    fault = Fault(
        "teapot", "418", "a joke", lambda exchange: Reply(b"HTTP/1.1 418 Teapot\r\nContent-Length: 0\r\n\r\n")
    )
    with MockServer(faults={fault: 1.0}) as server:
        assert ask(server).status_code == 418
    assert server.fault_counts == {"teapot": 1}


def test_a_server_becomes_healthy_and_starts_again_at_its_address():
    with MockServer(faults={"500": 1.0}) as server:
        address = server.url
        assert ask(server).status_code == 500
        server.healthy()
        assert ask(server).status_code == 200
        server.stop()
        with pytest.raises(httpx.ConnectError):
            ask(server)
        server.start()
        assert server.url == address
        assert ask(server).status_code == 200


def test_a_stop_ends_replies_that_never_would():
    with MockServer(faults={"hang": 1.0}) as server, pytest.raises(httpx.ReadTimeout):
        ask(server)
    deadline = time.monotonic() + 5
    while server._in_flight and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server._in_flight == 0


@pytest.mark.slow
def test_a_process_serves_and_logs_what_it_answered(tmp_path):
    log = tmp_path / "answered.txt"
    command = [sys.executable, "-m", "dicast.testing.mock_server", "--log", str(log), "--fault", "500=0.5"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        url = process.stdout.readline().strip()
        codes = [httpx.post(f"{url}/chat/completions", json={"model": "m", "n": n}).status_code for n in range(20)]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
    assert set(codes) == {200, 500}
    assert len(set(log.read_text().split())) == codes.count(200)
