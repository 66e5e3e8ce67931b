"""Which verdict a reason speaks for: its own clear words, and what is left to a model; scores and their scale."""

import pytest

from dicast import Case
from dicast.data import Finding, Verdict
from dicast.data.verdict import swap_distribution
from dicast.judging.explainer import _evidence
from dicast.judging.reason_check import ReasonCheck, agrees, said_clearly
from dicast.judging.verdict_words import verdict_words

WINNERS = ("a", "b", "tie")


@pytest.mark.parametrize(
    ("reason", "winner"),
    [
        ("Response A is better because it names the year.", "a"),
        ("Response B is clearly better.", "b"),
        ("Response A is worse: it invents a source.", "b"),
        ("Response A is not better than response B.", None),
        ("Response A is better in style. Response B is better in facts.", None),
        ("Response A is weaker, and response B is stronger.", "b"),
        ("It names the year.", None),
        ("Response C is better.", None),
    ],
)
def test_clear_words_name_a_winner(reason: str, winner: str | None) -> None:
    assert said_clearly(reason, WINNERS) == winner


@pytest.mark.parametrize(("winner", "other"), [("a", "b"), ("b", "a")])
def test_exchanging_the_letters_exchanges_the_winner(winner: str, other: str) -> None:
    text = f"Response {winner.upper()} is preferable; response {other.upper()} is weaker."
    assert said_clearly(text, WINNERS) == winner
    swapped = text.translate(str.maketrans("AB", "BA"))
    assert said_clearly(swapped, WINNERS) == other


def text(**fields: object) -> Case:
    return Case.model_validate({"id": "1", "query": "q", "candidates": [{"text": "x"}], **fields})


def test_a_score_is_said_on_its_scale_and_a_reason_for_another_one_is_noticed() -> None:
    words = verdict_words(text(), Verdict(case_id="1", scores=(3.6,)), (1, 5))
    assert words is not None
    assert words.sentence == "the score is 3.6 on a scale from 1 to 5"
    check = ReasonCheck()
    assert agrees(check.spoken_for("A score of 4 fits.", words), words) is True
    assert agrees(check.spoken_for("A score of 2 fits, as it is rude.", words), words) is False
    assert agrees(check.spoken_for("It is polite.", words), words) is None


def test_an_unscored_verdict_says_nothing() -> None:
    assert verdict_words(text(), Verdict(case_id="1", status="unscored", reason="refusal")) is None


def test_a_category_of_the_judge_is_an_option_where_the_case_names_none() -> None:
    words = verdict_words(text(), Verdict(case_id="1", category="fail"))
    assert words is not None
    assert (words.chosen, dict(words.options)) == ("fail", {"fail": 'the response is "fail"'})


def test_several_criteria_are_shown_as_means_over_the_orders() -> None:
    first = Finding(criterion="true", order="ab", distribution={"a": 0.8, "b": 0.2})
    second = Finding(criterion="true", order="ba", distribution={"a": 0.6, "b": 0.4})
    short = Finding(criterion="short", scores=(2.0, 4.0))
    assert _evidence([first, second], ("A", "B")) == ""
    assert _evidence([first, second, short], ("A", "B")) == '"true": A 0.7, B 0.3\n"short": A 2, B 4'
    assert swap_distribution(first.distribution) == {"b": 0.8, "a": 0.2}
