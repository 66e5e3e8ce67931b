"""What is made better: figures of runs, one case's score, and the feedback that says why people saw it differently."""

import itertools
import math

import dspy
import pytest

from dicast.data import Case, Finding, Judged, Scores, Usage, Verdict, Winner
from dicast.errors import DeclarationError
from dicast.evaluation.run_arrays import run_arrays
from dicast.judging.delimiters import Fence
from dicast.optimizers.cost_account import cost_per_verdict
from dicast.optimizers.objective import OBJECTIVES, objective_for
from dicast.optimizers.prompts.feedback import summary
from dicast.optimizers.prompts.metric import example, is_right, metric, score
from dicast.signatures.direct import Prefer

ACCURACY, LOG_LOSS = OBJECTIVES.find("accuracy"), OBJECTIVES.find("log-loss")


def pair(label="a", votes=(), **more):
    return Case(
        id="p",
        query="Name a prime.",
        candidates=[{"text": "seven"}, {"text": "nine"}],
        label=None if label is None else {"value": label},
        votes=[{"value": vote} for vote in votes],
        **more,
    )


def said(winner="a", ab=None, ba=None, **more):
    orders = {order: letter for order, letter in (("ab", ab), ("ba", ba)) if letter}
    consistent = None if len(orders) < 2 else ab == ba
    return Verdict(case_id="p", winner=winner, order_winners=orders, consistent=consistent, **more)


def text(value, lo=1, hi=5, **more):
    return Case(id="t", query="q", candidates=[{"text": "x"}], label={"values": [value], "lo": lo, "hi": hi}, **more)


def run(*rows):
    """RunArrays of (case, verdict) rows, each with an id of its own."""
    return run_arrays(
        Judged.of(case.model_copy(update={"id": str(number)}), verdict.model_copy(update={"case_id": str(number)}))
        for number, (case, verdict) in enumerate(rows)
    )


def test_both_orders_accuracy_wants_both_orders_and_accuracy_the_merged_verdict():
    rows = [
        (pair("a"), said("a", "a", "a")),
        (pair("a"), said("a", "a", "b")),
        (pair("b"), said("a", "a", "a")),
        (pair("tie"), said("tie", "tie", "tie")),
    ]
    assert OBJECTIVES.find("accuracy").value(run(*rows)) == 3 / 4
    assert OBJECTIVES.find("both-orders accuracy").value(run(*rows)) == 2 / 4
    assert OBJECTIVES.find("agreement") is OBJECTIVES.find("both-orders accuracy")  # its name in earlier recipes
    assert OBJECTIVES.find("kappa").value(run(*rows)) == pytest.approx(
        (3 / 4 - 7 / 16) / (1 - 7 / 16)
    )  # by hand: 7/16 by chance


def test_agreement_is_of_what_each_order_said_and_not_of_what_a_head_made_of_it():
    rows = [
        (pair("tie"), said("tie", "a", "a")),  # the head called a tie what both orders call a
        (pair("a"), said("tie", "a", "a")),
        (pair("a"), said("a", "b", "b")),
        (pair("a"), said("a")),  # read one by one: there are no orders
    ]
    rows = [(case, verdict.model_copy(update={"consistent": True})) for case, verdict in rows]
    assert [OBJECTIVES.find("both-orders accuracy").value(run(row)) for row in rows] == [0, 1, 0, 1]


def test_losses_are_of_the_label_where_it_contradicts_the_votes():
    given = {"a": 0.5, "b": 0.25, "tie": 0.25}
    third_persons = (pair("b", votes="aaa"), said("a", distribution=given))
    follows = (pair("a", votes="aab"), said("a", distribution=given))
    assert LOG_LOSS.value(run(third_persons)) == pytest.approx(math.log(4))
    of_votes = 2 / 3 * math.log(2) + 1 / 3 * math.log(4)
    assert LOG_LOSS.value(run(third_persons, follows)) == pytest.approx((math.log(4) + of_votes) / 2)
    assert OBJECTIVES.find("brier").value(run(third_persons)) == pytest.approx(0.5**2 + 0.75**2 + 0.25**2)
    unlabelled = (pair(None, votes="b"), said("a", distribution=given))
    assert LOG_LOSS.value(run(third_persons, unlabelled)) == pytest.approx(math.log(4))


def test_losses_are_of_the_votes_and_of_the_label_where_nobody_voted():
    given = {"a": 0.5, "b": 0.25, "tie": 0.25}
    voted = run((pair("a", votes="aaab"), said("a", distribution=given)))
    assert LOG_LOSS.value(voted) == pytest.approx(-(0.75 * math.log(0.5) + 0.25 * math.log(0.25)))
    assert OBJECTIVES.find("brier").value(voted) == pytest.approx(0.25**2 + 0 + 0.25**2)
    alone = run((pair("a"), said("a", distribution=given)))
    assert LOG_LOSS.value(alone) == pytest.approx(math.log(2))
    assert OBJECTIVES.find("brier").value(alone) == pytest.approx(0.5**2 + 2 * 0.25**2)


def test_ndcg_is_of_the_right_answers_place_by_the_judges_probabilities():
    case = Case(id="c", query="q", candidates=[{"text": t} for t in "wxyz"], label={"value": 2})
    shares = {"0": 0.5, "1": 0.1, "2": 0.3, "3": 0.1}
    second = Verdict(case_id="c", winner=0, scores=(5, 1, 3, 1), distribution=shares)
    assert OBJECTIVES.find("ndcg").value(run((case, second))) == pytest.approx(0.6309, abs=1e-4)  # 1 / log2(3)
    assert score(case, second, OBJECTIVES.find("ndcg")) == pytest.approx(2 / 3)
    assert score(case, second.model_copy(update={"scores": (1, 0, 4, 0)}), OBJECTIVES.find("ndcg")) == 1.0
    assert score(case, second.model_copy(update={"scores": (1, 1, 0, 1)}), OBJECTIVES.find("ndcg")) == 0.0


def test_correlations_and_squared_errors_of_scores():
    rows = [(text(human), Verdict(case_id="t", scores=(judge,))) for human, judge in ((1, 2), (2, 1), (4, 4), (5, 5))]
    assert OBJECTIVES.find("kendall").value(run(*rows)) == pytest.approx(4 / 6)  # 5 pairs in order, 1 not
    assert OBJECTIVES.find("spearman").value(run(*rows)) == pytest.approx(0.8)
    assert OBJECTIVES.find("mse").value(run(*rows)) == pytest.approx(0.5)
    assert OBJECTIVES.find("pearson").value(run(*rows)) == pytest.approx(0.9)


@pytest.mark.parametrize("name", ["kendall", "spearman", "pearson"])
def test_a_judge_that_always_says_the_same_is_at_chance(name):
    rows = [(text(human), Verdict(case_id="t", scores=(3,))) for human in (1, 2, 5)]
    assert OBJECTIVES.find(name).value(run(*rows)) == 0.0
    assert OBJECTIVES.find("kappa").value(run((pair("a"), said("a")), (pair("b"), said("a")))) == 0.0
    alike = [(text(3), Verdict(case_id="t", scores=(judge,))) for judge in (1, 2, 5)]
    assert math.isnan(OBJECTIVES.find(name).value(run(*alike)))


@pytest.mark.parametrize("objective", [*OBJECTIVES], ids=OBJECTIVES.names())
def test_a_run_without_a_verdict_has_no_figure_and_never_wins(objective):
    empty = run((pair("a"), Verdict(case_id="p", status="unscored", reason="refusal")))
    assert math.isnan(objective.value(empty))
    assert not objective.is_better(math.nan, 0.1)
    assert objective.is_better(0.1, math.nan)
    assert not objective.is_better(0.5, 0.5)
    assert objective.is_better(0.6, 0.5) == objective.greater_is_better


def test_better_verdicts_make_every_figure_of_winners_better():
    good = run(*[(pair(side), said(side, side, side, distribution=shares(side, 0.9))) for side in "abab"])
    bad = run(*[(pair(side), said("a", "a", "b", distribution=shares("a", 0.5))) for side in "abab"])
    for objective in OBJECTIVES:
        if "pairs" in objective.kinds:
            assert objective.is_better(objective.value(good), objective.value(bad)), objective.name


def shares(letter, p):
    return {letter: p} | dict.fromkeys({"a", "b", "tie"} - {letter}, (1 - p) / 2)


def test_each_case_kind_case_has_an_objective_and_kinds_do_not_mix():
    choice = Case(id="c", query="q", candidates=[{"text": t} for t in "xyz"], label={"value": 2})
    assert [case.kind for case in (pair(), text(3), choice)] == ["pairs", "texts", "choices"]
    assert [objective_for(None, [case]).name for case in (pair(), text(3), choice)] == [
        "accuracy",
        "spearman",
        "accuracy",
    ]
    with pytest.raises(DeclarationError, match="the cases are pairs and texts"):
        objective_for(None, [pair(), text(3)])
    with pytest.raises(DeclarationError, match="the cases are no case"):
        objective_for(None, [])


def test_cost_counts_what_the_cache_answered_as_well():
    usage = Usage(calls=3, cached=1, prompt_tokens=270, completion_tokens=30)
    judged = run((pair(), said(usage=usage)), (pair(), said()))
    assert cost_per_verdict(judged) == 2.0
    assert cost_per_verdict(judged, "tokens") == 200.0
    assert math.isnan(cost_per_verdict(run((pair(), said(usage=Usage(cached=4)))), "tokens"))
    assert cost_per_verdict(run((pair(), said()))) == cost_per_verdict(run((pair(), said())), "tokens") == 0.0


@pytest.mark.parametrize(
    ("verdict", "wanted"),
    [
        (said("a", "a", "a"), 1.0),
        (said("a"), 1.0),
        (said("a", "a", "b"), 0.75),
        (said("b", "a", "b"), 0.25),
        (said("b", "b", "b"), 0.0),
        (Verdict(case_id="p", status="unscored", reason="parse_failure"), 0.0),
        (said("a", "a", "a", status="abstained"), 0.0),
    ],
)
def test_a_pairs_score_rewards_both_orders(verdict, wanted):
    assert score(pair("a"), verdict, ACCURACY) == wanted


def test_no_pair_whose_orders_disagree_scores_full_or_becomes_an_example():
    for objective, label, winner, p in itertools.product(OBJECTIVES, "ab", "ab", (0.2, 0.6, 1.0)):
        verdict = said(winner, "a", "b", distribution=shares(winner, p))
        assert score(pair(label), verdict, objective) < 1
        assert not is_right(pair(label), verdict)


def test_probabilities_score_best_where_they_are_peoples_shares():
    case = pair("a", votes="aaab")
    scores = {p: score(case, said("a", distribution={"a": p, "b": 1 - p}), LOG_LOSS) for p in (0.5, 0.7, 0.75, 0.8, 1)}
    assert max(scores, key=lambda p: scores[p]) == 0.75
    assert scores[0.75] == 1.0


def test_a_texts_score_is_one_less_the_distance_in_the_scales_range():
    given = Verdict(case_id="t", scores=(75,))
    assert score(text(4), given, OBJECTIVES.find("spearman"), scale=(0, 100)) == 1.0
    assert score(text(2), given, OBJECTIVES.find("spearman"), scale=(0, 100)) == 0.5
    assert score(text(4), Verdict(case_id="t", scores=(3.5,)), OBJECTIVES.find("mse")) == 0.875
    assert score(text(1), given, OBJECTIVES.find("mse")) == 0.0
    assert is_right(text(4), Verdict(case_id="t", scores=(4.375,)))
    assert not is_right(text(4), Verdict(case_id="t", scores=(4.5,)))


def test_while_demos_are_bootstrapped_the_metric_decides_and_says_nothing():
    measured, gold = metric(ACCURACY), example(pair("a"))
    right, wrong = (dspy.Prediction(verdict=said(winner, winner, winner)) for winner in "ab")
    assert measured(gold, right, []) is True
    assert measured(gold, wrong, []) is False
    result = measured(gold, wrong, [], "prefer", [(dspy.Predict(Prefer), {}, wrong)])  # as GEPA asks for feedback
    assert (result.score, measured(gold, right).score) == (0.0, 1.0)
    assert result.feedback.startswith("People prefer A.")


def test_feedback_says_how_and_why_people_saw_it_differently():
    case = pair("b", votes=["b", "b", "tie"], meta={"explanation": "Nine is not prime.", "k": 1})
    findings = (
        Finding(criterion="overall", order="ab", distribution={"a": 0.8, "b": 0.2}, explanation="Odd."),
        Finding(criterion="overall", order="ba", distribution={"a": 0.3, "b": 0.7}),
    )
    verdict = said("a", "a", "b", distribution={"a": 0.6, "b": 0.3, "tie": 0.1}, findings=findings)
    assert metric(ACCURACY)(example(case), dspy.Prediction(verdict=verdict)).feedback.splitlines() == [
        "People prefer B. Their votes: B 67%, a tie 33%.",
        "The judge said A (A 60%, B 30%, a tie 10%), which is wrong.",
        "With A shown first it said A, with B shown first B: the place decided, not the texts.",
        "- overall, A shown first: A 80%, B 20%. Its words: Odd.",
        "- overall, B shown first: A 30%, B 70%.",
        'A person wrote: "Nine is not prime."',
    ]


def to_stage(case, verdict, **inputs):
    predictor = dspy.Predict(Prefer)
    return metric(ACCURACY)(
        example(case), dspy.Prediction(verdict=verdict), [], "prefer", [(predictor, inputs, dspy.Prediction())]
    ).feedback


def test_a_stages_feedback_speaks_of_what_it_was_shown_and_asked():
    fence = Fence(["seven", "nine"])
    findings = [
        Finding(criterion=criterion, order=order, scores=scores)
        for criterion, order, scores in (("truth", "ab", (5, 1)), ("truth", "ba", (4, 2)), ("style", "ba", (3, 3)))
    ]
    verdict = said("a", "a", "a", findings=findings)
    result = to_stage(pair("a"), verdict, response_a=fence("nine"), response_b=fence("seven"), criterion="truth")
    assert result.splitlines() == [
        "People prefer B.",  # a was shown as B
        "The judge said B, which is right.",
        "- truth, A shown first: A 2, B 4.",
    ]
    result = to_stage(pair("a"), verdict, criterion="style")
    assert [line for line in result.splitlines() if line.startswith("-")] == ["- style, B shown first: A 3, B 3."]


def test_the_feedback_to_a_stage_that_saw_one_response_of_a_pair_names_it():
    fence = Fence(["seven", "nine"])
    alone = Finding(criterion="overall", scores=(2.5, 4))
    both = Finding(criterion="overall", order="ab", distribution={"a": 0.2, "b": 0.8})
    result = to_stage(pair("a"), said("b", findings=(both, alone)), response=fence("nine"))
    assert result.startswith("The response shown is B of a pair. People prefer A.")
    assert [line for line in result.splitlines() if line.startswith("-")] == ["- overall: A 2.5, B 4."]


def test_a_judgment_without_a_verdict_is_described_with_its_reason_and_the_form_that_was_wanted():
    failed = Verdict(case_id="p", status="unscored", reason="parse_failure", detail="the model answered 'hm'")
    result = to_stage(pair("a"), failed)
    assert "The judge gave no verdict (parse failure): the model answered 'hm'" in result
    assert 'The answer must have just this form: "better": "A" | "B".' in result
    refused = Verdict(case_id="p", status="unscored", reason="refusal", detail="declined")
    assert "must have" not in to_stage(pair("a"), refused)


def test_feedback_on_texts_and_choices():
    case = text(2, votes=[{"values": [v], "lo": 1, "hi": 5} for v in (1, 3)])
    result = metric(OBJECTIVES.find("mse"))(example(case), dspy.Prediction(verdict=Verdict(case_id="t", scores=(4.1,))))
    assert result.feedback == "People gave 2 on the scale 1 to 5. Their scores: 1, 3.\nThe judge gave 4.1."
    choice = Case(id="c", query="q", candidates=[{"text": t} for t in "xyz"], label={"value": 2})
    verdict = Verdict(case_id="c", winner=0, certainty=0.5)
    result = metric(ACCURACY)(example(choice), dspy.Prediction(verdict=verdict))
    assert result.feedback == "People prefer option 2.\nThe judge said option 0 (50% sure), which is wrong."


def test_an_example_is_printed_short_and_with_what_people_said():
    case = pair("b", meta={"reason": "Nine is not prime."})
    long = case.model_copy(update={"query": "word " * 5000})
    assert repr(example(case)) == summary(case)
    assert summary(case) == (
        'request: "Name a prime."; response A: "seven"; response B: "nine"; People prefer B.; '
        'A person wrote: "Nine is not prime."'
    )
    assert len(repr([example(long)])) < 1000
    assert example(case).inputs().keys() == ["case"]


@pytest.mark.parametrize("label", [Winner(value="a"), Scores(values=(4, 2), lo=1, hi=5)])
def test_two_scores_of_a_pair_are_a_label_as_good_as_a_letter(label):
    case = pair().model_copy(update={"label": label})
    assert score(case, said("a", "a", "a"), ACCURACY) == 1.0
    assert score(case, said("a", "a", "a", distribution={"a": 1.0}), LOG_LOSS) == 1.0
