"""Requests take the shape that a model takes, limits grow for thoughts, and what was learned is kept.

The refusals are the servers' own words: OpenAI's for its reasoning models (openai-python 433, llmcomp 69), that of
Gemma's chat template ("System role not supported").
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from dspy.lm15 import Config, Message, Request

from dicast.cli import run
from dicast.engines import models
from dicast.engines.capabilities import Card, KeptCard
from dicast.engines.models import get_lm
from dicast.engines.thoughts import split_thought
from dicast.errors import NoTokenProbabilities
from dicast.testing import MockServer
from dicast.testing.faults import Exchange, Fault, Reply, error_text, http

Body = dict[str, Any]


def server_that(change: Callable[[Body, Body], str | None]) -> MockServer:
    """A server whose answer is changed in place, by the request's body; a text is an error 400 in its place."""

    def reply(exchange: Exchange) -> Reply:
        answer = exchange.complete()
        refusal = change(exchange.body, answer)
        return Reply(http(error_text(refusal), 400) if refusal else http(json.dumps(answer)))

    return MockServer(answer=lambda body: "B", faults={Fault("shape", "", "", reply, usable=True): 1.0})


def new_process() -> None:
    """Forget the LMs of this process, with their connections."""
    for lm in models._lms.values():
        lm.transport.close()
    models._lms.clear()


def ask(server: MockServer, **config: Any) -> str:
    lm = get_lm(server.model_string(), cache=False)
    question = (Message.user("A or B?"),)
    response = lm(Request(model=lm.model, system="Judge.", messages=question, config=Config(**config)))
    return str(response.text or "")


REFUSALS = {
    "max_tokens": (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        lambda body: "max_tokens" in body,
        lambda body: body["max_completion_tokens"] == 16,
    ),
    "temperature": (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        lambda body: "temperature" in body,
        lambda body: body["max_tokens"] == 16,
    ),
    "seed": (
        "Unrecognized request argument supplied: seed",
        lambda body: "seed" in body,
        lambda body: body["temperature"] == 0.0,
    ),
    "system": (
        "System role not supported",
        lambda body: body["messages"][0]["role"] == "system",
        lambda body: json.dumps(body["messages"]).index("Judge.") < json.dumps(body["messages"]).index("A or B?"),
    ),
}


@pytest.mark.parametrize("part", REFUSALS)
def test_what_a_server_refuses_is_left_out_from_then_on(part: str):
    text, is_sent, is_whole = REFUSALS[part]
    with server_that(lambda body, answer: text if is_sent(body) else None) as server:
        for _ in range(2):
            assert ask(server, temperature=0.0, max_tokens=16, seed=3) == "B"
        shapes = [is_sent(body) for body in server.requests]
        card = get_lm(server.model_string(), cache=False).transport.card.now
        new_process()
        assert ask(server, temperature=0.0, max_tokens=16, seed=3) == "B"
    assert shapes == [True, False, False]
    assert not any(is_sent(body) for body in server.requests[1:])
    assert all(is_whole(body) for body in server.requests[1:])
    assert card.refuses == {part}


def test_an_error_that_names_no_part_teaches_nothing():
    with server_that(lambda body, answer: "The prompt is not allowed here.") as server:
        with pytest.raises(Exception, match="The prompt is not allowed here"):
            ask(server, temperature=0.0)
        assert len(server.requests) == 1
        assert get_lm(server.model_string(), cache=False).transport.card.now == Card()


def test_a_model_that_refuses_token_probabilities_is_asked_once_and_the_message_says_what_to_do():
    refusal = "Unsupported parameter: 'logprobs' is not supported with this model."
    with server_that(lambda body, answer: refusal if "logprobs" in body else None) as server:
        with pytest.raises(Exception, match="gives no token probabilities: .* Use --readout") as refused:
            ask(server, logprobs=5)
        assert len(server.requests) == 1
        assert not isinstance(refused.value, NoTokenProbabilities)
        assert get_lm(server.model_string(), cache=False).transport.card.now.can("logprobs") == "no"


def thinking(needs: int, *, hidden: bool = False) -> Callable[[Body, Body], str | None]:
    """A model that thinks for so many tokens first: in the text, or hidden, as OpenAI's do."""

    def change(body: Body, answer: Body) -> None:
        choice, most = answer["choices"][0], body["max_tokens"]
        is_cut = most <= needs
        text = "" if hidden else "<think>A is short." + ("" if is_cut else "</think>\n\n")
        choice |= {"finish_reason": "length" if is_cut else "stop"}
        choice["message"]["content"] = text if is_cut else text + "B"
        if hidden:
            answer["usage"]["completion_tokens_details"] = {"reasoning_tokens": min(most, needs)}

    return change


@pytest.mark.parametrize("hidden", [True, False])
def test_the_limit_grows_until_the_thought_has_room_and_the_room_is_kept(hidden: bool):
    with server_that(thinking(3000, hidden=hidden)) as server:
        assert ask(server, max_tokens=16) == "B"
        assert [body["max_tokens"] for body in server.requests] == [16, 1024, 4096]
        assert ask(server, max_tokens=32) == "B"
        assert [body["max_tokens"] for body in server.requests[3:]] == [32 + 4096 - 16]


def test_a_thought_without_end_stops_at_the_last_step():
    with server_that(thinking(10**6)) as server:
        assert ask(server, max_tokens=16) == ""
        assert [body["max_tokens"] for body in server.requests] == [16, 1024, 4096, 16384]


def test_a_server_that_allows_no_more_gives_the_answer_as_it_was_cut():
    def change(body: Body, answer: Body) -> str | None:
        if body["max_tokens"] > 100:
            return "max_tokens is too large: 1024. This model supports at most 100 completion tokens."
        return thinking(3000)(body, answer)

    with server_that(change) as server:
        assert ask(server, max_tokens=16) == ""
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<think>\nlong\n</think>\n\nB", ("long", "B")),
        ("A is better.</think>B", ("A is better.", "B")),
        ("[THINK]x[/THINK]B", ("x", "B")),
        ("<think>cut", ("cut", "")),
        ('{"why": "it says </think>", "better": "B"}', ("", '{"why": "it says </think>", "better": "B"}')),
        ("I think that B", ("", "I think that B")),
        ("<think></think>B", ("...", "B")),
    ],
)
def test_a_thought_is_distinguished_from_an_answer(text: str, parts: tuple[str, str]):
    assert split_thought(text) == parts


def switched_by(field: str) -> Callable[[Body, Body], str | None]:
    """A thinking model that is read at its first token: it thinks unless this field stops it."""

    def change(body: Body, answer: Body) -> None:
        stops = body.get("reasoning_effort") == "none" or body.get("chat_template_kwargs") == {"enable_thinking": False}
        position = answer["choices"][0]["logprobs"]["content"][0]
        if not (field in body and stops):
            position |= {"token": "<think>", "logprob": 0.0, "top_logprobs": [{"token": "<think>", "logprob": 0.0}]}

    return change


@pytest.mark.parametrize("field", ["reasoning_effort", "chat_template_kwargs"])
def test_thinking_is_switched_off_where_one_token_is_read(field: str):
    probabilities = {"A": 0.2, "B": 0.8}
    with server_that(switched_by(field)) as server:
        server.answer, server.token_probabilities = None, lambda body: probabilities
        lm = get_lm(server.model_string(), cache=False)
        for _ in range(2):
            assert ask(server, logprobs=5) == "B"
        assert lm.transport.card.now.switch == field
        assert field in server.requests[-1]
        assert field in server.requests[-2]  # the second question is asked once


def test_a_card_survives_a_process_and_a_damaged_one_is_empty(tmp_path):
    path = tmp_path / "models" / "x.json"
    KeptCard(path).learn(lambda card: card.model_copy(update={"refuses": frozenset({"seed"}), "room": 9}))
    assert KeptCard(path).now == Card(refuses=frozenset({"seed"}), room=9)
    for damaged in ("", "{", '{"room": -1}', "[]", '{"refuses": ["sleep"]}'):
        path.write_text(damaged)
        assert KeptCard(path).now == Card()


def test_check_asks_anew_and_prints_the_card(capsys: pytest.CaptureFixture[str]):
    refusal = REFUSALS["max_tokens"][0]
    with server_that(lambda body, answer: refusal if "max_tokens" in body else None) as server:
        server.answer = None
        lm = get_lm(server.model_string(), cache=False)
        lm.transport.card.learn(lambda card: card.model_copy(update={"refuses": frozenset({"logprobs"}), "room": 9}))
        run(["check", "--lm", server.model_string(), "--json"])
    card = next(item for item in json.loads(capsys.readouterr().out) if item["name"].startswith("card"))
    assert card["text"] == (
        "token probabilities: yes; JSON schema: yes; limit of an answer: max_completion_tokens; system prompt: yes; "
        "temperature: yes; thinks first: no"
    )
