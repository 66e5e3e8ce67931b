"""Embeddings of a server as states: what is asked, what is refused, and where the key goes."""

import numpy as np
import pytest

from dicast.engines.answer_store import AnswerStore
from dicast.engines.ledger import Ledger, charge_to
from dicast.engines.models import withholding_keys
from dicast.engines.states.connect import connect_reader
from dicast.engines.states.embedding_server import ServerReader
from dicast.engines.states.kept import KeptReader
from dicast.engines.states.reader import StateRequest
from dicast.errors import ContextOverflow, DeclarationError, Infrastructure, ModelError, ModelRefused
from dicast.testing.faults import Fault, Reply, error_text, http
from dicast.testing.mock_server import MockServer

REQUEST = StateRequest("Query: q", "\n\nAnswer: a b")


@pytest.fixture
def server():
    with MockServer() as running:
        yield running


def reader_of(server, **options):
    return KeptReader(connect_reader(server.model_string("embedder"), **options), AnswerStore(None))


def test_the_whole_prompt_is_sent_and_its_vector_is_the_state(server):
    server.embedding = lambda text: [len(text), 0.5, -1]
    ledger = Ledger()
    with charge_to(ledger):
        answer = reader_of(server).read(REQUEST)
    assert server.requests == [{"model": "embedder", "input": "Query: q\n\nAnswer: a b", "encoding_format": "float"}]
    assert answer.mean.tolist() == answer.last.tolist() == [21.0, 0.5, -1.0]
    assert (ledger.total.calls, ledger.total.prompt_tokens) == (1, 5)


def test_a_stored_embedding_is_not_asked_again(server):
    reader = reader_of(server)
    assert np.array_equal(reader.read(REQUEST).mean, reader.read(REQUEST).mean)
    assert len(server.requests) == 1


def test_the_width_is_that_of_the_servers_vectors(server):
    assert reader_of(server).reader.width == 8


def test_failures_that_pass_are_asked_again(server):
    server.set_faults({"429": 0.3, "500": 0.3})
    requests = [StateRequest("q", str(number)) for number in range(8)]
    answers = reader_of(server).read_all(requests)
    assert server.fault_counts.total() > 0
    server.healthy()
    again = reader_of(server).read_all(requests)
    assert all(np.array_equal(a.mean, b.mean) for a, b in zip(answers, again, strict=True))


def test_a_server_that_always_fails_is_infrastructure(server):
    server.set_faults({"500": 1.0})
    with pytest.raises(Infrastructure, match=r"model 'openai/embedder.*failed \(500\)"):
        reader_of(server).read(REQUEST)


@pytest.mark.parametrize("vector", [[], [float("inf")], ["x"], [[1.0]]])
def test_a_vector_that_is_none_is_refused(server, vector):
    server.embedding = lambda text: vector
    with pytest.raises(Infrastructure, match="cannot be used|no JSON"):
        reader_of(server).read(REQUEST)


def refusing(status, text):
    return Fault("refusal", "", "", lambda exchange: Reply(http(error_text(text), status)))


def test_a_prompt_that_is_too_long_is_a_context_overflow(server):
    server.set_faults({refusing(400, "This model's maximum context length is 512 tokens"): 1.0})
    with pytest.raises(ContextOverflow, match="512 tokens"):
        reader_of(server).read(REQUEST)


def test_a_refused_key_is_the_servers_word_and_holds_no_key(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user-123456")
    server.set_faults({refusing(401, "wrong key sk-secret-of-the-user-123456"): 1.0})
    with pytest.raises(ModelRefused, match="401") as caught:
        reader_of(server).read(REQUEST)
    assert "secret" not in str(caught.value)


def test_a_key_goes_to_addresses_that_the_user_names_and_to_no_others(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user-123456")
    model = server.model_string("embedder")
    reader_of(server).read(REQUEST)
    reader_of(server, trusted=False).read(REQUEST)
    with withholding_keys([model]):
        reader_of(server).read(REQUEST)
    assert server.authorizations == ["Bearer sk-secret-of-the-user-123456", "", ""]


def test_what_a_server_cannot_do_is_said_in_words(server):
    with pytest.raises(ModelError, match="decides which layer"):
        reader_of(server, layer=3)
    with pytest.raises(ModelError, match="address of its embeddings is not known"):
        connect_reader("anthropic/claude", engine="server")
    with pytest.raises(DeclarationError, match="no probabilities"):
        reader_of(server).read(StateRequest("q", "a", options=("1",)))


def test_two_servers_share_no_states(server):
    store = AnswerStore(None)
    with MockServer(embedding=lambda text: [1.0]) as other:
        first, second = (KeptReader(connect_reader(s.model_string("m")), store) for s in (server, other))
        assert len(first.read(REQUEST).mean) == 8
        assert len(second.read(REQUEST).mean) == 1
    assert isinstance(first.reader, ServerReader)


def test_a_server_that_is_not_there_is_noticed_before_the_first_case():
    url = "http://127.0.0.1:9/v1"  # the discard port, where nothing listens
    reader = connect_reader(f"openai/emb@{url}")
    with pytest.raises(ModelError, match=f"nothing answers at {url} .*Start the server or fix the address"):
        reader.prepare()
