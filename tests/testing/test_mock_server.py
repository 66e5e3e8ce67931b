"""dicast.testing's server: what it answers, what it records, and the faults it makes."""

import httpx
import pytest

from dicast.errors import DeclarationError
from dicast.testing import MockServer, mock_server


def ask(server, **body):
    return httpx.post(f"{server.url}/chat/completions", json={"model": "m", "messages": []} | body)


def test_an_answer_is_text_or_json_or_the_default():
    answers = iter(["text", {"score": 3}, None])
    schema = {"type": "object", "properties": {"score": {"enum": [1, 2]}}}
    with MockServer(answer=lambda body: next(answers)) as server:
        replies = [ask(server, response_format={"json_schema": {"schema": schema}}).json() for _ in range(3)]
    assert [reply["choices"][0]["message"]["content"] for reply in replies] == ["text", '{"score": 3}', '{"score": 1}']


def test_probabilities_are_sent_where_tokens_are_read():
    with MockServer(token_probabilities=lambda body: {"B": 0.7, "A": 0.3}) as server:
        (choice,) = ask(server, logprobs=True).json()["choices"]
    assert choice["message"]["content"] == "B"
    assert [top["token"] for top in choice["logprobs"]["content"][0]["top_logprobs"]] == ["B", "A"]


def test_requests_are_recorded():
    with MockServer() as server:
        for text in ("x", "x", "y"):
            ask(server, messages=[{"role": "user", "content": text}])
        assert server.model_string("judge") == f"openai/judge@{server.url}"
    assert [body["messages"][0]["content"] for body in server.requests] == ["x", "x", "y"]
    assert sorted(server.request_counts.values()) == [1, 2]
    assert (server.authorizations, server.peak_concurrency) == ([""] * 3, 1)


def test_a_server_has_a_port_that_no_earlier_one_had(monkeypatch):
    with MockServer() as first, MockServer() as second:
        used = first.port, second.port
    drawn = iter([*used, 0])
    opened = mock_server._HTTPServer
    monkeypatch.setattr(mock_server, "_HTTPServer", lambda address, handler: opened((address[0], next(drawn)), handler))
    with MockServer() as third:
        assert third.port not in used
    assert next(drawn, None) is None


def test_a_stopped_server_returns_to_its_port():
    server = MockServer()
    with server:
        port = server.port
    with server:
        assert server.port == port


def test_faults_are_those_of_the_seed():
    def served(seed):
        with MockServer(faults={"500": 0.3, "invalid_json": 0.3}, seed=seed) as server:
            return [(reply.status_code, reply.text[:6]) for reply in (ask(server) for _ in range(20))], server

    first, server = served(1)
    assert first == served(1)[0] != served(2)[0]
    assert {status for status, _ in first} == {200, 500}
    assert server.fault_counts.total() + len(server.requests) == 20


def test_a_closed_connection_is_no_answer():
    with MockServer(faults={"closed_connection": 1.0}) as server, pytest.raises(httpx.RemoteProtocolError):
        ask(server)


def test_an_unknown_fault_is_refused():
    with pytest.raises(DeclarationError, match=r"no fault 'fire'\. Use 429, 500"):
        MockServer(faults={"fire": 1.0})


def test_a_token_of_probability_zero_is_not_listed():
    with MockServer(token_probabilities=lambda body: {"A": 0.0, "B": 1.0}) as server:
        (choice,) = ask(server, logprobs=True).json()["choices"]
    assert [top["token"] for top in choice["logprobs"]["content"][0]["top_logprobs"]] == ["B"]


def test_an_error_of_the_tests_own_function_is_in_the_answer():
    with MockServer(answer=lambda body: body["nothing"]) as server:
        reply = ask(server)
    assert (reply.status_code, reply.json()["error"]["message"]) == (
        400,
        "MockServer: the test raised KeyError('nothing')",
    )
