"""Groups that share texts are joined: copies and near duplicates stay in one part, fixed options join nothing."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from dicast.catalog import read
from dicast.data import Case, split
from dicast.data.joined_groups import MOST_QUERIES, join_groups
from dicast.data.text_digest import candidate_digests, query_digest

WORDS = ("river", "stone", "cloud", "paper", "glass", "orange", "winter", "music", "garden", "bridge", "silver")


def sentence(number: int, words: int = 9) -> str:
    """A sentence that shares hardly a run of five characters with another number's."""
    chosen = np.random.default_rng(number).choice(WORDS, words)
    return f"{number} " + " ".join(f"{word}{(number * 7919 + place) % 9973}" for place, word in enumerate(chosen))


def pair(number: int, **fields: object) -> Case:
    texts = [{"text": sentence(10 * number + 1)}, {"text": sentence(10 * number + 2)}]
    base = {
        "id": str(number),
        "query": sentence(10 * number),
        "candidates": texts,
        "label": {"value": "ab"[number % 2]},
    }
    return Case.model_validate(base | fields)


def copies(count: int, **changed: object) -> list[Case]:
    """Pairs, and the same pairs with other ids and with `changed`; functions take the case's number."""
    cases = [pair(number, group=f"first {number}") for number in range(count)]
    again = [
        pair(number, id=f"copy {number}", **{k: v(number) if callable(v) else v for k, v in changed.items()})
        for number in range(count)
    ]
    return cases + again


def leaked(parts: dict[str, list[Case]]) -> int:
    """Test cases whose query or a candidate text is in another part, by normalised digests."""
    known = {
        digest
        for name, cases in parts.items()
        if name != "test"
        for case in cases
        for digest in (query_digest(case), *candidate_digests(case))
    } - {""}
    return sum(bool(known & {query_digest(case), *candidate_digests(case)}) for case in parts["test"])


def test_the_same_pairs_of_two_annotators_are_in_one_part() -> None:
    cases = copies(100, group=lambda number: f"second {number}")
    assert leaked(split(cases, join=False)) > 20
    assert leaked(split(cases)) == 0
    assert join_groups(cases).summary == "200 of 200 cases joined by equal texts"


def test_the_same_pairs_with_a_space_after_the_query_are_in_one_part() -> None:
    cases = [case.model_copy(update={"group": None}) for case in copies(100, query=lambda n: sentence(10 * n) + " ")]
    assert leaked(split(cases, join=False)) > 20
    assert leaked(split(cases)) == 0


def test_a_shared_candidate_text_joins_groups() -> None:
    shared = {"text": sentence(7777)}
    cases = [pair(n) for n in range(30)]
    cases += [pair(n, candidates=[shared, {"text": sentence(n)}]) for n in (100, 200)]
    groups = join_groups(cases)
    assert groups.keys[30] == groups.keys[31]
    assert len(set(groups.keys)) == 31
    assert groups.summary == "2 of 32 cases joined by equal texts"


def test_short_pairs_are_joined_only_as_a_whole() -> None:
    def short(number: int, query: str, *texts: str, group: str) -> Case:
        return pair(number, query=query, candidates=[{"text": text} for text in texts], group=group)

    cases = [pair(n) for n in range(20)]
    cases += [short(100, "2 + 2?", "4", "5", group="x"), short(101, "2+2?", "4", "5", group="y")]
    cases += [short(102, "2 + 2? ", "5", "4", group="z")]
    groups = join_groups(cases)
    assert groups.keys[20] == groups.keys[22] != groups.keys[21]
    assert len(set(groups.keys)) == 22


def test_empty_texts_join_nothing() -> None:
    cases = [pair(n, query="", candidates=[{"text": ""}, {"text": "yes"}], group=f"g{n}") for n in range(3)]
    empty = [pair(n, query="", candidates=[{"text": ""}, {"text": ""}], group=f"e{n}") for n in range(50)]
    groups = join_groups([*empty, *[pair(n) for n in range(20)]])
    assert len(set(groups.keys)) == 70
    assert groups.summary == ""
    assert len(set(join_groups(cases).keys)) == 3  # fewer groups than any split could fill


def test_texts_without_a_query_are_no_group() -> None:
    texts = [Case(id=str(n), query="", candidates=[{"text": sentence(n)}], label=None) for n in range(20)]
    aspects = [case.model_copy(update={"id": f"{case.id}#tone", "aspect": "tone"}) for case in texts]
    groups = join_groups(texts + aspects)
    assert len(set(groups.keys)) == 20
    assert groups.keys[:20] == groups.keys[20:]
    assert groups.summary == ""


def test_a_fixed_option_joins_nothing() -> None:
    option = {"text": "None of the other answers is right here."}
    few = [pair(n, candidates=[option, {"text": sentence(n)}]) for n in range(MOST_QUERIES)]
    more = [pair(100, candidates=[option, {"text": sentence(100)}])]
    others = [pair(n) for n in range(200, 240)]
    assert len(set(join_groups(few + others).keys)) == 1 + len(others)
    assert join_groups(few + more + others).summary == ""
    assert len(set(join_groups(few + more + others).keys)) == MOST_QUERIES + 1 + len(others)


def test_persons_who_answer_the_same_queries_stay_groups() -> None:
    cases = [
        pair(n, id=f"{person}-{n}", group=f"person {person}", profile={"kind": "persona", "text": f"No. {person}"})
        for person in range(20)
        for n in range(10)
    ]
    groups = join_groups(cases)
    assert groups.keys == tuple(case.group for case in cases)
    (recurring, texts) = groups.recurring
    assert (recurring.kind, recurring.cases, recurring.largest) == ("queries", 200, 200)
    assert texts.kind == "candidate texts"
    assert "queries of 200 cases recur in other groups" in groups.summary
    assert "parts differ in groups, not in queries" in groups.summary
    assert groups.apply(cases) == cases


def test_cases_without_equal_texts_keep_their_groups_and_their_split() -> None:
    cases = [pair(n, group=f"g{n // 3}") for n in range(90)]
    groups = join_groups(cases)
    assert groups.keys == tuple(case.split_key for case in cases)
    assert groups.summary == ""
    for seed in range(5):
        assert split(cases, seed=seed) == split(cases, seed=seed, join=False)


def test_joined_groups_do_not_depend_on_the_order_of_cases() -> None:
    cases = copies(30, group=lambda number: f"second {number // 2}")
    expected = dict(zip((case.id for case in cases), join_groups(cases).keys, strict=True))
    random.Random(0).shuffle(cases)
    groups = join_groups(cases)
    assert dict(zip((case.id for case in cases), groups.keys, strict=True)) == expected
    assert [case.split_key for case in groups.apply(cases)] == list(groups.keys)


def test_a_group_of_the_user_is_never_divided() -> None:
    cases = copies(40, group=lambda number: f"second {number // 4}")
    homes: dict[str, set[str]] = {}
    for case, key in zip(cases, join_groups(cases).keys, strict=True):
        homes.setdefault(case.split_key, set()).add(key)
    assert all(len(keys) == 1 for keys in homes.values())


def test_near_duplicates_are_joined_and_counted() -> None:
    cases = [pair(n) for n in range(30)]
    cases.append(pair(100, query=sentence(0) + ", please"))
    cases.append(pair(101, candidates=[{"text": sentence(11).replace("river", "lake")}, {"text": "no"}]))
    groups = join_groups(cases)
    assert groups.keys[30] == groups.keys[0]
    assert groups.near >= 2
    assert groups.summary.startswith(f"{groups.near} of 32 cases joined by near duplicates")


@pytest.mark.parametrize("name", ["prefeval-implicit", "prefeval-mcq", "prism", "pandalm", "autoj"])
def test_no_test_case_of_a_public_set_shares_a_query_with_another_part(name: str, public_sets: object) -> None:
    cases: Sequence[Case] = list(read(name))
    before, after = leaked(split(cases, join=False)), split(cases)
    assert leaked(after) <= before
    elsewhere = {query_digest(case) for part, held in after.items() if part != "test" for case in held} - {""}
    assert [case.id for case in after["test"] if query_digest(case) in elsewhere] == []
