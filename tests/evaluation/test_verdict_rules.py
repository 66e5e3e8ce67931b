"""Two orders as one verdict, and verdicts without an answer: every figure under every rule."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from runs import IDENTITY, distinct, fraction, measure, pair, unscored, value
from sklearn import metrics

from dicast.data import Judged
from dicast.errors import DeclarationError
from dicast.evaluation import Evaluation, compare, evaluate, run_arrays
from dicast.evaluation.verdict_rules import NO_ANSWER, VerdictRules, merged
from dicast.stats.resampling import proportion

LETTERS = ("a", "b", "tie")


def evaluated(verdicts: list[Judged], **rules: Any) -> Evaluation:
    return evaluate(run_arrays(verdicts, rules=VerdictRules(**rules)), IDENTITY)


def orders(human: str | None, first: str | None, second: str | None, **fields: Any) -> Judged:
    """A pair whose orders have these winners; merged by the sum, as by default."""
    winners = {order: winner for order, winner in (("ab", first), ("ba", second)) if winner}
    if not winners:
        return unscored(human).model_copy(update=fields)
    if len(winners) == 1:
        return pair(human, *winners.values(), order_winners=winners, **fields)
    return pair(human, merged(first, second, None), first == second, order_winners=winners, **fields)  # type: ignore[arg-type]


def sample(n: int = 60, labels: tuple[str, ...] = LETTERS) -> list[Judged]:
    draw = random.Random(3)
    rows = [[draw.choice(labels), draw.choice(LETTERS), draw.choice(LETTERS)] for _ in range(n)]
    return distinct([orders(*row, group=str(at // 3)) for at, row in enumerate(rows)])


def test_the_sum_is_that_of_the_letters_and_a_tie_rule_wants_both() -> None:
    for first, second in product(LETTERS, LETTERS):
        total = (first == "a") + (second == "a") - (first == "b") - (second == "b")
        assert merged(first, second, "sum") == ("a" if total > 0 else "b" if total < 0 else "tie")  # type: ignore[arg-type]
        assert merged(first, second, "tie") == (first if first == second else "tie")  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", [{"merge": "mean"}, {"unreadable": "half"}])
def test_a_rule_with_another_name_is_refused(rules: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match="is not known. Give"):
        VerdictRules(**rules)


def test_with_half_every_figure_is_that_of_the_single_orders() -> None:
    run = sample()
    found = evaluated(run, merge="half")
    human = [judged.human_winner for judged in run for _ in range(2)]
    judge = [winner for judged in run for winner in judged.order_winners.values()]
    hits = np.array(human) == np.array(judge)
    assert value(found, "accuracy") == hits.mean() == value(found, "mean of orders")
    assert value(found, "kappa") == pytest.approx(metrics.cohen_kappa_score(human, judge), abs=1e-12)
    assert value(found, "MCC") == pytest.approx(metrics.matthews_corrcoef(human, judge), abs=1e-12)
    assert value(found, "macro F1") == pytest.approx(metrics.f1_score(human, judge, average="macro"), abs=1e-12)
    assert found.confusion is not None
    counts = metrics.confusion_matrix(human, judge, labels=LETTERS)
    assert found.confusion.counts == tuple(map(tuple, (counts / 2).tolist()))
    assert sum(row.support for row in found.labels) == len(run)
    ties = measure(found, "ties")
    assert ties.value == pytest.approx(np.mean(np.array(judge) == "tie"))
    for name in ("accuracy", "mean of orders", "kappa", "ties", "coverage", "both-orders accuracy"):
        assert (measure(found, name).n, measure(found, name).groups) == (60, 20), name
    interval = proportion(hits, [judged.group for judged in run for _ in range(2)])
    assert (measure(found, "accuracy").low, measure(found, "accuracy").high) == (interval.low, interval.high)


def test_with_half_a_warning_of_few_groups_counts_cases() -> None:
    in_groups = [judged.model_copy(update={"group": str(at // 4)}) for at, judged in enumerate(sample())]
    assert measure(evaluated(in_groups, merge="half"), "accuracy").warning == (
        "few effective groups: the 60 labelled cases are in 15 groups. Below 20 an interval holds the truth less "
        "surely; label more groups."
    )
    alone = [judged.model_copy(update={"group": None}) for judged in sample(12)]
    for rules in ({}, {"merge": "half"}):
        accuracy = measure(evaluated(alone, **rules), "accuracy")
        assert (accuracy.n, accuracy.groups, accuracy.warning) == (12, None, "")


def test_half_changes_nothing_of_a_judge_that_was_asked_in_one_order() -> None:
    run = distinct([pair(*letters) for letters in [("a", "a"), ("b", "b"), ("a", "tie"), ("tie", "b")] * 5])
    found = evaluated(run, merge="half")
    assert found == evaluated(run)
    assert measure(found, "accuracy").low == pytest.approx(proportion([1, 1, 0, 0] * 5).low)


def test_where_both_orders_agree_every_rule_gives_the_same_figures() -> None:
    run = [judged for judged in sample(200) if judged.consistent]
    plain = evaluated(run)
    for merge in ("tie", "sum"):
        assert evaluated(run, merge=merge) == plain
    half = evaluated(run, merge="half")
    for name in ("accuracy", "kappa", "alpha", "MCC", "weighted kappa", "macro F1", "above majority", "ties"):
        assert value(half, name) == pytest.approx(value(plain, name), abs=1e-12), name
        assert measure(half, name).n == measure(plain, name).n
    assert half.confusion == plain.confusion
    assert half.labels == plain.labels


def test_the_sides_exchanged_give_the_same_figures_under_every_rule() -> None:
    run = [
        *sample(40, ("a", "b")),
        *distinct([orders("a", None, "b"), orders("b", "b", None), orders("a", None, None)]),
    ]
    run = distinct(run)
    for merge, unreadable in product((None, "tie", "sum", "half"), ("out", "wrong")):
        one, other = (
            evaluated(side, merge=merge, unreadable=unreadable) for side in (run, [judged.swapped() for judged in run])
        )
        for name in (
            "accuracy",
            "mean of orders",
            "both-orders accuracy",
            "consistency",
            "macro F1",
            "kappa",
            "above chance",
        ):
            assert value(one, name) == pytest.approx(value(other, name), abs=1e-12), (name, merge, unreadable)
        assert value(one, "order a, b") == value(other, "order b, a")


@pytest.mark.parametrize("merge", [None, "tie", "sum", "half"])
@pytest.mark.parametrize("unreadable", ["out", "wrong"])
def test_a_case_of_which_one_order_could_be_read_is_the_same_whichever_failed(merge: Any, unreadable: Any) -> None:
    readable = sample(30, ("a", "b"))
    first = [orders("a", "a", None) if n % 3 else orders("b", "a", None) for n in range(15)]
    second = [orders("a", None, "a") if n % 3 else orders("b", None, "a") for n in range(15)]
    one, other = (
        evaluated(distinct([*readable, *unread]), merge=merge, unreadable=unreadable) for unread in (first, second)
    )
    assert fraction(one, "coverage") == fraction(other, "coverage") == (45, 45)
    for name in ("accuracy", "mean of orders", "both-orders accuracy", "consistency", "kappa", "macro F1"):
        assert measure(one, name) == measure(other, name)


def test_unreadable_verdicts_count_as_wrong_in_every_accuracy() -> None:
    # both right, one right; first order unread, second right; second unread, first wrong; nothing read
    run = distinct([orders("a", "a", "a"), orders("a", "a", "b"), orders("b", None, "b"), orders("a", "b", None),
                    orders("a", None, None)])  # fmt: skip
    out, wrong = evaluated(run), evaluated(run, unreadable="wrong")
    assert fraction(out, "accuracy") == (2, 4)  # rows 1 and 3; row 2 is a tie
    assert fraction(wrong, "accuracy") == (2, 5)
    assert value(out, "mean of orders") == 3 / 4  # rows 1 and 2
    assert value(wrong, "mean of orders") == 4 / 10
    assert (value(wrong, "order a, b"), value(wrong, "order b, a")) == (2 / 5, 2 / 5)
    assert (fraction(out, "both-orders accuracy"), fraction(wrong, "both-orders accuracy")) == ((1, 2), (1, 5))
    assert (fraction(out, "consistency"), fraction(wrong, "consistency")) == ((1, 2), (1, 5))
    assert value(evaluated(run, unreadable="wrong", merge="half"), "accuracy") == 4 / 10
    assert fraction(evaluated(run, unreadable="wrong", merge="tie"), "accuracy") == (1, 5)
    assert fraction(wrong, "coverage") == (4, 5)
    assert (wrong.scored, wrong.unscored) == (4, {"parse_failure": 1})
    assert wrong.confusion is not None
    assert wrong.confusion.labels == (*LETTERS, NO_ANSWER)


def test_what_the_judge_was_never_asked_is_not_wrong() -> None:
    run = distinct([pair("a", "a"), unscored("a"), unscored("b", "refusal"), unscored("a", "infrastructure"),
                    unscored("a", "budget"), pair("a", status="abstained")])  # fmt: skip
    assert fraction(evaluated(run, unreadable="wrong"), "accuracy") == (1, 3)
    assert fraction(evaluated(run), "accuracy") == (1, 1)


def test_a_label_that_only_the_merge_made_is_no_label_of_macro_f1() -> None:
    run = distinct([orders(human, "a", second) for human, second in (("a", "a"), ("a", "b"), ("b", "b"), ("b", "a"))])
    # merged: a, tie, tie, a: F1 of a is 1/2, of b 0
    assert value(evaluated(run), "macro F1") == 0.25


def test_labels_that_are_only_places_are_compared_with_chance() -> None:
    placed = sample(60, ("a", "b"))
    found = evaluated(placed)
    assert (value(found, "chance"), found.measure("majority")) == (0.5, None)
    accuracy, lead = measure(found, "accuracy"), measure(found, "above chance")
    assert (lead.value, lead.low, lead.high) == tuple(
        end - 0.5 for end in (accuracy.value, accuracy.low, accuracy.high)
    )
    mean, above = measure(found, "mean of orders"), measure(found, "mean of orders above chance")
    assert (above.value, above.low, above.n) == (mean.value - 0.5, mean.low - 0.5, 60)
    with_ties = evaluated([*placed, pair("tie", "a", True, case_id="z")])
    assert with_ties.measure("chance") is None
    assert with_ties.measure("majority") is not None
    of_systems = [judged.model_copy(update={"systems": ("old", "new")}) for judged in placed]
    assert evaluated(of_systems).measure("majority") is not None  # "a" is the old system there


def test_a_judge_that_always_names_one_place_is_not_better_than_the_baselines() -> None:
    draw = random.Random(4)
    labels = ["a" if draw.random() < 0.7 else "b" for _ in range(400)]
    one_order = evaluated(distinct([pair(label, "a") for label in labels]))
    assert measure(one_order, "above chance").low > 0.1
    assert value(one_order, "above majority") == 0
    both = evaluated(distinct([orders(label, "a", "b") for label in labels]))
    assert both.measure("majority") is None
    assert value(both, "mean of orders above chance") == 0


def test_a_choice_of_several_is_compared_with_one_of_them_at_random() -> None:
    run = list[Judged]()
    for n, options in enumerate((3, 3, 4, 6)):
        run.append(Judged(case_id=str(n), winner=0, label={"value": n % 3}, options=options))
    assert value(evaluated(run), "chance") == pytest.approx((2 / 3 + 1 / 4 + 1 / 6) / 4)
    unknown = [judged.model_copy(update={"options": None}) for judged in run]
    assert evaluated(unknown).measure("majority") is not None


def test_a_judge_that_guesses_is_at_chance_by_the_mean_of_the_orders() -> None:
    draw = random.Random(1)
    run = distinct([orders(*(draw.choice("ab") for _ in range(3))) for _ in range(2000)])
    found = evaluated(run)
    assert value(found, "accuracy") == pytest.approx(0.25, abs=0.03)  # ties by the merge alone
    assert value(found, "mean of orders") == pytest.approx(0.5, abs=0.03)


def test_compare_counts_by_halves_in_both_runs() -> None:
    first, second = sample(60), sample(60)[::-1]
    shuffled = [
        judged.model_copy(update={"order_winners": other.order_winners, "winner": other.winner,
                                  "consistent": other.consistent})
        for judged, other in zip(first, second, strict=True)
    ]  # fmt: skip
    runs = {
        rule: [run_arrays(side, rules=VerdictRules(rule)) for side in (first, shuffled)] for rule in ("half", "sum")
    }
    (half,) = compare([("one", runs["half"][0]), ("other", runs["half"][1])])
    test = next(test for test in half.tests if test.name == "accuracy")
    means = [value(evaluate(run, IDENTITY), "accuracy") for run in runs["half"]]
    assert test.difference.value == pytest.approx(means[0] - means[1])
    assert (test.difference.n, test.difference.groups) == (60, 20)
    same = next(test for test in half.tests if test.name == "same verdict")
    pairs = [
        one.order_winners[order] == other.order_winners[order]
        for one, other in zip(first, shuffled, strict=True) for order in ("ab", "ba")
    ]  # fmt: skip
    assert same.difference.value == pytest.approx(float(np.mean(pairs)))
    assert same.difference.n == 60


def test_unread_cases_are_losses_in_a_comparison_where_they_are_wrong() -> None:
    read = distinct([pair("a", "a") for _ in range(20)])
    unread = [unscored("a").model_copy(update={"case_id": judged.case_id}) for judged in read[:8]] + read[8:]
    for unreadable, difference, n in (("out", 0.0, 12), ("wrong", 0.4, 20)):
        rules = VerdictRules(None, unreadable)  # type: ignore[arg-type]
        (found,) = compare([("one", run_arrays(read, rules=rules)), ("other", run_arrays(unread, rules=rules))])
        test = next(test for test in found.tests if test.name == "accuracy")
        assert test.difference.value == pytest.approx(difference)
        assert test.difference.n == n


def test_the_notices_name_half_read_cases_and_ties_of_the_merge() -> None:
    run = distinct([*sample(30, ("a", "b")), orders("a", "a", None)])
    half_read, ties = evaluated(run).notices
    assert half_read == "1 case has an answer in one of the two orders only, which is the verdict there"
    assert ties.endswith("compare the mean of orders, not the accuracy, with chance")
    assert len(evaluated(run, merge="half").notices) == 1
    assert evaluated(sample(30)).notices == ()


def test_the_mean_of_orders_does_not_lead_where_few_cases_have_both() -> None:
    read = [orders("a", "a", "b"), orders("b", "b", "b")] * 4
    assert evaluated(distinct(read)).measure("mean of orders above chance") is not None
    half_read = [orders("a", "a", None), orders("b", None, "b")] * 5
    found = evaluated(distinct(read + half_read))
    assert found.measure("mean of orders above chance") is None
    assert found.measure("above chance") is not None
    assert found.notices == ("10 cases have an answer in one of the two orders only, which is the verdict there",)
