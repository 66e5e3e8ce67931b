"""Near duplicates: every pair above the bound is found, none below is, in any order."""

from itertools import combinations

import numpy as np
import pytest

from dicast.data.near_duplicates import BOUND, COMPARED, jaccard, near_duplicates, shingles_of


def texts(seed: int, count: int) -> list[str]:
    """Different texts of 40 to 300 characters, each with copies in which more and more words are changed."""
    random, made = np.random.default_rng(seed), []
    for _ in range(count):
        words = ["".join(random.choice(list("abcdefghij"), 6)) for _ in range(random.integers(6, 40))]
        made.append(" ".join(words))
        for _ in range(4):
            words[random.integers(len(words))] = "".join(random.choice(list("klmnop"), 6))
            made.append(" ".join(words))
    return list(dict.fromkeys(made))


def similarity(first: str, second: str) -> float:
    """Jaccard similarity of the sets of 5-grams, from its definition."""
    one, other = ({text[i : i + 5] for i in range(max(len(text) - 4, 1))} for text in (first, second))
    return len(one & other) / len(one | other)


@pytest.mark.parametrize("seed", range(3))
def test_the_similarity_is_the_jaccard_similarity_of_5_grams(seed: int) -> None:
    some = texts(seed, 10)
    for first, second in combinations(some, 2):
        assert jaccard(shingles_of(first), shingles_of(second)) == similarity(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_those_at_or_above_the_bound(seed: int) -> None:
    some = texts(seed, 60)
    found = {frozenset(pair) for pair in near_duplicates(some)}
    expected = {
        frozenset((i, j)) for i, j in combinations(range(len(some)), 2) if similarity(some[i], some[j]) >= BOUND
    }
    assert len(expected) > 60
    assert found <= expected
    assert len(found) >= 0.995 * len(expected)


def test_the_order_of_the_texts_does_not_count() -> None:
    some = texts(0, 30)
    expected = {frozenset((some[i], some[j])) for i, j in near_duplicates(some)}
    reverse = some[::-1]
    assert {frozenset((reverse[i], reverse[j])) for i, j in near_duplicates(reverse)} == expected


def test_many_texts_of_one_pattern_are_one_chain() -> None:
    some = [f"Please answer this question of our customer politely and completely: number {n}" for n in range(300)]
    pairs = near_duplicates(some)
    assert len(pairs) <= COMPARED * len(some)
    joined = {0}
    for _ in some:
        joined |= {end for pair in pairs if joined & set(pair) for end in pair}
    assert joined == set(range(300))


@pytest.mark.parametrize("text", ["", "a", "abcde", "天空为什么是蓝色的"])
def test_a_text_of_any_length_has_shingles(text: str) -> None:
    assert len(shingles_of(text)) == max(1, len(text) - 4)
