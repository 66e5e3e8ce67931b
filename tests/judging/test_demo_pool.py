"""Demos by nearness: the nearest, in their places, never of a case's group, within a budget of tokens."""

import numpy as np
import pytest
from nearness_world import LETTERS, SPEC, letters, source
from pydantic import ValidationError

from dicast.data import Case
from dicast.errors import DeclarationError
from dicast.judging.arrays import ARRAYS
from dicast.judging.case_in_hand import case_in_hand, judging
from dicast.judging.demo_pool import DemoPool, placed, places
from dicast.judging.judge import present


def pair(number, a="good answer", b="bad answer", query="question", group=None):
    return Case(
        id=f"c{number}",
        query=query,
        group=group or f"g{number}",
        candidates=[{"text": a}, {"text": b}],
        label={"value": "a"},
    )


def inputs_of(case):
    shown = present(case)
    return {"request": shown.request, "response_a": shown.responses[0], "response_b": shown.responses[1]}


def rows(case):
    """The demos of a pair in both orders, as (case, demo, vectors)."""
    for shown in (case, case.swapped()):
        demo = {name: str(text) for name, text in inputs_of(shown).items()} | {"better": str(shown.label.value).upper()}
        yield shown, demo, placed(shown, inputs_of(shown), letters(shown))


def pool(cases, **settings):
    demos = [row for case in cases for row in rows(case)]
    return DemoPool.of(SPEC, "state", demos, **({"most": 2, "tokens": 10_000} | settings))


def chosen(demos, case):
    with judging(case, lambda: (source(),)):
        return demos.nearest(inputs_of(case))


CASES = [
    pair(1, "aaa apples", "zz zebra"), pair(2, "bees bbb", "yy yak"), pair(3, "cats ccc", "xx fox"),
    pair(4, "ducks ddd", "ww wolf"), pair(5, "eels eee", "vv vole"),
]  # fmt: skip


def test_the_nearest_demo_comes_last_and_lies_as_the_question_does():
    known = pool(CASES)
    first, last = chosen(known, pair(9, "many apples aaa", "a zebra zz"))
    assert "apples" in last["response_a"]
    assert (last["better"], len({first["response_a"], last["response_a"]})) == ("A", 2)
    (_, turned) = chosen(known, pair(9, "a zebra zz", "many apples aaa"))
    assert "apples" in turned["response_b"]
    assert turned["better"] == "B"


def test_an_exchanged_question_gets_the_exchanged_demos():
    known, new = pool(CASES, most=3), pair(9, "cats and bees", "a fox and a yak")
    exchange = {"response_a": "response_b", "response_b": "response_a"}
    turned = [
        {exchange.get(name, name): {"A": "B", "B": "A"}.get(value, value) for name, value in demo.items()}
        for demo in chosen(known, new)
    ]
    assert chosen(known, new.swapped()) == turned


def test_the_order_in_which_demos_come_changes_nothing():
    demos = [row for case in CASES for row in rows(case)]
    order = np.random.default_rng(0).permutation(len(demos))
    shuffled = DemoPool.of(SPEC, "state", [demos[row] for row in order], most=2, tokens=10_000)
    assert shuffled == pool(CASES)
    assert shuffled.digest == pool(CASES).digest == pool([case.swapped() for case in CASES]).digest


def test_no_case_is_shown_a_demo_of_its_group_or_of_itself():
    grouped = [
        case.model_copy(update={"group": "pets" if number < 3 else f"g{number}"}) for number, case in enumerate(CASES)
    ]
    known = pool(grouped, most=5)
    assert len(chosen(known, pair(9, group="another"))) == 5
    shown = chosen(known, pair(9, "aaa apples", "zzz", group="pets"))
    assert len(shown) == 2
    assert not any("apples" in str(demo) for demo in shown)
    itself = grouped[0].model_copy(update={"group": "its file's", "id": "other"})  # groups were joined in compilation
    assert len(chosen(known, itself)) == 2


def test_demos_keep_to_their_budget():
    long = [*CASES, pair(6, "apples aaa " * 400, "zebra zz " * 40)]
    new = pair(9, "apples aaa", "zebra zz")
    assert any(len(demo["response_a"]) > 4000 for demo in chosen(pool(long), new))
    short = chosen(pool(long, tokens=100), new)
    assert sum(len(name) + len(value) + 3 for demo in short for name, value in demo.items()) <= 400
    assert 0 < len(short) <= 2
    assert chosen(pool(long, tokens=1), new) == []


def test_the_places_of_texts_are_found_in_any_question():
    case = pair(1, "first text", "second\ntext")
    shown = present(case, "ba")
    assert places(case, {"request": shown.request, "x": shown.responses[0], "y": shown.responses[1]}) == (1, 0)
    assert places(case, {"response": shown.responses[0]}) == (1,)
    assert places(case, {"request": shown.request, "count": 3}) == ()
    equal = pair(1, "same", "same")
    assert places(equal, inputs_of(equal)) == (0, 1)
    vectors = letters(case)
    assert (placed(case, {"response": shown.responses[0]}, vectors) == vectors[1:]).all()
    assert placed(case, {}, vectors) == pytest.approx(vectors.mean(axis=0)[None])


def test_a_pool_comes_back_from_json_and_from_tensors_with_equal_choices():
    known, arrays = pool(CASES), {}
    content = known.model_dump(mode="json", context={ARRAYS: arrays})
    again = DemoPool.model_validate_json(known.model_dump_json())
    assert again == known == DemoPool.model_validate(content, context={ARRAYS: arrays})
    assert [array.dtype for array in arrays.values()] == ["float16"]
    for number in range(6, 12):
        assert chosen(again, pair(number, f"some {'abcdef'[number - 6] * 3}", "no")) == chosen(
            known, pair(number, f"some {'abcdef'[number - 6] * 3}", "no")
        )


def test_what_was_read_otherwise_is_refused():
    known, new = pool(CASES), pair(9)
    with pytest.raises(DeclarationError, match="no case is being judged"):
        known.nearest(inputs_of(new))
    with judging(new, lambda: ()), pytest.raises(DeclarationError, match="--set evidence=state"):
        known.nearest(inputs_of(new))
    other = source(spec=SPEC.model_copy(update={"digest": "1" * 64}))
    with judging(new, lambda: (other,)), pytest.raises(DeclarationError, match="with weights 111111111111"):
        known.nearest(inputs_of(new))
    with pytest.raises(ValidationError, match="3 demos"):
        DemoPool.model_validate(known.model_dump() | {"demos": known.model_dump()["demos"][:3]})
    assert case_in_hand() is None
    assert len(LETTERS) == known.source.width


def test_a_copy_that_shows_more_demos_has_another_digest():
    known, new = pool(CASES), pair(9)
    assert len(chosen(known, new)) == 2
    more = known.model_copy(update={"most": 3})
    assert len(chosen(more, new)) == 3
    assert (more.digest, more) != (known.digest, known)
    assert more.model_copy(update={"most": 2}) == known
    assert more.model_copy(update={"most": 2}).digest == known.digest
