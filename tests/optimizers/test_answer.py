"""The words of an answer: what improved, faults, and the next step with its number."""

import math

import pytest
from runs import distinct, evaluated, pair, text

from dicast.data import Judged
from dicast.evaluation.minimum_detectable_effect import GroupsNeeded, groups_needed
from dicast.evaluation.results import Measure, PairedTest
from dicast.optimizers.answer import constant_answer, faults_of, headline_of, is_trusted, next_steps, outcome_of
from dicast.optimizers.claims import Claim, Of, State, claims_of
from dicast.optimizers.objective import OBJECTIVES
from dicast.optimizers.silent_criteria import silent_criteria
from dicast.stats.power import labels_for_difference


def difference_test(
    value: float,
    low: float,
    high: float,
    *,
    n: int = 100,
    groups: int | None = None,
    name: str = "accuracy",
    p: float = 0.2,
) -> PairedTest:
    difference = Measure(name=name, value=value, low=low, high=high, n=n, groups=groups)
    return PairedTest(name=name, difference=difference, p=p, p_holm=p, p_looks=p)


def claim(of: Of, state: State, test: PairedTest | None = None, **fields: float) -> Claim:
    return Claim(of=of, state=state, greater_is_better=of == "verdicts", test=test, **fields)


def letters(n: int, *, wrong: int, certainty: float = 0.8) -> list[Judged]:
    """n pairs whose label is a and b in turn; the judge is wrong on the first."""
    rows = []
    for number in range(n):
        human = "ab"[number % 2]
        said = human if number >= wrong else "ba"[number % 2]
        other = "b" if said == "a" else "a"
        rows.append(
            pair(human, said, certainty=certainty, distribution={said: certainty, other: 1 - certainty, "tie": 0.0})
        )
    return distinct(rows)


AFTER = evaluated(*letters(100, wrong=20))


def test_the_headline_says_what_improved_and_what_cannot_have() -> None:
    test = difference_test(-4.52, -5.9, -3.1, name="log-loss of votes", p=0.0002)
    claims = [
        claim("verdicts", "unchanged", before=0.8, after=0.8),
        claim("certainty", "improved", test, before=5.02, after=0.5),
        claim("selective use", "unchanged"),
        claim("cost", "unchanged"),
    ]
    assert is_trusted(AFTER)  # .8 certain, .8 right
    assert headline_of(claims, AFTER) == (
        "same verdicts; its certainty can now be trusted: log-loss 5.02 -> 0.50, p = 0.0002"
    )
    assert outcome_of(claims, ()) == "improved"


def test_a_certainty_that_is_still_too_high_is_better_and_not_trusted() -> None:
    after = evaluated(*letters(100, wrong=40))
    claims = [claim("certainty", "improved", difference_test(-1, -2, -0.5, name="log-loss", p=0.01), before=2, after=1)]
    assert headline_of(claims, after) == "its certainty fits better: log-loss 2.00 -> 1.00, p = 0.01"


def test_an_improvement_is_none_where_something_is_worse_or_one_answer_is_given() -> None:
    better, worse = claim("certainty", "improved"), claim("verdicts", "worse")
    assert outcome_of([better, worse], ()) == "worse"
    assert outcome_of([better], ("It is worse than majority: accuracy -0.1 [-0.2, -0.05].",)) == "worse"
    assert outcome_of([better], ("It gives one answer, 'a' in all 80 cases, so it says nothing.",)) == "inconclusive"
    assert outcome_of([claim("cost", "worse")], ()) == "inconclusive"
    assert outcome_of([claim("cost", "improved")], ()) == "inconclusive"


def test_one_answer_is_named_where_people_give_several() -> None:
    assert constant_answer(distinct([pair("a", "tie")] * 8 + [pair("b", "tie")] * 8)) == "'tie' in all 16 cases"
    assert constant_answer(distinct([pair("a", "a")] * 16)) == ""
    assert constant_answer(distinct([text(4, human) for human in range(11)])) == "4 for all 11 texts"
    assert constant_answer(distinct([pair("a", "tie"), pair("b", "tie")])) == ""  # too few to say


def test_a_baseline_is_better_only_by_its_interval() -> None:
    rows = letters(40, wrong=5)
    below, unclear = difference_test(-0.2, -0.3, -0.1, p=0.001), difference_test(-0.1, -0.22, 0.02, p=0.1)
    faults = faults_of(rows, rows, [("majority", below, 0.002), ("longer", unclear, 0.1)])
    assert faults == ("It is worse than majority: accuracy -0.200 [-0.300, -0.100].",)
    assert faults_of(rows, rows, [("majority", below, 0.08)]) == ()  # not by the p-value for several baselines


def test_the_groups_that_show_the_gain_that_was_seen_are_those_of_the_power_of_mcnemar() -> None:
    """By the normal approximation; exact power needs 9 % more at a discordance of .2 (`stats.power`)."""
    n, discordance, gain = 300, 0.2, 0.04
    error = math.sqrt((discordance - gain**2) / n)
    needed = groups_needed(difference_test(gain, gain - 1.968 * error, gain + 1.968 * error, n=n))
    assert needed is not None
    exact = labels_for_difference(discordance, gain)
    assert exact * 0.9 < needed.seen < exact * 1.02
    assert needed.have == 300
    assert needed.best < needed.seen


def test_no_number_is_made_up_where_nothing_was_seen() -> None:
    assert groups_needed(difference_test(0.0, -0.1, 0.1)) is None
    assert groups_needed(PairedTest(name="x", difference=Measure(name="x", value=0.1), p=0.1)) is None
    assert groups_needed(difference_test(0.02, -0.02, 0.06, groups=40)) == GroupsNeeded(have=40, seen=307, best=35)


def test_the_next_step_has_a_number_of_groups_and_the_range_of_it() -> None:
    undecided = claim("verdicts", "undecided", difference_test(0.04, -0.02, 0.10, groups=60))
    above = difference_test(0.3, 0.2, 0.4)
    (step,) = next_steps([undecided], (), above)
    assert step == (
        "Label about 200 more groups to show the gain in accuracy of 0.040 that was seen with 80 % power; if it is "
        "0.100, the most that these labels allow, no more."
    )


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (-0.01, -0.05, 0.03, "No gain in verdicts was seen, so more labels will show none"),
        (0.001, -0.06, 0.062, "would take"),
    ],
)
def test_more_labels_are_not_advised_where_they_would_show_nothing(
    value: float, low: float, high: float, words: str
) -> None:
    (step,) = next_steps(
        [claim("verdicts", "undecided", difference_test(value, low, high))], (), difference_test(0.3, 0.2, 0.4)
    )
    assert words in step
    assert "Label about" not in step


def test_a_judge_that_is_not_shown_above_the_most_frequent_answer_needs_another_model_first() -> None:
    steps = next_steps([claim("verdicts", "unchanged")], (), difference_test(0.03, -0.05, 0.11))
    assert steps[0].startswith(
        "It is not shown to agree with people more than the most frequent answer does: try a stro"
    )
    assert "label about 1,300 more groups to show it" in steps[0]


def test_a_compilation_that_made_the_judge_worse_says_to_keep_it() -> None:
    worse = claim("certainty", "worse", difference_test(0.2, 0.1, 0.3, name="log-loss", p=0.01))
    (step,) = next_steps([worse], (), difference_test(0.3, 0.2, 0.4))
    assert step.startswith("Use the uncompiled judge")


def test_a_criterion_that_favours_either_text_alike_is_named_and_a_useful_one_is_not() -> None:
    rows = []
    for number in range(200):
        sign = 1 if number % 2 == 0 else -1
        useful, silent = sign * (1 if number % 10 else -1), 1 if number % 4 < 2 else -1
        rows.append(
            pair(
                "a" if sign > 0 else "b", "a",
                findings=[
                    {"criterion": "useful", "scores": (3 + useful, 3)},
                    {"criterion": "silent", "scores": (3 + silent, 3)},
                ],
            )
        )  # fmt: skip
    assert silent_criteria(distinct(rows)) == (
        "the criterion 'silent': it favours the text that people prefer in 0.50 [0.43, 0.57] of 200 pairs, no better "
        "than chance",
    )
    assert silent_criteria(distinct([row.model_copy(update={"findings": row.findings[:1]}) for row in rows])) == ()


def test_selective_use_is_ranked_by_what_is_handed_in_place_of_certainty() -> None:
    from dicast.evaluation.compare import compare
    from dicast.evaluation.run_arrays import run_arrays

    before, after = letters(60, wrong=20), letters(60, wrong=20, certainty=0.7)
    accuracy = OBJECTIVES.find("accuracy")
    (comparison,) = compare([("compiled", run_arrays(after)), ("uncompiled", run_arrays(before))])
    order = {judged.case_id: float(judged.winner == judged.label.value) for judged in after}  # type: ignore[union-attr]
    final = [row.model_copy(update={"certainty": 0.6 + 0.001 * number}) for number, row in enumerate(after)]
    claims = claims_of(after, before, accuracy, comparison, final=final, order=order)
    (selective,) = (one for one in claims if one.of == "selective use")
    assert selective.before == pytest.approx(1 / 3)  # all verdicts are equally certain
    best = sum((k - 40) / k for k in range(41, 61)) / 60  # every error comes last
    assert selective.after == pytest.approx(best)
    assert selective.state == "improved"
