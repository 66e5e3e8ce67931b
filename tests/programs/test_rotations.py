"""`zero-shot` and `reminder` with rotations: a model that likes letters, read until what it likes falls out."""

import itertools
import random

import dspy
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Verdict
from dicast.data.case import Candidate
from dicast.judging import build
from dicast.judging.judge import FittedJudge
from dicast.programs.multiple_choice import Choose
from dicast.testing.scripted_lm import Answer, ScriptedLM

LIKED = {"A": 3.0, "B": 0.5, "C": 0.0, "D": -1.0}  # log-odds that this model gives to a letter, whatever the option


def shown(request: Request) -> dict[str, str]:
    """Each option's text by its letter."""
    lines = (request.messages[0].text or "").partition("Options:\n")[2].split("\n>>>\n")
    return {line.strip()[0]: line.partition("<<<\n")[2].removesuffix("\n>>>") for line in lines if ". <<<" in line}


def biased(request: Request) -> Answer:
    """What a text is worth is drawn by the text, some noise by text and letter."""
    values = {
        letter: 2 * random.Random(text).gauss(0, 1) + LIKED[letter] + 0.3 * random.Random(text + letter).gauss(0, 1)
        for letter, text in shown(request).items()
    }
    return {"token_probabilities": {letter: 2.0**value / 1e6 for letter, value in values.items()}}


def best_text(texts: list[str]) -> str:
    return max(texts, key=lambda text: random.Random(text).gauss(0, 1))


def case(number: int, options: int = 4) -> Case:
    texts = [f"dish {number}.{option}" for option in range(options)]
    return Case(id=str(number), query=f"What for dinner {number}?", candidates=[Candidate(text=text) for text in texts])


def judged(judge: Choose, *cases: Case) -> tuple[list[Verdict], ScriptedLM]:
    lm = ScriptedLM(biased)
    with dspy.context(lm=lm):
        return [judge(one) for one in cases], lm


def right(verdicts: list[Verdict], cases: list[Case]) -> float:
    hits = [
        one.candidates[int(str(verdict.winner))].text == best_text([option.text for option in one.candidates])
        for verdict, one in zip(verdicts, cases, strict=True)
    ]
    return sum(hits) / len(hits)


def permuted(one: Case, places: tuple[int, ...]) -> Case:
    return one.model_copy(update={"candidates": tuple(one.candidates[place] for place in places)})


CASES = [case(number) for number in range(60)]


@pytest.mark.parametrize("name", ["zero-shot", "reminder"])
def test_all_rotations_see_through_what_the_model_likes_in_letters(name: str) -> None:
    one, _ = judged(build(name, readout="probability", min_mass=0), *CASES)
    every, lm = judged(build(name, rotations="all", min_mass=0), *CASES)
    assert right(one, CASES) < 0.75
    assert right(every, CASES) > 0.9
    assert len(lm.requests) == 4 * len(CASES)


def test_until_sure_reads_less_and_changes_few_winners() -> None:
    every, _ = judged(build("zero-shot", rotations="all", min_mass=0), *CASES)
    judge = build("zero-shot", rotations="until-sure", calibration=15, stop_error=0.05, min_mass=0)
    assert isinstance(judge, FittedJudge)
    assert judge.is_fitted_to_cases
    sure, _ = judged(judge.fit(CASES), *CASES)
    changed = sum(a.winner != b.winner for a, b in zip(every, sure, strict=True))
    assert changed / len(CASES) <= 0.05
    readings = [verdict.usage.calls + verdict.usage.cached for verdict in sure[1:]]  # the first one calibrates
    assert sum(readings) / len(readings) < 3
    assert sure[0].usage.calls + sure[0].usage.cached >= 4 * 15


def test_without_the_cases_of_a_run_all_rotations_are_read() -> None:
    (verdict,), lm = judged(build("zero-shot", rotations="until-sure", min_mass=0), CASES[0])
    (every,), _ = judged(build("zero-shot", rotations="all", min_mass=0), CASES[0])
    assert len(lm.requests) == 4
    assert verdict.distribution == every.distribution


@pytest.mark.parametrize("rotations", ["all", "until-sure"])
def test_permuting_the_options_permutes_the_verdict_exactly(rotations: str) -> None:
    def choose(cases: list[Case], one: Case) -> Verdict:
        judge = build("zero-shot", rotations=rotations, calibration=12, min_mass=0).fit(cases)
        return judged(judge, one)[0][0]

    expected = choose(CASES[:20], CASES[3]).distribution or {}
    for places in itertools.islice(itertools.permutations(range(4)), 1, None, 5):
        turned = [
            one.model_copy(update={"candidates": tuple(one.candidates[place] for place in places)})
            for one in CASES[:20]
        ]
        got = choose(turned[::-1], turned[3]).distribution or {}
        assert [got[str(n)] for n in range(4)] == [expected[str(place)] for place in places]


def test_a_pair_is_read_in_both_orders() -> None:
    pair = case(1, options=2)
    (verdict,), lm = judged(build("zero-shot", rotations="all", min_mass=0), pair)
    (swapped,), _ = judged(build("zero-shot", rotations="all", min_mass=0), pair.swapped())
    assert len(lm.requests) == 2
    assert verdict.distribution == {"a": swapped.distribution["b"], "b": swapped.distribution["a"]}  # type: ignore[index]


def test_equal_options_share_what_is_given_to_either() -> None:
    one = case(1)
    twice = one.model_copy(update={"candidates": (*one.candidates[:3], one.candidates[0])})
    for rotations in ("all", "until-sure"):
        (verdict,), _ = judged(build("zero-shot", rotations=rotations, min_mass=0), twice)
        shares = verdict.distribution or {}
        assert shares["0"] == shares["3"]


def test_one_rotation_needs_no_cases() -> None:
    judge = build("reminder")
    assert isinstance(judge, FittedJudge)
    assert not judge.is_fitted_to_cases
