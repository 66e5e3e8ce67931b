"""The personalised judge: what of a person is shown, certainty, ties, refusals, the shuffle (arXiv 2406.11657)."""

import json
import random
from itertools import pairwise
from math import comb
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Persona, Preference, Reviewer, Verdict
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.judging.judge import shuffled_orders
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text

FEATURES = {
    "age": "25-34",
    "education": "university",
    "ethnicity": "white",
    "birth_country": "Chile",
    "residence_country": "Peru",
    "religion": "Christian",
    "gender": "female",
}
PERSONA = Persona(features=FEATURES, text="She likes long walks.")
PAIR = Case(
    id="p", query="What to do on Sunday?", candidates=[{"text": "Hike."}, {"text": "Sleep in."}], profile=PERSONA
)


def run(case: Case, answer: Any, cache: bool = False, **settings: Any) -> tuple[Verdict, list[Request]]:
    lm = ScriptedLM(answer if callable(answer) else lambda request: answer, cache=cache)
    with dspy.context(lm=lm):
        return build("persona", **settings)(case), lm.requests


def shown(case: Case = PAIR, **settings: Any) -> str:
    """What the model reads of the person."""
    _, requests = run(case, {"preferred": "A"}, order="one", **settings)
    said: str = requests[0].messages[0].text
    return said.partition("Person:\n<<<\n")[2].partition("\n>>>")[0]


def prefers(word: str, **more: Any) -> Any:
    """An LM that prefers the response with the word, wherever it is."""

    def answer(request: Request) -> Answer:
        first = prompt_text(request).partition("Response A:\n<<<\n")[2].split("\n>>>")[0]
        return {"preferred": "A" if word in first else "B", **more}

    return answer


# what of the person is shown

KEY = {"education", "ethnicity", "birth_country", "residence_country"}


@pytest.mark.parametrize(
    ("features", "known"),
    [
        ("all", set(FEATURES)),
        ("key", KEY),
        ("least", {"religion"}),
        ("none", set()),
        ("age,gender", {"age", "gender"}),
        (" gender , age ", {"age", "gender"}),
    ],
)
def test_only_the_wanted_features_are_shown(features: str, known: set[str]) -> None:
    result = shown(features=features)
    assert {name for name, value in FEATURES.items() if f"{name.replace('_', ' ')}: {value}" in result} == known
    assert {name for name, value in FEATURES.items() if value in result} == known


@pytest.mark.parametrize("features", ["key", "least", "none", "age"])
def test_the_free_text_is_shown_with_all_features_alone(features: str) -> None:
    assert "long walks" in shown(features="all")
    _, requests = run(PAIR, {"preferred": "A"}, features=features)
    assert not any("long walks" in prompt_text(request) for request in requests)


def test_a_feature_that_the_text_states_is_not_shown_twice() -> None:
    person = Persona(features={"age": "30"}, text="The person is 30 years old.")
    assert shown(PAIR.model_copy(update={"profile": person})) == "The person is 30 years old."


def test_nothing_is_said_of_nobody() -> None:
    for case, which in ((PAIR, "none"), (PAIR.model_copy(update={"profile": None}), "all")):
        _, requests = run(case, {"preferred": "A"}, features=which)
        assert all("Person:\n" not in prompt_text(request) for request in requests)


# the questions


def asked(case: Case = PAIR, **settings: Any) -> str:
    _, (request,) = run(case, {"preferred": "A", "certainty": 50}, order="one", **settings)
    return prompt_text(request) + str(request.config.response_format)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("prefers", "which of two responses to a question this person would prefer"),
        ("wrote", "which of two responses this person wrote"),
        ("wrote-answer", "which answer this person wrote"),
        ("would-answer", "which of two answers to a question this person would give"),
    ],
)
@pytest.mark.parametrize("setting", ["standard", "certainty", "tie"])
def test_the_question_is_a_parameter(question: str, words: str, setting: str) -> None:
    said = asked(question=question, setting=setting)
    assert words in said
    assert "She likes long walks." in said


@pytest.mark.parametrize("question", ["prefers", "wrote", "wrote-answer", "would-answer"])
@pytest.mark.parametrize("setting", ["standard", "certainty", "tie"])
@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_without_a_feature_the_question_names_no_person(question: str, setting: str, readout: str) -> None:
    answer: Any = {"token_probabilities": {"A": 0.6, "B": 0.4}}
    settings: dict[str, Any] = {"question": question, "setting": setting, "readout": readout, "order": "one"}
    answer = answer if readout == "probability" else {"preferred": "A", "certainty": 50}
    for case, features in ((PAIR, "none"), (PAIR.model_copy(update={"profile": None}), "all")):
        verdict, requests = run(case, answer, features=features, **settings)
        assert verdict.winner == "a"
        assert "person" not in prompt_text(requests[0]).lower()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("better", "As an impartial judge, say which of two responses to a question is better."),
        ("most-reasonable", "which of two responses is the more reasonable one"),
        ("answer", "Answer a question by choosing one of two answers."),
    ],
)
def test_an_impartial_question_shows_no_person(question: str, words: str) -> None:
    said = asked(question=question)
    assert words in said
    assert "She likes long walks." not in said


@pytest.mark.parametrize(
    ("question", "impartial"),
    [
        ("prefers", "better"),
        ("wrote", "most-reasonable"),
        ("wrote-answer", "most-reasonable"),
        ("would-answer", "answer"),
    ],
)
def test_the_question_without_a_persona_is_that_of_the_paper(question: str, impartial: str) -> None:
    assert asked(question=question, features="none") == asked(question=impartial)


@pytest.mark.parametrize("question", ["prefers", "wrote", "wrote-answer", "would-answer", "better"])
def test_the_stated_certainty_has_the_five_bands_of_the_paper(question: str) -> None:
    said = asked(question=question, setting="certainty")
    bands = [said.index(f"{low}-{low + 19}: ") for low in (1, 21, 41, 61, 81)]
    assert bands == sorted(bands)
    source = "the question and the texts" if question == "better" else "the profile of the person"
    assert f"by what {source} tells" in said


@pytest.mark.parametrize("setting", ["standard", "tie"])
def test_other_settings_have_no_bands(setting: str) -> None:
    assert "81-100" not in asked(setting=setting)


def test_the_ablation_without_a_persona_is_not_noted_and_a_missing_one_is() -> None:
    assert run(PAIR, {"preferred": "A"}, features="none")[0].notes == ()
    nobody = PAIR.model_copy(update={"profile": None})
    assert run(nobody, {"preferred": "A"}, features="none")[0].notes == ()
    assert run(nobody, {"preferred": "A"})[0].notes == ("persona: nothing is known of the person",)


def test_a_named_feature_that_is_unknown_is_noted() -> None:
    verdict, _ = run(PAIR, {"preferred": "A"}, features="age,shoe size")
    assert verdict.notes == ("persona: no feature 'shoe size' is known",)


@pytest.mark.parametrize("which", ["key", "least"])
def test_a_set_of_features_of_which_none_is_known_is_noted(which: str) -> None:
    young = PAIR.model_copy(update={"profile": Persona(features={"age": "30"})})
    assert run(young, {"preferred": "A"}, features=which)[0].notes == (
        f"persona: none of the {which} features is known",
    )


@pytest.mark.parametrize("wrong", ["first:", "drawn:", "first:all", "first:10000", "age,first:2"])
def test_a_number_of_features_that_is_none_is_refused_at_once(wrong: str) -> None:
    with pytest.raises(DeclarationError, match="that is no number of features, 0 to 9999. .* or drawn:3"):
        build("persona", features=wrong)


@pytest.mark.parametrize("count", range(len(FEATURES) + 1))
def test_so_many_of_the_first_features_are_shown(count: int) -> None:
    result = shown(features=f"first:{count}")
    assert {name for name, value in FEATURES.items() if value in result} == set(list(FEATURES)[:count])


def known(text: str) -> set[str]:
    return {name for name, value in FEATURES.items() if f"{name.replace('_', ' ')}: {value}" in text}


@pytest.mark.parametrize("seed", range(3))
def test_drawn_features_are_so_many_and_more_of_them_hold_the_fewer(seed: int) -> None:
    drawn = [known(shown(features=f"drawn:{count}", seed=seed)) for count in range(len(FEATURES) + 1)]
    assert [len(names) for names in drawn] == list(range(len(FEATURES) + 1))
    assert all(fewer < more for fewer, more in pairwise(drawn))


def test_another_seed_draws_other_features() -> None:
    assert len({frozenset(known(shown(features="drawn:3", seed=seed))) for seed in range(8)}) > 2


def test_more_features_than_are_known_are_noted() -> None:
    verdict, _ = run(PAIR, {"preferred": "A"}, features="first:9")
    assert verdict.notes == ("persona: 7 features are known, not 9",)


@pytest.mark.parametrize("wrong", ["", "age,,gender", ","])
def test_an_empty_feature_name_is_refused_at_once(wrong: str) -> None:
    with pytest.raises(DeclarationError, match="an empty name. Use all, key, least, none, or names"):
        build("persona", features=wrong)


def test_another_kind_of_person_is_shown_as_it_is() -> None:
    assert shown(PAIR.model_copy(update={"profile": Preference(text="no sport")})) == "no sport"


def test_another_kind_of_person_has_no_features_to_choose_from() -> None:
    reviewer = PAIR.model_copy(update={"profile": Reviewer(id="r")})
    with pytest.raises(DeclarationError, match="case 'p' has a reviewer without features. Use features=all"):
        run(reviewer, {"preferred": "A"}, features="key")


# the three settings


@pytest.mark.parametrize(
    ("setting", "fields", "letters"),
    [("standard", {"preferred"}, "AB"), ("certainty", {"preferred", "certainty"}, "AB"), ("tie", {"preferred"}, "ABC")],
)
def test_a_setting_asks_for_its_own_answer(setting: str, fields: set[str], letters: str) -> None:
    _, requests = run(PAIR, {"preferred": "A", "certainty": 50}, setting=setting)
    assert answer_fields(requests[0]) == fields
    properties = requests[0].config.response_format["schema"]["properties"]
    assert properties["preferred"]["enum"] == list(letters)


def test_certainty_is_a_whole_number_from_1_to_100() -> None:
    _, requests = run(PAIR, {"preferred": "A", "certainty": 50}, setting="certainty")
    properties = requests[0].config.response_format["schema"]["properties"]
    assert (properties["certainty"]["minimum"], properties["certainty"]["maximum"]) == (1, 100)


@pytest.mark.parametrize("certainty", [1, 2, 50, 79, 80, 99, 100])
@pytest.mark.parametrize("word", ["Hike", "Sleep"])
def test_the_stated_certainty_is_the_verdict_s(certainty: int, word: str) -> None:
    verdict, _ = run(PAIR, prefers(word, certainty=certainty), setting="certainty")
    assert verdict.winner == ("a" if word == "Hike" else "b")
    assert verdict.certainty == pytest.approx(certainty / 100)
    assert verdict.findings[0].certainty == pytest.approx(certainty / 100)


@pytest.mark.parametrize("certainty", [0, 101, 50.5, "high", None])
def test_a_certainty_off_the_scale_is_asked_again(certainty: Any) -> None:
    verdict, requests = run(PAIR, {"preferred": "A", "certainty": certainty}, setting="certainty")
    assert (verdict.reason, len(requests)) == ("parse_failure", 5)


def test_in_both_orders_the_certainty_is_the_mean_of_what_was_stated_for_the_winner() -> None:
    def sure(request: Request) -> Answer:
        first = "Response A:\n<<<\nHike" in prompt_text(request)
        return {"preferred": "A" if first else "B", "certainty": 90 if first else 60}

    verdict, _ = run(PAIR, sure, setting="certainty", order="both")
    assert (verdict.winner, verdict.consistent) == ("a", True)
    assert verdict.certainty == pytest.approx(0.75)


def test_of_two_orders_that_disagree_the_surer_one_decides_with_its_own_certainty() -> None:
    def sure(request: Request) -> Answer:
        return {"preferred": "A", "certainty": 90 if "Response A:\n<<<\nHike" in prompt_text(request) else 20}

    verdict, _ = run(PAIR, sure, setting="certainty", order="both")
    assert (verdict.winner, verdict.consistent) == ("a", False)
    assert verdict.certainty == pytest.approx(0.9)


def test_a_surer_judge_is_no_less_probable_to_be_right() -> None:
    verdicts = [run(PAIR, prefers("Hike", certainty=n), setting="certainty")[0] for n in (1, 25, 50, 75, 100)]
    shares = [(verdict.distribution or {})["a"] for verdict in verdicts]
    assert shares == sorted(shares)
    assert shares[0] > 0.5


def test_the_tie_setting_takes_a_tie_and_states_no_certainty() -> None:
    verdict, requests = run(PAIR, {"preferred": "C"}, setting="tie")
    assert verdict.winner == "tie"
    assert "certainty" not in answer_fields(requests[0])
    assert verdict.findings[0].certainty is None
    assert verdict.findings[0].distribution == {"a": 0, "b": 0, "tie": 1}


@pytest.mark.parametrize("setting", ["standard", "certainty"])
def test_other_settings_take_no_tie(setting: str) -> None:
    verdict, _ = run(PAIR, {"preferred": "C", "certainty": 50}, setting=setting)
    assert verdict.reason == "parse_failure"


@pytest.mark.parametrize(("setting", "a"), [("standard", 0.75), ("certainty", 0.75), ("tie", 0.6)])
def test_by_probability_the_letters_give_the_certainty(setting: str, a: float) -> None:
    tokens = {"token_probabilities": {"A": 0.6, "B": 0.2, "C": 0.2}}
    verdict, requests = run(PAIR, tokens, setting=setting, readout="probability", order="one")
    assert (verdict.findings[0].distribution or {})["a"] == pytest.approx(a)
    assert verdict.certainty == pytest.approx(a)
    assert [(r.config.max_tokens, r.config.temperature) for r in requests] == [(1, 0.0)]


# decoding, refusals


@pytest.mark.parametrize("setting", ["standard", "certainty", "tie"])
def test_answers_are_sampled_at_0_7_with_top_p_0_95(setting: str) -> None:
    _, requests = run(PAIR, {"preferred": "A", "certainty": 50}, setting=setting, order="both")
    assert [(r.config.temperature, r.config.top_p) for r in requests] == [(0.7, 0.95)] * 2


@pytest.mark.parametrize(("temperature", "top_p"), [(0.0, None), (0.3, 0.95), (1.2, 0.95)])
def test_the_temperature_is_a_parameter_and_0_is_greedy(temperature: float, top_p: float | None) -> None:
    _, requests = run(PAIR, {"preferred": "A"}, temperature=temperature)
    assert [(r.config.temperature, r.config.top_p) for r in requests] == [(temperature, top_p)]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("I'm sorry, but I cannot say what this person prefers.", "refusal"),
        ("As an AI, I have no preferences.", "refusal"),
        ("Response A, surely.", "parse_failure"),
        ('{"preferred": "both"}', "parse_failure"),
        ("", "parse_failure"),
    ],
)
def test_a_refusal_or_a_wrong_form_is_asked_again_four_times_then_unscored(said: str, reason: str) -> None:
    verdict, requests = run(PAIR, said, cache=True)
    assert (verdict.status, verdict.reason, verdict.winner) == ("unscored", reason, None)
    assert [(r.config.temperature, r.config.top_p) for r in requests] == [(0.7, 0.95)] * (1 + 4)


def test_a_greedy_judge_asks_again_by_drawing() -> None:
    _, requests = run(PAIR, "I can't say.", temperature=0.0, cache=True)
    assert [(r.config.temperature, r.config.top_p) for r in requests] == [(0.0, None), *[(0.7, 0.95)] * 4]


@pytest.mark.parametrize("refusals", [1, 2, 3, 4])
def test_an_answer_after_refusals_counts(refusals: int) -> None:
    answers = iter([*["I'm sorry, I can't judge that."] * refusals, json.dumps({"preferred": "A"})])
    verdict, requests = run(PAIR, lambda request: next(answers), cache=True)
    assert (verdict.status, len(requests)) == ("scored", refusals + 1)


# the shuffle


def pairs(count: int) -> list[Case]:
    noise = random.Random(7)
    words = [f"{noise.random()}" for _ in range(2 * count)]
    return [
        PAIR.model_copy(
            update={"candidates": tuple(Case(id="x", query="", candidates=[{"text": w}]).candidates[0] for w in pair)}
        )
        for pair in zip(words[::2], words[1::2], strict=True)
    ]


def test_both_orders_are_shown_equally_often() -> None:
    n = 400
    as_given = sum(shuffled_orders(case, seed=0) == ("ab",) for case in pairs(n))
    # P(|X - n/2| >= d) < 1e-6 for a fair coin, summed exactly.
    far = sum(comb(n, k) for k in range(n + 1) if abs(k - n / 2) >= abs(as_given - n / 2)) / 2**n
    assert far > 1e-6


def test_the_order_shown_follows_the_drawn_one() -> None:
    for case in pairs(12):
        verdict, requests = run(case, {"preferred": "A"})
        (order,) = shuffled_orders(case, seed=0)
        first = case.candidates[0 if order == "ab" else 1].text
        assert f"Response A:\n<<<\n{first}\n>>>" in prompt_text(requests[0])
        assert verdict.winner == ("a" if order == "ab" else "b")
        assert verdict.findings[0].order == order


def test_a_swapped_pair_is_shown_the_same_way_round() -> None:
    for case in pairs(12):
        (asked,), (asked_swapped,) = (run(one, {"preferred": "A"})[1] for one in (case, case.swapped()))
        assert prompt_text(asked) == prompt_text(asked_swapped)


def test_another_seed_shows_other_pairs_the_other_way_round() -> None:
    cases = pairs(200)
    drawn = [[shuffled_orders(case, seed) for case in cases] for seed in (0, 1)]
    differing = sum(first != second for first, second in zip(*drawn, strict=True))
    assert 60 < differing < 140
    assert drawn[0] == [shuffled_orders(case, 0) for case in cases]


def test_the_question_takes_part_in_the_draw() -> None:
    orders = {shuffled_orders(PAIR.model_copy(update={"query": f"question {n}"}), 0) for n in range(20)}
    assert orders == {("ab",), ("ba",)}


def test_equal_texts_are_shown_both_ways_so_that_neither_wins_by_its_place() -> None:
    equal = PAIR.model_copy(update={"candidates": (PAIR.candidates[0],) * 2})
    assert shuffled_orders(equal, 0) == ("ab", "ba")
    assert run(equal, {"preferred": "A"})[0].winner == "tie"


@pytest.mark.parametrize(("order", "shown_orders"), [("one", ["ab"]), ("both", ["ab", "ba"])])
def test_the_order_can_be_fixed(order: str, shown_orders: list[str]) -> None:
    verdict, _ = run(PAIR, prefers("Hike"), order=order)
    assert [finding.order for finding in verdict.findings] == shown_orders
    assert verdict.consistent is (True if order == "both" else None)
    assert verdict.winner == "a"


def test_persona_refuses_what_is_no_pair() -> None:
    with pytest.raises(DeclarationError, match="has 1 candidates, not two"):
        run(PAIR.model_copy(update={"candidates": PAIR.candidates[:1]}), {"preferred": "A"})
