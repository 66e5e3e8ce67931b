"""Perplexity under the embedded model, beside transformers reading the same weights."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dicast
from dicast.data import Case
from dicast.engines.given_text import GivenText, whole, windows
from dicast.errors import ModelError
from dicast.text_metrics.perplexity import perplexity, reader_of

# Tokens and perplexity by transformers 5.23.0 and torch 2.13.0: SmolLM2-135M-Instruct.Q4_1.gguf by `gguf_file`, its
# weights as float32. llama.cpp rounds what a layer reads to eight bits: single tokens differ by up to half a nat.
BY_TRANSFORMERS = {
    "He said “no” — it’s naïve…": (11, 199.2397),
    "日本 语": (5, 2806.8559),  # tokens that end inside a character
}
GOOD = "The cat sat on the mat."


@given(st.integers(1, 50), st.integers(0, 200), st.integers(2, 60))
def test_windows_read_each_token_once_after_at_least_half_a_context(start: int, more: int, most: int) -> None:
    end = start + more
    read = list(windows(start, end, most))
    assert [place for _, first, last in read for place in range(first, last)] == list(range(start, end))
    for begin, first, last in read:
        assert last - begin <= most
        assert begin == 0 or first - begin == most // 2


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.data())
def test_runs_of_whole_tokens_are_text(text: str, data: st.DataObject) -> None:
    sent = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(sent)), max_size=10)) | {0, len(sent)})
    pieces = [sent[one:two] for one, two in pairwise(cuts)]
    for piece, is_whole in zip(pieces, whole(pieces), strict=True):
        if is_whole:
            assert piece.decode()
        else:
            assert b"\0" in piece or piece.decode("utf-8", "ignore").encode() != piece


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("text", BY_TRANSFORMERS)
def test_the_perplexity_is_that_by_transformers_from_the_same_weights(small_model: str, text: str) -> None:
    tokens, expected = BY_TRANSFORMERS[text]
    values = reader_of(small_model).log_probabilities("", text)
    assert len(values) == tokens
    assert math.log(perplexity(small_model, [text])[0]) == pytest.approx(math.log(expected), abs=0.1)


@pytest.mark.model
def test_a_text_longer_than_the_context_is_read_in_windows(small_model: str) -> None:
    reader, text = GivenText(small_model), "The film was dull, and nobody in the hall knew why."
    whole_text = reader.log_probabilities("", text)
    reader.most_tokens = 8
    in_windows = reader.log_probabilities("", text)
    assert len(in_windows) == len(whole_text) > 8
    assert in_windows[:4] == pytest.approx(whole_text[:4], abs=0.1)
    assert in_windows[4:] != pytest.approx(whole_text[4:], abs=0.1)


@pytest.mark.model
def test_the_judge_prefers_the_probable_text_and_reads_the_request_where_asked(small_model: str) -> None:
    case = Case(id="p", query=GOOD, candidates=[{"text": "mat the on sat cat The."}, {"text": GOOD}])
    alone, after = (dicast.judge("perplexity", context=context)(case) for context in ("none", "request"))
    assert alone.winner == after.winner == "b"
    assert alone.scores[1] < after.scores[1] <= 0
    assert dicast.judge("perplexity")(case.swapped()).winner == "a"


@pytest.mark.model
@pytest.mark.parametrize("text", ["", "word"])
def test_a_text_without_a_token_after_another_is_unscored(small_model: str, text: str) -> None:
    verdict = dicast.judge("perplexity")(Case(id="t", query="q", candidates=[{"text": text}]))
    assert (verdict.status, verdict.reason) == ("unscored", "unreadable")


def test_a_hosted_model_is_refused() -> None:
    with pytest.raises(ModelError, match="only a local model says how probable a text is"):
        GivenText("openai/gpt-4o-mini")
