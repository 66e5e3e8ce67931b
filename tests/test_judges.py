"""Every judge against a scripted LM: stages, call counts, scales, failures, invariants."""

import asyncio
import json

import dspy
import pytest
from dspy.lm15 import Request
from scripted import asked_for, prompt, scripted

import dicast
from dicast import Case
from dicast.data import Preference, Verdict
from dicast.errors import DeclarationError, ModelError
from dicast.programs import PROGRAMS, build
from dicast.programs.pref import FACTUAL_CAP, capped

PAIR = Case(id="p", query="Name a prime.", candidates=[{"text": "9"}, {"text": "7 is prime"}], label={"value": "b"})
SINGLE = Case(id="s", query="Name a prime.", candidates=[{"text": "7"}])
CHOICE = Case(
    id="c",
    query="What to cook?",
    candidates=[{"text": "steak"}, {"text": "lentils"}, {"text": "beef"}],
    profile=Preference(text="no meat"),
    label={"value": 1},
)
TOKENS = {"logprobs": {"A": 0.6, "B": 0.2, "1": 0.02, "2": 0.03, "3": 0.05, "4": 0.06, "5": 0.04}}


def good_judge(request):
    """Answers every stage well: 7 is prime, lentils suit, 9 and meat are bad."""
    fields, text = asked_for(request), prompt(request)
    if request.config.logprobs is not None:
        return TOKENS
    if fields == {"criteria"}:
        return {"criteria": ["correct: is it a prime", "brief: no padding", "correct: is it a prime"]}
    if "comparison" in fields and "score_1" in fields:
        return {f"score_{level}": f"level {level}" for level in range(1, 6)} | {"comparison": "more is better"}
    if fields == {"explanation_a", "score_a", "explanation_b", "score_b", "comparison"}:
        first_is_prime = text.index("7 is prime") < text.rindex("<<<\n9\n>>>")
        a, b = (5, 1) if first_is_prime else (1, 5)
        return {"explanation_a": "x", "score_a": a, "explanation_b": "y", "score_b": b, "comparison": "z"}
    if fields == {"explanation", "score"}:
        return {"explanation": "read", "score": 5 if "7" in text.split("\nResponse:\n")[-1] else 1}
    if fields == {"corrected"}:
        return {"corrected": "7"}
    if fields == {"factors"}:
        return {"factors": [{"name": "taste", "test": "is it good"}, {"name": "easy", "test": "few steps"}]}
    if fields == {"weights", "added"}:
        added = [{"name": "avoid meat", "weight": 10, "reason": "the person eats none"}]
        return {"weights": [{"number": 1, "weight": 4}, {"number": 2, "weight": 8}], "added": added}
    if fields == {"explanation", "factual", "score"}:
        return {"explanation": "e", "factual": "yes", "score": 9 if "lentils" in text.split("\nAnswer:\n")[-1] else 2}
    if fields == {"better"}:
        return {"better": "A"}
    if fields == {"score"}:
        return {"score": 4}
    raise AssertionError(f"nobody asks for {fields}")


def run(name, case, answer=good_judge, cache=False, **settings) -> tuple[Verdict, list[Request]]:
    lm, script = scripted(answer, cache=cache)
    with dspy.context(lm=lm):
        return build(name, **settings)(case), script.requests


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({"evidence": "pairwise", "order": "one"}, 1),
        ({"evidence": "pairwise", "order": "both"}, 2),
        ({"evidence": "single"}, 2),
        ({"evidence": "both", "order": "both"}, 4),
    ],
)
@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_direct_asks_as_often_as_it_says(settings, calls, readout):
    verdict, requests = run("direct", PAIR, readout=readout, **settings)
    assert verdict.status == "scored"
    assert len(requests) == verdict.usage.calls == calls


def test_direct_with_an_order_bias_and_no_opinion_ties_in_both_orders():
    verdict, _ = run("direct", PAIR, evidence="pairwise", order="both", readout="generate")
    assert (verdict.winner, verdict.consistent) == ("tie", False)


def test_direct_reads_the_margin_of_letters_and_the_mean_of_scores():
    verdict, _ = run("direct", PAIR, evidence="both", order="one")
    assert verdict.findings[0].distribution == pytest.approx({"a": 0.75, "b": 0.25})
    assert verdict.findings[0].coverage == pytest.approx(0.8)
    mean = (1 * 0.02 + 2 * 0.03 + 3 * 0.05 + 4 * 0.06 + 5 * 0.04) / 0.2
    assert verdict.scores == pytest.approx((mean, mean))


def test_fennec_asks_one_plus_n_plus_two_n_questions():
    verdict, requests = run("fennec", PAIR, branches=5)
    assert len(requests) == 1 + 2 + 2 * 2  # the script names two different criteria
    assert (verdict.winner, verdict.consistent, verdict.scores) == ("b", True, (1.0, 5.0))
    assert [finding.order for finding in verdict.findings] == ["ab", "ba", "ab", "ba"]
    assert {finding.scores for finding in verdict.findings} == {(1.0, 5.0)}


def test_fennec_without_guideline_and_in_one_order_asks_one_plus_n():
    _, requests = run("fennec", PAIR, guideline=False, order="one")
    assert len(requests) == 1 + 2


def test_fennec_by_probability_reads_each_score_from_one_token():
    verdict, requests = run("fennec", PAIR, readout="probability")
    assert sum(request.config.max_tokens == 1 for request in requests) == 2 * 2 * 2
    assert all(1 <= score <= 5 for finding in verdict.findings for score in finding.scores)


def test_fennec_shows_the_model_one_guideline_per_criterion():
    _, requests = run("fennec", PAIR, order="one")
    judged = [prompt(r) for r in requests if "score_a" in asked_for(r)]
    assert all(
        "1: level 1\n2: level 2\n3: level 3\n4: level 4\n5: level 5\nLook at: more is better" in text for text in judged
    )


def test_fennec_single_scores_each_text_alone():
    verdict, requests = run("fennec-single", PAIR)
    assert (verdict.winner, verdict.scores, verdict.consistent) == ("b", (1.0, 5.0), True)
    assert len(requests) == 1 + 2 + 2 * 2
    assert not any("7 is prime" in prompt(r) and "<<<\n9\n>>>" in prompt(r) for r in requests)
    assert run("fennec-single", SINGLE)[0].scores == (5.0,)


def test_fennec_corrects_only_what_scored_low_and_from_those_judgments_alone():
    verdict, requests = run("fennec-correct", PAIR)
    (correction,) = verdict.corrections
    assert (correction.candidate, correction.text) == (0, "7")
    assert correction.criteria == ("correct: is it a prime", "brief: no padding")
    (asked,) = [r for r in requests if asked_for(r) == {"corrected"}]
    assert asked.config.temperature == 0.7
    assert prompt(asked).count("(score 1.0)") == 4


def test_everything_but_the_correction_is_asked_at_temperature_zero():
    _, requests = run("fennec-correct", PAIR)
    assert {r.config.temperature for r in requests if asked_for(r) != {"corrected"}} == {0.0}


def test_a_pairs_only_judge_refuses_a_single_text():
    with pytest.raises(DeclarationError, match="case 's' has 1 candidates, not two"):
        run("fennec", SINGLE)


def test_pref_ranks_the_answer_that_suits_the_person_first():
    verdict, requests = run("pref", CHOICE)
    assert (verdict.winner, verdict.scores) == (1, (2.0, 9.0, 2.0))
    assert len(requests) == 1 + 1 + 3
    guideline = verdict.findings[0].guideline.splitlines()
    assert guideline[0] == "avoid meat (weight 10) [added: the person eats none]"
    assert guideline[1:] == ["easy (weight 8): few steps", "taste (weight 4): is it good"]


def test_pref_without_the_preference_stage_never_shows_the_profile():
    _, requests = run("pref", CHOICE, personalise=False)
    assert len(requests) == 1 + 3
    assert not any("no meat" in prompt(request) for request in requests)


def test_pref_coverage_never_sees_the_person():
    _, requests = run("pref", CHOICE)
    (cover,) = [r for r in requests if asked_for(r) == {"factors"}]
    assert "no meat" not in prompt(cover)


def test_the_general_guideline_is_paid_once_for_two_people():
    lm, script = scripted(good_judge, cache=True)
    other = CHOICE.model_copy(update={"id": "c2", "profile": Preference(text="quick meals only")})
    with dspy.context(lm=lm):
        judge = build("pref")
        first, second = judge(CHOICE), judge(other)
    assert sum(asked_for(r) == {"factors"} for r in script.requests) == 1
    assert sum(asked_for(r) == {"weights", "added"} for r in script.requests) == 2
    assert (first.usage.cached, second.usage.cached) == (0, 1)


def test_no_preference_excuses_a_factual_error():
    def loved_but_wrong(request):
        if asked_for(request) == {"explanation", "factual", "score"}:
            wrong = "lentils" in prompt(request).split("\nAnswer:\n")[-1]
            return {"explanation": "", "factual": "no" if wrong else "yes", "score": 10 if wrong else 5}
        return good_judge(request)

    verdict, _ = run("pref", CHOICE, loved_but_wrong)
    assert verdict.scores == (5.0, FACTUAL_CAP, 5.0)


@pytest.mark.parametrize("score", [0.0, 2.9, 3.0, 7.5, 10.0])
def test_the_factual_cap_only_ever_lowers_a_score(score):
    assert capped(score, factual=False) <= capped(score, factual=True) == score
    assert capped(score, factual=False) <= FACTUAL_CAP


def test_a_factor_added_without_a_reason_is_asked_for_again():
    tries = []

    def forgetful(request):
        if asked_for(request) == {"weights", "added"}:
            tries.append(request.config.temperature)
            if len(tries) == 1:
                return {"weights": [], "added": [{"name": "avoid meat", "weight": 10, "reason": " "}]}
        return good_judge(request)

    verdict, _ = run("pref", CHOICE, forgetful)
    assert verdict.status == "scored"
    assert tries == [0.0, 0.7]


def test_pref_by_probability_stays_on_the_scale_of_ten():
    verdict, requests = run("pref", CHOICE, readout="probability")
    assert len(requests) == 1 + 1 + 3 * 2
    assert all(0 <= score <= 10 for score in verdict.scores)


@pytest.mark.parametrize("bad", ["not json at all", '{"better": "C"}', '{"other": 1}', ""])
def test_an_answer_of_the_wrong_form_is_asked_again_then_unscored(bad):
    verdict, requests = run("direct", PAIR, lambda request: bad, evidence="pairwise", order="one", readout="generate")
    assert (verdict.status, verdict.reason, len(requests)) == ("unscored", "parse_failure", 3)
    assert [request.config.temperature for request in requests] == [0.0, 0.7, 0.7]
    assert verdict.winner is None
    assert verdict.scores is None


def test_a_refusal_is_its_own_reason():
    verdict, _ = run(
        "direct", PAIR, lambda request: "I'm sorry, I can't judge that.", readout="generate", evidence="pairwise"
    )
    assert verdict.reason == "refusal"


def test_a_stage_without_an_lm_says_what_to_do():
    with dspy.context(lm=None), pytest.raises(ModelError, match="no LM is bound. Give --lm"):
        build("direct")(PAIR)


def test_a_server_without_schemas_is_asked_in_sections():
    lm, script = scripted(lambda request: "[[ ## better ## ]]\nB\n\n[[ ## completed ## ]]", schema=False)
    with dspy.context(lm=lm):
        verdict = build("direct", evidence="pairwise", order="one", readout="generate")(PAIR)
    assert verdict.winner == "b"
    assert script.requests[0].config.response_format is None


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"majority", "pref"}))
@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_exchanging_the_candidates_exchanges_the_verdict_exactly(name, readout):
    settings = {"readout": readout} if "readout" in build(name).settings() else {}
    verdict, _ = run(name, PAIR, **settings)
    swapped, _ = run(name, PAIR.swapped(), **settings)
    expected = verdict.swapped()
    for field in ("winner", "scores", "distribution", "certainty", "consistent"):
        assert getattr(swapped, field) == getattr(expected, field), field


@pytest.mark.parametrize("name", [name for name in PROGRAMS if build(name).stages()])
def test_a_saved_judge_asks_the_same_prompts(name, tmp_path):
    case = CHOICE if name == "pref" else PAIR
    judge = build(name)
    hparam, value = ("branches", 3) if "branches" in judge.settings() else ("readout", "generate")
    judge.set(**{hparam: value})
    judge.stages()[0].ask.demos = [dspy.Example(request="r", question="q", criteria=["c"])]
    judge.save(tmp_path / "state.json")
    loaded = build(name)
    loaded.load(tmp_path / "state.json")
    assert loaded.settings() == judge.settings()
    asked = []
    for each in (judge, loaded):
        lm, script = scripted(good_judge)
        with dspy.context(lm=lm):
            each(case)
        asked.append(sorted(prompt(request) for request in script.requests))
    assert asked[0] == asked[1]
    assert "api_key" not in (tmp_path / "state.json").read_text()


def test_structure_is_kept_when_dspy_resets_a_program():
    judge = build("fennec", branches=2, guideline=False)
    assert judge.reset_copy().settings() == judge.settings()
    assert judge.deepcopy().settings() == judge.settings()


def test_an_async_call_gives_the_same_verdict():
    lm, _ = scripted(good_judge)
    with dspy.context(lm=lm):
        judge = build("fennec", branches=2)
        awaited, called = asyncio.run(judge.acall(PAIR)), judge(PAIR)
    assert awaited.model_dump(exclude={"usage"}) == called.model_dump(exclude={"usage"})
    assert awaited.usage.calls == called.usage.calls


def test_unknown_parameters_values_roles_and_programs_are_named():
    for wrong, told in (
        (lambda: build("fenec"), "Did you mean 'fennec'"),
        (lambda: build("fennec", branch=3), "no parameter 'branch'. It has: branches"),
        (lambda: build("fennec", branches=11), "branches: must be one of 1, 2"),
        (lambda: build("fennec").bind("coverage=openai/x"), "no role 'coverage'. Its roles: correction, criteria"),
    ):
        with pytest.raises(DeclarationError, match=told):
            wrong()


def test_the_longer_baseline_names_the_longer_text():
    assert build("longer")(PAIR).winner == "b"
    assert build("longer")(PAIR.swapped()).winner == "a"


def test_the_public_face_builds_a_bound_judge():
    judge = dicast.judge("direct", lm="openai/m@http://127.0.0.1:9/v1", readout="generate")
    assert {stage.model for stage in judge.stages()} == {"openai/m@http://127.0.0.1:9/v1"}
    assert json.loads(json.dumps(judge.settings()))["readout"] == "generate"
