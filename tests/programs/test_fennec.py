"""Fennec: criteria, guidelines, judgments, their sum, corrections, and which criteria are kept (arXiv 2405.12163)."""

from typing import Any

import dspy
import pytest
from dspy.lm15 import Request

from dicast.data import Case, Finding, Judged, Scores, Verdict, Winner
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.judging.features_by_name import criterion_head
from dicast.programs.criterion_ranking import Priorities
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text

PAIR = Case(id="p", query="Name a prime.", candidates=[{"text": "9"}, {"text": "7 is prime"}], label={"value": "b"})
SINGLE = Case(id="s", query="Name a prime.", candidates=[{"text": "7"}])
CRITERIA = ["correct: is it a prime", "brief: no padding", "polite: kind words", "clear: easy to read"]
PAIRED = {"explanation_a", "score_a", "explanation_b", "score_b", "comparison"}


def judge_of(
    criteria: list[str] | None = None,
    scores: tuple[int, int] = (1, 5),
    order: list[int] | None = None,
    corrected: str = "7",
) -> Any:
    """An LM that answers every stage; `scores` are those of "9" and of the text with a 7."""
    named = [*CRITERIA[:2], CRITERIA[0]] if criteria is None else criteria

    def answer(request: Request) -> Answer:
        fields, text = answer_fields(request), prompt_text(request)
        if request.config.logprobs is not None:
            return {"token_probabilities": {"1": 0.1, "2": 0.1, "3": 0.1, "4": 0.1, "5": 0.4, "The": 0.2}}
        if fields == {"criteria"}:
            return {"criteria": named}
        if fields == {"order"}:
            return {"order": order if order is not None else [4, 3, 2, 1]}
        if "score_1" in fields:
            return {f"score_{level}": f"level {level}" for level in range(1, 6)} | {"comparison": "more is better"}
        if fields == PAIRED:
            a, b = scores if "Response B:\n<<<\n7" in text else scores[::-1]
            return {"explanation_a": f"A got {a}", "score_a": a, "explanation_b": f"B got {b}", "score_b": b,
                    "comparison": "z"}  # fmt: skip
        if fields == {"explanation", "score"}:
            return {"explanation": "read", "score": scores["7" in text.split("\nResponse:\n")[-1]]}
        assert fields == {"corrected"}
        return {"corrected": corrected}

    return answer


def run(
    name: str = "fennec", case: Case = PAIR, answer: Any = None, cache: bool = False, **settings: Any
) -> tuple[Verdict, list[Request]]:
    lm = ScriptedLM(answer or judge_of(), cache=cache)
    with dspy.context(lm=lm):
        return build(name, **settings)(case), lm.requests


def asking(requests: list[Request], *fields: str) -> list[Request]:
    return [request for request in requests if answer_fields(request) == set(fields)]


def judged_criteria(verdict: Verdict) -> list[str]:
    return list(dict.fromkeys(finding.criterion for finding in verdict.findings))


# criteria


def test_criteria_come_from_the_request_alone() -> None:
    (asked,) = asking(run()[1], "criteria")
    assert "Name a prime." in prompt_text(asked)
    assert "7 is prime" not in prompt_text(asked)
    assert "<<<\n9\n>>>" not in prompt_text(asked)


@pytest.mark.parametrize("branches", [1, 2, 3, 4, 10])
def test_at_most_the_wanted_number_of_criteria_is_judged(branches: int) -> None:
    verdict, requests = run(answer=judge_of(CRITERIA), branches=branches)
    assert judged_criteria(verdict) == CRITERIA[:branches]
    assert f"Count:\n{branches}" in prompt_text(asking(requests, "criteria")[0])


def test_five_criteria_are_asked_for() -> None:
    assert "Count:\n5" in prompt_text(asking(run()[1], "criteria")[0])


def test_a_criterion_named_twice_is_judged_once() -> None:
    named = ["Brief", "  - brief", "correct", "BRIEF\n", ""]
    assert judged_criteria(run(answer=judge_of(named))[0]) == ["Brief", "correct"]


@pytest.mark.parametrize("named", [[], [""], [" ", "\n"]])
def test_without_a_criterion_the_case_is_unscored(named: list[str]) -> None:
    verdict, requests = run(answer=judge_of(named))
    assert (verdict.reason, len(requests)) == ("parse_failure", 3)


@pytest.mark.parametrize("named", [["-"], ["* ", "-"]])
def test_a_criterion_of_list_marks_alone_is_none(named: list[str]) -> None:
    assert run(answer=judge_of(named))[0].reason == "parse_failure"


@pytest.mark.parametrize("branches", [0, 11, 2.5, "two"])
def test_there_are_one_to_ten_branches(branches: Any) -> None:
    with pytest.raises(DeclarationError, match="branches: must be one of 1, 2"):
        build("fennec", branches=branches)


# guidelines and judgments


def test_each_judgment_shows_the_guideline_of_its_criterion() -> None:
    _, requests = run(order="one")
    judged = [prompt_text(request) for request in asking(requests, *PAIRED)]
    line = "1: level 1\n2: level 2\n3: level 3\n4: level 4\n5: level 5\nLook at: more is better"
    assert len(judged) == 2
    assert all(line in text for text in judged)


def test_a_guideline_sees_request_and_criterion_and_no_response() -> None:
    asked = [prompt_text(request) for request in run()[1] if "score_1" in answer_fields(request)]
    assert len(asked) == 2
    for text, criterion in zip(sorted(asked), sorted(CRITERIA[:2]), strict=True):
        assert criterion in text
        assert "Name a prime." in text
        assert "7 is prime" not in text


def test_a_guideline_describes_five_levels_whose_ends_are_the_paper_s() -> None:
    (asked, *_) = [request for request in run()[1] if "score_1" in answer_fields(request)]
    text = prompt_text(asked)
    assert "from 1 (not satisfactory at all) to 5 (extremely satisfactory)" in " ".join(text.split())
    assert "one to three sentences" in text
    assert asked.config.max_tokens == 900


def test_without_guideline_none_is_written_or_shown() -> None:
    verdict, requests = run(guideline=False)
    assert not any("score_1" in answer_fields(request) for request in requests)
    assert not any("Guideline:\n" in prompt_text(request) for request in requests)
    assert {finding.guideline for finding in verdict.findings} == {""}


def test_a_judgment_explains_each_score_before_it() -> None:
    properties = asking(run()[1], *PAIRED)[0].config.response_format["schema"]["properties"]
    assert list(properties) == ["explanation_a", "score_a", "explanation_b", "score_b", "comparison"]
    assert properties["score_a"]["enum"] == properties["score_b"]["enum"] == [1, 2, 3, 4, 5]


def test_both_orders_are_judged_and_mapped_back() -> None:
    verdict, _ = run()
    assert (verdict.winner, verdict.consistent, verdict.scores) == ("b", True, (1.0, 5.0))
    assert [finding.order for finding in verdict.findings] == ["ab", "ba", "ab", "ba"]
    assert {finding.scores for finding in verdict.findings} == {(1.0, 5.0)}


def test_explanations_use_the_case_s_own_letters() -> None:
    verdict, _ = run()
    assert verdict.findings[0].explanation == "(a) A got 1 (b) B got 5 z"
    assert verdict.findings[1].explanation == "(a) B got 1 (b) A got 5 z [shown in the other order: its A is b]"


@pytest.mark.parametrize(
    ("by_criterion", "winner"),
    [
        ({"correct": (5, 1), "brief": (2, 5)}, "a"),  # 7 : 6
        ({"correct": (5, 3), "brief": (2, 4)}, "tie"),  # 7 : 7
        ({"correct": (4, 3), "brief": (2, 5)}, "b"),  # 6 : 8
    ],
)
def test_scores_are_summed_over_criteria_and_the_larger_sum_wins(
    by_criterion: dict[str, tuple[int, int]], winner: str
) -> None:
    def answer(request: Request) -> Answer:
        if answer_fields(request) == PAIRED:
            scores = next(s for name, s in by_criterion.items() if f'Criterion:\n"{name}"' in prompt_text(request))
            return judge_of(scores=scores)(request)
        return judge_of(["correct", "brief"])(request)

    verdict, _ = run(answer=answer)
    sums = [sum(column) for column in zip(*by_criterion.values(), strict=True)]
    assert verdict.winner == winner
    assert verdict.scores == tuple(total / 2 for total in sums)


@pytest.mark.parametrize(("threshold", "winner"), [(0.0, "b"), (7.9, "b"), (8.0, "tie")])
def test_sums_that_differ_by_at_most_the_threshold_tie(threshold: float, winner: str) -> None:
    assert run(tie_threshold=threshold)[0].winner == winner  # two criteria, four points each


def test_by_probability_each_score_is_the_mean_of_one_token() -> None:
    verdict, requests = run(readout="probability")
    mean = (1 + 2 + 3 + 4 + 4 * 5) / 8
    assert all(finding.scores == pytest.approx((mean, mean)) for finding in verdict.findings)
    assert sum(request.config.max_tokens == 1 for request in requests) == 2 * 2 * 2
    assert verdict.findings[0].mass_read == pytest.approx(0.8)


def test_single_scores_each_text_alone() -> None:
    verdict, requests = run("fennec-single")
    assert (verdict.winner, verdict.scores, verdict.consistent) == ("b", (1.0, 5.0), None)
    assert not any("7 is prime" in prompt_text(r) and "<<<\n9\n>>>" in prompt_text(r) for r in requests)
    assert run("fennec-single", SINGLE)[0].scores == (5.0,)


def test_a_single_judgment_explains_its_score_before_it() -> None:
    _, requests = run("fennec-single", SINGLE)
    properties = asking(requests, "explanation", "score")[0].config.response_format["schema"]["properties"]
    assert list(properties) == ["explanation", "score"]
    assert properties["score"]["enum"] == [1, 2, 3, 4, 5]


def test_a_judge_of_pairs_refuses_a_single_text() -> None:
    with pytest.raises(DeclarationError, match="case 's' has 1 candidates, not two"):
        run(case=SINGLE)


def test_everything_is_asked_at_temperature_zero_the_correction_too() -> None:
    _, requests = run("fennec-correct", answer=judge_of(CRITERIA), keep=2, priority="asked")
    assert asking(requests, "corrected")
    assert {request.config.temperature for request in requests} == {0.0}


# which criteria are kept


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_given_order_keeps_the_first(keep: int) -> None:
    verdict, requests = run(answer=judge_of(CRITERIA), keep=keep)
    assert judged_criteria(verdict) == CRITERIA[:keep]
    assert asking(requests, "order") == []


@pytest.mark.parametrize("keep", [0, 4, 10])
def test_all_are_kept_when_there_are_no_more(keep: int) -> None:
    verdict, requests = run(answer=judge_of(CRITERIA), keep=keep, priority="asked")
    assert judged_criteria(verdict) == CRITERIA
    assert asking(requests, "order") == []


@pytest.mark.parametrize(
    ("order", "kept"),
    [
        ([4, 3, 2, 1], [3, 2]),
        ([2, 2, 2, 4], [1, 3]),  # repeats are passed over
        ([9, 0, -1, 3], [2, 0]),  # unknown numbers too; then the given order
        ([], [0, 1]),
        ([3], [2, 0]),
    ],
)
def test_an_asked_order_keeps_what_the_model_puts_first(order: list[int], kept: list[int]) -> None:
    verdict, requests = run(answer=judge_of(CRITERIA, order=order), keep=2, priority="asked")
    assert judged_criteria(verdict) == [CRITERIA[index] for index in kept]
    (asked,) = asking(requests, "order")
    assert "1. correct: is it a prime\n2. brief: no padding\n3. polite: kind words\n4. clear" in prompt_text(asked)
    assert "7 is prime" not in prompt_text(asked)


def test_a_learned_order_keeps_the_most_decisive() -> None:
    judge = build("fennec", keep=2, priority="learned")
    judge.priorities.shares = {"clear": 0.9, "polite": 0.2, "brief": 0.6}  # "correct" is unknown: one half
    lm = ScriptedLM(judge_of(CRITERIA))
    with dspy.context(lm=lm):
        assert judged_criteria(judge(PAIR)) == [CRITERIA[3], CRITERIA[1]]
        judge.set(keep=3)
        assert judged_criteria(judge(PAIR)) == [CRITERIA[3], CRITERIA[1], CRITERIA[0]]


def test_an_order_that_was_never_learned_is_refused() -> None:
    with pytest.raises(DeclarationError, match="priority=learned, but nothing was learned. Give --learn RUN"):
        run(answer=judge_of(CRITERIA), keep=2, priority="learned")


def test_correction_reads_just_the_criteria_that_are_kept() -> None:
    verdict, _ = run("fennec-correct", answer=judge_of(CRITERIA), keep=2)
    assert verdict.corrections[0].criteria == tuple(CRITERIA[:2])


# priorities


def judged(label: Any, *findings: Finding, **more: Any) -> Judged:
    return Judged(case_id="c", winner="a", findings=findings, label=label, **more)


def by(criterion: str, *scores: float, **more: Any) -> Finding:
    return Finding(criterion=criterion, scores=scores, **more)


A, B, TIE = (Winner(value=value) for value in ("a", "b", "tie"))


@pytest.mark.parametrize(
    ("criterion", "name"),
    [
        ("Accuracy: every fact is right", "accuracy"),
        ("  Accuracy : every fact", "accuracy"),
        ("Accuracy", "accuracy"),
        ("a: b: c", "a"),
        ("STRASSE: x", "strasse"),
        (": x", ""),
    ],
)
def test_the_name_of_a_criterion_ends_before_its_colon(criterion: str, name: str) -> None:
    assert criterion_head(criterion) == name


def test_priorities_are_shares_of_right_pairs_shrunk_to_one_half() -> None:
    learned = Priorities()
    learned.learn(
        [
            judged(A, by("Accuracy: x", 5, 1), by("style: y", 2, 4)),  # accuracy right, style wrong
            judged(B, by("accuracy: z", 1, 2), by("style: w", 3, 3)),  # accuracy right, style half
            judged(A, by("accuracy", 2, 2), by("length: l", 4, 1)),  # accuracy half, length right
            judged(B, by("accuracy: q", 4, 3)),  # accuracy wrong
            judged(TIE, by("accuracy: r", 4, 3), by("length: m", 3, 3)),  # a human tie: half each
        ]
    )
    assert learned.shares == pytest.approx(
        {
            "accuracy": (1 + 1 + 0.5 + 0 + 0.5 + 1) / (5 + 2),
            "style": (0 + 0.5 + 1) / (2 + 2),
            "length": (1 + 0.5 + 1) / (2 + 2),
        }
    )
    criteria = ["style: a", "unknown: b", "Length: c", "accuracy: d"]
    assert learned.sorted(criteria) == ["Length: c", "accuracy: d", "unknown: b", "style: a"]


def test_both_orders_of_a_criterion_count_as_one_pair() -> None:
    learned = Priorities()
    learned.learn([judged(A, by("accuracy", 5, 4, order="ab"), by("accuracy", 2, 4, order="ba"))])
    assert learned.shares == {"accuracy": pytest.approx((0 + 1) / 3)}  # 7 : 8 over both orders, people say a


def test_scores_of_people_decide_too() -> None:
    learned = Priorities()
    learned.learn([judged(Scores(values=(2, 5), lo=1, hi=5), by("accuracy", 1, 3))])
    assert learned.shares == {"accuracy": pytest.approx(2 / 3)}


def test_what_has_no_label_of_a_pair_teaches_nothing() -> None:
    learned = Priorities()
    learned.learn(
        [
            judged(None, by("accuracy", 1, 3)),
            Judged(case_id="c", winner=1, findings=(by("accuracy", 1, 3, 2),), label=Winner(value=2)),
            Judged(case_id="c", findings=(by("accuracy", 1),), label=Scores(values=(2,), lo=1, hi=5)),
        ]
    )
    assert learned.shares == {}


def test_unscored_verdicts_and_factors_teach_nothing() -> None:
    learned = Priorities()
    unscored = Judged(case_id="c", status="unscored", reason="refusal", label=A)
    learned.learn([unscored, judged(A, Finding(criterion="a factor", weight=3))])
    assert learned.shares == {}


def test_distributions_teach_as_scores_do() -> None:
    learned = Priorities()
    learned.learn([judged(B, Finding(criterion="accuracy", distribution={"a": 0.3, "b": 0.7}))])
    assert learned.shares == {"accuracy": pytest.approx(2 / 3)}


def test_equal_priorities_keep_the_given_order() -> None:
    learned = Priorities()
    learned.shares = {"b": 0.7, "a": 0.7}
    assert learned.sorted(["c", "b", "x", "a"]) == ["b", "a", "c", "x"]


def test_learning_anew_forgets_what_was_learned() -> None:
    learned = Priorities()
    for name in ("old", "new"):
        learned.learn([judged(A, by(name, 2, 1))])
    assert set(learned.shares) == {"new"}


def test_swapped_verdicts_teach_the_same() -> None:
    verdicts = [judged(A, by("x", 5, 1), by("y", 2, 4)), judged(B, by("x", 3, 3), by("y", 1, 2))]
    first, second = Priorities(), Priorities()
    first.learn(verdicts)
    second.learn([verdict.swapped() for verdict in verdicts])
    assert first.shares == second.shares


def test_a_judge_that_learned_judges_by_what_it_learned() -> None:
    judge = build("fennec", keep=1)
    judge.learn([judged(A, by("clear: x", 5, 1), by("brief: y", 1, 5))])
    assert judge.settings()["priority"] == "learned"
    lm = ScriptedLM(judge_of(CRITERIA))
    with dspy.context(lm=lm):
        assert judged_criteria(judge(PAIR)) == [CRITERIA[3]]


def test_what_was_learned_is_saved_and_loaded(tmp_path: Any) -> None:
    judge = build("fennec", keep=1)
    judge.learn([judged(A, by("clear: x", 5, 1), by("brief: y", 1, 5))])
    judge.save(tmp_path / "state.json")
    loaded = build("fennec")
    loaded.load(tmp_path / "state.json")
    assert loaded.priorities.shares == judge.priorities.shares == {"brief": 1 / 3, "clear": 2 / 3}
    assert loaded.settings() == judge.settings()


# corrections


def test_only_what_scored_low_is_corrected_and_from_those_judgments_alone() -> None:
    verdict, requests = run("fennec-correct")
    (correction,) = verdict.corrections
    assert (correction.candidate, correction.text) == (0, "7")
    assert correction.criteria == tuple(CRITERIA[:2])
    (asked,) = asking(requests, "corrected")
    judgments = [f"- {criterion} (score 1 of 5): The response got 1" for criterion in CRITERIA[:2]]
    assert "Judgments:\n<<<\n" + "\n".join(judgments) + "\n>>>" in prompt_text(asked)
    assert "<<<\n9\n>>>" in prompt_text(asked)
    assert "7 is prime" not in prompt_text(asked)


def test_the_temperature_of_the_correction_is_a_setting() -> None:
    settings: dict[str, Any] = {"correction.temperature": 0.4}
    _, requests = run("fennec-correct", **settings)
    assert {request.config.temperature for request in asking(requests, "corrected")} == {0.4}
    assert {request.config.temperature for request in requests if answer_fields(request) != {"corrected"}} == {0.0}


@pytest.mark.parametrize("index", [0, 1])
def test_the_correction_reads_nothing_of_the_other_response(index: int) -> None:
    def answer(request: Request) -> Answer:
        if answer_fields(request) != PAIRED:
            return judge_of(CRITERIA[:1])(request)
        nine_first = "Response B:\n<<<\n7" in prompt_text(request)
        about = ["NINE is said of {} here.", "SEVEN is said of {} here."]
        if not nine_first:
            about = about[::-1]
        rival = "The other response has a merit. Unlike Response {}, it is short."
        return {
            "explanation_a": f"{about[0].format('Response A')} {rival.format('B')}", "score_a": 2,
            "explanation_b": f"{about[1].format('Response B')} {rival.format('A')}", "score_b": 2,
            "comparison": "MERIT of B, and of A.",
        }  # fmt: skip

    _, requests = run("fennec-correct", answer=answer)
    read = prompt_text(asking(requests, "corrected")[index])
    own, rival = ("NINE", "SEVEN") if "<<<\n9\n>>>" in read else ("SEVEN", "NINE")
    assert f'- {CRITERIA[0]} (score 2 of 5): {own} is said of the response here."' in read
    assert read.count("(score") == 1
    assert not any(word in read for word in (rival, "MERIT", "merit", "Response A", "Response B", "other order"))


def test_each_response_is_corrected_by_the_judgments_that_showed_it_first() -> None:
    def answer(request: Request) -> Answer:
        if answer_fields(request) == PAIRED:
            return {"explanation_a": "first", "score_a": 2, "explanation_b": "second", "score_b": 4, "comparison": "c"}
        return judge_of(CRITERIA[:1])(request)

    verdict, requests = run("fennec-correct", answer=answer)
    assert [correction.candidate for correction in verdict.corrections] == [0, 1]
    assert all('(score 2 of 5): first"' in prompt_text(request) for request in asking(requests, "corrected"))
    one, _ = run("fennec-correct", answer=answer, order="one")
    assert [correction.candidate for correction in one.corrections] == [0]


@pytest.mark.parametrize(("bound", "corrected"), [(1, []), (2, [0]), (3, [0, 1]), (2.5, [0, 1])])
def test_the_bound_of_weak_scores_is_a_parameter(bound: float, corrected: list[int]) -> None:
    verdict, _ = run("fennec-correct", answer=judge_of(scores=(1, 2)), weak_below=bound)
    assert [correction.candidate for correction in verdict.corrections] == corrected


def test_scores_read_from_probabilities_are_corrected_without_a_reason() -> None:
    _, requests = run("fennec-correct", readout="probability", weak_below=5)
    read = prompt_text(asking(requests, "corrected")[0])
    assert f"- {CRITERIA[0]} (score 3.75 of 5)\n- " in read


@pytest.mark.parametrize(("score", "weak"), [(1, True), (2, True), (3, False), (4, False), (5, False)])
def test_a_score_below_3_is_weak(score: int, weak: bool) -> None:
    assert bool(run("fennec-correct", answer=judge_of(scores=(score, 5)))[0].corrections) == weak


def test_the_judgments_of_other_criteria_are_not_shown_to_the_correction() -> None:
    def answer(request: Request) -> Answer:
        strict = 'Criterion:\n"brief"' in prompt_text(request)
        return judge_of(["correct", "brief"], scores=(2 if strict else 4, 5))(request)

    verdict, requests = run("fennec-correct", answer=answer)
    assert verdict.corrections[0].criteria == ("brief",)
    (asked,) = asking(requests, "corrected")
    assert "- brief (score 2 of 5)" in prompt_text(asked)
    assert "correct (score" not in prompt_text(asked)


def test_both_texts_can_be_weak() -> None:
    verdict, _ = run("fennec-correct", answer=judge_of(scores=(1, 2)))
    assert [correction.candidate for correction in verdict.corrections] == [0, 1]


def test_a_correction_tells_the_mean_score_before_and_after_it() -> None:
    def answer(request: Request) -> Answer:
        if answer_fields(request) == {"explanation", "score"}:
            new = "a better 7" in prompt_text(request)
            brief = 'Criterion:\n"brief' in prompt_text(request)
            return {"explanation": "", "score": (4 if brief else 5) if new else (1 if brief else 2)}
        return judge_of(corrected="a better 7")(request)

    (correction,) = run("fennec-correct", answer=answer)[0].corrections
    assert (correction.before, correction.after) == (1.5, 4.5)


def test_a_correction_need_not_be_judged() -> None:
    verdict, requests = run("fennec-correct", rejudge=False)
    assert [(c.before, c.after) for c in verdict.corrections] == [(None, None)]
    assert asking(requests, "explanation", "score") == []


@pytest.mark.parametrize("single", [False, True])
def test_a_corrected_text_is_judged_by_the_same_criteria(single: bool) -> None:
    _, requests = run("fennec-correct", answer=judge_of(corrected="a better 7"), single=single)
    new = [prompt_text(r) for r in asking(requests, "explanation", "score") if "a better 7" in prompt_text(r)]
    assert len(new) == 2
    assert {criterion for criterion in CRITERIA if any(criterion in text for text in new)} == set(CRITERIA[:2])


def test_a_fence_that_the_model_copied_is_not_part_of_the_correction() -> None:
    verdict, _ = run("fennec-correct", answer=judge_of(corrected="<<<\n7, of course\n>>>"))
    assert verdict.corrections[0].text == "7, of course"


@pytest.mark.parametrize("empty", ["", " ", "<<<\n\n>>>"])
def test_an_empty_correction_is_asked_for_again(empty: str) -> None:
    verdict, requests = run("fennec-correct", answer=judge_of(corrected=empty))
    assert (verdict.reason, len(asking(requests, "corrected"))) == ("parse_failure", 3)
    tries = [(request.config.temperature, request.config.top_p) for request in asking(requests, "corrected")]
    assert tries == [(0.0, None), (0.7, 0.95), (0.7, 0.95)]


def test_corrections_turn_over_with_the_pair() -> None:
    verdict, _ = run("fennec-correct")
    swapped, _ = run("fennec-correct", PAIR.swapped())
    assert swapped.corrections == verdict.swapped().corrections
    assert swapped.corrections[0].candidate == 1


def test_fennec_without_correction_corrects_nothing() -> None:
    assert run()[0].corrections == run("fennec-single")[0].corrections == ()


# roles


def test_criteria_and_their_order_are_one_role() -> None:
    judge = build("fennec").bind("criteria=openai/c@http://127.0.0.1:9/v1,judge=openai/j@http://127.0.0.1:9/v1")
    assert judge.find_criteria.model == judge.rank_criteria.model == "openai/c@http://127.0.0.1:9/v1"
    assert {judge.write_guideline.model, judge.judge_pair.model, judge.rewrite.model} == {
        "openai/j@http://127.0.0.1:9/v1"
    }
