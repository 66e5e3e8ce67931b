"""Scoring without a reference: what each form shows, its scale, its samples, and the formulas (arXiv 2304.00723)."""

import json
from math import log
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Verdict
from dicast.data.task_descriptions import presets, task
from dicast.engines.token_probabilities import yes_no_mass
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.programs.reference_free import POINT, mean_shares
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text

COHERENCE = task("summary").aspects["coherence"]
TEXT = Case(id="t", query="The article.", candidates=[{"text": "The summary."}], aspect="coherence")
PAIR = Case(id="p", query="The article.", candidates=[{"text": "One."}, {"text": "Two, longer."}], aspect="coherence")


def run(name: str, case: Case, answer: Any, cache: bool = False, **settings: Any) -> tuple[Verdict, list[Request]]:
    lm = ScriptedLM(answer if callable(answer) else lambda request: answer, cache=cache)
    with dspy.context(lm=lm):
        return build(name, **({"task": "summary"} | settings))(case), lm.requests


def first_prompt(name: str, answer: Any, case: Case = TEXT, **settings: Any) -> str:
    """The first prompt that a judge sends."""
    sent: str = prompt_text(run(name, case, answer, **settings)[1][0])
    return sent


# explicit

ANSWERS: dict[str, Any] = {
    "V1": {"score": 40},
    "V2": {"score": 40},
    "V3": {"score": 40},
    "V4": {"stars": 3},
    "V5": {"reason": "It wanders.", "score": 40},
}


@pytest.mark.parametrize("form", ANSWERS)
def test_every_form_shows_the_source_the_text_the_task_and_the_aspect(form: str) -> None:
    shown = first_prompt("explicit", ANSWERS[form], form=form)
    for text in ("<<<\nThe article.\n>>>", "<<<\nThe summary.\n>>>", task("summary").wording):
        assert text in shown
    assert f"coherence: {COHERENCE.meaning}" in shown


@pytest.mark.parametrize(("form", "ends"), [("V1", True), ("V2", True), ("V3", False), ("V4", False), ("V5", True)])
def test_the_forms_that_describe_both_ends_show_them_under_headings(form: str, ends: bool) -> None:
    shown = first_prompt("explicit", ANSWERS[form], form=form)
    assert (f"Worst:\n{COHERENCE.worst}" in shown) == ends
    assert (f"Best:\n{COHERENCE.best}" in shown) == ends


def test_form_v3_shows_no_end_of_the_scale() -> None:
    shown = first_prompt("explicit", ANSWERS["V3"], form="V3")
    assert COHERENCE.worst not in shown
    assert COHERENCE.best not in shown


def test_form_v4_describes_five_levels() -> None:
    lines = [f"{level}: {COHERENCE.level(level)}" for level in range(1, 6)]
    assert len(set(lines)) == 5
    assert "Levels:\n" + "\n".join(lines) in first_prompt("explicit", ANSWERS["V4"], form="V4")


@pytest.mark.parametrize("name", presets())
def test_every_aspect_of_a_preset_has_five_levels_of_its_own(name: str) -> None:
    seen: set[str] = set()
    for aspect in task(name).aspects.values():
        assert len(aspect.levels) == 5
        assert (aspect.level(1), aspect.level(5)) == (aspect.worst, aspect.best)
        assert not set(aspect.levels[1:4]) & {
            "mostly as bad as that", "between the worst and the best", "nearly as good as the best"
        }  # fmt: skip
        seen |= {aspect.level(3)}
    assert len(seen) >= len(task(name).aspects) - 2  # FED and USR name one quality twice


def test_form_v4_shows_the_levels_of_a_user_s_file(tmp_path: Any) -> None:
    file = tmp_path / "recipes.yaml"
    file.write_text("wording: a recipe\naspects: {coherence: {meaning: steps in order, levels: [v, w, x, y, z]}}\n")
    assert "Levels:\n1: v\n2: w\n3: x\n4: y\n5: z\n" in first_prompt(
        "explicit", ANSWERS["V4"], form="V4", task=str(file)
    )
    assert "Worst:\nv\n" in first_prompt("explicit", ANSWERS["V1"], task=str(file))


def test_only_form_v4_shows_levels() -> None:
    assert [form for form in ANSWERS if "Levels:" in first_prompt("explicit", ANSWERS[form], form=form)] == ["V4"]


def test_form_v2_says_the_same_as_v1_in_other_words() -> None:
    first, second = (first_prompt("explicit", ANSWERS[form], form=form).partition("\nTask:\n") for form in ("V1", "V2"))
    assert first[2] == second[2]
    assert first[0] != second[0]


def test_only_form_v5_gives_a_reason_and_it_comes_before_the_score() -> None:
    for form, answer in ANSWERS.items():
        _, requests = run("explicit", TEXT, answer, form=form)
        schema = requests[0].config.response_format["schema"]
        assert list(schema["properties"]) == list(answer)
    verdict, _ = run("explicit", TEXT, ANSWERS["V5"], form="V5", samples=1)
    assert verdict.rationale.endswith("It wanders.")


@pytest.mark.parametrize("form", ["V1", "V2", "V3", "V5"])
def test_a_written_score_is_a_whole_number_from_0_to_100(form: str) -> None:
    _, requests = run("explicit", TEXT, ANSWERS[form], form=form)
    schema = requests[0].config.response_format["schema"]
    score = schema["properties"]["score"]
    assert (score["type"], score["minimum"], score["maximum"], "enum" in score) == ("integer", 0, 100, False)


@pytest.mark.parametrize("score", [0, 1, 50, 99, 100])
@pytest.mark.parametrize("form", ["V1", "V2", "V3"])
def test_a_written_score_is_the_verdict_s(form: str, score: int) -> None:
    assert run("explicit", TEXT, {"score": score}, form=form)[0].scores == (score,)


@pytest.mark.parametrize(("stars", "score"), [(1, 0), (2, 25), (3, 50), (4, 75), (5, 100)])
def test_stars_are_put_on_0_to_100(stars: int, score: float) -> None:
    assert run("explicit", TEXT, {"stars": stars}, form="V4")[0].scores == (score,)


def test_stars_read_from_one_token_are_their_mean_on_0_to_100() -> None:
    tokens = {"1": 0.1, "2": 0.1, "3": 0.2, "4": 0.2, "5": 0.2, "The": 0.2}
    verdict, requests = run("explicit", TEXT, {"token_probabilities": tokens}, form="V4", readout="probability")
    mean = (1 * 0.1 + 2 * 0.1 + 3 * 0.2 + 4 * 0.2 + 5 * 0.2) / 0.8
    assert verdict.scores == pytest.approx(((mean - 1) * 25,))
    assert verdict.findings[0].mass_read == pytest.approx(0.8)
    (levels,) = verdict.findings[0].levels or ()
    assert levels == pytest.approx((1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 4))
    assert len(requests) == 1


@pytest.mark.parametrize("bad", [101, -1, 40.5, "forty", None])
def test_a_score_off_the_scale_is_unscored(bad: Any) -> None:
    verdict, _ = run("explicit", TEXT, {"score": bad})
    assert (verdict.status, verdict.reason) == ("unscored", "parse_failure")


def test_form_v5_is_the_mean_of_five_draws() -> None:
    scores = iter([10, 20, 40, 80, 100])
    verdict, requests = run(
        "explicit", TEXT, lambda request: {"reason": "r", "score": next(scores)}, form="V5", cache=True
    )
    assert verdict.scores == (50.0,)
    assert [(r.config.temperature, r.config.top_p) for r in requests] == [(0.7, 0.95)] * 5


def test_the_reasons_of_all_draws_are_kept() -> None:
    reasons = iter("abc")
    verdict, _ = run("explicit", TEXT, lambda r: {"reason": next(reasons), "score": 1}, form="V5", samples=3)
    assert sorted(verdict.findings[0].explanation.split(" | ")) == ["a", "b", "c"]


@pytest.mark.parametrize("form", ["V1", "V2", "V3", "V4"])
def test_other_forms_are_greedy(form: str) -> None:
    _, requests = run("explicit", TEXT, ANSWERS[form], form=form)
    assert [request.config.temperature for request in requests] == [0.0]


def test_form_v5_can_be_greedy() -> None:
    _, requests = run("explicit", TEXT, ANSWERS["V5"], form="V5", samples=1)
    assert [request.config.temperature for request in requests] == [0.0]


@pytest.mark.parametrize("form", ANSWERS)
def test_a_single_answer_can_be_sampled(form: str) -> None:
    _, requests = run("explicit", TEXT, ANSWERS[form], form=form, samples=1, temperature=0.7, top_p=0.95)
    assert [(r.config.temperature, r.config.top_p) for r in requests] == [(0.7, 0.95)]


def test_a_single_pairwise_answer_can_be_sampled() -> None:
    _, requests = run("pairwise", PAIR, FORMS["V1"], samples=1, temperature=1.0, order="one")
    assert [request.config.temperature for request in requests] == [1.0]


def test_any_form_can_be_sampled_and_averaged() -> None:
    stars = iter([1, 2, 5])
    verdict, requests = run("explicit", TEXT, lambda r: {"stars": next(stars)}, form="V4", samples=3, cache=True)
    assert verdict.scores == pytest.approx(((0 + 25 + 100) / 3,))
    assert {request.config.temperature for request in requests} == {0.7}


def test_a_draw_of_the_wrong_form_is_drawn_again() -> None:
    answers = iter(["?", "no", *[json.dumps({"reason": "r", "score": 30})] * 5])
    verdict, requests = run("explicit", TEXT, lambda request: next(answers), form="V5")
    assert (verdict.scores, len(requests)) == ((30,), 5 + 2)


def test_a_draw_that_fails_to_the_end_leaves_the_text_unscored() -> None:
    verdict, requests = run("explicit", TEXT, "?", form="V5")
    assert (verdict.reason, verdict.scores, len(requests)) == ("parse_failure", None, 5 * 3)


def by_length(request: Request) -> Answer:
    return {"score": 60 if "Two, longer." in prompt_text(request) else 40}


def test_the_better_scored_text_of_a_pair_wins() -> None:
    verdict, requests = run("explicit", PAIR, by_length)
    assert (verdict.winner, verdict.scores, verdict.consistent) == ("b", (40, 60), None)
    assert len(requests) == 2
    assert verdict.distribution == pytest.approx(
        {"a": 1 / (1 + 2.718281828 ** (20 * POINT)), "b": 0.6899744811, "tie": 0}
    )


@pytest.mark.parametrize(("threshold", "winner"), [(0.0, "b"), (19.9, "b"), (20.0, "tie"), (50.0, "tie")])
def test_a_difference_of_at_most_the_threshold_in_points_is_a_tie(threshold: float, winner: str) -> None:
    assert run("explicit", PAIR, by_length, tie_threshold=threshold)[0].winner == winner


@pytest.mark.parametrize("form", ["V1", "V2", "V3", "V5"])
def test_a_form_that_is_written_has_no_probability_readout(form: str) -> None:
    with pytest.raises(DeclarationError, match=f"form {form} is written. Use --readout generate, or --set form=V4"):
        run("explicit", TEXT, ANSWERS[form], form=form, readout="probability")


def test_each_text_is_scored_alone() -> None:
    _, requests = run("explicit", PAIR, by_length)
    assert all(("One." in prompt_text(r)) != ("Two, longer." in prompt_text(r)) for r in requests)


@pytest.mark.parametrize("name", ["explicit", "implicit", "pairwise"])
def test_the_task_is_a_preset_a_file_or_plain_words(name: str, tmp_path: Any) -> None:
    file = tmp_path / "recipes.yaml"
    file.write_text("wording: a recipe\naspects:\n  coherence: {meaning: steps in order, worst: a mess, best: clear}\n")
    answer = {"explicit": {"score": 1}, "implicit": {"token_probabilities": {"Yes": 1.0}}, "pairwise": {"better": "A"}}[
        name
    ]
    for wording, task_shown, aspect in (
        ("summary", task("summary").wording, f"coherence: {COHERENCE.meaning}"),
        (str(file), "a recipe", "coherence: steps in order"),
        ("a product review", "a product review", '"coherence"'),  # an aspect of the case, not of the task
    ):
        shown = first_prompt(name, answer, PAIR, task=wording)
        assert f"Task:\n{task_shown}\n" in shown
        assert f"Aspect:\n{aspect}\n" in shown


@pytest.mark.parametrize("name", ["explicit", "implicit", "pairwise"])
def test_a_task_that_cannot_be_read_is_refused_at_once(name: str) -> None:
    with pytest.raises(DeclarationError, match="task missing.yaml: cannot be read"):
        build(name, task="missing.yaml")


# implicit

LISTS: list[tuple[str, dict[str, float], float, float]] = [
    # tokens, p_yes, p_no, by hand
    ("one yes and one no", {"Yes": 0.6, "No": 0.3, "The": 0.1}, 0.6, 0.3),
    ("no is certain", {"No": 0.9, "Yes": 0.05}, 0.05, 0.9),
    ("with a space before", {" Yes": 0.5, " No": 0.2}, 0.5, 0.2),
    ("six forms of yes", {"Yes": 0.2, "YES": 0.1, "yes": 0.1, " Yes": 0.05, " YES": 0.03, " yes": 0.02}, 0.5, 0.0),
    ("six forms of no", {"No": 0.2, "NO": 0.1, "no": 0.1, " No": 0.05, " NO": 0.03, " no": 0.02}, 0.0, 0.5),
    ("a mixture", {"yes": 0.3, " Yes": 0.1, "NO": 0.2, " no": 0.1, "Maybe": 0.3}, 0.4, 0.3),
    ("no alone", {"no": 0.25, "Perhaps": 0.75}, 0.0, 0.25),
    ("yes alone", {" yes": 0.25, "Perhaps": 0.75}, 0.25, 0.0),
    ("marks of a leading space", {"ĠYes": 0.5, "▁no": 0.25}, 0.5, 0.25),
]
OTHER_WORDS = {"Yeah": 0.2, "Nope": 0.2, "Not": 0.1, "Y": 0.1, "N": 0.1, "yEs": 0.1, "nO": 0.05, "Yes.": 0.05}


@pytest.mark.parametrize(("tokens", "p_yes", "p_no"), [one[1:] for one in LISTS], ids=[one[0] for one in LISTS])
def test_the_implicit_score_is_the_greater_of_p_yes_and_one_minus_p_no(
    tokens: dict[str, float], p_yes: float, p_no: float
) -> None:
    verdict, requests = run("implicit", TEXT, {"token_probabilities": tokens}, top=20)
    assert verdict.scores == pytest.approx((max(p_yes, 1 - p_no),))
    assert verdict.findings[0].mass_read == pytest.approx(p_yes + p_no)
    assert [request.config.max_tokens for request in requests] == [1]


@pytest.mark.parametrize("tokens", [{"Maybe": 0.9}, OTHER_WORDS], ids=["none", "other words"])
def test_without_a_yes_or_a_no_a_text_is_unscored(tokens: dict[str, float]) -> None:
    verdict, _ = run("implicit", TEXT, {"token_probabilities": tokens})
    assert (verdict.status, verdict.reason, verdict.scores) == ("unscored", "unreadable", None)
    assert "neither yes nor no is among the 5 most probable tokens" in verdict.detail
    assert verdict.detail.endswith("Use --set top=20, or another model.")


@pytest.mark.parametrize("tokens", [{"Maybe": 0.9}, OTHER_WORDS], ids=["none", "other words"])
def test_without_a_yes_or_a_no_the_formula_by_itself_says_1(tokens: dict[str, float]) -> None:
    verdict, _ = run("implicit", TEXT, {"token_probabilities": tokens}, unseen="formula")
    assert (verdict.scores, verdict.findings[0].mass_read) == ((1.0,), 0.0)


def test_the_five_most_probable_tokens_count_as_the_paper_s_model_gave_five() -> None:
    tokens = {"The": 0.4, "No": 0.2, "It": 0.1, "A": 0.09, "no": 0.08, "NO": 0.07}
    assert run("implicit", TEXT, {"token_probabilities": tokens})[0].scores == pytest.approx((1 - 0.2 - 0.08,))


def test_of_many_tokens_five_are_read_and_twenty_are_asked_for() -> None:
    _, requests = run("implicit", TEXT, {"token_probabilities": {"Yes": 1.0}})
    assert requests[0].config.logprobs == 20


@pytest.mark.parametrize(
    ("top", "score"), [(1, None), (2, 1 - 0.2), (3, 1 - 0.2), (4, 1 - 0.2), (5, 1 - 0.2 - 0.04), (20, 0.76)]
)
def test_only_the_most_probable_tokens_count(top: int, score: float | None) -> None:
    tokens = {"The": 0.5, "No": 0.2, "It": 0.15, "Yes": 0.1, "no": 0.04}
    verdict, _ = run("implicit", TEXT, {"token_probabilities": tokens}, top=top)
    assert verdict.scores == (score if score is None else pytest.approx((score,)))


def test_the_tokens_count_by_their_probability_and_not_by_the_server_s_order() -> None:
    tokens = {"Yes": 0.1, "The": 0.5, "No": 0.2}
    verdict, _ = run("implicit", TEXT, {"token_probabilities": tokens}, top=2)
    assert verdict.scores == pytest.approx((0.8,))


def test_a_token_that_is_only_the_chosen_one_counts_once() -> None:
    assert yes_no_mass([(1, "Yes", 0.5), (2, "yes", 0.2), (3, "No", 0.1)]) == pytest.approx((0.7, 0.1))
    assert yes_no_mass([(1, "Yes", 0.5), (2, "yes", 0.2), (3, "No", 0.1)], top=1) == (0.5, 0)
    assert yes_no_mass([]) == (0, 0)


def test_the_implicit_question_ends_with_the_cue_for_the_next_token() -> None:
    shown = first_prompt("implicit", {"token_probabilities": {"Yes": 1.0}})
    assert shown.endswith("Answer with Yes or No.\nAnswer:")
    assert "A. " not in shown


def test_the_implicit_score_of_a_pair_is_read_of_each_text_alone() -> None:
    def likes_two(request: Request) -> Answer:
        return {
            "token_probabilities": {"Yes": 0.9, "No": 0.1}
            if "Two, longer." in prompt_text(request)
            else {"Yes": 0.2, "No": 0.8}
        }

    verdict, requests = run("implicit", PAIR, likes_two)
    assert verdict.winner == "b"
    assert verdict.scores == pytest.approx((0.2, 0.9))
    assert len(requests) == 2


@pytest.mark.parametrize(("threshold", "winner"), [(0.0, "b"), (0.69, "b"), (0.71, "tie")])
def test_an_implicit_difference_within_the_threshold_is_a_tie(threshold: float, winner: str) -> None:
    def likes_two(request: Request) -> Answer:
        return {
            "token_probabilities": {"Yes": 0.9, "No": 0.1}
            if "Two, longer." in prompt_text(request)
            else {"Yes": 0.2, "No": 0.8}
        }

    assert run("implicit", PAIR, likes_two, tie_threshold=threshold)[0].winner == winner


# pairwise

FORMS: dict[str, Any] = {
    "V1": {"better": "A"},
    "V2": {"better": "A"},
    "V3": {"worse": "B"},
    "V4": {"reason": "r", "better": "A"},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_asks_for_its_own_answer(form: str) -> None:
    _, requests = run("pairwise", PAIR, FORMS[form], form=form)
    assert {frozenset(answer_fields(request)) for request in requests} == {frozenset(FORMS[form])}
    assert all(
        list(request.config.response_format["schema"]["properties"]) == list(FORMS[form]) for request in requests
    )


@pytest.mark.parametrize("form", FORMS)
def test_equally_good_is_a_third_answer(form: str) -> None:
    _, requests = run("pairwise", PAIR, FORMS[form], form=form)
    letter = list(FORMS[form])[-1]
    assert requests[0].config.response_format["schema"]["properties"][letter]["enum"] == ["A", "B", "C"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("letter", "winner"), [("A", "a"), ("B", "b"), ("C", "tie")])
def test_the_letter_names_the_winner_and_mirrored_the_loser(form: str, letter: str, winner: str) -> None:
    answer = {name: letter if name != "reason" else "r" for name in FORMS[form]}
    mirrored = {"a": "b", "b": "a", "tie": "tie"}
    verdict, _ = run("pairwise", PAIR, answer, form=form, order="one")
    assert verdict.winner == (mirrored[winner] if form == "V3" else winner)


@pytest.mark.parametrize("form", ["V1", "V2", "V3"])
def test_by_probability_the_mirrored_form_exchanges_the_letters(form: str) -> None:
    tokens = {"token_probabilities": {"A": 0.5, "B": 0.2, "C": 0.1, "The": 0.2}}
    verdict, _ = run("pairwise", PAIR, tokens, form=form, readout="probability", order="one")
    read = {"a": 0.625, "b": 0.25, "tie": 0.125}
    mirrored = {"a": 0.25, "b": 0.625, "tie": 0.125}
    assert verdict.findings[0].distribution == pytest.approx(mirrored if form == "V3" else read)
    assert verdict.findings[0].mass_read == pytest.approx(0.8)
    # The margin of the letters, and the model's own share of ties.
    assert verdict.distribution == pytest.approx(mirrored if form == "V3" else read)
    assert verdict.winner == ("b" if form == "V3" else "a")


@pytest.mark.parametrize("readout", ["generate", "probability"])
@pytest.mark.parametrize(("form", "first"), [("V1", False), ("V2", True), ("V3", False)])
def test_form_v2_alone_asks_its_question_before_the_texts(form: str, first: bool, readout: str) -> None:
    answer = {"token_probabilities": {"A": 1.0}} if readout == "probability" else FORMS[form]
    shown = first_prompt("pairwise", answer, PAIR, form=form, readout=readout)
    assert (shown.index("Aspect:\ncoherence") < shown.index("One.")) == first


def test_form_v3_asks_which_is_worse() -> None:
    for readout in ("generate", "probability"):
        answer = {"token_probabilities": {"A": 1.0}} if readout == "probability" else FORMS["V3"]
        shown = first_prompt("pairwise", answer, PAIR, form="V3", readout=readout)
        assert "worse" in shown
        assert "better" not in shown


def test_form_v4_gives_its_reason_before_the_letter_and_keeps_it() -> None:
    verdict, requests = run("pairwise", PAIR, FORMS["V4"], form="V4", samples=1)
    assert list(requests[0].config.response_format["schema"]["properties"]) == ["reason", "better"]
    assert verdict.rationale


def test_form_v4_votes_over_five_draws_an_order() -> None:
    letters = iter("AABCA")
    verdict, requests = run(
        "pairwise", PAIR, lambda r: {"reason": "r", "better": next(letters)}, form="V4", order="one", cache=True
    )
    assert verdict.findings[0].distribution == {"a": 0.6, "b": 0.2, "tie": 0.2}
    assert verdict.winner == "a"
    assert [(r.config.temperature, r.config.top_p) for r in requests] == [(0.7, 0.95)] * 5


@pytest.mark.parametrize(
    ("letters", "winner"),
    [("AAAAA", "a"), ("BBBBA", "b"), ("AABBC", "tie"), ("CCCCC", "tie"), ("CCCAB", "tie"), ("AAABB", "a")],
)
def test_the_votes_of_one_order_decide(letters: str, winner: str) -> None:
    left = iter(letters)
    verdict, _ = run("pairwise", PAIR, lambda r: {"reason": "r", "better": next(left)}, form="V4", order="one")
    assert verdict.winner == winner


@pytest.mark.parametrize(("first", "second", "winner"), [("AAAAB", "AAAAB", "tie"), ("AAAAA", "BBAAA", "a")])
def test_the_votes_of_both_orders_are_weighed_together(first: str, second: str, winner: str) -> None:
    left = {"One.": iter(first), "Two,": iter(second)}

    def vote(request: Request) -> Answer:
        shown_first = prompt_text(request).partition("Text A:\n<<<\n")[2].split()[0]
        return {"reason": "r", "better": next(left[shown_first])}

    verdict, requests = run("pairwise", PAIR, vote, form="V4")
    assert (verdict.winner, len(requests)) == (winner, 10)


def test_two_of_ten_votes_do_not_win() -> None:
    left = {"One.": iter("ACCCC"), "Two,": iter("BAAAA")}  # the first text, then the second, is shown as A

    def vote(request: Request) -> Answer:
        shown_first = prompt_text(request).partition("Text A:\n<<<\n")[2].split()[0]
        return {"reason": "r", "better": next(left[shown_first])}

    verdict, _ = run("pairwise", PAIR, vote, form="V4")  # votes: 2 for a, 4 for b, 4 for a tie
    assert verdict.winner == "tie"
    assert [finding.samples for finding in verdict.findings] == [5, 5]
    assert verdict.distribution == pytest.approx({"a": 2.5 / 11.5, "b": 4.5 / 11.5, "tie": 4.5 / 11.5})


def test_the_mean_of_written_answers_is_the_proportion_of_votes() -> None:
    votes = [{option: float(option == letter) for option in "ABC"} for letter in "AABCA"]
    assert mean_shares(votes) == {"A": 0.6, "B": 0.2, "C": 0.2}
    assert mean_shares(votes[3:4]) == {"A": 0.0, "B": 0.0, "C": 1.0}


def test_form_v4_has_no_probability_readout() -> None:
    with pytest.raises(DeclarationError, match="form V4 writes its reason first"):
        run("pairwise", PAIR, FORMS["V4"], form="V4", readout="probability")


def test_a_taste_for_the_first_place_is_a_tie_that_is_reported() -> None:
    verdict, _ = run("pairwise", PAIR, {"better": "A"})
    assert (verdict.winner, verdict.consistent) == ("tie", False)


@pytest.mark.parametrize(("threshold", "winner"), [(0.0, "a"), (0.9, "a"), (1.0, "tie")])
def test_letters_within_the_threshold_of_log_odds_are_a_tie(threshold: float, winner: str) -> None:
    tokens = {"token_probabilities": {"A": 0.5, "B": 0.2}}
    assert 0.9 < log(0.5 / 0.2) < 1.0
    verdict, _ = run("pairwise", PAIR, tokens, readout="probability", order="one", tie_threshold=threshold)
    assert verdict.winner == winner


def test_pairwise_refuses_a_single_text() -> None:
    with pytest.raises(DeclarationError, match="has 1 candidates, not two"):
        run("pairwise", TEXT, {"better": "A"})
