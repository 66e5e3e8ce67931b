"""PREF: factors, their weights for one person, a score per answer, and the two invariants (arXiv 2508.10028)."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Finding, Preference, Verdict, Winner
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.programs.pref import FACTUAL_CAP, below_cap, weights_of_order
from dicast.signatures.pref import FACTS_APART, FACTS_COUNT
from dicast.testing import Answer, MockServer, ScriptedLM, answer_fields, prompt_text

CHOICE = Case(
    id="c",
    query="What to cook?",
    candidates=[{"text": "steak"}, {"text": "lentils"}, {"text": "beef"}],
    profile=Preference(text="no meat"),
    label={"value": 1},
    meta={"explanation": "lentils hold no meat and are quick"},
)
FACTORS = [
    {"name": "taste", "test": "is it good"},
    {"name": "easy", "test": "few steps"},
    {"name": "cheap", "test": ""},
]
ADDED = {"name": "avoid meat", "weight": 10, "reason": "the person eats none"}
TOKENS = {"token_probabilities": {"A": 0.6, "B": 0.2, "1": 0.02, "2": 0.03, "3": 0.05, "4": 0.06, "5": 0.04}}


def cook(
    weights: dict[int, int] | None = None,
    added: list[dict[str, Any]] | None = None,
    order: list[int] | None = None,
    factors: list[dict[str, str]] | None = None,
    explained: Any = None,
) -> Any:
    """An LM that answers every stage; lentils suit."""
    weights = {1: 4, 2: 8, 3: 6} if weights is None else weights
    added = [ADDED] if added is None else added

    def answer(request: Request) -> Answer:
        fields, text = answer_fields(request), prompt_text(request)
        if request.config.logprobs is not None:
            return TOKENS
        if fields == {"factors"}:
            return {"factors": FACTORS if factors is None else factors}
        by_explanation = explained is not None and "lentils hold no meat" in text
        if fields == {"weights", "added"}:
            given = explained if by_explanation else weights
            return {"weights": [{"number": n, "weight": w} for n, w in given.items()], "added": added}
        if fields == {"order", "added"}:
            return {"order": explained if by_explanation else order or [2, 3, 1], "added": added}
        assert fields in ({"explanation", "factual", "score"}, {"explanation", "score"})
        score = {"explanation": "e", "score": 9 if "lentils" in text.split("\nAnswer:\n")[-1] else 2}
        return score | ({"factual": "yes"} if "factual" in fields else {})

    return answer


def run(case: Case = CHOICE, answer: Any = None, cache: bool = False, **settings: Any) -> tuple[Verdict, list[Request]]:
    lm = ScriptedLM(answer or cook(), cache=cache)
    with dspy.context(lm=lm):
        return build("pref", **settings)(case), lm.requests


def guideline(verdict: Verdict) -> list[str]:
    return verdict.findings[-1].guideline.splitlines()


def factors_of(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.is_factor]


def stage(requests: list[Request], *fields: str) -> list[str]:
    """The prompts that ask for just these fields."""
    return [prompt_text(request) for request in requests if answer_fields(request) == set(fields)]


# coverage


def test_the_answer_that_suits_the_person_ranks_first() -> None:
    verdict, requests = run()
    assert (verdict.winner, verdict.scores) == (1, (2.0, 9.0, 2.0))
    assert len(requests) == 1 + 1 + 3


def test_coverage_never_sees_the_person_or_an_answer() -> None:
    (cover,) = stage(run()[1], "factors")
    assert "What to cook?" in cover
    assert all(word not in cover for word in ("no meat", "steak", "lentils", "beef"))


@pytest.mark.parametrize("count", [1, 2, 3, 15])
def test_at_most_the_wanted_number_of_factors_is_kept(count: int) -> None:
    verdict, requests = run(factors=count, personalise=False)
    assert [factor.criterion for factor in factors_of(verdict)] == ["taste", "easy", "cheap"][:count]
    assert f"Count:\n{count}" in stage(requests, "factors")[0]


def test_about_ten_factors_are_asked_for() -> None:
    assert "Count:\n10" in stage(run()[1], "factors")[0]


def test_a_factor_named_twice_is_one_factor() -> None:
    named = [{"name": name, "test": test} for name, test in (("Taste", "first"), ("easy", ""), (" taste ", "second"))]
    verdict, _ = run(answer=cook(factors=named), personalise=False)
    assert [(f.criterion, f.guideline) for f in factors_of(verdict)] == [("Taste", "first"), ("easy", "")]


@pytest.mark.parametrize("factors", [[], [{"name": " ", "test": "x"}]])
def test_without_a_factor_the_case_is_unscored(factors: list[dict[str, str]]) -> None:
    verdict, requests = run(answer=cook(factors=factors))
    assert (verdict.reason, len(requests)) == ("parse_failure", 3)


# preference


def test_the_guideline_is_ranked_by_weight_and_an_added_factor_carries_its_reason() -> None:
    assert guideline(run()[0]) == [
        "avoid meat (weight 10) [added: the person eats none]",
        "easy (weight 8): few steps",
        "cheap (weight 6)",
        "taste (weight 4): is it good",
    ]


def test_the_numbered_factors_and_the_person_are_shown_to_the_preference_stage() -> None:
    (asked,) = stage(run()[1], "weights", "added")
    assert "1. taste: is it good\n2. easy: few steps\n3. cheap:" in asked
    assert "no meat" in asked
    assert "lentils" not in asked


def test_equal_weights_keep_the_order_of_the_general_guideline() -> None:
    assert [f.criterion for f in factors_of(run(answer=cook({1: 5, 2: 5, 3: 5}, []))[0])] == ["taste", "easy", "cheap"]


@pytest.mark.parametrize("weight", [0, 10])
def test_weights_go_from_0_to_10(weight: int) -> None:
    verdict, _ = run(answer=cook(dict.fromkeys((1, 2, 3), weight), []))
    assert {factor.weight for factor in factors_of(verdict)} == {weight}


@pytest.mark.parametrize("weight", [-1, 11, 2.5])
def test_a_weight_off_the_scale_is_asked_for_again(weight: Any) -> None:
    verdict, requests = run(answer=cook({1: weight}, []))
    assert (verdict.reason, len(stage(requests, "weights", "added"))) == ("parse_failure", 3)


def test_a_factor_without_a_weight_gets_the_middle_one_and_a_note() -> None:
    verdict, _ = run(answer=cook({2: 9}, []))
    assert [(f.criterion, f.weight) for f in factors_of(verdict)] == [("easy", 9), ("taste", 5), ("cheap", 5)]
    assert verdict.notes == ("preference: no weight was given to taste, cheap; 5 was taken",)


def test_a_weight_for_a_number_that_no_factor_has_is_passed_over() -> None:
    verdict, _ = run(answer=cook({1: 1, 2: 2, 3: 3, 4: 10, 0: 10}, []))
    assert [factor.weight for factor in factors_of(verdict)] == [3, 2, 1]
    assert verdict.notes == ()


@pytest.mark.parametrize(
    ("order", "count", "weights"),
    [
        ([1, 2, 3, 4, 5], 5, {1: 10, 2: 8, 3: 6, 4: 4, 5: 2}),
        ([3, 1, 2, 4], 4, {3: 10, 1: 7.5, 2: 5, 4: 2.5}),
        ([2, 1], 2, {2: 10, 1: 5}),
        ([1], 1, {1: 10}),
        ([2, 1, 2, 9, 0, -1], 4, {2: 10, 1: 7.5}),
        ([], 3, {}),
    ],
)
def test_a_permutation_gives_weights_that_fall_evenly_from_ten(
    order: list[int], count: int, weights: dict[int, float]
) -> None:
    assert weights_of_order(order, count) == pytest.approx(weights)


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2, 3))))
def test_the_guideline_follows_the_permutation(order: tuple[int, ...]) -> None:
    verdict, requests = run(answer=cook(order=list(order), added=[]), weighting="permutation")
    names = ["taste", "easy", "cheap"]
    assert [f.criterion for f in factors_of(verdict)] == [names[number - 1] for number in order]
    assert [f.weight for f in factors_of(verdict)] == pytest.approx([10, 20 / 3, 10 / 3])
    assert len(stage(requests, "order", "added")) == 1
    assert stage(requests, "weights", "added") == []


def test_a_permutation_may_add_factors_too() -> None:
    verdict, _ = run(answer=cook(order=[2, 1, 3]), weighting="permutation")
    assert [(f.criterion, f.added) for f in factors_of(verdict)] == [
        ("easy", False), ("avoid meat", True), ("taste", False), ("cheap", False),
    ]  # fmt: skip


def test_a_factor_left_out_of_the_permutation_has_no_weight_and_is_noted() -> None:
    verdict, _ = run(answer=cook(order=[2, 3], added=[]), weighting="permutation")
    assert [(f.criterion, f.weight) for f in factors_of(verdict)][-1] == ("taste", 0)
    assert verdict.notes == ("preference: no weight was given to taste; 0 was taken",)


# added factors


def test_an_added_factor_is_marked_with_its_weight_and_reason() -> None:
    added = [factor for factor in factors_of(run()[0]) if factor.added]
    assert [(f.criterion, f.weight, f.explanation) for f in added] == [("avoid meat", 10, "the person eats none")]


def test_general_factors_are_not_marked_as_added() -> None:
    general = [factor for factor in factors_of(run()[0]) if not factor.added]
    assert {(f.criterion, f.explanation) for f in general} == {("taste", ""), ("easy", ""), ("cheap", "")}


def test_an_added_factor_that_is_listed_already_is_not_added() -> None:
    twice = {"name": "TASTE", "weight": 10, "reason": "again"}
    verdict, _ = run(answer=cook(added=[twice, ADDED]))
    assert [f.criterion for f in factors_of(verdict) if f.added] == ["avoid meat"]


def test_a_factor_added_twice_is_added_once() -> None:
    again = {"name": "Avoid meat", "weight": 3, "reason": "said again"}
    verdict, _ = run(answer=cook(added=[ADDED, again]))
    assert [f.criterion for f in factors_of(verdict) if f.added] == ["avoid meat"]


@pytest.mark.parametrize("forgotten", [{"reason": " "}, {"reason": ""}, {"name": ""}, {"weight": 11}])
def test_a_factor_added_without_a_reason_is_asked_for_again(forgotten: dict[str, Any]) -> None:
    tries: list[Any] = []

    def forgetful(request: Request) -> Answer:
        if answer_fields(request) == {"weights", "added"}:
            tries.append((request.config.temperature, request.config.top_p))
            if len(tries) == 1:
                return {"weights": [], "added": [ADDED | forgotten]}
        answer: Answer = cook()(request)
        return answer

    verdict, _ = run(answer=forgetful)
    assert verdict.status == "scored"
    assert tries == [(0.0, None), (0.7, 0.95)]


def test_factors_do_not_count_as_evidence_or_rationale() -> None:
    verdict, _ = run()
    assert [finding.is_factor for finding in verdict.findings] == [True] * 4 + [False]
    assert verdict.rationale == "personalised guideline: (0) e (1) e (2) e"
    assert all(finding.scores is None for finding in factors_of(verdict))


# the ablation


@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_without_the_preference_stage_the_profile_is_never_shown(readout: str) -> None:
    verdict, requests = run(personalise=False, readout=readout)
    assert not any("no meat" in prompt_text(request) for request in requests)
    assert verdict.findings[-1].criterion == "general guideline"
    assert {factor.weight for factor in factors_of(verdict)} == {5.0}


def test_a_case_without_a_profile_is_scored_by_the_general_guideline() -> None:
    verdict, requests = run(CHOICE.model_copy(update={"profile": None}))
    assert verdict.findings[-1].criterion == "general guideline"
    assert stage(requests, "weights", "added") == []


# the explanation


def test_the_explanation_weighs_the_general_factors_beside_the_person() -> None:
    verdict, requests = run(answer=cook(explained={1: 2, 2: 3, 3: 7}), explain=True)
    assert {(f.criterion, f.weight, f.explained_weight) for f in factors_of(verdict)} == {
        ("avoid meat", 10, None), ("easy", 8, 3), ("cheap", 6, 7), ("taste", 4, 2),
    }  # fmt: skip
    assert len(stage(requests, "weights", "added")) == 2


def test_the_explanation_is_shown_to_its_own_question_alone() -> None:
    _, requests = run(answer=cook(explained={1: 2}), explain=True)
    prompt = [prompt_text(request) for request in requests if "lentils hold no meat" in prompt_text(request)]
    assert len(prompt) == 1
    assert "<<<\nlentils hold no meat and are quick\n>>>" in prompt[0]


def test_the_explanation_changes_no_score_and_no_weight() -> None:
    with_it, _ = run(answer=cook(explained={1: 10, 2: 0, 3: 0}), explain=True)
    without, _ = run()
    assert with_it.scores == without.scores
    assert guideline(with_it) == guideline(without)


def test_the_explanation_s_notes_are_distinguished() -> None:
    verdict, _ = run(answer=cook({1: 1, 2: 2}, explained={1: 2, 3: 1}), explain=True)
    assert verdict.notes == (
        "preference: no weight was given to cheap; 5 was taken",
        "explanation: no weight was given to easy; 5 was taken",
    )


def test_the_explanation_can_be_weighed_by_permutation() -> None:
    verdict, _ = run(answer=cook(order=[1, 2, 3], explained=[3, 2, 1]), explain=True, weighting="permutation")
    weights = {f.criterion: (f.weight, f.explained_weight) for f in factors_of(verdict) if not f.added}
    assert weights["taste"] == pytest.approx((10, 10 / 3))
    assert weights["cheap"] == pytest.approx((10 / 3, 10))


@pytest.mark.parametrize("meta", [{}, {"explanation": 7}])
def test_a_case_without_an_explanation_cannot_be_explained(meta: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match="case 'c' has no meta.explanation. Use explain=false"):
        run(CHOICE.model_copy(update={"meta": meta}), explain=True)


@pytest.mark.parametrize("explanation", [None, "", " "])
def test_a_case_whose_explanation_is_empty_is_noted(explanation: str | None) -> None:
    """One of the thousand questions of PrefEval has none."""
    verdict, requests = run(CHOICE.model_copy(update={"meta": {"explanation": explanation}}), explain=True)
    assert (verdict.status, verdict.notes) == ("scored", ("explanation: the case has none",))
    assert {factor.explained_weight for factor in factors_of(verdict)} == {None}
    assert len(stage(requests, "weights", "added")) == 1


# scores


@pytest.mark.parametrize("score", range(11))
def test_a_written_score_from_0_to_10_is_the_verdict_s(score: int) -> None:
    def answer(request: Request) -> Answer:
        if "score" in answer_fields(request):
            return {"explanation": "e", "factual": "yes", "score": score}
        return cook()(request)

    assert run(answer=answer)[0].scores == (score,) * 3


def test_the_score_follows_what_is_said_of_the_facts() -> None:
    _, requests = run()
    schema = next(r.config.response_format["schema"] for r in requests if "score" in answer_fields(r))
    assert list(schema["properties"]) == ["explanation", "factual", "score"]


def test_each_answer_is_scored_alone_with_question_person_and_guideline() -> None:
    scored = stage(run()[1], "explanation", "factual", "score")
    assert len(scored) == 3
    for prompt in scored:
        assert sum(f"<<<\n{answer}\n>>>" in prompt for answer in ("steak", "lentils", "beef")) == 1
        assert all(part in prompt for part in ("What to cook?", "no meat", "avoid meat (weight 10)"))


@pytest.mark.parametrize("cap", range(1, 11))
def test_below_the_cap_scores_keep_their_order_and_meet_no_other_whole_score(cap: int) -> None:
    wrong = [below_cap(score, cap) for score in range(11)]
    assert wrong == sorted(set(wrong))
    assert all(low <= score for low, score in zip(wrong, range(11), strict=True))
    assert wrong[-1] < cap
    assert set(wrong) & set(range(11)) == {0.0}


def scored(**by_answer: tuple[str, int]) -> Any:
    """An LM that says of each answer whether it is factual and what it scores."""

    def answer(request: Request) -> Answer:
        if "score" in answer_fields(request):
            shown = prompt_text(request).split("\nAnswer:\n")[-1]
            factual, score = next(given for text, given in by_answer.items() if text in shown)
            return {"explanation": "", "factual": factual, "score": score}
        made: Answer = cook()(request)
        return made

    return answer


def test_no_preference_excuses_a_factual_error() -> None:
    verdict, _ = run(answer=scored(steak=("yes", 5), lentils=("no", 10), beef=("yes", 5)))
    assert verdict.scores == pytest.approx((5.0, 30 / 11, 5.0))
    assert verdict.scores is not None
    assert verdict.scores[1] < FACTUAL_CAP
    assert verdict.winner == "tie"


def test_two_answers_with_errors_do_not_tie_by_the_cap() -> None:
    """Scores of 9 and 4 used to be 3.0 each."""
    verdict, _ = run(answer=scored(steak=("no", 9), lentils=("no", 4), beef=("yes", 3)))
    assert verdict.scores == pytest.approx((27 / 11, 12 / 11, 3))
    assert verdict.winner == 2


@pytest.mark.parametrize(("cap", "top"), [(1, 10 / 11), (5, 50 / 11), (10, 100 / 11)])
def test_the_cap_is_a_parameter(cap: int, top: float) -> None:
    verdict, _ = run(answer=scored(steak=("no", 10), lentils=("yes", 10), beef=("no", 0)), factual_cap=cap)
    assert verdict.scores == pytest.approx((top, 10, 0))


@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_without_a_cap_facts_are_not_asked_apart_and_scores_stay(readout: str) -> None:
    verdict, requests = run(factual_cap="off", readout=readout)
    assert len(requests) == 1 + 1 + 3
    if readout == "generate":
        assert verdict.scores == (2.0, 9.0, 2.0)
        assert len(stage(requests, "explanation", "score")) == 3
        assert FACTS_COUNT in stage(requests, "explanation", "score")[0]
    assert not any(FACTS_APART in prompt_text(request) for request in requests)
    assert any(FACTS_APART in prompt_text(request) for request in run(readout=readout)[1])


def test_without_a_cap_tuned_instructions_are_kept() -> None:
    judge, lm = build("pref", factual_cap="off"), ScriptedLM(cook())
    judge.score.ask.signature = judge.score.ask.signature.with_instructions(f"Tuned. {FACTS_APART} <<<")
    with dspy.context(lm=lm):
        judge(CHOICE)
    assert f"Tuned. {FACTS_COUNT} <<<" in stage(lm.requests, "explanation", "score")[0]


@pytest.mark.parametrize("cap", [0, 11, 2.5, "on", False])
def test_a_cap_off_the_scale_is_refused(cap: Any) -> None:
    with pytest.raises(DeclarationError, match="factual_cap"):
        build("pref", factual_cap=cap)


# added factors against general ones


MYTHS = {"name": "Ignore taste", "weight": 10, "reason": "the person loves surprises"}


@pytest.mark.parametrize(
    ("added", "against"),
    [
        (MYTHS, "taste"),  # by its words
        (MYTHS | {"contradicts": 1}, "taste"),
        (MYTHS | {"name": "Bland food", "contradicts": 1}, "taste"),  # by its number
        (MYTHS | {"name": "Ignore taste", "contradicts": 3}, "cheap"),
        (MYTHS | {"contradicts": 9}, "taste"),  # of no factor
    ],
)
def test_an_added_factor_against_a_general_one_is_marked_and_weighs_no_more(added: Any, against: str) -> None:
    verdict, requests = run(answer=cook({1: 4, 2: 8, 3: 4}, [added]))
    why = f'the person loves surprises; it goes against "{against}", which counts first'
    line = f"{added['name']} (weight 4) [added: {why}]"
    lines = guideline(verdict)
    assert line in lines
    assert lines.index(line) > next(n for n, other in enumerate(lines) if other.startswith(f"{against} (weight 4)"))
    assert all(line in prompt for prompt in stage(requests, "explanation", "factual", "score"))
    assert verdict.notes == (f"preference: the added {added['name']!r} goes against {against!r}",)
    (finding,) = [factor for factor in factors_of(verdict) if factor.added]
    assert (finding.weight, finding.explanation.startswith("the person loves surprises; it goes")) == (4.0, True)


@pytest.mark.parametrize("name", ["avoid meat", "Avoid bad taste in music?", "local taste", "Not only cheap"])
def test_an_added_factor_that_goes_against_none_is_not_marked(name: str) -> None:
    general = [{"name": "taste of the sea", "test": ""}, {"name": "cheap", "test": ""}]
    verdict, _ = run(answer=cook({1: 4, 2: 8}, [ADDED | {"name": name}], factors=general))
    assert guideline(verdict)[0] == f"{name} (weight 10) [added: the person eats none]"
    assert verdict.notes == ()


# the worked example of Figure 2: weights 7, 5, 0 and 8, answers of 9 and 1


def test_the_worked_example_of_the_paper() -> None:
    factors = [{"name": name, "test": ""} for name in ("accuracy", "detail", "popularity")]
    avoid = {"name": "avoid fish", "weight": 8, "reason": "the person dislikes it"}
    pair = CHOICE.model_copy(update={"candidates": CHOICE.candidates[:2], "label": Winner(value="b")})
    script = scored(steak=("yes", 1), lentils=("yes", 9))

    def answer(request: Request) -> Answer:
        given: Answer = (script if "score" in answer_fields(request) else weighing)(request)
        return given

    weighing = cook({1: 7, 2: 5, 3: 0}, [avoid], factors=factors)
    verdict, _ = run(pair, answer=answer)
    assert [(f.criterion, f.weight) for f in factors_of(verdict)] == [
        ("avoid fish", 8), ("accuracy", 7), ("detail", 5), ("popularity", 0),
    ]  # fmt: skip
    assert (verdict.winner, verdict.scores) == ("b", (1.0, 9.0))


@pytest.mark.parametrize(("threshold", "capped_score"), [(0.0, False), (0.74, False), (0.76, True), (1.0, True)])
def test_by_probability_an_answer_is_factual_from_the_threshold_on(threshold: float, capped_score: bool) -> None:
    high = {"token_probabilities": {"A": 0.3, "B": 0.1, "5": 0.5}}

    def answer(request: Request) -> Answer:
        return high if request.config.logprobs is not None else cook()(request)

    verdict, _ = run(answer=answer, readout="probability", factual_threshold=threshold)
    assert verdict.scores == pytest.approx((30 / 11 if capped_score else 10.0,) * 3)


def test_by_probability_the_mean_level_is_put_on_0_to_10() -> None:
    verdict, requests = run(readout="probability")
    mean = (1 * 0.02 + 2 * 0.03 + 3 * 0.05 + 4 * 0.06 + 5 * 0.04) / 0.2
    assert verdict.scores == pytest.approx(((mean - 1) * 2.5,) * 3)
    assert len(requests) == 1 + 1 + 3 * 2
    assert verdict.findings[-1].mass_read == pytest.approx(0.2)  # the least of the two questions


@pytest.mark.parametrize(("threshold", "winner"), [(0.0, "b"), (6.9, "b"), (7.0, "tie")])
def test_a_difference_of_at_most_the_threshold_is_a_tie(threshold: float, winner: str) -> None:
    pair = CHOICE.model_copy(update={"candidates": CHOICE.candidates[:2], "label": None})
    assert run(pair, tie_threshold=threshold)[0].winner == winner


def test_everything_is_greedy() -> None:
    _, requests = run(answer=cook(explained={1: 2}), explain=True)
    assert {request.config.temperature for request in requests} == {0.0}


# paid once, and by whom


def test_the_general_guideline_is_paid_once_for_two_people() -> None:
    lm = ScriptedLM(cook(), cache=True)
    other = CHOICE.model_copy(update={"id": "c2", "profile": Preference(text="quick meals only")})
    with dspy.context(lm=lm):
        judge = build("pref")
        first, second = judge(CHOICE), judge(other)
    assert len(stage(lm.requests, "factors")) == 1
    assert len(stage(lm.requests, "weights", "added")) == 2
    assert (first.usage.cached, second.usage.cached) == (0, 1)


@pytest.fixture
def three_servers() -> Iterator[dict[str, MockServer]]:
    with ExitStack() as stack:
        yield {role: stack.enter_context(MockServer()) for role in ("coverage", "preference", "score")}


def test_three_roles_are_answered_by_three_models(three_servers: dict[str, MockServer]) -> None:
    judge = build("pref").bind(",".join(f"{role}=openai/{role}@{s.url}" for role, s in three_servers.items()))
    verdict = judge(CHOICE.model_copy(update={"query": "A question for three servers?"}))
    assert verdict.status == "scored"
    asked = {
        role: [set(body["response_format"]["json_schema"]["schema"]["properties"]) for body in server.requests]
        for role, server in three_servers.items()
    }
    assert asked == {
        "coverage": [{"factors"}],
        "preference": [{"weights", "added"}],
        "score": [{"explanation", "factual", "score"}] * 3,
    }
    assert {role: {body["model"] for body in s.requests} for role, s in three_servers.items()} == {
        role: {role} for role in three_servers
    }


def test_a_role_that_pref_does_not_have_is_named() -> None:
    with pytest.raises(DeclarationError, match="no role 'criteria'. Its roles: coverage, judge, preference, score"):
        build("pref").bind("criteria=openai/x")
