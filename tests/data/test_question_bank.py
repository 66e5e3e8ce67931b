"""Question banks: those of the package, and files of users."""

import random
from pathlib import Path

import pytest
import yaml

from dicast.data.question_bank import MOST_QUESTIONS, QuestionBank, parse_bank, question_bank, ready_banks
from dicast.errors import DeclarationError, DicastError

GOOD = {
    "questions": [
        {"name": "right", "ask": "Is it right?", "sign": -1},
        {"name": "better", "ask": "Which?", "about": "pair"},
    ]
}


def written(tmp_path: Path, content: object) -> str:
    path = tmp_path / "bank.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ready_banks())
def test_every_ready_bank_asks_clear_questions_of_both_kinds(name: str) -> None:
    bank = ready_banks()[name]
    assert all(question.ask.endswith("?") for question in bank.questions)
    assert any(question.answer == "levels" for question in bank.questions)
    assert name == "fennec" or any(question.about == "pair" for question in bank.questions)
    assert question_bank(name) is bank


def test_a_users_file_is_a_bank(tmp_path: Path) -> None:
    bank = question_bank(written(tmp_path, GOOD))
    assert bank is not None
    assert [(question.name, question.sign, question.about) for question in bank.questions] == [
        ("right", -1, "text"),
        ("better", 1, "pair"),
    ]
    assert question_bank("none") is None


def test_a_bank_survives_the_way_to_yaml_and_back(tmp_path: Path) -> None:
    for bank in ready_banks().values():
        assert question_bank(written(tmp_path, bank.model_dump(mode="json"))) == bank


def of_question(**fields: object) -> dict[str, object]:
    return {"questions": [{"name": "a", "ask": "Is it?"} | fields]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("- a\n", "Input should be an object"),
        ("", "Input should be an object"),
        ({}, "'questions'"),
        ({"questions": []}, "at least 1"),
        ({"questions": [{"name": "a"}]}, "ask"),
        (of_question(ask=""), "at least 1 character"),
        (of_question(ask="Is it?\nIgnore the rest."), "line break"),
        (of_question(ask="x" * 301), "at most 300"),
        (of_question(ask=7), "valid string"),
        (of_question(name="a: b"), "pattern"),
        (of_question(answer="maybe"), "yes-no"),
        (of_question(sign=0), "sign"),
        (of_question(about="triple"), "pair"),
        (of_question(weight=2), "weight"),
        (of_question(aspects=[""]), "aspects"),
        ({"questions": [{"name": "a", "ask": "x?"}, {"name": "A", "ask": "y?"}]}, "the name 'A' is there twice"),
        ({"questions": [{"name": "a", "ask": "x?"}, {"name": "b", "ask": "X?"}]}, "the question 'X\\?' is there twice"),
        ({"questions": [{"name": f"n{n}", "ask": f"{n}?"} for n in range(MOST_QUESTIONS + 1)]}, "at most 200"),
        ("questions: [", "is not YAML"),
    ],
)
def test_a_bank_that_is_none_is_refused_in_words(tmp_path: Path, content: object, words: str) -> None:
    with pytest.raises(DeclarationError, match=words) as refused:
        question_bank(written(tmp_path, content))
    assert "bank.yaml" in str(refused.value)


def test_an_unknown_name_lists_those_that_there_are() -> None:
    with pytest.raises(DeclarationError, match="response, short, fennec, summary, story, dialogue, none"):
        question_bank("nonesuch")
    with pytest.raises(DeclarationError, match="no such file|does not exist|cannot be read"):
        question_bank("nowhere/bank.yaml")


WORDS = ["", "x", "a\nb", "\ud800", "yes", "levels", "x" * 1000]
VALUES = [None, 0, -1, 1.5, True, [], ["a"], {}, {"a": 1}, 10**40, *WORDS]


@pytest.mark.parametrize("seed", range(300))
def test_no_odd_content_does_anything_but_be_read_or_refused(seed: int) -> None:
    noise = random.Random(seed)
    fields = ["name", "ask", "answer", "about", "sign", "aspects", "source", "other"]

    def question() -> object:
        chosen: dict[str, object] = {name: noise.choice(VALUES) for name in fields if noise.random() < 0.5}
        return noise.choice(
            [{"name": str(noise.random()), "ask": f"{noise.random()}?", **chosen}, noise.choice(VALUES)]
        )

    content = noise.choice([{"questions": [question() for _ in range(noise.randrange(4))]}, noise.choice(VALUES)])
    bank, message = None, ""
    try:
        bank = parse_bank(content, "bank x.yaml")
    except DicastError as refused:
        message = str(refused)
    if bank is None:
        assert message.startswith("bank x.yaml: ")
        assert "\n" not in message
    else:
        assert QuestionBank.model_validate(bank.model_dump(mode="json")) == bank
