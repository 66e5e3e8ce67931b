"""Verdicts: swapping, the reason of an unscored one, what judging cost, and lines of verdicts.jsonl."""

import json
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from dicast.data import Case, Correction, Finding, Judged, Scores, Usage, Verdict, Winner
from dicast.data.verdict import swap_distribution
from dicast.errors import UnscoredReason

FINDINGS = (
    Finding(criterion="warm", order="ab", scores=(4.0, 2.5), levels=((0.0, 1.0), (0.75, 0.25)), explanation="e"),
    Finding(criterion="warm", order="ba", weight=2.0, distribution={"a": 0.5, "b": 0.3, "tie": 0.2}, mass_read=0.9),
    Finding(criterion="brief", guideline="g", scores=(1.0, 5.0)),
)
PAIRWISE = Verdict(
    case_id="c",
    winner="a",
    scores=(4.0, 2.5),
    distribution={"a": 0.6, "b": 0.3, "tie": 0.1},
    certainty=0.6,
    findings=FINDINGS,
    rationale="warm: e",
    corrections=(Correction(candidate=1, text="better", criteria=("warm",)),),
    consistent=False,
    usage=Usage(calls=3, cached=1, prompt_tokens=50, completion_tokens=7, cost=0.25, seconds=1.5),
)
UNSCORED = Verdict(case_id="c", status="unscored", reason="parse_failure", detail="no JSON")
PAIR = Case(id="c", query="q", candidates=[{"text": "x"}, {"text": "y"}], label={"value": "a"}, group="g")


@pytest.mark.parametrize("verdict", [PAIRWISE, UNSCORED, Verdict(case_id="c", winner="tie")])
def test_a_verdict_swapped_twice_is_the_same(verdict: Verdict) -> None:
    assert verdict.swapped().swapped() == verdict


@pytest.mark.parametrize("finding", FINDINGS)
def test_a_finding_swapped_twice_is_the_same(finding: Finding) -> None:
    assert finding.swapped().swapped() == finding


def test_swapping_a_verdict_exchanges_all_that_has_a_side() -> None:
    swapped = PAIRWISE.swapped()
    assert (swapped.winner, swapped.scores) == ("b", (2.5, 4.0))
    assert swapped.distribution == {"a": 0.3, "b": 0.6, "tie": 0.1}
    assert [finding.order for finding in swapped.findings] == ["ba", "ab", None]
    assert [fix.candidate for fix in swapped.corrections] == [0]


def test_swapping_a_verdict_keeps_all_that_has_no_side() -> None:
    swapped = PAIRWISE.swapped()
    for name in ("case_id", "status", "certainty", "rationale", "consistent", "usage"):
        assert getattr(swapped, name) == getattr(PAIRWISE, name)


def test_swapping_a_finding_exchanges_scores_levels_and_letters() -> None:
    scored, lettered, _ = FINDINGS
    assert scored.swapped().scores == (2.5, 4.0)
    assert scored.swapped().levels == ((0.75, 0.25), (0.0, 1.0))
    assert lettered.swapped().distribution == {"a": 0.3, "b": 0.5, "tie": 0.2}
    assert (lettered.swapped().weight, lettered.swapped().mass_read) == (2.0, 0.9)


def test_the_mass_read_of_earlier_files_is_read() -> None:
    earlier = {"criterion": "warm", "distribution": {"a": 0.5, "b": 0.5}, "coverage": 0.9}
    finding = Finding.model_validate_json(json.dumps(earlier))
    assert finding.mass_read == 0.9
    assert finding.model_dump()["mass_read"] == 0.9
    assert Finding.model_validate(finding.model_dump()) == finding


def test_only_the_letters_of_a_distribution_are_exchanged() -> None:
    assert swap_distribution({"a": 0.1, "b": 0.2, "tie": 0.3, "0": 0.4}) == {"a": 0.2, "b": 0.1, "tie": 0.3, "0": 0.4}
    assert swap_distribution(None) is None


def test_an_unscored_verdict_needs_a_reason() -> None:
    with pytest.raises(ValidationError, match="an unscored verdict carries a reason, and no other verdict does"):
        Verdict(case_id="c", status="unscored")


@pytest.mark.parametrize("status", ["scored", "abstained"])
def test_only_an_unscored_verdict_has_a_reason(status: str) -> None:
    with pytest.raises(ValidationError, match="and no other verdict does"):
        Verdict.model_validate({"case_id": "c", "status": status, "reason": "refusal"})


@pytest.mark.parametrize("reason", get_args(UnscoredReason))
def test_every_reason_of_the_errors_is_a_reason_of_a_verdict(reason: UnscoredReason) -> None:
    assert Verdict(case_id="c", status="unscored", reason=reason).reason == reason


def test_a_reason_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValidationError, match="reason"):
        Verdict.model_validate({"case_id": "c", "status": "unscored", "reason": "boredom"})


@pytest.mark.parametrize("fields", [{"certainty": 1.01}, {"certainty": -0.01}, {"distribution": {"a": 1.5}}])
def test_a_probability_stays_between_zero_and_one(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Verdict(case_id="c", **fields)


def test_usage_is_added_field_by_field() -> None:
    first = Usage(
        calls=1, cached=2, prompt_tokens=30, completion_tokens=4, counted=1, cached_tokens=9, cost=0.5, seconds=0.25
    )
    second = Usage(
        calls=10, cached=20, prompt_tokens=300, completion_tokens=40, counted=2, cached_tokens=80, cost=0.25, seconds=1
    )
    expected = Usage(
        calls=11,
        cached=22,
        prompt_tokens=330,
        completion_tokens=44,
        counted=3,
        cached_tokens=89,
        cost=0.75,
        seconds=1.25,
    )
    assert first + second == second + first == expected


def test_answers_of_unknown_length_are_as_long_as_the_others() -> None:
    paid = Usage(calls=2, prompt_tokens=100, completion_tokens=20)
    assert (Usage().total_tokens, paid.total_tokens) == (0, 120)
    assert (paid + Usage(cached=1, counted=1, cached_tokens=30)).total_tokens == 150
    assert (paid + Usage(cached=3)).total_tokens == 300
    assert Usage(cached=3).total_tokens is None


def test_adding_no_usage_changes_nothing() -> None:
    assert PAIRWISE.usage + Usage() == Usage() + PAIRWISE.usage == PAIRWISE.usage


@pytest.mark.parametrize(("one", "other", "together"), [(None, None, None), (None, 0.5, 0.5), (0.0, None, 0.0)])
def test_an_unknown_cost_is_not_a_cost_of_zero(one: float | None, other: float | None, together: float | None) -> None:
    assert (Usage(cost=one) + Usage(cost=other)).cost == together


def test_a_judged_case_holds_the_verdict_beside_the_label() -> None:
    judged = Judged.of(PAIR.model_copy(update={"votes": (Winner(value="b"),)}), PAIRWISE)
    assert (judged.label, judged.votes, judged.group) == (Winner(value="a"), (Winner(value="b"),), "g")
    assert Verdict(**{name: getattr(judged, name) for name in Verdict.model_fields}) == PAIRWISE


@pytest.mark.parametrize("verdict", [PAIRWISE, UNSCORED, Verdict(case_id="c", status="abstained", certainty=0.5)])
@pytest.mark.parametrize(
    "label",
    [
        None,
        Winner(value="tie"),
        Winner(value=0),
        Winner(value=1),
        Scores(values=(1.5, 5), lo=1, hi=5),
        Scores(values=(0.1, 1), lo=0, hi=1),
    ],
)
def test_a_line_of_verdicts_comes_back_as_it_was(verdict: Verdict, label: Winner | Scores | None) -> None:
    fields = {name: getattr(verdict, name) for name in Verdict.model_fields}
    judged = Judged(**fields, label=label, votes=(label, label) if label else ())
    line = judged.model_dump_json()
    assert "\n" not in line
    assert Judged.model_validate_json(line) == judged


def test_floats_come_back_to_the_last_bit() -> None:
    verdict = Verdict(case_id="c", scores=(0.1 + 0.2, 1 / 3), certainty=2 / 3)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_swapping_a_judged_case_exchanges_its_label_too() -> None:
    assert Judged.of(PAIR, PAIRWISE).swapped() == Judged.of(PAIR.swapped(), PAIRWISE.swapped())


def test_a_choice_of_several_can_end_in_a_tie():
    case = Case(id="c", query="q", candidates=[{"text": text} for text in "xyz"])
    assert Judged.of(case, Verdict(case_id="c", winner="tie")).winner == "tie"
    with pytest.raises(ValueError, match="is for a pair"):
        Judged.of(case, Verdict(case_id="c", winner="a"))


JUDGED = {"case_id": "c", "winner": "a", "scores": [1, 2], "lengths": [3, 4]}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"lengths": [3, 4, 5]}, "scores for 2 candidates, but lengths for 3"),
        ({"systems": ["s"] * 9}, "systems for 9 candidates, but lengths for 2"),
        ({"label": {"values": [1], "lo": 0, "hi": 1}}, "label for 1 candidates, but lengths for 2"),
        ({"winner": 2}, "winner 2 is not the index of one of 2 candidates"),
        ({"winner": -5}, "winner -5 is not the index"),
        ({"lengths": [3], "scores": [1]}, "winner .a. is for a pair, but there are 1 candidates"),
        ({"corrections": [{"candidate": 99, "text": "x"}]}, "a correction is of candidate 99, but there are 2"),
        ({"corrections": [{"candidate": -5, "text": "x"}]}, "a correction is of candidate -5"),
        ({"scores": [1e308, 1]}, "less than or equal"),
        ({"lengths": [10**400, 1]}, "lengths.0"),
        ({"case_digest": "\ufeff12ab"}, "case_digest"),
        ({"usage": {"calls": 10**400}}, "the usage of one verdict is more than"),
        ({"usage": {"seconds": 1e308}}, "the usage of one verdict is more than"),
    ],
)
def test_a_line_that_names_candidates_that_do_not_exist_is_refused(change: dict[str, Any], problem: str) -> None:
    Judged.model_validate_json(json.dumps(JUDGED))
    with pytest.raises(ValidationError, match=problem):
        Judged.model_validate_json(json.dumps(JUDGED | change))


def test_a_choice_may_tie() -> None:
    judged = Judged.model_validate(JUDGED | {"winner": "tie", "scores": [1, 1, 0], "lengths": [3, 4, 5]})
    assert judged.winner == "tie"
