"""Which part of a profile a judge sees: k reviews by seed, features by name, a cap that cuts nothing silently."""

import random
from typing import Any

import pytest

from dicast.data import Comparison, Persona, Review, Reviewer
from dicast.data.profiles import CUT, capped, count_words, features, history, without_comments
from dicast.errors import ContextOverflow, DeclarationError

REVIEWER = Reviewer(
    id="r",
    reviews=[Review(text=f"plot {n}", comment=f"comment {n}", score=n) for n in range(1, 11)],
    comparisons=[Comparison(response_a=f"left {n}", response_b=f"right {n}", label="a") for n in range(5)],
)


def drawn(**settings: Any) -> list[str]:
    return [review.text for review in history(REVIEWER, **({"k": 3, "seed": 0} | settings)).reviews]


# k of the history


@pytest.mark.parametrize("k", range(13))
def test_k_reviews_are_shown_or_all_there_are(k: int) -> None:
    shown = history(REVIEWER, k=k, seed=0)
    assert (len(shown.reviews), len(shown.comparisons)) == (min(k, 10), min(k, 5))
    assert len({review.text for review in shown.reviews}) == len(shown.reviews)


@pytest.mark.parametrize("k", range(11))
@pytest.mark.parametrize("seed", range(5))
def test_reviews_are_the_reviewer_s_own_in_their_own_order(k: int, seed: int) -> None:
    shown = history(REVIEWER, k=k, seed=seed)
    positions = [REVIEWER.reviews.index(review) for review in shown.reviews]
    assert positions == sorted(positions)


def test_one_seed_draws_the_same_reviews_and_others_draw_others() -> None:
    assert drawn(seed=4) == drawn(seed=4)
    assert len({tuple(drawn(seed=seed)) for seed in range(20)}) > 10


def test_every_review_is_drawn_about_equally_often() -> None:
    counts = [0] * 10
    for seed in range(1000):
        for review in history(REVIEWER, k=3, seed=seed).reviews:
            counts[REVIEWER.reviews.index(review)] += 1
    # 300 expected of each; standard deviation sqrt(1000 * 0.3 * 0.7) = 14.5
    assert all(abs(count - 300) < 5 * 14.5 for count in counts)


def test_reviewers_are_drawn_apart() -> None:
    others = [REVIEWER.model_copy(update={"id": f"r{n}"}) for n in range(10)]
    assert len({tuple(review.text for review in history(one, k=3, seed=0).reviews) for one in others}) > 5


def test_a_shuffle_shows_the_same_reviews_in_another_order() -> None:
    orders = {tuple(drawn(k=5, shuffle=shuffle)) for shuffle in range(4)}
    assert len(orders) == 4
    assert {tuple(sorted(order)) for order in orders} == {tuple(sorted(drawn(k=5)))}


def test_a_shuffle_is_the_same_each_time() -> None:
    assert drawn(k=5, shuffle=2) == drawn(k=5, shuffle=2)


@pytest.mark.parametrize("seed", range(20))
def test_a_text_to_judge_is_never_in_the_history(seed: int) -> None:
    unseen = {"plot 2", "plot 7", "left 0", "right 3"}
    shown = history(REVIEWER, k=10, seed=seed, shuffle=seed, unseen=unseen)
    assert len(shown.reviews) == 8
    assert len(shown.comparisons) == 3
    texts = {review.text for review in shown.reviews}
    texts |= {text for one in shown.comparisons for text in (one.response_a, one.response_b)}
    assert not texts & unseen


def test_nothing_else_of_the_reviewer_changes() -> None:
    shown = history(REVIEWER, k=2, seed=0)
    assert (shown.id, shown.scale) == (REVIEWER.id, REVIEWER.scale)


def test_without_comments_only_the_comments_are_gone() -> None:
    bare = without_comments(REVIEWER)
    assert [(review.text, review.comment, review.score) for review in bare.reviews] == [
        (review.text, "", review.score) for review in REVIEWER.reviews
    ]
    assert bare.comparisons == REVIEWER.comparisons


# the cap


def words(count: int, name: str = "w") -> str:
    return " ".join(f"{name}{n}" for n in range(count))


def some_reviewer(noise: random.Random) -> Reviewer:
    """A reviewer with texts of all lengths, also none and also equal ones."""
    lengths = [noise.choice([0, 1, 3, 8, 8, 20, 60]) for _ in range(noise.randint(0, 6) * 2)]
    reviews = [
        Review(text=words(text), comment=words(comment, "c"), score=noise.randint(1, 10))
        for text, comment in zip(lengths[::2], lengths[1::2], strict=True)
    ]
    comparisons = [
        Comparison(response_a=words(noise.choice([0, 5, 30])), response_b=words(noise.choice([2, 30])), label="b")
        for _ in range(noise.randint(0, 3))
    ]
    return Reviewer(id="r", reviews=reviews, comparisons=comparisons)


def texts_of(reviewer: Reviewer) -> list[str]:
    pairs = [text for one in reviewer.comparisons for text in (one.response_a, one.response_b)]
    return [*(review.text for review in reviewer.reviews), *pairs]


def comments_of(reviewer: Reviewer) -> list[str]:
    return [review.comment for review in reviewer.reviews]


def kept_words(texts: list[str]) -> list[int]:
    return [count_words(text.removesuffix(CUT)) for text in texts]


SEEDS = range(150)


@pytest.fixture(params=SEEDS)
def cut(request: pytest.FixtureRequest) -> tuple[Reviewer, Reviewer, list[str], int]:
    noise = random.Random(request.param)
    reviewer = some_reviewer(noise)
    cap = noise.choice([0, 1, 7, 25, 60, 150, 400])
    return reviewer, *capped(reviewer, words=cap), cap


Cut = tuple[Reviewer, Reviewer, list[str], int]


def test_a_capped_history_keeps_to_the_cap_and_to_what_it_was(cut: Cut) -> None:
    before, after, notes, cap = cut
    assert sum(kept_words(texts_of(after)) + kept_words(comments_of(after))) <= cap
    total = sum(map(count_words, texts_of(before) + comments_of(before)))
    if total <= cap:
        assert after == before
    assert bool(notes) == (after != before) == (total > cap)
    # Scores, choices and their number are never cut.
    assert [review.score for review in after.reviews] == [review.score for review in before.reviews]
    assert [one.label for one in after.comparisons] == [one.label for one in before.comparisons]
    # Only the longest are cut, all to one length, and what is left is the beginning.
    for old, new in ((texts_of(before), texts_of(after)), (comments_of(before), comments_of(after))):
        kept = kept_words(new)
        shortened = [n for one, other, n in zip(old, new, kept, strict=True) if one != other]
        assert len(set(shortened)) <= 1
        for one, other, n in zip(old, new, kept, strict=True):
            assert one.split()[:n] == other.removesuffix(CUT).split()
            assert other.endswith(CUT) == (one != other)
            if shortened:
                assert (n <= shortened[0]) if one == other else (count_words(one) > shortened[0])
    # Comments are cut only when no text is left.
    if comments_of(after) != comments_of(before):
        assert sum(kept_words(texts_of(after))) == 0


def test_a_cap_wastes_less_than_a_word_a_text(cut: Cut) -> None:
    before, after, notes, cap = cut
    used = sum(kept_words(texts_of(after)) + kept_words(comments_of(after)))
    if notes:
        assert used > cap - 2 * (len(texts_of(before)) + len(comments_of(before)))


def two_texts(first: int, second: int, comment: int = 0) -> Reviewer:
    return Reviewer(
        id="r",
        reviews=[
            Review(text=words(first), comment=words(comment, "c"), score=3),
            Review(text=words(second), score=8),
        ],
    )


@pytest.mark.parametrize(
    ("first", "second", "cap", "kept"),
    [
        (10, 10, 20, [10, 10]),
        (10, 10, 19, [9, 9]),
        (2, 50, 20, [2, 18]),
        (50, 2, 20, [18, 2]),
        (50, 40, 20, [10, 10]),
        (5, 5, 1, [0, 0]),
        (5, 0, 0, [0, 0]),
    ],
)
def test_the_longest_texts_are_cut_first(first: int, second: int, cap: int, kept: list[int]) -> None:
    after, _ = capped(two_texts(first, second), words=cap)
    assert kept_words(texts_of(after)) == kept


def test_a_note_says_how_many_words_were_kept() -> None:
    assert capped(two_texts(50, 2), words=20)[1] == ["profile: texts cut, at most 18 words each kept, by the cap"]
    assert capped(two_texts(5, 5), words=1)[1] == ["profile: texts cut, at most 0 words each kept, by the cap"]


def test_texts_and_comments_have_notes_of_their_own() -> None:
    _, notes = capped(two_texts(50, 2, comment=30), words=20)
    assert notes == [
        "profile: texts cut, at most 0 words each kept, by the cap",
        "profile: comments cut, at most 20 words each kept, by the cap",
    ]


def test_a_cut_is_marked_and_keeps_the_spacing_before_it() -> None:
    spaced = Reviewer(id="r", reviews=[Review(text="One  two\n\nthree four.", score=1)])
    assert capped(spaced, words=3)[0].reviews[0].text == "One  two\n\nthree [...]"


def test_a_text_to_judge_over_the_cap_leaves_no_room() -> None:
    with pytest.raises(ContextOverflow, match="the text to judge is 7 words longer than the cap; raise max_words"):
        capped(REVIEWER, words=-7)


def test_nobody_fits_any_cap() -> None:
    assert capped(Reviewer(id="r"), words=0) == (Reviewer(id="r"), [])


# features

PERSONA = Persona(
    features={"education": "school", "ethnicity": "asian", "country": "Chile", "religion": "none", "age": "30"},
    text="All of it in one sentence.",
)


@pytest.mark.parametrize(
    ("which", "kept"),
    [
        ("key", {"education", "ethnicity", "country"}),
        ("least", {"religion"}),
        ("none", set()),
        ("age", {"age"}),
        ("age, religion", {"age", "religion"}),
        ("age,height", {"age"}),
    ],
)
def test_a_part_of_a_persona_is_named(which: str, kept: set[str]) -> None:
    part, _ = features(PERSONA, which)
    assert part == Persona(features={name: value for name, value in PERSONA.features.items() if name in kept})


def test_all_features_are_the_whole_persona() -> None:
    assert features(PERSONA, "all") == (PERSONA, [])


@pytest.mark.parametrize("name", ["location", "birth_country", "residence_country", "country", "region"])
def test_a_location_goes_by_several_names(name: str) -> None:
    assert features(Persona(features={name: "Chile"}), "key")[0].features == {name: "Chile"}


@pytest.mark.parametrize(
    ("which", "notes"),
    [
        ("key", []),
        ("age,height,shoe", ["persona: no feature 'height' is known", "persona: no feature 'shoe' is known"]),
        ("none", []),
    ],
)
def test_only_a_feature_asked_for_by_name_is_noted_when_it_is_unknown(which: str, notes: list[str]) -> None:
    assert features(PERSONA, which)[1] == notes


@pytest.mark.parametrize("which", ["key", "least"])
def test_a_set_of_unknown_features_is_noted(which: str) -> None:
    assert features(Persona(features={"age": "30"}), which)[1] == [f"persona: none of the {which} features is known"]


@pytest.mark.parametrize("which", ["", " ", ",", "age,", "age,,religion"])
def test_an_empty_name_of_a_feature_is_refused(which: str) -> None:
    with pytest.raises(DeclarationError, match="an empty name"):
        features(PERSONA, which)
