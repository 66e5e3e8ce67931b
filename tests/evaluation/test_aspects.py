"""Texts judged on several aspects: every figure is of one aspect, or the mean of the aspects' figures."""

import io
import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from dicast.cli import render
from dicast.data import Judged, Scores, Winner
from dicast.evaluation.aspects import Strata, mean_of_means
from dicast.evaluation.compare import compare
from dicast.evaluation.evaluate import evaluate
from dicast.evaluation.run_arrays import run_arrays
from dicast.evaluation.score_tests import statistic_test
from dicast.optimizers.objective import OBJECTIVES, paired_tests
from dicast.workflows import evaluate as evaluated_file
from dicast.workflows.requirements import Requirement

IDENTITY = {"judge": "direct", "settings": {}, "lm": "m", "data": "0" * 64}
LEVELS = {"fluency": 4.0, "relevance": 2.0}  # people's mean score of each aspect


def judged(judge, texts=60, seed=0):
    """Texts in groups of two, on two aspects of different level. `sharp` orders the texts of each aspect well but
    its levels are the reverse of people's; `level` knows the levels and little else."""
    rng = np.random.default_rng(seed)
    verdicts = []
    for number, (aspect, level) in itertools.product(range(texts), LEVELS.items()):
        quality, noise = rng.uniform(-1, 1), rng.uniform(-1, 1, 4)
        people = level + quality
        sharp = (6 - level) + 0.8 * quality + 0.2 * noise[0]
        scores = {"sharp": sharp, "level": level + 0.15 * quality + 0.85 * noise[1]}
        verdicts.append(
            Judged(
                case_id=f"{number:03}#{aspect}", scores=(scores[judge],), aspect=aspect, group=f"prompt {number // 2}",
                label=Scores(values=(people,), lo=0, hi=6),
                votes=tuple(Scores(values=(people + 0.3 * n,), lo=0, hi=6) for n in noise[2:]),
            )
        )  # fmt: skip
    return verdicts


def figures(run, aspect):
    part = [one for one in run if one.aspect == aspect]
    return np.array([one.scores[0] for one in part]), np.array([one.label.values[0] for one in part])


def evaluated(run):
    return evaluate(run_arrays(run, (0, 6)), IDENTITY)


def measure(evaluation, name):
    found = evaluation.measure(name)
    assert found is not None, name
    return found


def paired(comparison, name):
    return next(test for test in comparison.tests if test.name == name)


def test_a_correlation_is_the_mean_of_those_of_the_aspects():
    run = judged("sharp")
    evaluation = evaluated(run)
    for name, function in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        each = [function(*figures(run, aspect)).statistic for aspect in LEVELS]
        assert [measure(evaluation, f"{name} ({aspect})").value for aspect in LEVELS] == pytest.approx(each)
        mean = measure(evaluation, name)
        assert mean.value == pytest.approx(np.mean(each))
        assert mean.low is not None
        assert mean.low < np.mean(each) < mean.high
        assert (mean.n, mean.groups) == (120, 30)
        assert mean.description.endswith("; mean over 2 aspects")
    everything = [np.concatenate(sides) for sides in zip(*(figures(run, aspect) for aspect in LEVELS), strict=True)]
    assert stats.spearmanr(*everything).statistic < -0.3  # what all texts together would have said


def test_error_and_leniency_are_means_over_aspects():
    run = [one for number, one in enumerate(judged("level")) if one.aspect == "fluency" or number % 8 == 1]
    evaluation = evaluated(run)
    differences = [np.subtract(*figures(run, aspect)) for aspect in LEVELS]
    assert len(differences[0]) == 4 * len(differences[1])
    assert measure(evaluation, "error").value == pytest.approx(np.mean([np.abs(part).mean() for part in differences]))
    assert measure(evaluation, "leniency").value == pytest.approx(np.mean([part.mean() for part in differences]))
    assert measure(evaluation, "leniency (relevance)").value == pytest.approx(differences[1].mean())


def test_the_ceiling_and_the_judge_as_annotator_are_of_aspects():
    evaluation = evaluated(judged("sharp"))
    for name in ("human ceiling", "judge as annotator"):
        each = [measure(evaluation, f"{name} ({aspect})").value for aspect in LEVELS]
        assert measure(evaluation, name).value == pytest.approx(np.mean(each))
        assert min(each) > 0.8


def test_two_judges_are_compared_within_aspects():
    sharp, level = judged("sharp"), judged("level")
    comparison = compare([("sharp", run_arrays(sharp)), ("level", run_arrays(level))])[0]
    each = [
        stats.spearmanr(*figures(sharp, aspect)).statistic - stats.spearmanr(*figures(level, aspect)).statistic
        for aspect in LEVELS
    ]
    mean = paired(comparison, "spearman")
    assert mean.difference.value == pytest.approx(np.mean(each))
    assert mean.difference.value > 0.5  # all texts together would have said the reverse
    assert mean.p is not None
    assert mean.p < 0.01
    assert mean.note == "permutation of whole groups, all aspects together"
    for aspect, difference in zip(LEVELS, each, strict=True):
        test = paired(comparison, f"spearman ({aspect})")
        assert test.difference.value == pytest.approx(difference)
        assert test.p_holm is not None
        assert test.p_holm >= test.p


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter():
    sharp, level = judged("sharp"), judged("level")
    rows = np.random.default_rng(1).permutation(len(sharp))
    shuffled = [[run[row] for row in rows] for run in (sharp, level)]
    comparisons = [
        compare([("sharp", run_arrays(first)), ("level", run_arrays(second))])[0]
        for first, second in ((sharp, level), shuffled)
    ]
    assert comparisons[0] == comparisons[1]
    assert evaluated(sharp) == evaluated(shuffled[0])


def test_whole_groups_are_swapped_with_all_their_aspects():
    rng = np.random.default_rng(3)
    n, groups = 24, np.repeat(np.arange(6), 4)
    codes = np.tile([0, 1], 12)
    people, sides = rng.normal(size=n), (rng.normal(size=n), rng.normal(size=n))
    strata = Strata(("x", "y"), codes)

    def statistic(side, others):
        return float(np.corrcoef(side, others)[0, 1])

    def difference(flips):
        swapped = np.array(flips, dtype=bool)[groups]
        first, second = np.where(swapped, *sides[::-1]), np.where(swapped, *sides)
        return np.mean(
            [statistic(first[codes == c], people[codes == c]) - statistic(second[codes == c], people[codes == c])
             for c in (0, 1)]
        )  # fmt: skip

    everything = [difference(flips) for flips in itertools.product((0, 1), repeat=6)]
    test = statistic_test("s", statistic, sides, people, groups, 0, "s", strata)
    assert test.difference.value == pytest.approx(everything[0])
    assert test.p == pytest.approx(np.mean(np.abs(everything) >= abs(everything[0]) - 1e-12))


def test_an_aspect_without_a_figure_is_left_out_and_named():
    sharp, level = judged("sharp"), judged("level")
    flat = [one.model_copy(update={"scores": (3.0,)}) if one.aspect == "fluency" else one for one in level]
    correlation = measure(evaluated(flat), "spearman")
    assert correlation.value == pytest.approx(stats.spearmanr(*figures(level, "relevance")).statistic)
    assert correlation.n == 60
    assert correlation.description.endswith("; of the aspect relevance alone, not defined on fluency")
    (comparison,) = compare([("sharp", run_arrays(sharp)), ("flat", run_arrays(flat))])
    test = paired(comparison, "spearman")
    assert "; of the aspect relevance alone, not defined on fluency" in test.difference.description
    assert test.difference.value == paired(comparison, "spearman (relevance)").difference.value
    assert paired(comparison, "spearman (fluency)").difference.value is None


@pytest.mark.parametrize("name", ["spearman", "pearson", "kendall"])
def test_an_objective_of_scores_is_the_mean_over_aspects(name):
    objective = OBJECTIVES.find(name)
    runs = {judge: run_arrays(judged(judge)) for judge in ("sharp", "level")}
    values = {judge: objective.value(run) for judge, run in runs.items()}
    assert values["sharp"] > values["level"] + 0.3
    for judge, run in runs.items():
        assert values[judge] == pytest.approx(measure(evaluated(judged(judge)), name).value)
        assert objective.by_aspect is not None
        assert list(objective.by_aspect(run)) == ["fluency", "relevance"]


def test_the_squared_error_is_the_mean_over_aspects_and_tested_so():
    first, second = judged("level"), judged("sharp")
    few = [number for number, one in enumerate(first) if one.aspect == "fluency" or number % 8 == 1]
    first, second = ([run[number] for number in few] for run in (first, second))
    errors = [[np.square(np.subtract(*figures(run, aspect))).mean() for aspect in LEVELS] for run in (first, second)]
    objective, sides = OBJECTIVES.find("mse"), (run_arrays(first), run_arrays(second))
    assert [objective.value(side) for side in sides] == pytest.approx([np.mean(each) for each in errors])
    mean, *each = paired_tests(objective)(*sides, 0)
    assert mean.difference.value == pytest.approx(np.mean(errors[0]) - np.mean(errors[1]))
    assert [test.name for test in each] == ["mse (fluency)", "mse (relevance)"]
    assert [test.difference.value for test in each] == pytest.approx(np.subtract(*errors))


def test_a_part_of_a_run_is_measured_on_the_aspects_of_the_run():
    objective, run = OBJECTIVES.find("spearman"), run_arrays(judged("sharp"))
    value = objective.value_as_of(run)
    assert value(run) == objective.value(run)
    fluent = run.rows(run.aspect == run.aspects.index("fluency"))
    assert math.isnan(value(fluent))
    assert not math.isnan(objective.value(fluent))


def test_the_error_of_a_mean_of_means_is_that_of_its_parts():
    rng = np.random.default_rng(5)
    codes = np.repeat([0, 1], [300, 60])
    values = rng.normal(np.where(codes, 9.0, 1.0))
    estimate = mean_of_means(Strata(("x", "y"), codes), values, np.arange(360))
    parts = [values[codes == code] for code in (0, 1)]
    error = math.sqrt(sum(part.var() / len(part) for part in parts)) / 2
    assert estimate.value == pytest.approx(np.mean([part.mean() for part in parts]))
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.967 * error, rel=0.01)


def test_a_gate_takes_the_mean_and_each_aspect():
    evaluation = evaluated(judged("sharp"))
    for text in ("spearman>=.8", "spearman (fluency)>=.8"):
        assert Requirement.parse(text).check(evaluation).outcome == "holds"
    assert Requirement.parse("spearman (relevance)>=.999").check(evaluation).outcome == "fails"


def test_pairs_on_several_aspects_show_the_accuracy_of_each():
    def run(wrong):
        return [
            Judged(
                case_id=f"{number:02}#{aspect}", aspect=aspect, group=f"prompt {number}", label=Winner(value="a"),
                winner="b" if aspect == "harmless" and number < wrong else "a",
            )
            for number in range(20) for aspect in ("harmless", "helpful")
        ]  # fmt: skip

    evaluation = evaluated(run(5))
    assert measure(evaluation, "accuracy").value == 35 / 40
    assert measure(evaluation, "accuracy (harmless)").value == 15 / 20
    assert measure(evaluation, "accuracy (helpful)").value == 1.0
    (comparison,) = compare([("five", run_arrays(run(5))), ("ten", run_arrays(run(10)))])
    assert paired(comparison, "accuracy (harmless)").difference.value == 5 / 20
    assert paired(comparison, "accuracy (helpful)").difference.value == 0.0


@pytest.fixture
def dialogues():
    """UniEval's scores of Topical-Chat replies, with people's: six aspects on several scales."""
    folder = os.environ.get("DICAST_RECORDED") or Path(os.environ.get("DICAST_DATA", "")).parent / "recorded"
    file = Path(folder) / "unieval" / "topical_chat_usr.jsonl"
    if not file.is_file():
        pytest.skip("set DICAST_RECORDED to the folder of recorded judgments")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_recorded_scores_of_six_aspects_have_the_mean_of_scipys_correlations(dialogues):
    rows = run_arrays(
        Judged(
            case_id=f"{row['item_id']}#{row['aspect']}", aspect=row["aspect"], group=row["item_id"],
            scores=(row["prediction"],), label=Scores(values=(row["label"],), lo=0, hi=5),
        )
        for row in dialogues
    )  # fmt: skip
    each = {}
    for aspect in {row["aspect"] for row in dialogues}:
        sides = [[row[side] for row in dialogues if row["aspect"] == aspect] for side in ("prediction", "label")]
        each[aspect] = stats.spearmanr(*sides).statistic
    evaluation = evaluate(rows, IDENTITY)
    assert measure(evaluation, "spearman").value == pytest.approx(np.mean(list(each.values())))
    assert measure(evaluation, "spearman").groups == 360
    for aspect, value in each.items():
        assert measure(evaluation, f"spearman ({aspect})").value == pytest.approx(value)


def test_all_aspects_of_a_row_of_another_tool_are_one_group(tmp_path):
    rows = [
        {
            "id": one.case_id.split("#")[0], "aspect": one.aspect, "prediction": one.scores[0],
            "label": one.label.values[0],
        }
        for one in judged("sharp")
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    correlation = measure(evaluated_file(str(tmp_path / "rows.jsonl")), "spearman")
    assert (correlation.n, correlation.groups) == (120, 60)


def test_names_of_aspects_are_printed_as_they_are():
    aspects = {"fluency": "[bold]tone", "relevance": "a] [/x"}
    runs = [
        [one.model_copy(update={"aspect": aspects[one.aspect]}) for one in judged(judge)]
        for judge in ("sharp", "level")
    ]
    (comparison,) = compare([("sharp", run_arrays(runs[0])), ("level", run_arrays(runs[1]))])
    console = Console(file=io.StringIO(), width=200)
    for part in render.comparison(comparison):
        console.print(part)
    assert "spearman ([bold]tone)" in console.file.getvalue()
    assert "spearman (a] [/x)" in console.file.getvalue()


@pytest.mark.parametrize(("texts", "has_interval"), [(3, False), (4, False), (5, True)])
def test_an_aspect_of_very_few_texts_leaves_the_mean_without_an_interval(texts, has_interval):
    """A correlation of 1 on three texts varies in no sample of them: the mean of both would look certain."""
    run = judged("level")
    few = [row for row in run if row.aspect == "fluency"][: 2 * texts : 2]
    evaluation = evaluated([row for row in run if row.aspect == "relevance"] + few)
    mean = measure(evaluation, "spearman")
    assert not math.isnan(mean.value)
    assert (mean.low is not None) == has_interval
    assert ("no interval, as an aspect has fewer than 5 texts" in mean.description) != has_interval
