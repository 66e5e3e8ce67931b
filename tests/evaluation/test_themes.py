"""Themes of texts: a planted one is found, none is without a difference, and the order of rows says nothing."""

import numpy as np
import pytest

from dicast.evaluation.themes import LEAST, ThemedText, tf_idf, themes

TOPICS = {
    "cooking": "recipe oven butter flour bake dough sugar simmer pan garlic onion soup",
    "law": "contract court clause liability tenant lawsuit judge statute landlord appeal claim lease",
    "code": "python function loop compile variable class array debug syntax thread library pointer",
    "travel": "flight hotel museum train beach luggage passport island ticket tour guide airport",
}


def texts_of(seed, n=160, accuracy=None, group_size=1):
    """Texts of four topics; the verdicts of a topic are right as often as `accuracy` says, of others in 80 %."""
    generator = np.random.default_rng(seed)
    texts = []
    for number in range(n):
        topic = list(TOPICS)[number % 4]
        words = (
            generator.choice(TOPICS[topic].split(), 7).tolist() + generator.choice(["red", "blue", "green"], 2).tolist()
        )
        right = bool(generator.random() < (accuracy or {}).get(topic, 0.8))
        texts.append(ThemedText(f"case-{number}", " ".join(words), right, f"group-{number // group_size}"))
    return texts


def topic_of(theme):
    return max(TOPICS, key=lambda topic: len(set(theme.words) & set(TOPICS[topic].split())))


def test_the_topic_where_the_judge_is_wrong_comes_first_and_is_shown():
    result = themes(texts_of(1, n=240, accuracy={"law": 0.25}))
    first = result[0]
    assert topic_of(first) == "law"
    assert set(first.words) <= set(TOPICS["law"].split())
    assert first.p is not None
    assert first.p < 0.01
    assert first.accuracy.value < 0.5 < first.others.value
    assert first.accuracy.n + first.others.n == 240
    assert {topic_of(theme) for theme in result if theme.p < 0.05 and theme.accuracy.value < theme.others.value} == {
        "law"
    }


def test_the_cases_of_a_theme_are_its_own_and_the_wrong_ones_come_first():
    texts = {text.case_id: text for text in texts_of(2, accuracy={"code": 0.5})}
    for theme in themes(list(texts.values())):
        assert len(theme.case_ids) == theme.accuracy.n == len(set(theme.case_ids))
        right = [texts[case].is_right for case in theme.case_ids]
        assert right == sorted(right)
        assert np.mean(right) == pytest.approx(theme.accuracy.value)


def test_every_text_is_in_one_theme_of_those_that_are_large():
    result = themes(texts_of(3))
    ids = [case for theme in result for case in theme.case_ids]
    assert len(ids) == len(set(ids)) <= 160
    assert [theme.accuracy.value for theme in result] == sorted(theme.accuracy.value for theme in result)


@pytest.mark.parametrize("seed", [0, 5])
def test_the_order_of_the_rows_says_nothing(seed):
    texts = texts_of(4, accuracy={"travel": 0.5}, group_size=2)
    shuffled = [texts[place] for place in np.random.default_rng(9).permutation(len(texts))]
    assert themes(texts, seed) == themes(shuffled, seed)


@pytest.mark.slow
def test_without_a_difference_hardly_any_world_shows_one():
    """Of 40 worlds 2 are expected at most; six or more would be seen in 1.4 % of attempts (binomial)."""
    shown = sum(
        any(theme.p is not None and theme.p < 0.05 for theme in themes(texts_of(seed, 80))) for seed in range(40)
    )
    assert shown <= 5


@pytest.mark.parametrize(("n", "count"), [(LEAST - 1, 0), (LEAST, 1)])
def test_fewer_than_sixty_distinct_texts_have_no_theme(n, count):
    texts = [
        ThemedText(f"c{k}", f"{text.text} {text.case_id}", text.is_right, text.group)
        for k, text in enumerate(texts_of(5, n))
    ]
    distinct = {text.text for text in texts}
    assert len(distinct) == n
    assert bool(themes(texts)) == bool(count)
    again = [ThemedText(f"again-{text.case_id}", text.text, text.is_right, text.group) for text in texts]
    assert bool(themes([*texts, *again])) == bool(count)  # a text that is there twice is one text


def test_a_judge_that_is_always_right_has_themes_without_a_test():
    texts = [ThemedText(text.case_id, text.text, True, text.group) for text in texts_of(6)]
    result = themes(texts)
    assert result
    assert {theme.p for theme in result} == {None}


def test_cases_of_one_group_are_no_evidence_of_their_own():
    """All the wrong verdicts are of four groups; as many independent cases would show a difference."""
    texts = texts_of(7, accuracy=dict.fromkeys(TOPICS, 1.0))
    wrong = [text for text in texts if "lawsuit" in text.text or "lease" in text.text][:20]
    names = {text.case_id: f"large-{place % 2}" for place, text in enumerate(wrong)}
    alone = [ThemedText(t.case_id, t.text, t.case_id not in names, t.group) for t in texts]
    together = [ThemedText(t.case_id, t.text, t.case_id not in names, names.get(t.case_id, t.group)) for t in texts]
    assert themes(alone)[0].p < 0.01 < themes(together)[0].p


def test_texts_without_words_have_no_theme():
    assert themes([ThemedText(str(n), f"{n} + {n} = ?", n % 2 == 0, str(n)) for n in range(100)]) == ()
    assert themes([ThemedText(str(n), f"word{n}x only once here{n}", True, str(n)) for n in range(0)]) == ()


def test_the_vectors_are_those_of_scikit_learn():
    """With words of three letters, in two texts or more, and in half of them or fewer."""
    sklearn = pytest.importorskip("sklearn.feature_extraction.text")
    texts = [text.text for text in texts_of(8)]
    vectors, vocabulary = tf_idf(texts)
    other = sklearn.TfidfVectorizer(sublinear_tf=True, token_pattern=r"[^\W\d_]{3,}", min_df=2, max_df=0.5)
    expected = other.fit_transform(texts).toarray()
    assert vocabulary == other.get_feature_names_out().tolist()
    assert np.allclose(vectors, expected)
