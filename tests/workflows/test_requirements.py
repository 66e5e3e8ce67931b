"""Requirements: the whole interval decides, and without one nothing does."""

import re
from collections.abc import Sequence

import pytest

import dicast
from dicast.data import Judged, Scores, Usage, Winner
from dicast.errors import RunError
from dicast.evaluation.results import Evaluation
from dicast.workflows.requirements import CheckedRequirement, Requirement


def pairs(n: int, right: int, groups: int, subset: str = "x") -> list[Judged]:
    return [
        Judged(
            case_id=f"{subset}{number}", winner="a" if number < right else "b", label=Winner(value="a"),
            group=f"{subset}{number % groups}", attributes={"subset": subset}, usage=Usage(calls=2), certainty=0.8,
        )
        for number in range(n)
    ]  # fmt: skip


def checked(text: str, evaluation: Evaluation) -> CheckedRequirement:
    return Requirement.parse(text).check(evaluation)


def outcome(text: str, verdicts: Sequence[Judged]) -> tuple[str, str]:
    result = checked(text, dicast.evaluate(verdicts))
    return result.outcome, result.text


def test_twelve_cases_of_one_group_decide_nothing() -> None:
    """Nine of twelve right: the value passes, but it has no interval."""
    expected = (
        "inconclusive",
        "cannot be decided: 0.750 has no interval, as all its 12 cases are of one group; more groups would give it one",
    )
    assert outcome("accuracy>=0.7", pairs(12, 9, 1)) == expected
    assert outcome("accuracy<=0.8", pairs(12, 9, 1)) == expected
    assert outcome("accuracy>=0.99", pairs(12, 9, 1)) == expected  # nor is it known that it fails


def test_the_debiased_error_has_no_interval() -> None:
    result = outcome("ECE debiased<=0.9", pairs(200, 160, 200))
    assert result[0] == "inconclusive"
    assert "has no interval" in result[1]


def test_a_figure_that_is_not_defined_is_not_decided() -> None:
    texts = [Judged(case_id=str(n), scores=(3,), label=Scores(values=(n % 5 + 1,), lo=1, hi=5)) for n in range(30)]
    assert outcome("spearman>=0.2", texts) == (
        "inconclusive",
        "cannot be decided: spearman is not defined on these cases (constant scores)",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("accuracy>=0.6", "holds"), ("accuracy>=0.95", "fails"), ("accuracy>=0.8", "inconclusive")],
)
def test_the_whole_interval_decides(text: str, expected: str) -> None:
    assert outcome(text, pairs(200, 160, 200))[0] == expected
    assert outcome(text.replace(">=", "<="), pairs(200, 160, 200))[0] == {
        "holds": "fails", "fails": "holds", "inconclusive": "inconclusive",
    }[expected]  # fmt: skip


def test_the_number_of_cases_that_would_decide_does() -> None:
    """Wilson's lower end of n of n is n / (n + 1.96 ** 2): at least .99 from n = 381 on."""
    assert outcome("coverage>=0.99", pairs(300, 150, 300)) == (
        "inconclusive",
        "cannot be decided from these labels: 1.000 [0.987, 1.000]; if the value stays so, about 81 cases more would "
        "decide it",
    )
    assert outcome("coverage>=0.99", pairs(381, 190, 381))[0] == "holds"
    assert outcome("coverage>=0.99", pairs(379, 190, 379))[0] == "inconclusive"


@pytest.mark.parametrize("text", ["accuracy>=0.75", "accuracy<=0.85", "accuracy>=0.82", "overconfidence<=0.06"])
def test_so_many_cases_more_are_enough_and_a_tenth_fewer_are_not(text: str) -> None:
    """On both sides of the value, and where the interval is not of a proportion."""

    def drawn(n: int) -> list[Judged]:
        return pairs(n, round(0.8 * n), n)

    said = outcome(text, drawn(100))
    more = int(re.search(r"about ([\d,]+) cases more", said[1])[1].replace(",", ""))  # type: ignore[index]
    assert outcome(text, drawn(round(1.1 * (100 + more))))[0] != "inconclusive"
    assert outcome(text, drawn(round(0.85 * (100 + more))))[0] == "inconclusive"


def test_of_groups_it_is_their_number_and_at_the_limit_none() -> None:
    assert "groups more would decide it" in outcome("accuracy>=0.75", pairs(200, 160, 40))[1]
    assert outcome("accuracy>=0.8", pairs(200, 160, 200))[1].endswith("[0.739, 0.850]")


def test_costs_are_counts_whose_value_decides() -> None:
    assert outcome("calls<=2", pairs(20, 15, 20))[0] == "holds"
    assert outcome("calls<=1", pairs(20, 15, 20))[0] == "fails"


BOTH = [*pairs(200, 190, 200, "easy"), *pairs(100, 30, 100, "hard")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("accuracy[subset=hard]>=0.6", "fails"),
        ("accuracy[subset=easy]>=0.6", "holds"),
        ("accuracy [ subset = hard ] >= 0.3", "inconclusive"),
    ],
)
def test_a_subgroup_can_be_required(text: str, expected: str) -> None:
    assert checked(text, dicast.evaluate(BOTH, by="subset")).outcome == expected


@pytest.mark.parametrize(
    ("text", "by", "problem"),
    [
        ("accuracy[subset=hrad]>=0.6", "subset", "no case has subset=hrad. The values of subset: easy, hard."),
        ("accuracy[subset=hard]>=0.6", (), "no figures by subset were computed. Give --by subset too."),
        ("kappa[subset=hard]>=0.6", "subset", "the measure by subset is accuracy. Give that."),
    ],
)
def test_a_subgroup_that_is_not_there_is_one_line(text: str, by: str, problem: str) -> None:
    with pytest.raises(RunError, match=r"--require .*: ") as caught:
        checked(text, dicast.evaluate(BOTH, by=by))
    assert str(caught.value).endswith(problem)
