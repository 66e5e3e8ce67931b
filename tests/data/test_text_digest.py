"""Digests of texts: what was typed differently is equal, what is short joins nothing, a case is its texts."""

import pytest

from dicast.data import Case
from dicast.data.text_digest import (
    MIN_BYTES,
    candidate_digests,
    case_text_digest,
    normalised,
    query_digest,
    text_digest,
)

SENTENCE = "Why is the sky blue in the afternoon?"


def case(**fields: object) -> Case:
    return Case.model_validate({"id": "1", "query": SENTENCE, "candidates": [{"text": "x"}, {"text": "y"}], **fields})


@pytest.mark.parametrize(
    "copy",
    [
        SENTENCE + " ",
        "\n " + SENTENCE.replace(" ", "\u00a0\t"),
        SENTENCE.upper(),
        "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in SENTENCE),  # full-width forms
        "\ufeff" + SENTENCE.replace("sky", "s\u200bky"),
    ],
)
def test_a_text_that_was_typed_differently_has_the_same_digest(copy: str) -> None:
    assert copy != SENTENCE
    assert text_digest(copy) == text_digest(SENTENCE) != ""


def test_normalising_twice_changes_nothing() -> None:
    for text in ("ΐ ẛ̣ ﷺ ǰ İ ß", "ﬀ\u0345\u0301", SENTENCE):
        assert normalised(normalised(text)) == normalised(text)


def test_other_words_give_another_digest() -> None:
    assert text_digest(SENTENCE) != text_digest(SENTENCE.replace("blue", "red"))


@pytest.mark.parametrize("text", ["", "yes", "A", "42", "3.14159265", "I don't know.", "x" * (MIN_BYTES - 1), " " * 99])
def test_a_short_text_has_no_digest(text: str) -> None:
    assert text_digest(text) == ""


def test_a_text_of_the_least_length_has_a_digest() -> None:
    assert text_digest("x" * MIN_BYTES) != ""
    assert text_digest("天空为什么是蓝色的") != ""


def test_the_query_digest_is_of_the_whole_conversation() -> None:
    before = [{"role": "user", "text": "Tell me about light."}]
    assert query_digest(case()) != query_digest(case(history=before)) != ""
    assert candidate_digests(case()) == ["", ""]


def test_the_digest_of_a_case_is_of_what_a_judge_sees() -> None:
    digest = case_text_digest(case())
    same = {"id": "2", "label": {"value": "a"}, "group": "g", "meta": {"n": 1}}
    assert case_text_digest(case(**same)) == digest
    assert case_text_digest(case().swapped()) == digest
    assert case_text_digest(case(query=SENTENCE + " ")) == digest
    others = [
        case(aspect="coherence"),
        case(profile={"kind": "preference", "text": "short answers"}),
        case(candidates=[{"text": "x"}, {"text": "z"}]),
        case(candidates=[{"text": "x y"}]),
        case(history=[{"role": "user", "text": SENTENCE}], query=""),
        case(query=SENTENCE, aspect=""),
    ]
    assert len({digest, *(case_text_digest(other) for other in others[:-1])}) == len(others)
    assert case_text_digest(others[-1]) == digest


def test_the_order_of_features_of_a_persona_does_not_count() -> None:
    features = {"age": "25-34", "education": "university"}
    first = case(profile={"kind": "persona", "features": features})
    second = case(profile={"kind": "persona", "features": dict(reversed(features.items()))})
    assert case_text_digest(first) == case_text_digest(second)
