"""Cases: what makes one, what is refused, swapping a pair, and what must not straddle a split."""

from typing import Any

import pytest
from pydantic import ValidationError

from dicast.data import Case, Persona, Preference, Reviewer, Scores, Winner
from dicast.data.case import digest

REVIEWER = Reviewer(
    id="r1",
    reviews=[{"text": "A heist.", "comment": "Dull.", "score": 3}],
    comparisons=[{"response_a": "Rain.", "response_b": "Sun.", "label": "b"}],
)


def case(count: int = 2, **fields: Any) -> Case:
    return Case(**({"id": "c", "query": "q", "candidates": [{"text": f"text {n}"} for n in range(count)]} | fields))


@pytest.mark.parametrize(
    ("count", "fields", "message"),
    [
        (2, {"label": {"value": 0}}, "label 0 does not name one of 2 candidates by index"),
        (3, {"label": {"value": 3}}, "label 3 does not name one of 3 candidates by index"),
        (3, {"label": {"value": -1}}, "label -1 does not name one of 3 candidates by index"),
        (3, {"label": {"value": "a"}}, "label 'a' is for a pair, but there are 3 candidates"),
        (1, {"label": {"value": "tie"}}, "label 'tie' is for a pair, but there are 1 candidates"),
        (2, {"label": {"values": [3], "lo": 1, "hi": 5}}, "1 scores for 2 candidates"),
        (1, {"votes": [{"values": [3, 4], "lo": 1, "hi": 5}]}, "2 scores for 1 candidates"),
        (2, {"votes": [{"value": "a"}, {"value": 1}]}, "label 1 does not name one of 2 candidates by index"),
    ],
)
def test_a_label_that_does_not_fit_the_candidates_is_refused(count: int, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        case(count, **fields)


@pytest.mark.parametrize(
    ("count", "label"),
    [
        (2, {"value": "tie"}),
        (4, {"value": 3}),
        (1, {"values": [5], "lo": 1, "hi": 5}),
        (3, {"values": [0, 0.5, 1], "lo": 0, "hi": 1}),
    ],
)
def test_a_label_that_fits_the_candidates_is_taken(count: int, label: dict[str, Any]) -> None:
    assert case(count, label=label).label is not None


def test_a_case_without_candidates_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        case(0)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_id_is_refused(blank: str) -> None:
    with pytest.raises(ValidationError, match="at least 1 character"):
        case(id=blank)


def test_an_empty_text_can_be_judged() -> None:
    assert case(candidates=[{"text": ""}]).candidates[0].text == ""


def test_a_record_refuses_a_field_it_does_not_know() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        case(labell={"value": "a"})


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        case().id = "other"  # type: ignore[misc]


@pytest.mark.parametrize("value", [0.999, 5.001, float("nan"), float("inf"), float("-inf")])
def test_a_score_off_the_scale_is_refused(value: float) -> None:
    with pytest.raises(ValidationError, match=r"score (0\.999|5\.001|nan|-?inf) is not on the scale 1\.\.5"):
        Scores(values=(3, value), lo=1, hi=5)


@pytest.mark.parametrize(("lo", "hi"), [(5, 1), (1, 1), (float("nan"), 1)])
def test_a_scale_that_is_upside_down_is_refused(lo: float, hi: float) -> None:
    with pytest.raises(ValidationError, match="lo must be below hi, got lo="):
        Scores(values=(1,), lo=lo, hi=hi)


def test_swapping_exchanges_candidates_label_and_votes() -> None:
    swapped = case(label={"value": "a"}, votes=[{"value": "a"}, {"value": "tie"}, {"value": "b"}]).swapped()
    assert [candidate.text for candidate in swapped.candidates] == ["text 1", "text 0"]
    assert swapped.label == Winner(value="b")
    assert swapped.votes == (Winner(value="b"), Winner(value="tie"), Winner(value="a"))


def test_swapping_exchanges_the_two_scores() -> None:
    swapped = case(label={"values": [1, 4], "lo": 1, "hi": 5}).swapped()
    assert swapped.label == Scores(values=(4, 1), lo=1, hi=5)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"label": {"value": "tie"}, "group": "g", "aspect": "fluent", "meta": {"k": [1]}},
        {"label": {"values": [2, 3], "lo": 0, "hi": 9}, "votes": [{"values": [1, 3], "lo": 0, "hi": 9}]},
        {"votes": [{"value": "a"}, {"value": "b"}], "profile": REVIEWER},
    ],
)
def test_a_pair_swapped_twice_is_the_same(fields: dict[str, Any]) -> None:
    assert case(**fields).swapped().swapped() == case(**fields)


def test_swapping_keeps_what_the_order_does_not_touch() -> None:
    fields: dict[str, Any] = {
        "id": "x",
        "query": "q",
        "group": "g",
        "aspect": "fluent",
        "meta": {"k": 1},
        "profile": REVIEWER,
    }
    pair, swapped = case(**fields), case(**fields).swapped()
    assert all(getattr(swapped, name) == getattr(pair, name) for name in fields)


def test_swapping_keeps_how_sure_an_annotator_was() -> None:
    swapped = case(votes=[{"value": "a", "certainty": 0.7}]).swapped()
    assert swapped.votes == (Winner(value="b", certainty=0.7),)


@pytest.mark.parametrize("certainty", [-0.1, 1.1, 70, float("nan")])
def test_an_annotator_s_certainty_is_a_probability(certainty: float) -> None:
    with pytest.raises(ValidationError, match="less than or equal to 1|greater than or equal to 0"):
        Winner(value="a", certainty=certainty)


@pytest.mark.parametrize("role", ["tool", "User", ""])
def test_a_turn_is_the_system_s_the_user_s_or_the_assistant_s(role: str) -> None:
    with pytest.raises(ValidationError, match="Input should be 'system', 'user' or 'assistant'"):
        case(history=[{"role": role, "text": "x"}])


@pytest.mark.parametrize("count", [1, 3])
def test_only_a_pair_can_be_swapped(count: int) -> None:
    with pytest.raises(ValueError, match=f"case 'c' has {count} candidates; only a pair can be swapped"):
        case(count).swapped()


def test_the_group_must_not_straddle_a_split() -> None:
    assert case(group="person 1").split_key == "person 1"


def test_without_a_group_the_query_must_not_straddle_a_split() -> None:
    assert case().split_key == case(3, id="other").split_key != case(query="other").split_key


def test_an_empty_group_is_a_group() -> None:
    assert case(group="").split_key == ""


def test_a_digest_never_changes_between_versions() -> None:
    # BLAKE2b with 8 bytes of output: `printf abc | b2sum -l 64`
    assert digest("abc") == "d8bb14d833d59559"


def test_votes_give_the_share_behind_each_winner() -> None:
    made = case(label={"value": "a"}, votes=[{"value": v} for v in ("a", "b", "b", "tie")])
    assert made.soft_label() == {"a": 0.25, "b": 0.5, "tie": 0.25}


def test_without_votes_the_label_has_the_whole_share() -> None:
    assert case(3, label={"value": 2}).soft_label() == {"2": 1.0}


@pytest.mark.parametrize("fields", [{}, {"label": {"values": [1, 2], "lo": 1, "hi": 5}}])
def test_without_a_winner_there_is_no_soft_label(fields: dict[str, Any]) -> None:
    assert case(**fields).soft_label() is None


@pytest.mark.parametrize(
    "fields",
    [
        {"profile": Preference(text="no meat"), "label": {"value": "tie"}},
        {"profile": Persona(features={"age": "25-34"}, text="A cook."), "votes": [{"value": "a"}]},
        {"profile": REVIEWER, "label": {"values": [1.5, 2], "lo": 1, "hi": 5}},
        {"history": [{"role": "user", "text": "é"}], "votes": [{"value": "b", "certainty": 0.25}]},
        {"candidates": [{"text": "é\n\"'\u2028", "system": "gpt"}] * 3, "label": {"value": 2}, "meta": {"n": None}},
    ],
)
def test_a_case_comes_back_from_json_as_it_was(fields: dict[str, Any]) -> None:
    made = case(**fields)
    assert Case.model_validate_json(made.model_dump_json()) == made
