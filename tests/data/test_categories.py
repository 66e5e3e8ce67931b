"""Categories as labels: any words, in any file, with votes, context and reference."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dicast.data import Case, Category, read_cases, split
from dicast.data.category_words import of_counts, parse_categories
from dicast.errors import DataError

ROW = {"query": "Reset my password", "response": "Open Settings, then Security."}


def csv(folder: Path, header: str, *lines: str) -> Path:
    path = folder / "rows.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def jsonl(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("labels", "categories", "read"),
    [
        (["pass", "fail", "Pass "], ("fail", "pass"), ["pass", "fail", "pass"]),
        (["Good", "Bad", "Good"], ("Bad", "Good"), ["Good", "Bad", "Good"]),
        (["1", "0", "1.0"], ("0", "1"), ["1", "0", "1"]),
        (["yes", "", "no"], ("no", "yes"), ["yes", None, "no"]),
        (["spam", "ham", "phish"], ("ham", "phish", "spam"), ["spam", "ham", "phish"]),
        (["pass", "pass", "pass"], ("fail", "pass"), ["pass", "pass", "pass"]),
        (["TRUE", "FALSE", "TRUE"], ("FALSE", "TRUE"), ["TRUE", "FALSE", "TRUE"]),
    ],
)
def test_the_words_of_a_csv_are_its_categories_without_a_flag(
    tmp_path: Path, labels: list[str], categories: tuple[str, ...], read: list[str | None]
) -> None:
    path = csv(tmp_path, "query,response,label", *(f"q{n},r{n},{label}" for n, label in enumerate(labels)))
    cases = list(read_cases(path))
    assert {case.categories for case in cases} == {categories}
    assert [case.label and case.label.answer for case in cases] == read
    assert {case.kind for case in cases} == {"categories"}


def test_booleans_and_numbers_of_json_are_words_too(tmp_path: Path) -> None:
    first = read_cases(jsonl(tmp_path, ROW | {"label": True}, ROW | {"id": "2", "label": False}))
    assert [case.label for case in first] == [Category(category="true"), Category(category="false")]
    numbers = read_cases(jsonl(tmp_path, ROW | {"label": 0}, ROW | {"id": "2", "label": 1.0}))
    assert [case.label for case in numbers] == [Category(category="0"), Category(category="1")]


def test_votes_context_and_reference_are_read(tmp_path: Path) -> None:
    votes = json.dumps(["pass", "fail", {"label": "pass", "certainty": 0.5}])
    more = {"label": "pass", "votes": votes, "context": ["Settings has Security.", "No phone."], "expected": "Use it."}
    (case,) = read_cases(jsonl(tmp_path, ROW | more))
    assert [vote.answer for vote in case.votes] == ["pass", "fail", "pass"]
    assert case.votes[2] == Category(category="pass", certainty=0.5)
    assert case.context == "Settings has Security.\n\nNo phone."
    assert case.references == ("Use it.",)
    assert case.soft_label() == {"pass": 2 / 3, "fail": 1 / 3}


def test_a_context_is_the_query_where_there_is_no_other(tmp_path: Path) -> None:
    (case,) = read_cases(jsonl(tmp_path, {"context": "Once upon a time", "response": "A king.", "label": "good"}))
    assert (case.query, case.context) == ("Once upon a time", "")


def test_a_row_or_an_option_may_name_the_categories_and_their_order(tmp_path: Path) -> None:
    (named,) = read_cases(jsonl(tmp_path, ROW | {"label": 3, "categories": [1, 2, 3]}))
    assert (named.categories, named.label) == (("1", "2", "3"), Category(category="3"))
    (given,) = read_cases(jsonl(tmp_path, ROW | {"label": "ham"}), categories=("spam", "ham"))
    assert given.categories == ("spam", "ham")
    with pytest.raises(DataError, match=r"line 1: field 'label' is \"eggs\". Use one of the categories spam, ham"):
        list(read_cases(jsonl(tmp_path, ROW | {"label": "eggs"}), categories=("spam", "ham")))


@pytest.mark.parametrize("label", [4, "4"])
def test_three_numbers_are_scores_and_no_names(tmp_path: Path, label: object) -> None:
    rows = ({**ROW, "id": str(n), "label": n if isinstance(label, int) else str(n)} for n in range(1, 6))
    with pytest.raises(DataError, match=r"line 1: field 'label' is .* rename with --fields score=label"):
        list(read_cases(jsonl(tmp_path, *rows)))


def test_a_score_beside_a_label_stays_a_score(tmp_path: Path) -> None:
    (case,) = read_cases(jsonl(tmp_path, ROW | {"score": 4, "label": "pass"}))
    assert (case.kind, case.categories) == ("texts", ())


def test_texts_without_any_label_have_no_categories(tmp_path: Path) -> None:
    assert [case.kind for case in read_cases(jsonl(tmp_path, ROW, ROW | {"id": "2"}))] == ["texts", "texts"]


def test_labels_that_are_no_categories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='every label is "spam". Name the categories, as in --categories fail,pass'):
        list(read_cases(jsonl(tmp_path, ROW | {"label": "spam"})))
    texts = (ROW | {"id": str(n), "label": f"This is text {n}."} for n in range(300))
    with pytest.raises(DataError, match="the labels are 300 different texts.*at most 200"):
        list(read_cases(jsonl(tmp_path, *texts)))


@pytest.mark.parametrize(
    ("text", "message"), [("pass", "names 1; give 2 to 200"), ("a,A", "names one twice"), ("", "names 0")]
)
def test_a_list_of_categories_has_two_or_more_each_once(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_categories(text)


def test_the_more_frequent_spelling_is_the_category() -> None:
    assert of_counts(Counter({"Pass": 3, "pass": 1, "FAIL": 2})) == ("FAIL", "Pass")
    assert of_counts(Counter({"PASS": 1})) == ("FAIL", "PASS")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"candidates": ({"text": "x"}, {"text": "y"})}, "categories are for a single text"),
        ({"label": {"category": "great"}}, "label 'great' is none of the categories"),
        ({"label": {"values": (1,), "lo": 0, "hi": 1}}, "is none of the categories"),
        ({"categories": ("pass", "pass")}, "each once"),
    ],
)
def test_a_case_refuses_what_is_none_of_its_categories(fields: dict[str, Any], message: str) -> None:
    whole = {"id": "1", "query": "q", "candidates": ({"text": "x"},), "categories": ("fail", "pass")} | fields
    with pytest.raises(ValidationError, match=message):
        Case.model_validate(whole)


def test_a_category_without_the_categories_of_the_case_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"label 'pass' is none of the categories \(none\)"):
        Case(id="1", query="q", candidates=({"text": "x"},), label={"category": "pass"})


def test_a_case_of_categories_is_written_and_read_again(tmp_path: Path) -> None:
    (case,) = read_cases(jsonl(tmp_path, ROW | {"label": "pass", "votes": ["pass", "fail"], "context": "c"}))
    (again,) = read_cases(jsonl(tmp_path, case.model_dump(mode="json")))
    assert again == case
    assert again.digest == case.digest


def test_a_case_without_categories_is_written_as_before_there_were_any() -> None:
    case = Case(id="1", query="q", candidates=({"text": "x"},))
    assert not {"categories", "context", "references"} & case.model_dump().keys()
    assert case.digest == "c8426f9ac9ccdb4f"  # of commit 97b8ebe


def test_a_split_meets_the_proportions_of_every_category() -> None:
    labels = ["pass"] * 80 + ["fail"] * 20
    cases = [
        Case(
            id=str(n), query=f"q{n}", candidates=({"text": f"text {n}"},), categories=("fail", "pass"),
            label={"category": label},
        )
        for n, label in enumerate(labels)
    ]  # fmt: skip
    parts = split(cases, parts={"train": 0.5, "test": 0.5}, seed=1)
    for part in parts.values():
        assert Counter(case.label.answer for case in part if case.label) == {"pass": 40, "fail": 10}
