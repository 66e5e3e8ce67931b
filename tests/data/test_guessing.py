"""What columns are taken for: each guess, each question, each refusal."""

import random
from itertools import cycle, islice
from typing import Any

import pytest

from dicast.data.guessing import Guess, OpenQuestion, PossibleReading, guess, read_columns
from dicast.data.guessing.label_columns import NO_LABEL_NOTE
from dicast.data.guessing.sides import side_readings
from dicast.errors import DataError

N = 40
ASKED = [f"How do I change the address of order {number}?" for number in range(N // 2)] * 2
FIRST = [f"Open the settings and choose what you need, number {number}." for number in range(N)]
SECOND = [f"That is not possible, please write to us again, case {number}." for number in range(N)]
GENERATOR = random.Random(7)


def spread(*words: Any) -> list[Any]:
    """These words in turn, N in all."""
    return list(islice(cycle(words), N))


def drawn(*words: Any) -> list[Any]:
    return GENERATOR.choices(words, k=N)


def taken(columns: dict[str, list[Any]], **options: Any) -> Guess | OpenQuestion:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return guess(read_columns(rows), **options)


def understood(columns: dict[str, list[Any]], **options: Any) -> Guess:
    result = taken(columns, **options)
    assert isinstance(result, Guess), result
    return result


def pair(**more: list[Any]) -> dict[str, list[Any]]:
    return {"question": ASKED, "answer_A": FIRST, "answer_B": SECOND, **more}


def text(**more: list[Any]) -> dict[str, list[Any]]:
    return {"question": ASKED, "answer": FIRST, **more}


# pairs


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("answer_A", "answer_B"),
        ("Response 1", "Response 2"),
        ("output1", "output2"),
        ("left", "right"),
        ("old_reply", "new_reply"),
    ],
)
@pytest.mark.parametrize("query", ["prompt", "OpenQuestion", "user_message", "inputs.instruction"])
def test_a_pair_is_two_columns_that_differ_by_their_side(first: str, second: str, query: str) -> None:
    found = understood({query: ASKED, first: FIRST, second: SECOND, "winner": drawn("A", "B", "tie")})
    assert (found.fields["query"], found.fields["response_a"], found.fields["response_b"]) == (query, first, second)
    assert (found.kind, found.fields["label"]) == ("pairs", "winner")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("answer_A", "answer_B", "both good"), {"answer_A": "a", "answer_B": "b", "both good": "tie"}),
        (("A", "B"), {}),
        (("a", "b", "tie"), {}),
        (("model_a", "model_b", "tie (bothbad)"), {"model_a": "a", "model_b": "b", "tie (bothbad)": "tie"}),
        (("left", "right", "No preference"), {"left": "a", "right": "b", "No preference": "tie"}),
        (("1", "2"), {"1": "a", "2": "b"}),
        (("[[A]]", "[[B]]", "[[C]] equal"), {"[[A]]": "a", "[[B]]": "b", "[[C]] equal": "tie"}),
        (("A>>B", "A>B", "A=B", "B>A"), {"A>>B": "a", "A>B": "a", "A=B": "tie", "B>A": "b"}),
        (("First is better", "Second is better"), {"First is better": "a", "Second is better": "b"}),
        (("B is a bit better", "A is a bit better"), {"B is a bit better": "b", "A is a bit better": "a"}),
        (("A", "B", "n/a"), {"n/a": ""}),
    ],
)
def test_the_words_of_a_pair(words: tuple[str, ...], values: dict[str, str]) -> None:
    assert understood(pair(preferred=drawn(*words))).values == values


def test_numbered_responses_decide_what_numbers_say() -> None:
    columns = {"prompt": ASKED, "output_1": FIRST, "output_2": SECOND, "preference": drawn(1, 2, 0)}
    assert understood(columns).values == {"1": "a", "2": "b", "0": "tie"}


@pytest.mark.parametrize(
    ("numbers", "first", "second"),
    [
        ((0, 1, 2), {"0": "tie", "1": "a", "2": "b"}, {"0": "a", "1": "b", "2": "tie"}),
        ((0, 1), {"0": "a", "1": "b"}, {"0": "b", "1": "a"}),
        ((1, 2, 3), {"1": "a", "2": "b", "3": "tie"}, {"1": "a", "2": "tie", "3": "b"}),
        ((-1, 0, 1), {"-1": "a", "0": "tie", "1": "b"}, {"-1": "b", "0": "tie", "1": "a"}),
        (
            (1, 2, 3, 4, 5),
            {"1": "a", "2": "a", "3": "tie", "4": "b", "5": "b"},
            {"1": "b", "2": "b", "3": "tie", "4": "a", "5": "a"},
        ),
    ],
)
def test_numbers_that_say_two_things_are_a_question_with_both_as_options(
    numbers: tuple[int, ...], first: dict[str, str], second: dict[str, str]
) -> None:
    question = taken(pair(label=spread(*numbers)))
    assert isinstance(question, OpenQuestion)
    assert [answer.values for answer in question.answers] == [first, second]
    assert "label (" in question.text
    for answer in question.answers:
        settled = understood(pair(label=spread(*numbers)), fields=answer.fields, values=answer.values)
        assert settled.values == answer.values


def test_an_answer_is_a_line_for_the_shell() -> None:
    answer = PossibleReading("", {"votes": ("anna", "ben b")}, {"both good": "tie"})
    assert answer.options == "--fields 'votes=anna+ben b' --values 'both good=tie'"


def test_annotators_have_a_column_each() -> None:
    people = {name: drawn("answer_A", "answer_B", "both good") for name in ("anna", "ben", "chloe")}
    found = understood(pair(**people))
    assert found.fields["votes"] == ("anna", "ben", "chloe")
    assert found.evidence["votes"].startswith("3 annotators: answer_")
    both = understood(pair(**people, final_label=drawn("answer_A", "answer_B")))
    assert (both.fields["votes"], both.fields["label"]) == (("anna", "ben", "chloe"), "final_label")


def test_columns_of_one_stem_are_annotators() -> None:
    found = understood(text(label_anna=drawn("pass", "fail"), label_ben=drawn("pass", "fail")))
    assert found.fields["votes"] == ("label_anna", "label_ben")


def test_votes_may_be_in_one_cell() -> None:
    cells = [",".join(GENERATOR.choices("AB", k=3)) for _ in range(N)]
    assert understood(pair(votes=cells)).fields["votes"] == "votes"
    assert understood(pair(preferred=cells)).fields["votes"] == "preferred"
    assert understood(pair(annotations=[cell.split(",") for cell in cells])).fields["votes"] == "annotations"


def test_a_chosen_and_a_rejected_text_need_no_label() -> None:
    found = understood({"prompt": ASKED, "chosen": FIRST, "rejected": SECOND})
    assert {**found.fields} == {"query": "prompt", "chosen": "chosen", "rejected": "rejected"}
    assert "is the better one" in found.notes[0]


def test_words_that_fit_nothing_are_named_with_their_number() -> None:
    with pytest.raises(DataError, match=r'column preferred: "see note" \(13\).*--values "see note="'):
        taken(pair(preferred=spread("A", "B", "see note")))
    settled = understood(pair(preferred=spread("A", "B", "see note")), values={"see note": ""})
    assert settled.values == {"see note": ""}


# single texts


def test_pass_and_fail_are_categories() -> None:
    found = understood(text(verdict=drawn("Pass", "Fail"), reason=[f"It helps, says {n}." for n in range(N)]))
    assert (found.kind, found.fields["label"], found.fields["reason"]) == ("categories", "verdict", "reason")
    assert "Pass is the positive one" in found.evidence["label"]


def test_pass_and_fail_need_no_name() -> None:
    assert understood(text(checked=drawn("pass", "fail"))).fields["label"] == "checked"


@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        ((1, 2, 3, 4, 5), (1, 5)),
        ((2, 3, 4), (1, 5)),
        ((1, 2, 3), (1, 3)),
        ((1, 4, 9), (1, 10)),
        ((0, 5, 10), (0, 10)),
        ((0.1, 0.5, 0.9), (0, 1)),
        ((12, 55, 98), (1, 100)),
        ((-2, 0, 1), (-2, 2)),
    ],
)
def test_scores_have_the_shortest_usual_scale_that_holds_them(
    numbers: tuple[float, ...], scale: tuple[float, float]
) -> None:
    found = understood(text(rating=spread(*numbers)))
    assert (found.kind, found.fields["score"], found.scale) == ("scores", "rating", scale)


def test_scores_in_words_are_numbers() -> None:
    found = understood(text(grade=spread("4/5", "3 - ok", "★★☆☆☆", "5 stars")))
    assert found.values == {"4/5": "4", "3 - ok": "3", "★★☆☆☆": "2", "5 stars": "5"}
    assert found.scale == (1, 5)


def test_a_file_without_a_label_is_read_without_one() -> None:
    found = understood(text(notes=SECOND))
    assert found.fields.keys() == {"query", "response", "reason"}
    assert found.notes == [NO_LABEL_NOTE]


def test_scores_of_two_aspects_are_a_case_each_and_other_words_a_question() -> None:
    found = understood(text(helpfulness=spread(1, 2, 3, 4, 5), tone=spread(1, 2, 3, 4)))
    assert (found.kind, found.fields["score"], found.scale) == ("scores", ("helpfulness", "tone"), (1, 5))
    question = taken(text(helpfulness=spread("pass", "fail"), tone=spread("good", "bad")))
    assert isinstance(question, OpenQuestion)
    assert [answer.fields for answer in question.answers] == [{"label": "helpfulness"}, {"label": "tone"}]
    assert (
        understood(text(helpfulness=spread(1, 2, 3), tone=spread(1, 2, 3)), fields={"label": "tone"}).fields["score"]
        == "tone"
    )


def test_a_text_without_a_question_is_judged_alone() -> None:
    found = understood({"text": FIRST, "label": drawn("spam", "ham")})
    assert (found.fields["response"], found.fields["query"]) == ("text", ())


def test_reference_and_context_have_their_fields() -> None:
    more = {"expected": SECOND, "retrieved_context": [f"Page {n} of the manual says so." for n in range(N)]}
    found = understood(text(**more, correct=drawn("true", "false")))
    assert (found.fields["reference"], found.fields["context"]) == ("expected", "retrieved_context")


def test_a_model_is_not_people() -> None:
    found = understood(text(gpt4_label=drawn("pass", "fail"), human_label=drawn("pass", "fail")))
    assert (found.fields["label"], found.unused) == ("human_label", [])
    assert found.notes == ["not people's labels, by their names: gpt4_label"]
    with pytest.raises(DataError, match="Only a model's: gpt4_label. If people gave them: --fields label=gpt4_label"):
        taken(text(gpt4_label=drawn("pass", "fail")))


# what else a row says


def test_ids_groups_and_systems() -> None:
    found = understood(
        text(
            ticket_id=[f"T{n}" for n in range(N)],
            conversation_id=[f"c{n // 2}" for n in range(N)],
            model=drawn("m1", "m2"),
            channel=drawn("mail", "chat"),
            created_at=[f"2026-01-{n % 28 + 1:02}" for n in range(N)],
            label=drawn("pass", "fail"),
        )
    )
    assert {name: found.fields[name] for name in ("id", "group", "system")} == {
        "id": "ticket_id", "group": "conversation_id", "system": "model",
    }  # fmt: skip
    assert found.unused == ["channel", "created_at"]


def test_a_column_of_two_values_is_no_group() -> None:
    assert "group" not in understood(text(session_id=drawn("x", "y"), label=drawn("pass", "fail"))).fields


# refusals


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"question": ASKED}, "1 with values .question.*parted by a comma"),
        ({"a;b;c": ASKED, "empty": [""] * N}, "1 with values"),
        (text(channel=drawn("mail", "chat")), r"no label .*These may be one: channel \(.*--fields label=channel"),
        (text(topic=drawn("billing", "shipping", "other")), "These may be one: topic"),
        ({"n": list(range(N)), "label": drawn("pass", "fail")}, "none was recognised as the text that is judged"),
        (text(label=[f"word {n}" for n in range(N)]), "column label: .*neither scores|no label|fits nothing"),
    ],
)
def test_what_is_no_label_is_not_taken_for_one(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        taken(columns)


def test_a_stated_column_must_exist() -> None:
    with pytest.raises(DataError, match="no column is called 'best'. They are question, answer, label"):
        taken(text(label=drawn("pass", "fail")), fields={"label": "best"})


def test_two_judged_texts_are_a_question() -> None:
    question = taken({"question": ASKED, "answer": FIRST, "output": SECOND, "label": drawn("pass", "fail")})
    assert isinstance(question, OpenQuestion)
    assert [answer.options for answer in question.answers] == [
        "--fields response=answer", "--fields response=output", "--fields response_a=answer,response_b=output",
    ]  # fmt: skip


def test_every_reading_names_both_sides_or_a_question_follows() -> None:
    """Each reading maps all numbers, and exchanging the sides maps one reading to the other."""
    for numbers in ((1, 2, 3, 4), (1, 2, 3, 4, 5, 6, 7), (-3, -1, 1, 3), (0, 0.5, 1)):
        readings, odd = side_readings(map(str, numbers), ("answer_A", "answer_B"))
        assert odd == []
        first, second = (reading.values for reading in readings)
        assert {first[word]: second[word] for word in first} | {"tie": "tie"} == {"a": "b", "b": "a", "tie": "tie"}
        assert set(first) == {f"{number:g}" for number in numbers}
