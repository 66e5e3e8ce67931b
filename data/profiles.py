"""Which part of a person's profile a judge sees: k reviews by seed, features by name, and a cap in words.

    history           k of a reviewer's reviews (or comparisons), sampled and ordered by seed (PerSE, Wang et al. 2023)
    by_aspect         the reviews and comparisons about one aspect
    without_comments  the same reviews with only their scores
    capped            at most so many words; the longest texts are cut first, and every cut is reported
    features          part of a persona: all, key, least, none, by name or by number (arXiv 2406.11657, section 5)

Whatever is left out is returned as notes, one sentence each, so that no cut is silent.
"""

import random
import re
from collections.abc import Collection, Sequence

from ..errors import ContextOverflow, DeclarationError
from .case import Comparison, Persona, Review, Reviewer

# arXiv 2406.11657 names three important features and one unimportant one; places go by several names in the sets.
LOCATION = ("location", "birth_country", "residence_country", "country", "region")
FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "key": ("education", "ethnicity", *LOCATION),
    "least": ("religion",),
    "none": (),
}
COUNTED = re.compile(r"(?P<how>first|drawn):(?P<count>\d{1,4})")
KNOWN_FEATURES = "all, key, least, none, or names: age,education; or first:3, or drawn:3, for a number of them"
CUT = " [...]"


def history(reviewer: Reviewer, *, k: int, seed: int, shuffle: int = 0, unseen: Collection[str] = ()) -> Reviewer:
    """The reviewer with k of their reviews, and k of their comparisons; fewer when there are no more.

    Args:
        k: how many; 0 leaves none.
        seed: of the sample, which is the same for every case of this reviewer.
        shuffle: 0 keeps the order of the history; any other number is the seed of another order.
        unseen: texts to be judged, which may not be in the history.
    """
    reviews = [review for review in reviewer.reviews if review.text not in unseen]
    comparisons = [pair for pair in reviewer.comparisons if not {pair.response_a, pair.response_b} & set(unseen)]

    def sampled(items: Sequence[object]) -> list[object]:
        chosen = sorted(random.Random(f"{seed}/{reviewer.id}").sample(range(len(items)), min(k, len(items))))
        if shuffle:
            random.Random(f"{shuffle}/{reviewer.id}").shuffle(chosen)
        return [items[index] for index in chosen]

    return reviewer.model_copy(update={"reviews": tuple(sampled(reviews)), "comparisons": tuple(sampled(comparisons))})


def by_aspect(reviewer: Reviewer, aspect: str | None) -> Reviewer:
    """The reviewer with the reviews and comparisons about one aspect, and those that name none; all for None."""

    def is_about(past: Review | Comparison) -> bool:
        return None in (aspect, past.aspect) or str(past.aspect).casefold() == str(aspect).casefold()

    return reviewer.model_copy(
        update={
            "reviews": tuple(filter(is_about, reviewer.reviews)),
            "comparisons": tuple(filter(is_about, reviewer.comparisons)),
        }
    )


def without_comments(reviewer: Reviewer) -> Reviewer:
    """The reviewer's scores without what they wrote."""
    reviews = tuple(review.model_copy(update={"comment": ""}) for review in reviewer.reviews)
    return reviewer.model_copy(update={"reviews": reviews})


def capped(reviewer: Reviewer, *, words: int) -> tuple[Reviewer, list[str]]:
    """The reviewer with a history of at most `words` words, and what was cut.

    The texts of the history are cut at their end, the longest first, all to one length; when no text is left, comments
    are cut the same way. Scores, choices and the queries that the texts answer are never cut.

    Raises:
        ContextOverflow: the text to judge is longer than the cap, so that `words` is negative.
    """
    if words < 0:
        raise ContextOverflow(f"the text to judge is {-words} words longer than the cap; raise max_words.")
    comments = [review.comment for review in reviewer.reviews]
    texts = [review.text for review in reviewer.reviews]
    queries = [past.query for past in reviewer.reviews] + [pair.query for pair in reviewer.comparisons]
    words -= sum(count_words(query) for query in queries if query)
    pairs = [text for pair in reviewer.comparisons for text in (pair.response_a, pair.response_b)]
    short_comments = _cut_to(comments, words)
    short_texts = _cut_to([*texts, *pairs], words - sum(map(count_words, short_comments)))
    notes = [
        f"profile: {cut} at most {max(map(_kept_words, after))} words each kept, by the cap"
        for cut, before, after in (
            ("texts cut,", [*texts, *pairs], short_texts),
            ("comments cut,", comments, short_comments),
        )
        if before != after
    ]
    cut_reviews = zip(reviewer.reviews, short_texts, short_comments, strict=False)
    reviews = tuple(past.model_copy(update={"text": text, "comment": comment}) for past, text, comment in cut_reviews)
    sides = iter(short_texts[len(texts) :])
    comparisons = tuple(
        pair.model_copy(update={"response_a": next(sides), "response_b": next(sides)}) for pair in reviewer.comparisons
    )
    return reviewer.model_copy(update={"reviews": reviews, "comparisons": comparisons}), notes


def features(persona: Persona, which: str, seed: int = 0) -> tuple[Persona, list[str]]:
    """The part of the persona that `which` names, and which named features it lacks.

    Args:
        which: `all` (features and free text), `key`, `least`, `none`, features by name, as in `age,education`, or their
            number: `first:3` takes the first three of the persona, `drawn:3` draws three by seed, in the persona's
            order, so that `drawn:2` is part of `drawn:3`. All but `all` leave the free text out, because it names
            every feature.
        seed: of `drawn`; equal personas draw the same features.

    Raises:
        DeclarationError: an empty name in the list, or a number of features that is none.
    """
    if which == "all":
        return persona, []
    if counted := COUNTED.fullmatch(which.strip()):
        return _so_many(persona, int(counted["count"]), seed if counted["how"] == "drawn" else None)
    names = FEATURE_SETS.get(which) or tuple(name.strip() for name in which.split(",") if which != "none")
    if not all(names) or any(name.partition(":")[0] in ("first", "drawn") and ":" in name for name in names):
        reason = "an empty name" if not all(names) else "that is no number of features, 0 to 9999"
        raise DeclarationError(f"features {which!r}: {reason}. Use {KNOWN_FEATURES}.")
    chosen = {name: value for name, value in persona.features.items() if name in names}
    lacking = [name for name in names if name not in chosen] if which not in FEATURE_SETS else []
    notes = [f"persona: no feature {name!r} is known" for name in lacking]
    if which in FEATURE_SETS and which != "none" and not chosen:
        notes = [f"persona: none of the {which} features is known"]
    return Persona(features=chosen), notes


def _so_many(persona: Persona, count: int, seed: int | None) -> tuple[Persona, list[str]]:
    """The persona with its first `count` features, or with as many drawn by seed."""
    names = list(persona.features)
    if seed is not None:
        random.Random(f"{seed}/{sorted(persona.features.items())}").shuffle(names)
    chosen = set(names[:count])
    notes = [f"persona: {len(names)} features are known, not {count}"] if count > len(names) else []
    return Persona(features={name: value for name, value in persona.features.items() if name in chosen}), notes


def count_words(text: str) -> int:
    return len(text.split())


def _kept_words(text: str) -> int:
    return count_words(text.removesuffix(CUT))


def _cut_to(texts: Sequence[str], words: int) -> list[str]:
    """The texts with at most `words` words in all (not counting the mark of a cut), the longest cut first."""
    lengths = [count_words(text) for text in texts]
    if sum(lengths) <= words:
        return list(texts)
    most, room = 0, max(words, 0)
    for rank, length in enumerate(sorted(lengths)):  # fill the shortest first: what is left is shared by the longer
        most = room // (len(lengths) - rank)
        if length > most:
            break
        room -= length
    return [_first_words(text, most) if n > most else text for text, n in zip(texts, lengths, strict=True)]


def _first_words(text: str, words: int) -> str:
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return (text[: ends[words - 1]] if words else "") + CUT
