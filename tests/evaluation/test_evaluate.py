"""A run to its evaluation: every figure against a count by hand or another library, and what must not change it."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from dicast.data import Case, Judged, Scores, Usage, Verdict, Winner
from dicast.data.verdict import Finding
from dicast.evaluation.disagreements import disagreements
from dicast.evaluation.evaluate import evaluate
from dicast.evaluation.results import Evaluation, Measure
from dicast.evaluation.run_arrays import run_arrays
from dicast.stats.prediction_powered import prediction_powered_mean

IDENTITY = {"judge": "direct", "settings": {}, "lm": "m", "data": "0" * 64}


def pair(name: str, winner: str | None, label: str | None, **more: Any) -> Judged:
    given: dict[str, Any] = {"lengths": (1, 1), "group": name} | more
    if winner is None:
        return Judged(case_id=name, status="unscored", reason="refusal", label=Winner(value=label), **given)
    return Judged(case_id=name, winner=winner, label=Winner(value=label) if label else None, **given)


def text(name: str, score: float, human: float, **more: Any) -> Judged:
    return Judged(case_id=name, scores=(score,), label=Scores(values=(human,), lo=1, hi=5), **{"group": name} | more)


def evaluation_of(verdicts: Iterable[Judged], **more: Any) -> Evaluation:
    return evaluate(verdicts, IDENTITY, **more)


def value(found: Evaluation, name: str) -> float:
    measure = found.measure(name)
    assert measure is not None, name
    assert measure.value is not None, name
    return measure.value


def drawn_pairs(n: int, seed: int = 0) -> list[Judged]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        label, winner = str(rng.choice(["a", "b", "tie"])), str(rng.choice(["a", "b", "tie"]))
        p = rng.dirichlet([1, 1, 1]).tolist()
        other = str(rng.choice(["a", "b", "tie"]))
        found.append(
            pair(
                f"case {number}", winner, label, group=f"group {number // 3}", certainty=float(rng.random()),
                distribution=dict(zip(("a", "b", "tie"), p, strict=True)), votes=drawn_votes(rng),
                order_winners={"ab": winner, "ba": other}, consistent=winner == other,
                lengths=tuple(rng.integers(1, 9, 2).tolist()), systems=("x", "y"),
            )
        )  # fmt: skip
    return found


def drawn_votes(rng: np.random.Generator) -> tuple[Winner, ...]:
    return tuple(Winner(value=str(vote)) for vote in rng.choice(["a", "b", "tie"], rng.integers(0, 4)))


# figures against other libraries


@pytest.mark.parametrize("seed", range(3))
def test_agreement_is_that_of_scikit_learn(seed: int) -> None:
    run = drawn_pairs(60, seed)
    judge, human = [str(one.winner) for one in run], [str(one.human_winner) for one in run]
    found = evaluation_of(run)
    assert value(found, "accuracy") == pytest.approx(metrics.accuracy_score(human, judge), abs=1e-12)
    assert value(found, "kappa") == pytest.approx(metrics.cohen_kappa_score(human, judge), abs=1e-12)
    labels = ["a", "tie", "b"]
    weighted = metrics.cohen_kappa_score(human, judge, labels=labels, weights="linear")
    assert value(found, "weighted kappa") == pytest.approx(weighted, abs=1e-12)
    assert value(found, "MCC") == pytest.approx(metrics.matthews_corrcoef(human, judge), abs=1e-12)
    assert value(found, "macro F1") == pytest.approx(metrics.f1_score(human, judge, average="macro"), abs=1e-12)
    assert found.confusion is not None
    assert np.array_equal(found.confusion.counts, metrics.confusion_matrix(human, judge, labels=["a", "b", "tie"]))
    probabilities = [[one.distribution[label] for label in ("a", "b", "tie")] for one in run]  # type: ignore[index]
    assert value(found, "log-loss") == pytest.approx(metrics.log_loss(human, probabilities), abs=1e-9)
    sure, right = [one.certainty for one in run], [a == b for a, b in zip(judge, human, strict=True)]
    assert value(found, "Brier") == pytest.approx(metrics.brier_score_loss(right, sure), abs=1e-12)
    assert value(found, "AUROC") == pytest.approx(metrics.roc_auc_score(right, sure), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_correlations_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, judge = rng.integers(1, 6, 40).astype(float), rng.normal(size=40)
    groups = [f"input {number % 8}" for number in range(40)]
    rows = zip(judge, human, groups, strict=True)
    run = [text(f"t{n:02}", float(a), float(b), group=g) for n, (a, b, g) in enumerate(rows)]
    found = evaluation_of(run)
    assert value(found, "pearson") == pytest.approx(stats.pearsonr(judge, human).statistic, abs=1e-12)
    assert value(found, "spearman") == pytest.approx(stats.spearmanr(judge, human).statistic, abs=1e-12)
    assert value(found, "kendall") == pytest.approx(stats.kendalltau(judge, human).statistic, abs=1e-12)
    within = [
        stats.spearmanr(judge[members], human[members]).statistic
        for group in range(8)
        if len(set(human[members := np.arange(40) % 8 == group])) > 1
    ]
    assert value(found, "spearman by input") == pytest.approx(np.mean(within), abs=1e-12)


def test_the_interval_of_a_mean_of_correlations_does_not_leave_their_range() -> None:
    scores = {"x": [(1, 1), (2, 2), (3, 3)], "y": [(1, 1), (2, 3), (3, 2)], "z": [(1, 3), (2, 2), (3, 1)]}
    run = [text(f"{g}{n}", a, b, group=g) for g, pairs in scores.items() for n, (a, b) in enumerate(pairs)]
    found = evaluation_of(run)
    for name in ("pearson by input", "spearman by input", "kendall by input"):
        measure = found.measure(name)
        assert measure is not None
        assert (measure.low, measure.high) == (-1.0, 1.0)


# figures by hand


def test_orders_agreement_and_consistency_by_hand() -> None:
    run = [
        pair("1", "a", "a", order_winners={"ab": "a", "ba": "a"}, consistent=True),  # right in both
        pair("2", "a", "b", order_winners={"ab": "a", "ba": "a"}, consistent=True),  # the same, wrong
        pair("3", "b", "b", order_winners={"ab": "a", "ba": "b"}, consistent=False),  # always the first shown
        pair("4", "tie", "tie", order_winners={"ab": "b", "ba": "a"}, consistent=False),  # always the second
    ]
    found = evaluation_of(run)
    names = (
        "accuracy",
        "both-orders accuracy",
        "consistency",
        "order a, b",
        "order b, a",
        "first position",
        "primacy",
        "recency",
    )
    assert [value(found, name) for name in names] == [0.75, 0.25, 0.5, 0.25, 0.5, 0.5, 0.25, 0.25]
    without_ties = [
        value(found, f"{name} without ties") for name in ("accuracy", "both-orders accuracy", "consistency")
    ]
    assert without_ties == pytest.approx([2 / 3, 1 / 3, 2 / 3])  # the first three


@pytest.mark.parametrize("consistent", [None, True])  # True: of a run of version 0.1
def test_texts_that_are_read_alone_have_no_measure_of_orders(consistent: bool | None) -> None:
    alone = Finding(criterion="c", scores=(4.0, 2.0))
    run = [pair(str(n), "a", "a", findings=(alone,), consistent=consistent) for n in range(3)]
    found = evaluation_of(run)
    assert value(found, "accuracy") == 1.0
    assert [found.measure(name) for name in ("both-orders accuracy", "consistency", "mean of orders")] == [None] * 3
    assert "orders" not in found.model_dump_json()


def test_the_baselines_are_reported_with_the_lead_over_them() -> None:
    run = [pair(str(n), "a", "a", lengths=(2, 1)) for n in range(3)] + [pair("3", "b", "b", lengths=(2, 1))]
    found = evaluation_of(run)
    assert [value(found, name) for name in ("chance", "majority", "longer")] == [0.5, 0.75, 0.75]
    assert [value(found, name) for name in ("above chance", "above majority", "above longer")] == [0.5, 0.25, 0.25]
    assert found.measure("above longer").null_value == 0  # type: ignore[union-attr]


def test_the_ceiling_holds_judge_and_person_against_the_same_majorities() -> None:
    votes = {"1": ("a", "a", "b"), "2": ("b", "b", "b")}
    run = [pair(name, "a", "a", votes=tuple(Winner(value=vote) for vote in votes[name])) for name in votes]
    # one person, case 1: an a faces {a, b}, half right, twice; the b faces {a, a}; case 2: all right
    found = evaluation_of(run)
    assert value(found, "human ceiling") == pytest.approx(((0.5 + 0.5 + 0) / 3 + 1) / 2)
    # the judge's a, case 1: {a, b}, {a, b}, {a, a}; case 2: never
    assert value(found, "judge as annotator") == pytest.approx(((0.5 + 0.5 + 1) / 3 + 0) / 2)


def test_third_persons_are_reported_where_the_label_is_not_their_majority() -> None:
    votes = tuple(Winner(value=vote, certainty=sure) for vote, sure in (("a", 0.9), ("a", 0.7), ("b", 0.1)))
    found = evaluation_of([pair("1", "a", "b", votes=votes), pair("2", "a", "a", votes=votes)])
    third = found.measure("third-person majority")
    assert third is not None
    assert third.value == 0.5
    assert "mean certainty of the majority 0.80" in third.note
    single = found.measure("third-person annotator")
    assert single is not None
    assert single.value == pytest.approx((1 / 3 + 2 / 3) / 2)  # one of three says b, two of three say a
    agreement = found.measure("third-person agreement")
    assert agreement is not None
    assert agreement.value == pytest.approx(1 / 3)  # a and a, of three pairs
    assert agreement.note.startswith("1,000 draws of 2 cases: mean 0.3")  # there are no 30
    same = evaluation_of([pair("1", "a", "a", votes=votes)])
    assert same.measure("third-person majority") is None


def test_selective_and_rejected_accuracy_are_by_the_threshold_and_the_curve_ends_with_everything() -> None:
    run = [pair(str(n), "a", "ab"[n % 2], certainty=n / 10) for n in range(11)]
    found = evaluation_of(run, threshold=0.8)
    sides = [found.measure(name) for name in ("selective accuracy", "rejected accuracy")]
    assert [(side.value, side.n) for side in sides if side] == [(pytest.approx(2 / 3), 3), (0.5, 8)]
    assert value(found, "mean certainty") == pytest.approx(0.5)
    assert (found.curve[-1].coverage, found.curve[-1].accuracy.value) == (1.0, value(found, "accuracy"))
    assert [point.threshold for point in found.curve] == sorted((n / 10 for n in range(11)), reverse=True)


def test_the_bins_hold_every_verdict_once() -> None:
    run = drawn_pairs(200)
    found = evaluation_of(run)
    assert sum(one.accuracy.n for one in found.reliability) == 200
    weighted = sum(one.accuracy.n * abs(one.certainty - (one.accuracy.value or 0)) for one in found.reliability) / 200
    assert value(found, "ECE") == pytest.approx(weighted, abs=1e-12)


def test_pairs_of_scored_texts_have_strata_by_difficulty() -> None:
    run = [
        Judged(
            case_id=f"{n:02}", winner="a" if n % 4 else "b", group=str(n),
            label=Scores(values=(3 + n / 10, 3), lo=1, hi=5), lengths=(1, 1),
        )
        for n in range(1, 19)
    ]  # fmt: skip
    found = evaluation_of(run)
    assert [one.name for one in found.strata] == ["hard", "medium", "easy"]
    assert [one.measures[0].n for one in found.strata] == [6, 6, 6]
    assert sum((one.measures[0].value or 0) * 6 for one in found.strata) == pytest.approx(14)


def test_systems_are_ranked_by_mean_score_and_by_strength() -> None:
    run = [text(f"{n}{s}", float(s), float(s), systems=(f"s{s}",)) for n in range(4) for s in (1, 2, 4)]
    found = evaluation_of(run)
    assert [(row.system, row.judge.value) for row in found.systems] == [("s4", 4.0), ("s2", 2.0), ("s1", 1.0)]
    assert value(found, "systems spearman") == 1.0
    wins = [pair(str(n), "a" if n % 3 else "b", "a", systems=("x", "y")) for n in range(30)]
    x, y = evaluation_of(wins).systems
    assert x.system == "x"
    assert x.judge.value == pytest.approx(math.log(2) / 2, abs=0.01)  # 20 wins of 30, less the weak prior
    assert y.judge.value == pytest.approx(-(x.judge.value or 0))


def test_error_and_leniency_need_one_scale() -> None:
    run = [text(str(n), 4.0, float(1 + n)) for n in range(5)]
    assert evaluation_of(run).measure("error") is None
    verdicts = evaluate_on_scale(run)
    assert value(verdicts, "error") == pytest.approx(7 / 5)
    assert value(verdicts, "leniency") == 1.0


def evaluate_on_scale(run: list[Judged]) -> Evaluation:
    from dicast.evaluation import run_arrays

    return evaluate(run_arrays(run, (1, 5)), IDENTITY)


def test_aspects_have_correlations_of_their_own() -> None:
    run = [text(f"{n}{aspect}", float(n), sign * n % 6 or 1, aspect=aspect) for n in range(1, 6) for aspect, sign in
           (("up", 1), ("down", -1))]  # fmt: skip
    found = evaluation_of(run)
    assert value(found, "spearman (up)") == pytest.approx(1)
    assert value(found, "spearman (down)") == pytest.approx(-1)
    assert value(found, "spearman") == pytest.approx(0)


def test_own_texts_are_reported_when_named() -> None:
    run = [pair(str(n), "a", "ab"[n % 2], systems=("gpt", "other")) for n in range(8)]
    assert evaluation_of(run).measure("self-preference") is None
    found = evaluation_of(run, judge_systems=["gpt"])
    assert (value(found, "self-preference"), value(found, "self-preference above people")) == (1.0, 0.5)


def test_systems_with_unlabelled_verdicts_are_reported_as_people_would_see_them() -> None:
    run = [
        pair(str(n), "a" if n % 4 else "b", ("a" if n % 5 else "b") if n < 40 else None, systems=("x", "y"))
        for n in range(200)
    ]
    found = evaluation_of(run)
    x, y = found.sections["powered"]
    assert (x.name, y.name) == ("x: win rate", "y: win rate")
    labels = np.array([n % 5 > 0 for n in range(40)], dtype=float)
    seen, unseen = (np.array([n % 4 > 0 for n in rows], dtype=float) for rows in (range(40), range(40, 200)))
    expected = prediction_powered_mean(labels, seen, unseen)
    assert x.value == pytest.approx(expected.estimate.value)
    assert y.value == pytest.approx(1 - (x.value or 0))
    assert "from 40 labels and 200 verdicts" in x.description
    assert "powered" not in evaluation_of(run[:40]).sections  # all have a label
    texts = [text(str(n), n % 3, 1 + n % 3, systems=("x",)) for n in range(30)]
    texts += [Judged(case_id=f"u{n}", scores=(1.0,), systems=("x",), group=f"u{n}") for n in range(30)]
    (mean,) = evaluation_of(texts).sections["powered"]
    assert mean.name == "x: mean score"
    assert mean.value == pytest.approx(2.0)  # people give one point more than the judge, of which the mean is 1


# what must not change anything


def test_unscored_verdicts_count_in_coverage_alone() -> None:
    run = drawn_pairs(30)
    failed = [pair(f"failed {n}", None, "a") for n in range(10)]
    whole, alone = evaluation_of([*run, *failed]), evaluation_of(run)
    assert (whole.cases, whole.scored, whole.unscored) == (40, 30, {"refusal": 10})
    assert value(whole, "coverage") == 0.75
    for section, measures in alone.sections.items():
        if section != "cost":
            assert [one for one in whole.sections[section] if one.name != "coverage"] == [
                one for one in measures if one.name != "coverage"
            ]


def test_the_order_of_verdicts_changes_nothing() -> None:
    run = drawn_pairs(40)
    assert evaluation_of(run[::-1]).sections == evaluation_of(run).sections


def test_the_same_seed_gives_the_same_figures_and_another_one_other_intervals_of_independent_cases() -> None:
    run = drawn_pairs(40)
    assert evaluation_of(run) == evaluation_of(run)
    assert evaluation_of(run).measure("kappa") == evaluation_of(run, seed=1).measure(
        "kappa"
    )  # groups are left out one at a time
    alone = [one.model_copy(update={"group": one.case_id}) for one in run]
    assert evaluation_of(alone).measure("kappa") == evaluation_of(alone).measure("kappa")
    assert evaluation_of(alone).measure("kappa") != evaluation_of(alone, seed=1).measure("kappa")


@pytest.mark.slow
def test_exchanging_all_candidates_changes_no_figure_but_names() -> None:
    run = [one.model_copy(update={"systems": ()}) for one in drawn_pairs(45)]
    turned = [one.swapped() for one in run]
    same = (
        "accuracy",
        "both-orders accuracy",
        "consistency",
        "kappa",
        "MCC",
        "weighted kappa",
        "first position",
        "primacy",
    )
    for name in (
        *same,
        "longer preferred",
        "length errors",
        "ECE",
        "AURC",
        "log-loss",
        "human ceiling",
        "tau of pairs",
    ):
        measure = evaluation_of(run).measure(name)
        if measure is not None:
            assert evaluation_of(turned).measure(name).value == pytest.approx(measure.value, abs=1e-12), name  # type: ignore[union-attr]


def test_intervals_take_whole_groups() -> None:
    one = [pair(str(n), "a", "ab"[n % 2]) for n in range(40)]
    copies = [pair(f"{n}-{k}", "a", "ab"[n % 2], group=str(n)) for n in range(40) for k in range(5)]
    alone, grouped = evaluation_of(one).measure("accuracy"), evaluation_of(copies).measure("accuracy")
    assert alone is not None
    assert grouped is not None
    assert (grouped.n, grouped.groups, alone.groups) == (200, 40, None)
    assert width(grouped) == pytest.approx(width(alone), rel=0.06)  # five copies of a case say no more than one


def width(measure: Measure) -> float:
    assert measure.low is not None
    assert measure.high is not None
    return measure.high - measure.low


# small and odd runs


@pytest.mark.parametrize(
    "run",
    [
        [],
        [pair("1", None, "a")],
        [pair("1", "a", None)],
        [pair("1", "a", "a")],
        [pair("1", "tie", "tie", certainty=1.0)],
        [pair(str(n), "tie", "tie") for n in range(5)],
        [text("1", 3, 3)],
        [text(str(n), 3, 3) for n in range(5)],
        [text("1", 3, 3), pair("2", "a", "b")],
        [Judged(case_id="1", winner=2, scores=(1, 2, 3), label=Winner(value=2), distribution={"0": 0.2, "2": 0.8})],
        [Judged(case_id="1", winner="tie", scores=(3, 3, 1), label=Winner(value=2), certainty=0.5)],
        [Judged(case_id="1", status="abstained")],
    ],
)  # fmt: skip
def test_no_run_is_too_small_or_too_odd(run: list[Judged]) -> None:
    found = evaluation_of(run)
    assert Evaluation.model_validate_json(found.model_dump_json()) == found
    assert found.cases == len(run)
    for measures in found.sections.values():
        for measure in measures:
            assert measure.value is not None or measure.note
            assert measure.description


def test_a_choice_keeps_the_options_that_nobody_names() -> None:
    shares = {"0": 0.6, "1": 0.3, "2": 0.1}
    run = [
        Judged(case_id=str(n), winner=0, scores=(3, 2, 1), label=Winner(value=0), distribution=shares) for n in range(4)
    ]
    assert run_arrays(run).labels == ("0", "1", "2")
    assert value(evaluation_of(run), "log-loss") == pytest.approx(-math.log(0.6))
    assert (value(evaluation_of(run), "rank"), value(evaluation_of(run), "nDCG")) == (1.0, 1.0)


def test_costs_are_a_case() -> None:
    usage = Usage(calls=3, prompt_tokens=100, completion_tokens=20, cost=0.01, seconds=2.0)
    found = evaluation_of([pair("1", "a", "a", usage=usage), pair("2", None, "a", usage=usage)])
    assert [one.value for one in found.sections["cost"]] == [3.0, 120.0, 2.0, 0.01]
    assert "cost" not in evaluation_of([pair("1", "a", "a")]).sections


def test_a_judged_case_carries_what_its_figures_need() -> None:
    case = Case(id="1", query="q", aspect="fluency", candidates=[{"text": "four"}, {"text": ""}])
    judged = Judged.of(case, Verdict(case_id="1", winner="a"))
    assert (judged.lengths, judged.aspect, judged.swapped().lengths) == ((4, 0), "fluency", (0, 4))


# what to look at first


def test_the_surest_wrong_verdicts_come_first() -> None:
    run = [
        pair("right", "a", "a", certainty=0.99), pair("unsure", "a", "b", certainty=0.5),
        pair("sure", "a", "b", certainty=0.9), pair("silent", "a", "b"),
    ]  # fmt: skip
    assert disagreements(run_arrays(run), 10) == ["sure", "unsure", "silent"]
    assert disagreements(run_arrays(run), 1) == ["sure"]


def test_the_texts_with_places_furthest_apart_come_first() -> None:
    run = [text("a", 1, 5), text("b", 2, 2), text("c", 3, 3), text("d", 5, 4)]
    assert disagreements(run_arrays(run), 1) == ["a"]


def test_every_program_of_a_pair_tells_its_orders() -> None:
    from dicast.judging.aggregate import aggregate_findings

    findings = [
        Finding(criterion="c", order=order, distribution={"a": p, "b": 1 - p})
        for order, p in (("ab", 0.9), ("ba", 0.2))
    ]
    assert aggregate_findings(findings, 2)["order_winners"] == {"ab": "a", "ba": "b"}
