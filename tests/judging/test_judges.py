"""Every judge against a scripted LM: what all of them keep to, how stages draw and fail, and the plainest judge."""

import asyncio
import json
import math
import random
from math import fsum
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from judges import (
    JUDGES,
    PAIR,
    VARIANTS,
    Asked,
    ask,
    by_place,
    by_text,
    fitting,
    made_up,
    named,
    requests_of,
    run,
    schema_of,
    values_of,
    with_state,
)

import dicast
from dicast.data import Case, Verdict, Winner
from dicast.errors import DeclarationError, ModelError
from dicast.judging import PROGRAMS, Panel, build
from dicast.judging.question import Question
from dicast.judging.sampling import NESTED_SAMPLES, sample_answers, sampled
from dicast.judging.stage import Stage
from dicast.signatures.direct import Prefer
from dicast.testing import Answer, ScriptedLM, prompt_text

TOKENS = {"token_probabilities": {"A": 0.6, "B": 0.2, "1": 0.02, "2": 0.03, "3": 0.05, "4": 0.06, "5": 0.04}}

# the plainest judge


def test_direct_with_an_order_bias_and_no_opinion_ties_in_both_orders():
    verdict, _ = run(
        "direct", PAIR, lambda request: {"better": "A"}, grading="pairwise", order="both", readout="generate"
    )
    assert (verdict.winner, verdict.consistent) == ("tie", False)


def test_direct_reads_the_margin_of_letters_and_the_mean_of_scores():
    verdict, _ = run("direct", PAIR, lambda request: TOKENS, grading="both", order="one")
    assert verdict.findings[0].distribution == pytest.approx({"a": 0.75, "b": 0.25})
    assert verdict.findings[0].mass_read == pytest.approx(0.8)
    mean = (1 * 0.02 + 2 * 0.03 + 3 * 0.05 + 4 * 0.06 + 5 * 0.04) / 0.2
    assert verdict.scores == pytest.approx((mean, mean))


# failures


@pytest.mark.parametrize("bad", ["not json at all", '{"better": "C"}', '{"other": 1}', ""])
def test_an_answer_of_the_wrong_form_is_asked_again_then_unscored(bad):
    verdict, requests = run("direct", PAIR, lambda request: bad, grading="pairwise", order="one", readout="generate")
    assert (verdict.status, verdict.reason, len(requests)) == ("unscored", "parse_failure", 3)
    assert [request.config.temperature for request in requests] == [0.0, 0.7, 0.7]
    assert verdict.winner is None
    assert verdict.scores is None


def test_a_refusal_is_its_own_reason():
    verdict, _ = run(
        "direct", PAIR, lambda request: "I'm sorry, I can't judge that.", readout="generate", grading="pairwise"
    )
    assert verdict.reason == "refusal"


def test_a_stage_without_an_lm_says_what_to_do():
    with dspy.context(lm=None), pytest.raises(ModelError, match="no LM is bound. Give --lm"):
        build("direct")(PAIR)


def test_a_server_without_schemas_is_asked_in_sections():
    lm = ScriptedLM(lambda request: "[[ ## better ## ]]\nB\n\n[[ ## completed ## ]]", schema=False)
    with dspy.context(lm=lm):
        verdict = build("direct", grading="pairwise", order="one", readout="generate")(PAIR)
    assert verdict.winner == "b"
    assert lm.requests[0].config.response_format is None


# exchanging, permuting: for every registered program and its settings

READOUTS = ("generate", "probability")
ONE_WAY = [(name, settings) for name, settings in VARIANTS if settings.get("order") == "one"]
IN_ANY_ORDER = [
    (name, settings) for name, settings in VARIANTS if build(name).symmetric and (name, settings) not in ONE_WAY
]
BY_LM = [(name, settings) for name, settings in IN_ANY_ORDER if build(name).stages()]


def assert_turned_over(verdict: Verdict, of_swapped: Verdict) -> None:
    expected = verdict.swapped()
    assert verdict.status == of_swapped.status == "scored", verdict.detail
    for field in ("winner", "scores", "distribution", "certainty", "consistent"):
        assert getattr(of_swapped, field) == getattr(expected, field), field


def judged(name: str, case: Case, answer: Asked, settings: dict[str, Any]) -> Verdict | str:
    """The verdict; or why these settings do not go together, or not with this case."""
    verdict: Verdict
    try:
        verdict, _ = run(name, case, answer, **settings)
    except DeclarationError as error:
        return str(error)
    return verdict


@pytest.mark.parametrize(("name", "settings"), IN_ANY_ORDER, ids=named)
def test_exchanging_the_candidates_exchanges_the_verdict_exactly(name: str, settings: dict[str, Any]) -> None:
    pair = fitting(name)
    verdict, swapped = judged(name, pair, by_place, settings), judged(name, pair.swapped(), by_place, settings)
    if isinstance(verdict, str) or isinstance(swapped, str):
        assert verdict == swapped
    else:
        assert_turned_over(verdict, swapped)


@pytest.mark.parametrize(("name", "settings"), ONE_WAY, ids=named)
def test_in_one_order_the_verdict_turns_over_when_the_model_reads_texts_alone(
    name: str, settings: dict[str, Any]
) -> None:
    pair = fitting(name)
    verdict, swapped = judged(name, pair, by_text, settings), judged(name, pair.swapped(), by_text, settings)
    if isinstance(verdict, str) or isinstance(swapped, str):
        assert verdict == swapped
        return
    expected = verdict.swapped()
    assert verdict.winner == "b"
    assert swapped.winner == expected.winner
    assert swapped.scores == pytest.approx(expected.scores)
    assert swapped.distribution == pytest.approx(expected.distribution)
    assert swapped.consistent is expected.consistent is None or not settings.keys() & {"grading", "single"}


@pytest.mark.parametrize(("name", "settings"), IN_ANY_ORDER, ids=named)
def test_two_equal_texts_are_a_tie(name: str, settings: dict[str, Any]) -> None:
    equal = fitting(name, (4, 4)).model_copy(update={"votes": (Winner(value="a"), Winner(value="b"))})
    verdict = judged(name, equal, by_place, settings)
    assert isinstance(verdict, str) or verdict.winner == "tie"


@pytest.mark.parametrize(("name", "settings"), BY_LM, ids=named)
def test_a_model_that_reads_the_texts_finds_the_better_one(name: str, settings: dict[str, Any]) -> None:
    verdict = judged(name, fitting(name, (1, 9)), by_text, settings)
    assert isinstance(verdict, str) or verdict.winner == "b"


@pytest.mark.parametrize("name", JUDGES)
def test_most_settings_of_a_program_go_together(name: str) -> None:
    """A refusal passes the tests above; here it must not hide a program that never judges."""
    settings = [settings for of, settings in VARIANTS if of == name]
    answered = [not isinstance(judged(name, fitting(name), by_place, one), str) for one in settings]
    assert answered[0]
    assert sum(answered) >= len(answered) / 2


@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=named)
def test_probabilities_and_certainties_are_within_their_bounds(name: str, settings: dict[str, Any]) -> None:
    verdict = judged(name, fitting(name), by_place, settings)
    if isinstance(verdict, str):
        return
    shares = [verdict.distribution or {}, *(finding.distribution or {} for finding in verdict.findings)]
    assert all(fsum(each.values()) == pytest.approx(1) and min(each.values()) >= 0 for each in shares if each)
    assert verdict.certainty is None or 0 <= verdict.certainty <= 1
    assert all(math.isfinite(score) for score in verdict.scores or ())
    if scale := build(name).score_scale:
        assert all(scale[0] <= score <= scale[1] for score in verdict.scores or ())


POOLED: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    ("mean", [("direct", {"grading": "single"}), ("fennec", {"branches": 2})]),
    ("median", [("explicit", {}), ("explicit", {"form": "V4"}), ("explicit", {"form": "V2"})]),
    ("majority", [("persona", {}), ("pairwise", {}), ("zero-shot", {}), ("explicit", {"form": "V5"})]),
    ("probability", [("direct", {}), ("pairwise", {"readout": "probability"}), ("persona", {"setting": "tie"})]),
]


@pytest.mark.parametrize(("pool", "members"), POOLED, ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("answer", [by_place, by_text])
@pytest.mark.parametrize("samples", [1, 3])
def test_exchanging_the_candidates_exchanges_a_panel_s_verdict_exactly(
    pool: str, members: list[tuple[str, dict[str, Any]]], answer: Asked, samples: int
) -> None:
    pair = fitting("persona")
    panel = Panel([build(name, **settings) for name, settings in members], pool=pool, samples=samples)
    assert_turned_over(ask(panel, pair, answer)[0], ask(panel, pair.swapped(), answer)[0])


OPTIONS = [(name, settings) for name, settings in VARIANTS if build(name).symmetric and not build(name).pairs_only]
SOME_ORDERS = [(1, 2, 3, 0), (3, 1, 0, 2)]


def permuted(case: Case, order: tuple[int, ...]) -> Case:
    return case.model_copy(update={"candidates": tuple(case.candidates[index] for index in order)})


def assert_permuted(verdict: Verdict, of_permuted: Verdict, order: tuple[int, ...]) -> None:
    assert verdict.status == of_permuted.status == "scored", verdict.detail
    winner = of_permuted.winner
    assert (order[winner] if isinstance(winner, int) else winner) == verdict.winner
    assert of_permuted.scores == (verdict.scores and tuple(verdict.scores[index] for index in order))
    shares = of_permuted.distribution or {}
    moved = {str(order[int(name)]) if name.isdigit() else name: share for name, share in shares.items()}
    assert moved == (verdict.distribution or {})
    assert of_permuted.certainty == verdict.certainty


@pytest.mark.parametrize(("name", "settings"), OPTIONS, ids=named)
@pytest.mark.parametrize("answer", [by_place, by_text])
def test_permuting_the_options_permutes_the_choice_exactly(name: str, settings: dict[str, Any], answer: Asked) -> None:
    case = fitting(name, (3, 8, 1, 5))
    verdict = judged(name, case, answer, settings)
    if isinstance(verdict, str):
        assert judged(name, permuted(case, SOME_ORDERS[0]), answer, settings) == verdict
        return
    # This model gives the same digit on a scale that is turned round, and every sample is its likeliest answer.
    tells_apart = settings.get("scale") != "both" and settings.get("reading") != "sampled"
    if answer is by_text and build(name).stages() and tells_apart:
        assert verdict.winner == 1
    for order in SOME_ORDERS:
        of_permuted = judged(name, permuted(case, order), answer, settings)
        assert isinstance(of_permuted, Verdict)
        assert_permuted(verdict, of_permuted, order)


@pytest.mark.parametrize(
    ("pool", "names"),
    [
        ("majority", ["zero-shot", "reminder", "explicit"]),
        ("mean", ["explicit", "pref"]),
        ("median", ["explicit", "implicit", "direct"]),
        ("probability", ["zero-shot", "pref"]),
    ],
)
@pytest.mark.parametrize("answer", [by_place, by_text])
def test_permuting_the_options_permutes_a_panel_s_choice_exactly(pool: str, names: list[str], answer: Asked) -> None:
    case = fitting("pref", (3, 8, 1, 5))
    gradings = {"direct": {"grading": "single"}}
    panel = Panel([build(name, **gradings.get(name, {})) for name in names], pool=pool)
    verdict, _ = ask(panel, case, answer)
    for order in SOME_ORDERS:
        assert_permuted(verdict, ask(panel, permuted(case, order), answer)[0], order)


# scales

SCALES = {
    "direct": (1, 5),
    "fennec": (1, 5),
    "fennec-single": (1, 5),
    "fennec-correct": (1, 5),
    "pref": (0, 10),
    "perse": (1, 10),
    "explicit": (0, 100),
    "implicit": (0, 1),
}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("readout", READOUTS)
def test_scores_stay_on_the_scale(name: str, readout: str) -> None:
    settings: dict[str, Any] = {"readout": readout} if name != "implicit" else {}
    forms = ("V4",) if readout == "probability" else ("V1", "V2", "V3", "V4", "V5")
    low, high = SCALES[name]
    for form in forms if name == "explicit" else ("",):
        judge = build(name, **settings, **({"form": form} if form else {}))
        for seed in range(3):
            case = fitting(name).model_copy(update={"query": f"question {seed}"})
            texts = [{"text": f"{candidate.text} {seed}"} for candidate in case.candidates]
            verdict, _ = ask(judge, case.model_validate(case.model_dump() | {"candidates": texts}), by_place)
            assert verdict.scores is not None
            assert all(low <= score <= high for score in verdict.scores)
            assert all(low <= score <= high for f in verdict.findings for score in f.scores or ())


@pytest.mark.parametrize(
    ("name", "worst", "best"),
    [
        ("fennec-single", 1, 5),
        ("pref", 0, 10),
        ("perse", 1, 10),
        ("explicit", 0, 100),
    ],
)
def test_both_ends_of_the_scale_can_be_reached(name: str, worst: float, best: float) -> None:
    def extreme(request: Request) -> Answer:
        answer: dict[str, Any] = made_up(schema_of(request), random.Random(0))
        for field in ("score", "stars"):
            if field in answer:
                values = values_of(schema_of(request)["properties"][field])
                answer[field] = values[-1 if "quality 9" in prompt_text(request) else 0]
        return answer | ({"factual": "yes"} if "factual" in answer else {})

    assert run(name, fitting(name, (0, 9)), extreme)[0].scores == (worst, best)


# saved, loaded, copied

SAVED = [name for name in PROGRAMS.names() if build(name).stages()]


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_judge_sends_the_same_requests_byte_for_byte(name: str, tmp_path: Any) -> None:
    judge, loaded, case = with_state(name), build(name), fitting(name)
    judge.save(tmp_path / "state.json")
    loaded.load(tmp_path / "state.json")
    assert loaded.settings() == judge.settings()
    assert requests_of(loaded, case) == requests_of(judge, case)
    assert any("earlier" in prompt for prompt, _ in requests_of(loaded, case))
    for each in (judge, loaded):
        each.set(**{parameter: hparam.value for parameter, hparam in build(name).hparams().items()})
    assert loaded.settings() == build(name).settings() != with_state(name).settings()
    assert requests_of(loaded, case) == requests_of(judge, case)


@pytest.mark.parametrize("name", SAVED)
def test_a_copied_judge_sends_the_same_requests(name: str) -> None:
    judge, case = with_state(name), fitting(name)
    assert requests_of(judge.deepcopy(), case) == requests_of(judge, case)


@pytest.mark.parametrize("name", SAVED)
def test_a_judge_that_dspy_resets_keeps_its_structure_and_loses_its_demos(name: str) -> None:
    judge = with_state(name)
    reset = judge.reset_copy()
    assert reset.settings() == judge.settings()
    assert not any(stage.ask.demos for stage in reset.stages())
    if hasattr(judge, "priorities"):
        assert reset.priorities.shares == judge.priorities.shares


@pytest.mark.parametrize("name", SAVED)
def test_a_copy_is_changed_alone(name: str) -> None:
    judge = with_state(name)
    before = judge.settings()
    judge.deepcopy().set(**build(name).settings())
    assert judge.settings() == before != build(name).settings()


def test_a_saved_panel_sends_the_same_requests_byte_for_byte(tmp_path: Any) -> None:
    def panel(**settings: Any) -> Panel:
        return Panel([build("direct"), build("persona"), build("explicit")], **settings)

    judge, loaded, case = panel(pool="probability", samples=2), panel(), fitting("persona")
    judge.set(**{"members[0].grading": "single", "members[1].setting": "tie"})
    judge.members[2].score_v1.ask.demos = [dspy.Example(text="earlier", score=3)]
    judge.save(tmp_path / "state.json")
    loaded.load(tmp_path / "state.json")
    assert loaded.settings() == judge.settings()
    assert requests_of(loaded, case) == requests_of(judge, case)
    assert judge.reset_copy().settings() == judge.deepcopy().settings() == judge.settings()


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_judge_holds_no_key(name: str, tmp_path: Any) -> None:
    with_state(name).save(tmp_path / "state.json")
    assert "api_key" not in (tmp_path / "state.json").read_text()


# how stages draw and ask again


def written(answer: Asked, **settings: Any) -> tuple[Stage, list[Request]]:
    """A stage bound to a cached LM, and what it sends."""
    lm = ScriptedLM(answer, cache=True)
    stage = Stage(Prefer, "judgment", **settings)
    stage.ask.lm = lm
    return stage, lm.requests


INPUTS = {"request": "r", "response_a": "x", "response_b": "y", "aspect": "z"}


def decoding(requests: list[Request]) -> list[tuple[Any, Any]]:
    return [(request.config.temperature, request.config.top_p) for request in requests]


def test_one_draw_is_greedy() -> None:
    stage, requests = written(lambda request: {"better": "A"})
    sample_answers(lambda: stage(**INPUTS), 1)
    assert decoding(requests) == [(0.0, None)]


@pytest.mark.parametrize("count", [2, 5, 20])
def test_each_draw_is_a_request_of_its_own(count: int) -> None:
    stage, requests = written(lambda request: {"better": "A"})
    assert len(sample_answers(lambda: stage(**INPUTS), count)) == count
    assert decoding(requests) == [(0.7, 0.95)] * count


def test_draws_made_again_come_from_the_cache() -> None:
    stage, requests = written(lambda request: {"better": "A"})
    for _ in range(2):
        sample_answers(lambda: stage(**INPUTS), 5)
    assert len(requests) == 5


def test_draws_may_have_a_temperature_of_their_own() -> None:
    stage, requests = written(lambda request: {"better": "A"})
    sample_answers(lambda: stage(**INPUTS), 2, temperature=1.0, top_p=0.5)
    assert decoding(requests) == [(1.0, 0.5)] * 2


def test_after_the_draws_a_stage_is_greedy_again() -> None:
    stage, requests = written(lambda request: {"better": "A"})
    with sampled(1):
        stage(**INPUTS)
    stage(**INPUTS)
    assert decoding(requests) == [(0.7, 0.95), (0.0, None)]


def test_a_draw_that_fails_leaves_the_context_greedy() -> None:
    stage, requests = written(lambda request: {"better": "A"})
    with pytest.raises(ZeroDivisionError), sampled(1):
        _ = 1 / 0
    stage(**INPUTS)
    assert decoding(requests) == [(0.0, None)]


def test_draws_within_draws_are_requests_of_their_own() -> None:
    stage, requests = written(lambda request: {"better": "A"})
    for outer in (1, 2, 3):
        with sampled(outer):
            stage(**INPUTS)
            sample_answers(lambda: stage(**INPUTS), 4)
    sample_answers(lambda: stage(**INPUTS), 5)  # its first three are those of the outer draws
    assert len(requests) == 3 + 3 * 4 + 2


def test_nested_draws_and_their_tries_never_collide() -> None:
    stage = Stage(Prefer, "judgment")
    seen: list[int] = []

    def note() -> None:
        seen.extend(stage._config(attempt)["rollout_id"] for attempt in range(5))

    for outer in range(1, 101):  # the most samples of a panel
        with sampled(outer):
            note()
            for inner in range(1, 21):  # the most of a form
                with sampled(inner):
                    note()
                    if outer < 3 and inner < 3:
                        with sampled(1):
                            note()
    assert len(seen) == len(set(seen)) == 5 * (100 + 100 * 20 + 4)
    assert min(seen) >= NESTED_SAMPLES  # a plain try has its own numbers below


def test_probabilities_are_not_drawn() -> None:
    lm = ScriptedLM(lambda request: TOKENS, cache=True)
    question = Question(Prefer, "judgment")
    question.ask.lm = lm
    answers = sample_answers(lambda: question(readout="probability", **INPUTS), 5)
    assert decoding(lm.requests) == [(0.0, None)]
    assert [answer.shares("better")["A"] for answer in answers] == pytest.approx([0.75] * 5)


def test_a_second_try_is_drawn_and_is_not_the_first_one_from_the_cache() -> None:
    answers = iter(["no", "neither", json.dumps({"better": "B"})])
    stage, requests = written(lambda request: next(answers))
    assert stage(**INPUTS).better == "B"
    assert decoding(requests) == [(0.0, None), (0.7, 0.95), (0.7, 0.95)]


def test_the_tries_of_a_stage_that_samples_keep_its_temperature() -> None:
    stage, requests = written(lambda request: "no", temperature=0.9, attempts=3)
    with pytest.raises(dicast.ExecutionError):
        stage(**INPUTS)
    assert decoding(requests) == [(0.9, None), (0.9, 0.95), (0.9, 0.95)]


def test_the_tries_of_a_draw_are_all_drawn_alike() -> None:
    stage, requests = written(lambda request: "no", attempts=4)
    with pytest.raises(dicast.ExecutionError), sampled(2, temperature=0.8, top_p=0.6):
        stage(**INPUTS)
    assert decoding(requests) == [(0.8, 0.6)] * 4


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_a_stage_tries_as_often_as_it_may(attempts: int) -> None:
    stage, requests = written(lambda request: "no", attempts=attempts)
    with pytest.raises(dicast.ExecutionError, match=f"{attempts} times"):
        stage(**INPUTS)
    assert len(requests) == attempts


def test_an_answer_that_the_check_refuses_is_asked_for_again() -> None:
    def not_a(prediction: dspy.Prediction) -> None:
        if prediction.better == "A":
            raise ValueError("A is not wanted")

    answers = iter("AAB")
    stage, requests = written(lambda request: {"better": next(answers)}, check=not_a)
    assert stage(**INPUTS).better == "B"
    assert len(requests) == 3


# the rest


def test_an_async_call_gives_the_same_verdict(caplog):
    lm = ScriptedLM(by_place)
    with dspy.context(lm=lm):
        judge = build("fennec", branches=2)
        awaited, called = asyncio.run(judge.acall(PAIR)), judge(PAIR)
    assert awaited.model_dump(exclude={"usage"}) == called.model_dump(exclude={"usage"})
    assert awaited.usage.calls == called.usage.calls
    assert caplog.text == ""


def test_unknown_parameters_values_roles_and_programs_are_named():
    for wrong, message in (
        (lambda: build("fenec"), "Did you mean 'fennec'"),
        (lambda: build("fennec", branch=3), "no parameter 'branch'. It has: branches"),
        (lambda: build("fennec", branches=11), "branches: must be one of 1, 2"),
        (lambda: build("fennec").bind("coverage=openai/x"), "no role 'coverage'. Its roles: correction, criteria"),
    ):
        with pytest.raises(DeclarationError, match=message):
            wrong()


def test_the_longer_baseline_names_the_longer_text():
    assert build("longer")(PAIR).winner == "b"
    assert build("longer")(PAIR.swapped()).winner == "a"


def test_the_public_face_builds_a_bound_judge():
    judge = dicast.judge("direct", lm="openai/m@http://127.0.0.1:9/v1", readout="generate")
    assert {stage.model for stage in judge.stages()} == {"openai/m@http://127.0.0.1:9/v1"}
    assert json.loads(json.dumps(judge.settings()))["readout"] == "generate"
