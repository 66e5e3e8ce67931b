"""Blocks with weights of people: unknown people, exchanged pairs, learning from a few labels, what a file holds."""

from typing import Any

import numpy as np
import pytest

from dicast.data import Case, EarlierConversation, Persona, Preference, Reviewer, Verdict
from dicast.data.person import person_of
from dicast.errors import DeclarationError
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.arrays import Array
from dicast.judging.heads import PairHead
from dicast.judging.linear_block import LinearBlock
from dicast.judging.person_block import PersonBlock, learned_blocks

WIDTH = 6
SPEC = SourceSpec(kind="state", model="local/small", digest="ab" * 32, layer=21, width=WIDTH)
RANDOM = np.random.default_rng(0)
LINEAR = LinearBlock(
    source=SPEC, weights=Array.of(RANDOM.standard_normal(WIDTH)), centre=Array.of(RANDOM.standard_normal(WIDTH))
)


def empty(**fields: Any) -> PersonBlock:
    given: dict[str, Any] = {"scale": np.full(WIDTH, 2.0), "penalty": 0.5, "ratio": 1.0, "loss": "logistic"} | fields
    return PersonBlock.of(LINEAR, **given)


def pair(number: int, person: str = "ann", label: str | int | None = "a", **fields: Any) -> Case:
    given: dict[str, Any] = {
        "candidates": [{"text": f"one {number}"}, {"text": f"two {number}"}],
        "label": {"value": label} if label is not None else None,
        "profile": Preference(text=f"what {person} likes"),
        "group": person,
    }
    return Case(id=str(number), query=f"Question {number}?", **(given | fields))


def vectors(number: int, count: int = 2) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(number + 100).standard_normal((count, WIDTH)).astype(np.float32)


def learned(people: dict[str, str], each: int = 8) -> PersonBlock:
    """A block that has learned from `each` pairs of each person, who always prefers this letter."""
    cases = [pair(n, name, letter) for name, letter in people.items() for n in range(each)]
    return empty().learn(cases, [vectors(int(case.id)) for case in cases])


# whose weights


def test_who_the_person_of_a_case_is() -> None:
    reviewer = Reviewer(id="r7", reviews=[{"text": "a plot", "score": 3}])
    assert person_of(pair(1, profile=None)) is None
    assert person_of(pair(1, profile=reviewer)) == person_of(pair(2, profile=reviewer, group="other"))
    assert person_of(pair(1, "ann")) == person_of(pair(2, "ann")) != person_of(pair(1, "bob"))
    cook, clerk = Persona(text="A cook."), Persona(text="A clerk.")
    assert person_of(pair(1, profile=cook, group=None)) == person_of(pair(2, profile=cook, group=None))
    assert person_of(pair(1, profile=cook, group=None)) != person_of(pair(1, profile=clerk, group=None))
    said = EarlierConversation(turns=[{"role": "user", "text": "No meat, please."}])
    assert person_of(pair(1, profile=said, group=None)) is not None


@pytest.mark.parametrize("known", [{}, {"bob": "a", "eve": "b"}])
def test_an_unknown_person_is_judged_by_the_shared_weights_bit_for_bit(known: dict[str, str]) -> None:
    block = learned(known) if known else empty()
    for number in range(20):
        for case in (pair(number), pair(number, profile=None, group=None)):
            assert block.measure(case, vectors(number)) == LINEAR.measure(case, vectors(number))


def test_a_person_who_prefers_the_first_gets_higher_numbers_for_it_than_one_who_prefers_the_second() -> None:
    block = learned({"ann": "a", "bob": "b"})
    margins = {
        name: sum(
            block.measure(pair(n, name), vectors(n))[0] - block.measure(pair(n, name), vectors(n))[1] for n in range(8)
        )
        for name in ("ann", "bob", "nobody")
    }
    assert margins["ann"] > margins["nobody"] > margins["bob"]


@pytest.mark.parametrize("seed", range(5))
def test_exchanged_candidates_exchange_the_numbers_bit_for_bit(seed: int) -> None:
    block, read = learned({"ann": "a", "bob": "b"}), vectors(1000 + seed)
    case = pair(seed, "bob")
    assert block.measure(case.swapped(), read[::-1]) == block.measure(case, read)[::-1]


def test_pairs_that_were_labelled_the_other_way_round_teach_the_same() -> None:
    cases = [pair(n, label="ab"[n % 2]) for n in range(9)]
    read = [vectors(n) for n in range(9)]
    straight, turned = empty().learn(cases, read), empty().learn([c.swapped() for c in cases], [x[::-1] for x in read])
    for number in range(20, 25):
        expected = straight.measure(pair(number), vectors(number))
        assert turned.measure(pair(number), vectors(number)) == pytest.approx(expected, abs=1e-4)


def test_learning_leaves_others_and_the_shared_weights_as_they_are() -> None:
    block = learned({"ann": "a"})
    more = block.learn([pair(n, "bob", "b") for n in range(5)], [vectors(n) for n in range(5)])
    assert more.weights == LINEAR.weights
    assert more.people[person_of(pair(0, "ann")) or ""] == block.people[person_of(pair(0, "ann")) or ""]
    assert len(more.people) == 2


@pytest.mark.parametrize(("ratio", "expected"), [(1e-12, 0.0), (1e6, 1.0)])
def test_a_small_ratio_gives_the_shared_weights_and_a_large_one_the_person_alone(ratio: float, expected: float) -> None:
    cases = [pair(n, label="b") for n in range(5)]
    wrong = [vectors(n) if np.diff(LINEAR.measure(pair(n), vectors(n)))[0] < 0 else vectors(n)[::-1] for n in range(5)]
    block = empty(ratio=ratio).learn(cases, wrong)
    right = [np.diff(block.measure(case, read))[0] > 0 for case, read in zip(cases, wrong, strict=True)]
    assert np.mean(right) == expected


def test_a_reviewer_who_is_harsher_scores_lower() -> None:
    block = empty(loss="squares", level=6.0)
    cases = [
        Case(
            id=str(n),
            query="",
            candidates=[{"text": f"plot {n}"}],
            profile=Reviewer(id="harsh", reviews=[{"text": "t", "score": 2}]),
            label={"values": [3.0], "lo": 1, "hi": 10},
        )
        for n in range(10)
    ]
    centre = LINEAR.centre
    assert centre is not None
    read = [vectors(n, 1) * 0 + centre.values for n in range(10)]  # all texts read the same
    assert block.learn(cases, read).measure(cases[0], read[0])[0] == pytest.approx(-3 * 10 / 10.5)  # 10 / (10 + .5)
    assert block.measure(cases[0], read[0]) == (0.0,)


def test_a_choice_teaches_that_the_chosen_one_beats_the_others() -> None:
    cases = [pair(n, candidates=[{"text": t} for t in "xyz"], label=1) for n in range(6)]
    read = [vectors(n, 3) for n in range(6)]
    block = empty(ratio=100.0).learn(cases, read)
    before, after = ([one.measure(c, x) for c, x in zip(cases, read, strict=True)] for one in (empty(), block))
    gain = [
        new[1] - max(new[0], new[2]) - (old[1] - max(old[0], old[2])) for old, new in zip(before, after, strict=True)
    ]
    assert min(gain) > 0


# what is refused, and what is saved


def test_labels_of_nobody_teach_nothing() -> None:
    with pytest.raises(DeclarationError, match="no case has a profile"):
        empty().learn([pair(1, profile=None)], [vectors(1)])
    with pytest.raises(DeclarationError, match="no case has a profile and a label"):
        empty().learn([pair(1, label=None)], [vectors(1)])


def test_a_head_without_weights_of_people_cannot_learn_a_person() -> None:
    with pytest.raises(DeclarationError, match="no weights of people"):
        learned_blocks({"state": LINEAR}, [pair(1)], [{"state": vectors(1)}])
    blocks = learned_blocks({"state": empty(), "other": LINEAR}, [pair(1)], [{"state": vectors(1)}])
    block = blocks["state"]
    assert isinstance(block, PersonBlock)
    assert len(block.people) == 1
    assert blocks["other"] is LINEAR


@pytest.mark.parametrize(
    "fields", [{"scale": Array.of(np.zeros(WIDTH))}, {"people": {"x": Array.of(np.ones(WIDTH))}}, {"ratio": 0.0}]
)
def test_arrays_that_do_not_fit_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"scale|shape|ratio"):
        PersonBlock.model_validate(empty().model_dump() | fields)


def test_a_head_with_people_survives_json_and_names_nobody() -> None:
    head = PairHead(weights={"state": 1.0}, blocks={"state": learned({"ann": "a", "bob": "b"})})
    text = head.model_dump_json()
    assert PairHead.model_validate_json(text) == head
    assert not any(word in text for word in ("ann", "bob", "likes", "Question", "one 1"))
    assert dict(head.describe())["evidence state"].endswith("with deviations of 2 people")


def test_a_head_judges_each_person_by_the_persons_weights() -> None:
    head = PairHead(weights={"state": 1.0}, blocks={"state": learned({"ann": "a", "bob": "b"})})
    shares = []
    for name in ("ann", "bob", "nobody"):
        verdict = Verdict(case_id="3", winner="a", distribution={"a": 0.5, "b": 0.5})
        distribution = head(pair(3, name), verdict, {"state": vectors(3)}).distribution
        assert distribution is not None
        shares.append(distribution["a"])
    assert shares[0] > shares[2] > shares[1]
