"""Whatever a server replies, a reply is an answer that can be read, or an error that is retried and then unscored."""

import math

import dspy
import pytest
from dspy.lm15 import (
    Config,
    DataPart,
    Message,
    Request,
    Response,
    ServerError,
    TextPart,
    TokenLogprob,
    TopLogprob,
    Usage,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import dicast
from dicast.engines.models import get_lm
from dicast.engines.reply import ReplyWithoutProbabilities, check_reply
from dicast.engines.stored_reply import pack, unpack
from dicast.errors import NoTokenProbabilities
from dicast.testing import MockServer, ScriptedLM

CASE = dicast.Case(id="1", query="q", candidates=[{"text": "x"}, {"text": "y"}])
READ = Request(model="m", messages=(Message.user("x"),), config=Config(max_tokens=1, logprobs=5))
WRITTEN = Request(model="m", messages=(Message.user("x"),))


def reply(text="A", logprobs=None, body=None, usage=None, part=None):
    return Response(
        id=None,
        model="m",
        message=Message.assistant([part or TextPart(text)]),
        finish_reason="stop",
        usage=usage or Usage(),
        logprobs=logprobs,
        provider_data=body,
    )


def token(*alternatives, chosen=("A", -0.1)):
    return (TokenLogprob(*chosen, top=tuple(TopLogprob(text, logprob) for text, logprob in alternatives)),)


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (reply("half \ud83d"), "its text holds half a character"),
        (reply(part=DataPart({"a": ["\ud83d"]})), "its text holds half a character"),
        (reply("", body={"choices": []}), "it holds no message"),
        (reply("", body={"choices": None}), "it holds no message"),
        (reply("", body={"choices": ["text"]}), "it holds no message"),
        (reply("", body={"choices": [{"message": None}]}), "it holds no message"),
        (reply("", body={"id": "x"}), "it holds no message"),
        (reply(logprobs=token(chosen=("A", math.nan))), "nan is not a log-probability"),
        (reply(logprobs=token(("A", 1000.0))), "1000.0 is not a log-probability"),
        (reply(logprobs=token(("B", math.inf))), "inf is not a log-probability"),
        (reply(logprobs=token(("B", 0.01))), "0.01 is not a log-probability"),
        (reply(logprobs=token(("\udc00", -3.0))), "a token holds half a character"),
        (reply(logprobs=token(*((chr(65 + n), 0.0) for n in range(5)))), "add up to far more than 1"),
        ("no reply at all", "it is a str"),
    ],
)
def test_a_reply_that_cannot_be_used_is_an_error_that_names_what_is_wrong(response, problem):
    with pytest.raises(ServerError, match="the server's reply cannot be used: ") as error:
        check_reply(response, READ)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("logprobs", [None, ()])
def test_a_reply_without_token_probabilities_is_an_error_only_where_they_were_asked_for(logprobs):
    assert check_reply(reply(logprobs=logprobs), WRITTEN).text == "A"
    with pytest.raises(ReplyWithoutProbabilities, match="returned no token probabilities. Use --readout auto"):
        check_reply(reply(logprobs=logprobs), READ)


def test_rounded_zeros_are_zeros_and_improbable_tokens_stay():
    checked = check_reply(
        reply(logprobs=token(("A", 3e-5), ("B", -9999.0), ("C", -math.inf), chosen=("A", 1e-6))), READ
    )
    assert [entry.logprob for entry in (*checked.logprobs, *checked.logprobs[0].top)] == [0.0, 0.0, -9999.0, -math.inf]


def test_an_empty_answer_is_an_answer():
    body = {"choices": [{"message": {"content": ""}}]}
    assert check_reply(reply("", body=body), WRITTEN).text == ""


def test_counts_of_tokens_that_cannot_be_are_not_counted():
    checked = check_reply(reply(usage=Usage(input_tokens=10**400, output_tokens=3)), WRITTEN)
    assert checked.usage == Usage()


texts = st.text() | st.text(alphabet="\ud83d\ude42a\x00\x1b")
numbers = st.floats() | st.floats(max_value=0) | st.just(-9999.0)
tokens = st.builds(
    lambda chosen, top: token(*top, chosen=chosen), st.tuples(texts, numbers), st.lists(st.tuples(texts, numbers))
)


@settings(max_examples=300, deadline=None)
@given(text=texts, logprobs=st.none() | st.just(()) | tokens, request=st.sampled_from([READ, WRITTEN]))
def test_any_reply_is_refused_or_comes_back_from_the_store_as_it_was_checked(text, logprobs, request):
    try:
        checked = check_reply(reply(text, logprobs), request)
    except ServerError as error:
        str(error).encode()
        return
    if request is READ:
        assert all(0 <= math.exp(entry.logprob) <= 1 for entry in (*checked.logprobs, *checked.logprobs[0].top))
        stored = unpack(pack(checked))
        assert (stored.text, stored.logprobs, stored.finish_reason) == (text, checked.logprobs, "stop")


@settings(max_examples=300, deadline=None)
@given(
    st.binary()
    | st.recursive(st.none() | st.integers(-9, 9) | st.text(), st.lists, max_leaves=9).map(lambda v: repr(v).encode())
)
def test_any_bytes_in_the_store_are_an_answer_or_none(stored):
    unpack(stored)


def test_a_bad_reply_is_asked_for_again_and_the_good_answer_is_stored():
    replies = iter(["half \ud83d", "fine", "not asked for"])
    lm = ScriptedLM(lambda request: next(replies), cache=True)
    lm.transport._most_attempts = 2
    assert lm("x") == lm("x") == ["fine"]


@pytest.mark.parametrize("error", [KeyError("choices"), UnicodeError("x"), RecursionError("x"), OverflowError("x")])
def test_whatever_an_engine_raises_for_an_odd_body_is_unscored(error):
    lm = ScriptedLM(error)
    with dspy.context(lm=lm):
        verdict = dicast.judge("direct")(CASE)
    assert (verdict.status, verdict.reason) == ("unscored", "infrastructure")
    assert f"the server's reply cannot be read ({type(error).__name__}: " in verdict.detail


def test_a_server_without_token_probabilities_is_named_and_its_cases_are_unscored():
    with dspy.context(lm=ScriptedLM("A")):
        verdict = dicast.judge("direct")(CASE)
    assert (verdict.status, verdict.reason) == ("unscored", "infrastructure")
    assert NoTokenProbabilities.words in verdict.detail


def test_a_reply_without_token_probabilities_is_retried_without_a_pause():
    with MockServer(faults={"null_logprobs": 0.15, "empty_logprobs": 0.1}, seed=4) as server:
        lm = get_lm(f"openai/sometimes@{server.url}")
        for number in range(12):
            message = Message.user(f"question {number}")
            config = Config(max_tokens=1, logprobs=5)
            assert lm(Request(model=lm.model, messages=(message,), config=config)).logprobs
    assert server.fault_counts.total() > 0
