"""A test part stays untouched: by a teacher that was compiled on other parts, and by unlabelled cases of its groups."""

import pytest

from dicast.data import Candidate, Case
from dicast.distillation.untouched import apart, check_teacher
from dicast.errors import DeclarationError
from dicast.optimizers.fingerprints import case_fingerprints

LONG = "This sentence is long enough to be the same text wherever it is, in a test part or in a set that teaches."


def cases(*names: str, text: str = "") -> list[Case]:
    return [
        Case(
            id=name, query=f"{text}question about {name} and nothing else at all in this set", group=f"group {name}",
            candidates=[{"text": f"first answer about {name}"}, {"text": f"second answer about {name}"}],
            label={"value": "a"},
        )
        for name in names
    ]  # fmt: skip


PARTS = {"train": cases("one", "two"), "select": cases("three"), "test": cases("four")}
EVERY = [case for part in PARTS.values() for case in part]
RECORD = {"cases": case_fingerprints(EVERY), "seed": 2, "parts": {"train": 2, "select": 1, "test": 1}}


def test_the_same_cases_seed_and_sizes_are_the_same_split() -> None:
    check_teacher(RECORD, PARTS, 2)
    check_teacher({}, PARTS, 2)


def test_cases_of_equal_texts_count_once_in_a_judge_file() -> None:
    again = [case.model_copy(update={"id": f"{case.id} again"}) for case in PARTS["train"]]
    parts = PARTS | {"train": [*PARTS["train"], *again]}
    record = {"cases": case_fingerprints([*EVERY, *again]), "seed": 2, "parts": {"train": 4, "select": 1, "test": 1}}
    check_teacher(record, parts, 2)
    with pytest.raises(DeclarationError, match="5 distinct cases in all"):
        check_teacher(record | {"cases": case_fingerprints([*EVERY, *cases("x")])}, parts, 2)


@pytest.mark.parametrize(
    "changed",
    [{"seed": 3}, {"parts": {"train": 1, "select": 2, "test": 1}}, {"cases": case_fingerprints([*EVERY, *cases("x")])}],
)
def test_a_teacher_of_another_split_has_touched_the_test_part(changed: dict[str, object]) -> None:
    with pytest.raises(DeclarationError, match=r"split otherwise .* cases that are new to it"):
        check_teacher(RECORD | changed, PARTS, 2)


def test_a_teacher_that_learnt_from_train_cases_alone_has_not() -> None:
    check_teacher({"cases": case_fingerprints(PARTS["train"]), "seed": 9, "parts": {}}, PARTS, 2)


def test_unlabelled_cases_of_measured_groups_texts_and_ids_are_left_out() -> None:
    more = cases("five", "six", "seven")
    same_group = more[0].model_copy(update={"group": "group four"})
    same_text = more[1].model_copy(update={"candidates": (Candidate(text=LONG), Candidate(text="other"))})
    test = PARTS["test"][0].model_copy(update={"candidates": (Candidate(text=LONG), Candidate(text="brief"))})
    same_id = more[2].model_copy(update={"id": "one"})
    new = cases("eight")[0]
    in_train = cases("nine")[0].model_copy(update={"group": "group one"})
    train = [*PARTS["train"], *cases(*(f"other {number}" for number in range(20)))]
    left = apart([same_group, same_text, same_id, new, in_train], PARTS | {"train": train, "test": [test]})
    assert [case.id for case in left] == ["eight", "nine"]
    assert apart([], PARTS) == []
