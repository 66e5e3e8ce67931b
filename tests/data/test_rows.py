"""Rows to cases: the shapes, what each field may hold, and the words for what it may not."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from dicast.data import Case, EarlierConversation, Persona, Preference, Reviewer, Scores, Winner
from dicast.data.row_fields import FieldError
from dicast.data.rows import bad_row, row_to_case
from dicast.parsing import explain

PAIR: dict[str, Any] = {"query": "Say hello.", "response_a": "Hello.", "response_b": "Good day."}
TEXT: dict[str, Any] = {"query": "Say hello.", "response": "Hello."}
CHOICE: dict[str, Any] = {"query": "Where to eat?", "options": ["a grill", "a bean bar", "a fish hall"]}
TAKEN: dict[str, Any] = {"id": "i", "query": "q", "candidates": [{"text": "x"}, {"text": "y"}]}


def made(row: dict[str, Any], **more: Any) -> Case:
    return row_to_case(row | more, default_id="file:1")


def problem_of(row: dict[str, Any], **more: Any) -> str:
    """What is said of a bad row."""
    with pytest.raises((FieldError, ValidationError)) as caught:
        made(row, **more)
    return explain(caught.value)


# pairs


def test_a_pairwise_row_becomes_a_pair() -> None:
    case = made(PAIR, system_a="S1", system_b="S2", label="b", aspect="warm", group="g", meta={"k": 1})
    assert [(one.text, one.system) for one in case.candidates] == [("Hello.", "S1"), ("Good day.", "S2")]
    assert (case.query, case.label, case.aspect, case.group) == ("Say hello.", Winner(value="b"), "warm", "g")
    assert case.meta == {"k": 1}


@pytest.mark.parametrize(
    ("label", "winner"), [("a", "a"), (" B ", "b"), ("TIE", "tie"), ("response_a", "a"), ("Response_B", "b")]
)
def test_a_letter_is_read_whatever_its_case_and_spaces(label: str, winner: str) -> None:
    assert made(PAIR, label=label).label == Winner.model_validate({"value": winner})


@pytest.mark.parametrize("row", [PAIR, TEXT | {"score": None}, CHOICE])
@pytest.mark.parametrize("label", [None, ""])
def test_an_empty_label_is_no_label(row: dict[str, Any], label: str | None) -> None:
    assert made(row, label=label).label is None


def test_a_pair_takes_votes_as_a_list_or_as_json() -> None:
    votes = ["a", "tie", "B"]
    assert made(PAIR, votes=votes).votes == made(PAIR, votes=json.dumps(votes)).votes
    assert [vote.value for vote in made(PAIR, votes=votes).votes if isinstance(vote, Winner)] == ["a", "tie", "b"]


@pytest.mark.parametrize("cell", ["a,b,A", "a; b ;a", "a|b|a", "a\nb\na"])
def test_votes_may_be_words_in_one_cell(cell: str) -> None:
    assert made(PAIR, votes=cell) == made(PAIR, votes=["a", "b", "a"])


def test_votes_without_a_label_are_labelled_by_their_majority() -> None:
    assert made(PAIR, votes="a,b,a").label == Winner(value="a")
    assert made(PAIR, votes=["a", {"label": "a", "certainty": 0.5}]).label == Winner(value="a")
    assert made(PAIR, votes="a,b").label is None
    assert made(PAIR, votes="a,b,b", label="").label is None
    assert made(TEXT, votes="[2, 3, 4]").label == Scores(values=(3,), lo=1, hi=5)
    assert made(CHOICE, votes="1,1,0").label == Winner(value=1)


def test_a_pair_with_one_response_missing_names_the_other() -> None:
    assert problem_of({"query": "q", "response_a": "x"}) == "field 'response_b' is null. Give a text (it may be empty)."


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"label": "c"}, "field 'label' is \"c\". Use a, b or tie, or say which it means, as in --values c=a."),
        ({"label": 1}, "field 'label' is 1. Use a, b or tie."),
        ({"label": True}, "field 'label' is true. Use a, b or tie."),
        ({"votes": ["a", "x"]}, "field 'votes' is \"x\". Use a, b or tie, or say which it means, as in --values x=a."),
        ({"votes": "a; x"}, "field 'votes' is \"x\". Use a, b or tie, or say which it means, as in --values x=a."),
        ({"votes": 3}, "field 'votes' is 3. Give a list."),
        ({"response_a": 5}, "field 'response_a' is 5. Give a text (it may be empty)."),
        ({"query": ["q"]}, "field 'query' is [\"q\"]. Give a text (it may be empty)."),
    ],
)
def test_a_bad_field_of_a_pair_is_named_with_its_value(more: dict[str, Any], message: str) -> None:
    assert problem_of(PAIR, **more) == message


# single texts


def test_a_pointwise_row_becomes_one_text_with_a_score() -> None:
    case = made(TEXT, score=4, system="S1")
    assert case.label == Scores(values=(4,), lo=1, hi=5)
    assert [(one.text, one.system) for one in case.candidates] == [("Hello.", "S1")]


@pytest.mark.parametrize("score", [3, 3.0, "3", " 3.0 "])
def test_a_score_may_be_written_as_text(score: object) -> None:
    assert made(TEXT, score=score).label == Scores(values=(3,), lo=1, hi=5)


def test_a_score_of_zero_is_a_score() -> None:
    assert made(TEXT, score=0, scale=[0, 1]).label == Scores(values=(0,), lo=0, hi=1)


@pytest.mark.parametrize("scale", [[0, 10], (0, 10), "[0, 10]", ["0", "10"]])
def test_a_row_may_name_its_own_scale(scale: object) -> None:
    assert made(TEXT, score=7, scale=scale).label == Scores(values=(7,), lo=0, hi=10)


def test_without_a_scale_of_its_own_a_row_has_the_one_given() -> None:
    assert row_to_case(TEXT | {"score": 70}, default_id="d", scale=(0, 100)).label == Scores(values=(70,), lo=0, hi=100)


def test_votes_of_a_text_are_scores_on_its_scale() -> None:
    assert made(TEXT, votes="[1, 2.5]").votes == (Scores(values=(1,), lo=1, hi=5), Scores(values=(2.5,), lo=1, hi=5))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"score": "good"}, "field 'score' is \"good\". Give a number."),
        ({"score": True}, "field 'score' is true. Give a number."),
        ({"score": [3]}, "field 'score' is [3]. Give a number."),
        ({"score": 6}, "field 'score' is 6. Score 6 is not on the scale 1..5; give the scale with --scale LO..HI."),
        ({"score": "nan"}, "field 'score' is \"nan\". Give a number."),
        ({"votes": [3, 9]}, "field 'votes' is 9. Score 9 is not on the scale 1..5; give the scale with --scale"),
        ({"scale": [1, 2, 3]}, "field 'scale' is [1, 2, 3]. Give the lowest and the highest score, as in [1, 5]."),
        ({"scale": 5}, "field 'scale' is 5. Give a list."),
        ({"scale": ["low", "high"]}, "field 'scale' is \"low\". Give a number."),
        ({"scale": [5, 1]}, "field 'scale' is [5, 1]. The lowest score comes first and is below the highest."),
    ],
)
def test_a_bad_field_of_a_text_is_named_with_its_value(more: dict[str, Any], message: str) -> None:
    assert message in problem_of(TEXT, **more)


def test_a_text_whose_score_is_called_label_is_not_taken_as_unlabelled() -> None:
    assert "field 'label' is 3.5. A number is a score: rename with --fields score=label; or name" in problem_of(
        TEXT, label=3.5
    )
    assert made(TEXT, label="news").label is None


def test_a_row_of_no_shape_lists_its_fields_and_the_shapes() -> None:
    assert problem_of({"prompt": "p", "chosen": "x"}) == (
        "the columns are chosen, prompt. They have none of the shapes pairwise (query, response_a, response_b), "
        "pointwise (query, response, score or label), choice (query, options), flat (reviewer, text); rename with "
        "--fields (in Python, CaseSource(fields=...))."
    )
    assert problem_of({"reviewer": "r", "tale": "x", "score": 3}).startswith(
        "the columns are reviewer, score, tale. They"
    )


def test_a_long_value_is_cut_in_the_message() -> None:
    message = problem_of(TEXT, score="x" * 500)
    assert message == f"field 'score' is \"{'x' * 79}.... Give a number."


# choices


def test_a_choice_names_its_best_option_by_index() -> None:
    case = made(CHOICE, label=1, preference="no meat")
    assert [one.text for one in case.candidates] == CHOICE["options"]
    assert (case.label, case.profile) == (Winner(value=1), Preference(text="no meat"))


@pytest.mark.parametrize("label", [2, 2.0, "2"])
def test_an_index_may_be_written_as_text(label: object) -> None:
    assert made(CHOICE, label=label).label == Winner(value=2)


def test_a_choice_of_two_is_a_pair_with_a_letter() -> None:
    assert made(CHOICE, options='["x", "y"]', label="1", votes=[0, 1]).label == Winner(value="b")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"label": 3}, "field 'label' is 3. Give the index of an option, 0..2."),
        ({"label": -1}, "field 'label' is -1. Give the index of an option, 0..2."),
        ({"label": 0.5}, "field 'label' is 0.5. Give the index of an option, 0..2."),
        ({"label": "b"}, "field 'label' is \"b\". Give a number."),
        ({"votes": [0, 7]}, "field 'votes' is 7. Give the index of an option, 0..2."),
        ({"options": ["one"]}, "field 'options' is [\"one\"]. A choice needs at least two options."),
        ({"options": []}, "field 'options' is []. A choice needs at least two options."),
        ({"options": "x or y"}, "field 'options' is \"x or y\". Give a list."),
    ],
)
def test_a_bad_field_of_a_choice_is_named_with_its_value(more: dict[str, Any], message: str) -> None:
    assert problem_of(CHOICE, **more) == message


# profiles


def test_a_reviewer_brings_reviews_and_comparisons() -> None:
    reviews = [{"text": "A heist.", "comment": "Dull.", "score": 3}]
    comparisons = [{"response_a": "Rain.", "response_b": "Sun.", "label": "b"}]
    expected = Reviewer(id="7", reviews=reviews, comparisons=comparisons, scale=(1, 5))
    assert made(TEXT, reviewer=7, reviews=reviews, comparisons=comparisons).profile == expected
    cells = {"reviews": json.dumps(reviews), "comparisons": json.dumps(comparisons)}
    assert made(TEXT, reviewer="7", **cells).profile == expected


def test_a_history_is_on_the_scale_of_its_row() -> None:
    reviews = [{"text": "A heist.", "comment": "Dull.", "score": 8}]
    profile = made(TEXT, reviewer=7, reviews=reviews, scale=[1, 10]).profile
    assert isinstance(profile, Reviewer)
    assert [*profile.scale] == [1, 10]
    with pytest.raises(FieldError, match="score 8 is not on the scale 1..5. Give the scale with --scale LO..HI"):
        made(TEXT, reviewer=7, reviews=reviews)


def test_a_vote_may_carry_a_certainty() -> None:
    case = made(PAIR, votes=["a", {"label": "b", "certainty": 0.8}])
    assert case.votes == (Winner(value="a"), Winner(value="b", certainty=0.8))
    with pytest.raises(FieldError, match="A certainty is in 0..1"):
        made(PAIR, votes=[{"label": "b", "certainty": 80}])


def test_a_persona_is_features_or_free_text() -> None:
    features = {"age": 30, "job": "cook"}
    assert made(PAIR, persona=features).profile == Persona(features={"age": "30", "job": "cook"})
    assert made(PAIR, persona=json.dumps(features)).profile == made(PAIR, persona=features).profile
    assert made(PAIR, persona="A cook.").profile == Persona(text="A cook.")


TURNS = [{"role": "user", "content": "Rain or sun?"}, {"role": "assistant", "content": "Which do you like?"}]


@pytest.mark.parametrize("value", [TURNS, json.dumps(TURNS)])
def test_an_earlier_conversation_is_a_list_of_turns(value: object) -> None:
    case = made(CHOICE, earlier_conversation=value)
    turns = [{"role": turn["role"], "text": turn["content"]} for turn in TURNS]
    assert case.profile == EarlierConversation(turns=turns)
    assert (case.history, case.meta) == ((), {})
    assert Case.model_validate_json(case.model_dump_json()) == case


@pytest.mark.parametrize("value", ["Rain or sun?", [], ["Rain"], [{"content": "Rain"}], 3])
def test_an_earlier_conversation_of_another_form_is_named(value: object) -> None:
    message = problem_of(CHOICE, earlier_conversation=value)
    assert message.startswith("field 'earlier_conversation' is ")
    assert message.endswith("Give a list of turns, each with `role` and `content`.")


@pytest.mark.parametrize("said", [None, 5, [{"type": "text", "text": "hello"}]])
def test_a_turn_says_a_text(said: object) -> None:
    message = problem_of(CHOICE, earlier_conversation=[{"role": "user", "content": said}])
    assert message.startswith("field 'content' is ")
    assert message.endswith("What a turn of a conversation says is a text.")


def test_an_earlier_conversation_in_which_nobody_says_anything_is_refused() -> None:
    message = problem_of(CHOICE, earlier_conversation=[{"role": "user", "content": " "}])
    assert "no turn of the conversation says anything" in message


def test_a_row_has_a_preference_or_an_earlier_conversation() -> None:
    assert "The row also has 'preference'" in problem_of(CHOICE, preference="no meat", earlier_conversation=TURNS)


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_profile_is_no_profile(empty: str | None) -> None:
    assert made(PAIR, persona=empty, preference=empty, reviewer=empty).profile is None


def test_a_row_for_two_people_is_refused() -> None:
    message = problem_of(PAIR, preference="no meat", persona="A cook.")
    assert message == (
        "field 'persona' is \"A cook.\". The row also has 'preference'; a case is judged for one person."
    )


def test_a_review_without_a_score_is_named() -> None:
    message = problem_of(TEXT, reviewer="r", reviews=[{"text": "A heist."}])
    assert message.startswith("field 'reviews.0.score': Field required")


# all shapes


def test_a_dumped_case_is_a_row() -> None:
    case = made(PAIR, label="a", votes=["a"], preference="no meat", group="g", meta={"k": 1})
    assert row_to_case(case.model_dump(), default_id="d") == case
    assert row_to_case(json.loads(case.model_dump_json()), default_id="d") == case


def test_a_taken_case_may_say_how_sure_its_annotators_were() -> None:
    votes = [{"value": "a", "certainty": 0.8}, {"value": "b"}]
    assert made(TAKEN, votes=votes).votes == (Winner(value="a", certainty=0.8), Winner(value="b"))


def test_a_dumped_case_with_a_misspelt_field_is_refused() -> None:
    assert problem_of(TAKEN, lable={"value": "a"}).startswith('field \'lable\' is {"value": "a"}: Extra inputs')


@pytest.mark.parametrize("name", ["query", "question", "context"])
def test_the_query_has_three_names(name: str) -> None:
    assert made({name: "Q?", "response": "x"}).query == "Q?"


def test_a_query_may_be_empty_but_not_missing() -> None:
    assert made({"query": "", "response": "x"}).query == ""
    assert problem_of({"response": "x"}) == (
        "field 'query' is null. Give what was asked of the model (it may be an empty text)."
    )


@pytest.mark.parametrize(("given", "expected"), [("x", "x"), (7, "7"), (None, "file:1"), ("", "file:1")])
def test_a_row_without_an_id_gets_the_default_one(given: object, expected: str) -> None:
    assert made(PAIR, id=given).id == made(TAKEN, id=given).id == expected


def test_the_id_zero_is_an_id() -> None:
    assert made(PAIR, id=0).id == "0"


def test_aspect_and_group_may_be_numbers() -> None:
    assert (made(PAIR, aspect=1, group=0).aspect, made(PAIR, aspect=1, group=0).group) == ("1", "0")


@pytest.mark.parametrize("field", ["aspect", "group", "meta"])
def test_an_empty_common_field_is_as_if_missing(field: str) -> None:
    assert made(PAIR, **{field: ""}) == made(PAIR, **{field: None}) == made(PAIR)


def test_other_columns_are_kept_in_meta_when_they_hold_a_text_or_a_number() -> None:
    assert made(PAIR, timestamp=17, nested={"x": [1]}).meta == {"timestamp": 17}
    assert made(PAIR, timestamp=17, meta={"timestamp": 1, "x": 2}).meta == {"timestamp": 1, "x": 2}


def test_a_meta_that_is_no_object_is_refused_beside_other_columns() -> None:
    assert problem_of(PAIR, timestamp=17, meta="text").startswith("field 'meta' is \"text\"")


def test_a_bad_row_names_its_source_and_line() -> None:
    error = bad_row("rows.csv", 12, FieldError("score", "x", "Give a number."))
    assert str(error) == "rows.csv line 12: field 'score' is \"x\". Give a number."


JUNK = [None, "", 0, -1, 1.5, True, "a", "{", "[1", "[1,2]", '{"a": 1}', [], [1], ["a", None], {}, {"a": 1}, [[1]]]
FIELDS = ["id", "query", "label", "votes", "score", "scale", "aspect", "group", "meta", "persona", "preference"]
FIELDS += ["reviewer", "reviews", "comparisons", "options", "response", "response_a", "system", "candidates", "context"]


@pytest.mark.parametrize("row", [PAIR, TEXT, CHOICE, TAKEN, TEXT | {"reviewer": "r"}])
def test_whatever_a_field_holds_the_row_is_a_case_or_a_known_error(row: dict[str, Any]) -> None:
    messages = set()
    for field in FIELDS:
        for value in JUNK:
            try:
                row_to_case(row | {field: value}, default_id="d")
            except (FieldError, ValidationError) as error:
                messages.add(explain(error))
    assert messages
    assert not [message for message in messages if "\n" in message]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1e999", pytest.param(10**400, id="10**400")])
def test_a_number_that_is_no_index_is_named(value: object) -> None:
    assert problem_of(CHOICE, label=value).startswith("field 'label' is ")


def test_a_value_that_pydantic_refuses_is_shown_too() -> None:
    assert "17" in problem_of(TAKEN, candidates=[{"text": 17}])


def test_a_feature_that_is_null_is_left_out() -> None:
    assert made(PAIR, persona={"age": "30", "job": None}).profile == Persona(features={"age": "30"})


# flat rows: one review, or one choice, of a reviewer


def test_a_flat_review_is_a_text_of_its_reviewer():
    row = {"reviewer": "ann", "text": "A tale.", "review": "Fine.", "score": 7, "title": "Tales"}
    case = row_to_case(row, default_id="x", scale=(1, 10))
    assert (case.query, case.candidates[0].text, case.group) == ("", "A tale.", "ann")
    assert (case.profile.id, case.profile.reviews) == ("ann", ())
    assert case.meta == {"review": "Fine.", "title": "Tales"}


def test_a_flat_choice_may_be_of_both_or_neither():
    row = {"reviewer": "ann", "premise": "Once.", "response_a": "x", "response_b": "y", "label": "Neither"}
    case = row_to_case(row, default_id="x")
    assert (case.query, case.label.value, case.meta["label"]) == ("Once.", "tie", "neither")


def test_a_row_with_a_history_keeps_its_shape():
    row = {"reviewer": "ann", "reviews": [{"text": "x", "score": 1}], "text": "A tale.", "score": 7}
    with pytest.raises(FieldError, match="the columns are"):
        row_to_case(row, default_id="x", scale=(1, 10))


def test_a_premise_beside_a_query_is_an_attribute():
    row = {"query": "q", "premise": "Once.", "response_a": "x", "response_b": "y", "label": "a"}
    assert row_to_case(row, default_id="x").attributes == {"premise": "Once."}
