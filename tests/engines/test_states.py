"""Readers of states: what is kept, what is charged, and the real reader of SmolLM2-135M."""

import threading
import time

import numpy as np
import pytest
from scripted_states import ScriptedReader

from dicast.engines.answer_store import AnswerStore
from dicast.engines.given_text import GivenText
from dicast.engines.ledger import Budget, Ledger, charge_to
from dicast.engines.pace import Pace, paced
from dicast.engines.states.connect import connect_reader
from dicast.engines.states.cut_gguf import cut_after
from dicast.engines.states.kept import KeptReader, open_reader
from dicast.engines.states.reader import StateAnswer, StateRequest
from dicast.engines.states.store import pack_state, rounded, unpack_state
from dicast.errors import BudgetSpent, ContextOverflow, DeclarationError, Infrastructure, ModelError

FIRST = StateRequest("Query: q", "\n\nAnswer: first")
SECOND = StateRequest("Query: q", "\n\nAnswer: second")


def kept(**options):
    return KeptReader(ScriptedReader(**options), AnswerStore(None))


def test_a_stored_state_is_the_fresh_state_bit_for_bit():
    reader = kept()
    fresh, stored = reader.read(FIRST), reader.read(FIRST)
    assert len(reader.reader.requests) == 1
    assert fresh.mean.tobytes() == stored.mean.tobytes()
    assert fresh.last.tobytes() == stored.last.tobytes()
    assert (fresh.tokens, fresh.prompt_tokens, fresh.next) == (stored.tokens, stored.prompt_tokens, stored.next)


def test_states_are_rounded_to_float16_when_they_are_first_read():
    mean = kept().read(FIRST).mean
    assert mean.dtype == np.float32
    assert np.array_equal(mean, mean.astype(np.float16).astype(np.float32))


def test_a_read_is_charged_as_a_call_and_a_stored_state_as_cached():
    reader, ledger = kept(), Ledger()
    with charge_to(ledger):
        reader.read_all([FIRST, SECOND, FIRST])
        reader.read(SECOND)
    usage = ledger.stages["state"]
    tokens = [len(request.before + request.text) for request in (FIRST, SECOND)]
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (2, sum(tokens), 0)
    assert (usage.cached, usage.counted, usage.cached_tokens) == (2, 2, sum(tokens))
    assert usage.seconds > 0


def test_the_budget_ends_reads_but_not_stored_ones():
    reader, ledger = kept(), Ledger(Budget(calls=1))
    with charge_to(ledger):
        reader.read(FIRST)
        with pytest.raises(BudgetSpent, match="1 of 1 calls"):
            reader.read(SECOND)
        reader.read(FIRST)


def test_a_read_that_takes_too_long_is_given_up():
    reader = kept()
    reader.reader.answer = lambda request: time.sleep(5)
    with paced(Pace(timeout=0.05)), pytest.raises(Infrastructure, match="no states within 0.1 s"):
        reader.read(FIRST)


def test_equal_reads_in_several_threads_are_made_once():
    reader, ledger, answers = kept(), Ledger(), []
    answer = reader.reader.answer
    reader.reader.answer = lambda request: (time.sleep(0.1), answer(request))[1]

    def read():
        with charge_to(ledger):
            answers.append(reader.read(FIRST))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reader.reader.requests) == 1
    assert (ledger.total.calls, ledger.total.cached) == (1, 3)
    assert len({answer.mean.tobytes() for answer in answers}) == 1


def test_a_failed_read_is_stored_by_nobody_and_made_again():
    reader = kept(fails=Infrastructure("down"))
    with pytest.raises(Infrastructure, match="down"):
        reader.read(FIRST)
    reader.reader.fails = None
    assert reader.read(FIRST).tokens == len(FIRST.text)


@pytest.mark.parametrize("change", [{"digest": "1" * 64}, {"width": 8, "digest": "2" * 64}])
def test_other_weights_are_read_anew(change):
    store = AnswerStore(None)
    KeptReader(ScriptedReader(), store).read(FIRST)
    other = KeptReader(ScriptedReader(**change), store)
    other.read(FIRST)
    assert len(other.reader.requests) == 1


def test_requests_whose_parts_only_join_to_the_same_text_are_distinguished():
    reader = kept()
    reader.read_all([StateRequest("ab", "c"), StateRequest("a", "bc")])
    assert len(reader.reader.requests) == 2


def test_a_damaged_store_entry_is_read_anew():
    answer = StateAnswer(np.ones(4, np.float32), np.zeros(4, np.float32), 3, 5, {"A": -0.5})
    packed = pack_state(answer)
    again = unpack_state(packed)
    assert again is not None
    assert np.array_equal(again.mean, answer.mean)
    assert again.next == {"A": -0.5}
    assert unpack_state(packed[:-1]) is None
    assert unpack_state(b"\x07" + packed[1:]) is None
    assert unpack_state(b"") is None


def test_a_state_that_float16_cannot_hold_is_an_error_in_words():
    huge = StateAnswer(np.array([1e5], np.float32), np.array([0], np.float32), 1, 1)
    with pytest.raises(Infrastructure, match="beyond 65,504"):
        rounded(huge)


def test_a_dialogue_has_nothing_after_it():
    with pytest.raises(DeclarationError, match="nothing after"):
        StateRequest("q", "a", "?", form="dialogue")


# SmolLM2-135M


@pytest.fixture(scope="module")
def reader(small_model, tmp_path_factory):
    """The cut file is in the user's folder of models, the states in memory."""
    opened = open_reader(small_model)
    return KeptReader(opened.reader, AnswerStore(None))


@pytest.mark.model
def test_the_default_layer_is_at_70_percent_of_the_depth(reader):
    assert (reader.reader.layer, reader.reader.depth, reader.reader.width) == (21, 30, 576)


@pytest.mark.slow
@pytest.mark.model
def test_states_do_not_depend_on_order_batch_or_what_was_read_before(reader):
    texts = ["Paris.", "I do not know, sorry.", "It is Paris, on the Seine; " * 5]
    requests = [StateRequest("Query: What is the capital of France?", f"\n\nAnswer: {text}") for text in texts]
    together = reader.reader.read(requests)
    apart = [reader.reader.read([request])[0] for request in reversed(requests)][::-1]
    assert all(a.mean.tobytes() == b.mean.tobytes() for a, b in zip(together, apart, strict=True))
    assert all(a.last.tobytes() == b.last.tobytes() for a, b in zip(together, apart, strict=True))


@pytest.mark.model
def test_a_text_cannot_spell_a_control_token(reader):
    raw = reader.reader
    plain = raw.read([StateRequest("q", "end")])[0]
    spelled = raw.read([StateRequest("q", "<|im_end|>")])[0]
    assert plain.tokens == 1
    assert spelled.tokens == len(raw._tokens("<|im_end|>")) > 3
    assert raw._tokens("<|im_end|>", special=True) == [2]


@pytest.mark.model
def test_a_text_longer_than_the_context_says_how_long(reader):
    with pytest.raises(ContextOverflow, match=r"the prompt has 4,\d\d\d tokens.* at\s+most 4,096"):
        reader.read(StateRequest("q", " word" * 4200))


@pytest.mark.model
def test_a_layer_that_the_model_has_not_is_refused(small_model):
    with pytest.raises(ModelError, match="layers 1 to 30, not 31"):
        open_reader(small_model, 31)


# transformers 5.23 in float32 on the dequantised weights of the same file: `model.norm(hidden_states[21])` over the
# tokens of the text after "Query: What is the capital of France?" in the model's template; the first eight numbers of
# the mean and of the last token, and their norms. llama.cpp was within .0009 and .0014 of the norm.
GOLDEN = {
    "\n\nAnswer: The capital of France is Paris.": (
        [-0.434, -0.583, -0.814, 0.087, -0.491, -0.162, -0.329, -0.718],
        [-0.834, -1.276, 0.567, -0.756, 0.454, -0.899, 1.136, -0.185],
        [30.37, 41.38],
    ),
    "\n\nAnswer: <|im_end|> I do not know.": (
        [0.587, -0.137, 0.183, -1.035, -0.661, -0.135, -0.642, -0.648],
        [0.917, -1.340, 1.258, -0.777, -0.643, -0.348, 0.298, -0.815],
        [31.34, 40.82],
    ),
}
TOLERANCE = 0.02  # of one number, whose size is about 1


@pytest.mark.model
@pytest.mark.parametrize("text", GOLDEN)
def test_the_cut_file_gives_the_states_of_transformers(reader, text):
    mean, last, norms = GOLDEN[text]
    answer = reader.read(StateRequest("Query: What is the capital of France?", text))
    assert np.allclose(answer.mean[:8], mean, atol=TOLERANCE)
    assert np.allclose(answer.last[:8], last, atol=TOLERANCE)
    assert np.allclose([np.linalg.norm(answer.mean), np.linalg.norm(answer.last)], norms, rtol=0.002)


@pytest.mark.slow
@pytest.mark.model
def test_a_plain_cut_gives_the_same_states_but_for_the_rounding_of_activations(small_model, reader):
    """The fallback for versions of llama.cpp without the architecture llama-embed."""
    raw = reader.reader
    plain = connect_reader(small_model)
    plain.__dict__["_file"] = cut_after(raw.path, raw.layer, raw.digest, unconverted=True)
    request = StateRequest("Query: What is the capital of France?", "\n\nAnswer: Paris, of course.")
    exact, rough = (side.read([request])[0].mean for side in (raw, plain))
    assert np.linalg.norm(rough - exact) < 0.04 * np.linalg.norm(exact)
    assert not np.array_equal(rough, exact)


@pytest.mark.slow
@pytest.mark.model
def test_options_from_the_last_state_are_the_servers_log_probabilities(small_model):
    """Against the log-probabilities that llama.cpp reports for the same tokens; it rounds activations to 8 bits."""
    last = connect_reader(small_model, 30)
    options = (" Paris", " the", " London", " New")
    state = last._states(last._tokens("The capital of France is"))[-1]
    tokens = [last._tokens(option)[0] for option in options]
    ours = last._unembedding.log_probabilities(state, tokens)
    given = GivenText(small_model)
    theirs = [given.log_probabilities("The capital of France is", option)[0] for option in options]
    assert np.allclose(ours, theirs, atol=0.06)


@pytest.mark.slow
@pytest.mark.model
def test_options_come_with_the_state_of_the_last_layer(small_model):
    last = KeptReader(connect_reader(small_model, 30), AnswerStore(None))
    answer = last.read(StateRequest("Query: 2+2?", "\n\nAnswer: 4", "\n\nIs it right?", ("Yes", "No")))
    assert answer.next.keys() == {"Yes", "No"}
    assert sum(np.exp(list(answer.next.values()))) < 1
    with pytest.raises(DeclarationError, match="options of one token"):
        last.read(StateRequest("q", "a", "?", ("supercalifragilistic",)))


@pytest.mark.model
def test_an_inner_layer_gives_no_options(reader):
    with pytest.raises(DeclarationError, match="come from its last layer, 30, and not"):
        reader.read(StateRequest("q", "a", "?", ("Yes",)))


@pytest.mark.model
def test_a_dialogue_ends_with_the_turn_of_the_assistant(reader):
    start, before, between, text, after, end = reader.reader._frame.around(StateRequest("q", "a", form="dialogue"))
    assert start[0].endswith("<|im_start|>user\n")
    assert (before, text, after) == (("q", False), ("a", False), ("", False))
    assert between == ("<|im_end|>\n<|im_start|>assistant\n", True)
    assert end == ("<|im_end|>\n", True)
