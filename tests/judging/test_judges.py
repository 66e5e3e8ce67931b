"""Every judge against a scripted LM: what all of them keep to, how stages draw and fail, and the plainest judge."""

import asyncio
import itertools
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from math import fsum
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from scripted import Answer, prompt, scripted

import dicast
from dicast.data import Case, Persona, Preference, Reviewer, Verdict, Winner
from dicast.errors import DeclarationError, ModelError
from dicast.judging import PROGRAMS, Panel, build
from dicast.judging.judge import Judge
from dicast.judging.question import Question
from dicast.judging.stage import NESTED_SAMPLES, Stage, sample_answers, sampled
from dicast.signatures.direct import Prefer

PAIR = Case(id="p", query="Name a prime.", candidates=[{"text": "9"}, {"text": "7 is prime"}], label={"value": "b"})
SINGLE = Case(id="s", query="Name a prime.", candidates=[{"text": "7"}])
TOKENS = {"logprobs": {"A": 0.6, "B": 0.2, "1": 0.02, "2": 0.03, "3": 0.05, "4": 0.06, "5": 0.04}}
MARKS = (*"ABCDEFGH", *string.digits, "Yes", " No")
Asked = Callable[[Request], Answer]

REVIEWER = Reviewer(
    id="r",
    reviews=[{"text": f"plot {n}", "comment": f"comment {n}", "score": n} for n in (2, 9, 5, 7)],
    comparisons=[{"response_a": "rain", "response_b": "sun", "label": "b"}],
)
PERSONA = Persona(features={"education": "school", "religion": "none", "age": "30"}, text="A cook.")
PREFERENCE = Preference(text="no meat")
PROFILES = {
    "perse": REVIEWER,
    "perse-pairwise": REVIEWER,
    "matrix-factorisation": REVIEWER,
    "persona": PERSONA,
    "pref": PREFERENCE,
    "zero-shot": PREFERENCE,
    "reminder": PREFERENCE,
}


def by_place(request: Request) -> Answer:
    """An LM that prefers the first place, with noise drawn from the whole prompt."""
    noise = random.Random(prompt(request))
    if request.config.logprobs is not None:
        masses = {mark: noise.random() + 2 * (mark in ("A", "Yes")) for mark in MARKS}
        return {"logprobs": {mark: mass / fsum(masses.values()) for mark, mass in masses.items()}}
    return made_up(schema_of(request), noise)


def by_text(request: Request) -> Answer:
    """An LM that answers from the quality that each text names, wherever the text stands."""
    told = prompt(request)
    quality = {(letter or option or "one"): int(q) for letter, option, q in SHOWN.findall(told)}
    one = next(iter(quality.values()), 0)
    if request.config.logprobs is not None:
        question = told[told.rfind(">>>") :]
        level = next((quality[side] for side in "AB" if f"response {side}?" in question), one)
        masses = {mark: 2.0 ** (int(mark) * (level - 4.5) / 4) for mark in string.digits}
        masses |= {mark: 2.0 ** (-q if "worse" in question else q) for mark, q in quality.items() if mark != "one"}
        masses |= {"Yes": one + 1.0, "No": 11.0 - one}
        return {"logprobs": {mark: mass / fsum(masses.values()) for mark, mass in masses.items()}}
    schema = schema_of(request)
    answer: dict[str, Any] = made_up(schema, random.Random(told))
    best, worst = (pick(quality, key=lambda mark: quality[mark], default="") for pick in (max, min))
    wanted = {"better": best, "preferred": best, "chosen": best, "worse": worst, "factual": "yes", "certainty": 70}
    for name in answer:
        values = schema["properties"][name].get("enum", [])
        wanted_level = {"score_a": quality.get("A"), "score_b": quality.get("B"), "score": one, "stars": one}.get(name)
        if name in wanted:
            answer[name] = wanted[name]
        elif wanted_level is not None:
            answer[name] = values[wanted_level * (len(values) - 1) // 9]
    return answer


SHOWN = re.compile(r"^(?:(?:Response|Text|Answer)(?: ([AB]))?:\n|([A-T])\. )<+\n.*?quality (\d)", re.MULTILINE)


def schema_of(request: Request) -> dict[str, Any]:
    schema: dict[str, Any] = (request.config.response_format or {})["schema"]
    return schema


def made_up(schema: dict[str, Any], noise: random.Random, root: dict[str, Any] | None = None) -> Any:
    """A value that the schema allows, its first choice more often than others."""
    root = root or schema
    if "$ref" in schema:
        return made_up(root["$defs"][schema["$ref"].rpartition("/")[2]], noise, root)
    if "enum" in schema:
        return noise.choice([schema["enum"][0], *schema["enum"]])
    if schema["type"] == "array":
        return [made_up(schema["items"], noise, root) for _ in range(3)]
    if schema["type"] == "object":
        return {name: made_up(part, noise, root) for name, part in schema.get("properties", {}).items()}
    return noise.randint(1, 5) if schema["type"] == "integer" else f"word {noise.randrange(10**6)}: made up"


def run(
    name: str, case: Case, answer: Asked = by_place, cache: bool = False, **settings: Any
) -> tuple[Verdict, list[Request]]:
    return ask(build(name, **settings), case, answer, cache)


def ask(judge: Judge, case: Case, answer: Asked, cache: bool = False) -> tuple[Verdict, list[Request]]:
    lm, script = scripted(answer, cache=cache)
    if hasattr(judge, "fit"):
        judge.fit([case, RATED])
    with dspy.context(lm=lm):
        return judge(case), script.requests


def fitting(name: str, qualities: tuple[int, ...] = (3, 7)) -> Case:
    """A case that the program can judge; each text names its quality."""
    votes = (Winner(value="a"), Winner(value="b", certainty=0.7), Winner(value="b")) if len(qualities) == 2 else ()
    texts = [{"text": f"text of quality {q}" + " more" * (q % 4)} for q in qualities]
    return Case(id="c", query="What to cook?", candidates=texts, profile=PROFILES.get(name), votes=votes)


# Others' ratings: one text of the pair is known to them, so that matrix factorisation can tell the two apart.
KNOWN = [{"text": fitting("perse").candidates[1].text, "score": 9}, {"text": "plot 2", "score": 1}]
RATED = Case(
    id="o",
    query="",
    candidates=[{"text": "unread"}, {"text": "unread too"}],
    profile=Reviewer(id="other", reviews=KNOWN),
    label={"value": "a"},
)

# the plainest judge


def test_direct_with_an_order_bias_and_no_opinion_ties_in_both_orders():
    verdict, _ = run(
        "direct", PAIR, lambda request: {"better": "A"}, evidence="pairwise", order="both", readout="generate"
    )
    assert (verdict.winner, verdict.consistent) == ("tie", False)


def test_direct_reads_the_margin_of_letters_and_the_mean_of_scores():
    verdict, _ = run("direct", PAIR, lambda request: TOKENS, evidence="both", order="one")
    assert verdict.findings[0].distribution == pytest.approx({"a": 0.75, "b": 0.25})
    assert verdict.findings[0].coverage == pytest.approx(0.8)
    mean = (1 * 0.02 + 2 * 0.03 + 3 * 0.05 + 4 * 0.06 + 5 * 0.04) / 0.2
    assert verdict.scores == pytest.approx((mean, mean))


# failures


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


# exchanging, permuting


def each(**choices: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Every combination of the settings."""
    return (dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values()))


READOUTS = ("generate", "probability")
# Settings in which a verdict turns over with the pair whatever the LM's taste for a place.
EITHER_WAY: list[tuple[str, dict[str, Any]]] = [
    *(("direct", one) for one in each(evidence=("pairwise", "single", "both"), readout=READOUTS)),
    *(("fennec", one) for one in each(branches=(2,), readout=READOUTS, guideline=(True, False))),
    *(("fennec", one) for one in each(branches=(3,), keep=(2,), priority=("given", "asked"), readout=READOUTS)),
    *(("fennec-single", one) for one in each(branches=(2,), readout=READOUTS, tie_threshold=(0.0, 2.0))),
    *(("fennec-correct", one) for one in each(branches=(2,), readout=READOUTS, rejudge=(True, False))),
    *(("pref", one) for one in each(weighting=("weights", "permutation"), readout=READOUTS, personalise=(True, False))),
    *((name, one) for name in ("zero-shot", "reminder") for one in each(readout=READOUTS, seed=(0, 1))),
    *(("perse", one) for one in each(readout=READOUTS, comment_first=(True, False), k=(0, 3), comments=(True,))),
    *(("perse", one) for one in each(comments=(False,), shuffle=(5,), scale=("own", "1..5"), tie_threshold=(1.0,))),
    *(("perse-pairwise", one) for one in each(readout=READOUTS, order=("both",), k=(0, 1))),
    *(
        ("persona", one)
        for one in each(setting=("standard", "certainty", "tie"), order=("shuffled", "both"), readout=READOUTS)
    ),
    *(("persona", one) for one in each(features=("key", "least", "none", "age"), seed=(0, 1), temperature=(0.0, 0.7))),
    *(("explicit", one) for one in each(form=("V1", "V2", "V3", "V4", "V5"), tie_threshold=(0.0, 20.0))),
    ("explicit", {"form": "V4", "readout": "probability"}),
    *(("implicit", one) for one in each(top=(20, 15), tie_threshold=(0.0, 0.1))),
    *(("pairwise", one) for one in each(form=("V1", "V2", "V3"), readout=READOUTS, tie_threshold=(0.0, 0.5))),
    *(("pairwise", one) for one in each(form=("V4",), samples=(0, 1, 2))),
    *((name, {}) for name in ("longer", "matrix-factorisation", "third-person")),
]
# Settings that ask in one order: there the LM must not care for places.
ONE_WAY: list[tuple[str, dict[str, Any]]] = [
    *((name, one) for name in ("direct", "perse-pairwise", "fennec") for one in each(readout=READOUTS, order=("one",))),
    *(("persona", one) for one in each(setting=("standard", "certainty", "tie"), readout=READOUTS, order=("one",))),
    *(("pairwise", one) for one in each(form=("V1", "V2", "V3"), readout=READOUTS, order=("one",))),
    ("pairwise", {"form": "V4", "order": "one"}),
]


def named(settings: Any) -> str:
    return settings if isinstance(settings, str) else ",".join(f"{name}={value}" for name, value in settings.items())


def assert_turned_over(verdict: Verdict, of_swapped: Verdict) -> None:
    expected = verdict.swapped()
    assert verdict.status == of_swapped.status == "scored", verdict.detail
    for field in ("winner", "scores", "distribution", "certainty", "consistent"):
        assert getattr(of_swapped, field) == getattr(expected, field), field


@pytest.mark.parametrize(("name", "settings"), EITHER_WAY, ids=named)
@pytest.mark.parametrize("answer", [by_place, by_text])
def test_exchanging_the_candidates_exchanges_the_verdict_exactly(
    name: str, settings: dict[str, Any], answer: Asked
) -> None:
    pair = fitting(name)
    verdict, _ = run(name, pair, answer, **settings)
    assert_turned_over(verdict, run(name, pair.swapped(), answer, **settings)[0])


@pytest.mark.parametrize(("name", "settings"), ONE_WAY, ids=named)
def test_in_one_order_the_verdict_turns_over_when_the_model_reads_texts_alone(
    name: str, settings: dict[str, Any]
) -> None:
    pair = fitting(name)
    verdict, _ = run(name, pair, by_text, **settings)
    assert verdict.winner == "b"
    expected, swapped = verdict.swapped(), run(name, pair.swapped(), by_text, **settings)[0]
    assert swapped.winner == expected.winner
    assert swapped.scores == pytest.approx(expected.scores)
    assert swapped.distribution == pytest.approx(expected.distribution)
    assert swapped.consistent is expected.consistent is None


@pytest.mark.parametrize(("name", "settings"), EITHER_WAY, ids=named)
def test_two_equal_texts_are_a_tie(name: str, settings: dict[str, Any]) -> None:
    equal = fitting(name, (4, 4)).model_copy(update={"votes": (Winner(value="a"), Winner(value="b"))})
    verdict, _ = run(name, equal, by_place, **settings)
    assert verdict.winner == "tie"
    assert_turned_over(verdict, run(name, equal.swapped(), by_place, **settings)[0])


NO_LM = {"longer", "matrix-factorisation", "third-person"}


@pytest.mark.parametrize(("name", "settings"), [one for one in EITHER_WAY if one[0] not in NO_LM], ids=named)
def test_a_model_that_reads_the_texts_finds_the_better_one(name: str, settings: dict[str, Any]) -> None:
    assert run(name, fitting(name, (1, 9)), by_text, **settings)[0].winner == "b"


POOLED: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    ("mean", [("direct", {"evidence": "single"}), ("fennec", {"branches": 2})]),
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


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *(("pref", one) for one in each(readout=READOUTS, weighting=("weights", "permutation"))),
    *((name, one) for name in ("zero-shot", "reminder") for one in each(readout=READOUTS)),
    ("explicit", {}),
    ("explicit", {"form": "V4", "readout": "probability"}),
    ("implicit", {}),
    ("perse", {}),
    ("direct", {"evidence": "single"}),
    ("fennec-single", {"branches": 1}),
    ("longer", {}),
]
EVERY_ORDER = list(itertools.permutations(range(4)))


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
    judge = build(name, **settings)
    verdict, _ = ask(judge, case, answer)
    if answer is by_text and name != "longer":
        assert verdict.winner == 1
    for order in EVERY_ORDER:
        assert_permuted(verdict, ask(judge, permuted(case, order), answer)[0], order)


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
    evidence = {"direct": {"evidence": "single"}}
    panel = Panel([build(name, **evidence.get(name, {})) for name in names], pool=pool)
    verdict, _ = ask(panel, case, answer)
    for order in EVERY_ORDER:
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
                values = schema_of(request)["properties"][field]["enum"]
                answer[field] = values[-1 if "quality 9" in prompt(request) else 0]
        return answer | ({"factual": "yes"} if "factual" in answer else {})

    assert run(name, fitting(name, (0, 9)), extreme)[0].scores == (worst, best)


# saved, loaded, copied

SAVED: dict[str, dict[str, Any]] = {
    "direct": {"evidence": "pairwise", "readout": "generate"},
    "fennec": {"branches": 3, "keep": 2, "priority": "learned"},
    "fennec-single": {"guideline": False, "readout": "probability"},
    "fennec-correct": {"branches": 2, "rejudge": False},
    "pref": {"factors": 4, "weighting": "permutation"},
    "zero-shot": {"readout": "probability", "seed": 3},
    "reminder": {"seed": 2},
    "perse": {"k": 2, "seed": 4, "shuffle": 1, "comments": False},
    "perse-pairwise": {"readout": "probability", "task": "an advertisement"},
    "persona": {"setting": "certainty", "features": "age", "seed": 9},
    "explicit": {"form": "V4", "task": "summary"},
    "implicit": {"task": "story", "top": 18},
    "pairwise": {"form": "V3", "task": "a product review"},
}
CHANGED: dict[str, dict[str, Any]] = {
    "direct": {"evidence": "both"},
    "fennec": {"keep": 1},
    "fennec-single": {"guideline": True},
    "fennec-correct": {"order": "one"},
    "pref": {"weighting": "weights"},
    "zero-shot": {"seed": 4},
    "reminder": {"readout": "probability"},
    "perse": {"k": 3, "readout": "probability"},
    "perse-pairwise": {"task": "plot"},
    "persona": {"features": "all", "setting": "tie"},
    "explicit": {"form": "V2"},
    "implicit": {"task": "summary"},
    "pairwise": {"form": "V2"},
}


def requests_of(judge: Judge, case: Case) -> list[tuple[str, Any]]:
    """Everything that is sent, in an order of its own: branches are asked at once."""
    return sorted((prompt(request), repr(request.config)) for request in ask(judge, case, by_place)[1])


def with_state(name: str) -> Judge:
    """A judge with changed structure, a demo at each stage and, where it learns, something learned."""
    judge = build(name, **SAVED[name])
    if hasattr(judge, "priorities"):
        judge.priorities.shares = {"word 1": 0.1, "accuracy": 0.9}
    for stage in judge.stages():
        stage.ask.demos = [dspy.Example(**dict.fromkeys(stage.ask.signature.fields, "earlier"))]
    return judge


def test_every_judge_with_stages_is_saved_here() -> None:
    assert set(SAVED) == set(CHANGED) == {name for name in PROGRAMS.names() if build(name).stages()}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_judge_sends_the_same_requests_byte_for_byte(name: str, tmp_path: Any) -> None:
    judge, loaded, case = with_state(name), build(name), fitting(name)
    judge.save(tmp_path / "state.json")
    loaded.load(tmp_path / "state.json")
    assert loaded.settings() == judge.settings()
    assert requests_of(loaded, case) == requests_of(judge, case)
    assert any("earlier" in told for told, _ in requests_of(loaded, case))
    for one in (judge, loaded):
        one.set(**CHANGED[name])
    assert requests_of(loaded, case) == requests_of(judge, case) != requests_of(with_state(name), case)


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
    judge.deepcopy().set(**CHANGED[name])
    assert judge.settings() == before


def test_a_saved_panel_sends_the_same_requests_byte_for_byte(tmp_path: Any) -> None:
    def panel(**settings: Any) -> Panel:
        return Panel([build("direct"), build("persona"), build("explicit")], **settings)

    judge, loaded, case = panel(pool="probability", samples=2), panel(), fitting("persona")
    judge.set(**{"members[0].evidence": "single", "members[1].setting": "tie"})
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
    lm, script = scripted(answer, cache=True)
    stage = Stage(Prefer, "judgment", **settings)
    stage.ask.lm = lm
    return stage, script.requests


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
    lm, script = scripted(lambda request: TOKENS, cache=True)
    question = Question(Prefer, "judgment")
    question.ask.lm = lm
    answers = sample_answers(lambda: question(readout="probability", **INPUTS), 5)
    assert decoding(script.requests) == [(0.0, None)]
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
    lm, _ = scripted(by_place)
    with dspy.context(lm=lm):
        judge = build("fennec", branches=2)
        awaited, called = asyncio.run(judge.acall(PAIR)), judge(PAIR)
    assert awaited.model_dump(exclude={"usage"}) == called.model_dump(exclude={"usage"})
    assert awaited.usage.calls == called.usage.calls
    assert caplog.text == ""


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
