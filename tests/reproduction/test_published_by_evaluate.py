"""Published figures of judges that were asked in both orders, as `dicast evaluate` gives them.

The counts are of the released verdicts: label, verdict, verdict with the texts exchanged, in the row's own letters ("t"
is a tie, "-" no answer). The recorded verdicts are in DICAST_RECORDED, or in `recorded` beside DICAST_DATA.
"""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import dicast
from dicast.evaluation import run_arrays
from dicast.evaluation.external_verdicts import ExternalVerdicts
from dicast.evaluation.metric import MetricOptions
from dicast.evaluation.metrics.agreement import order_agreement
from dicast.evaluation.verdict_rules import VerdictRules

LETTERS = {"a": "a", "b": "b", "t": "tie", "-": None}

# github.com/ScalerLab/JudgeBench, outputs: arena_hard by o1-mini (350 pairs) and by claude-3-haiku (270 pairs)
O1_MINI = "aaa 111 aab 29 aat 4 aba 14 abb 22 ata 7 atb 4 att 2 baa 10 bab 29 bba 4 bbb 92 bbt 8 bta 3 btb 8 btt 3"
HAIKU = (
    "aaa 22 aab 19 aat 14 aba 5 abb 23 abt 6 ata 7 atb 15 att 26 at- 2 a-a 1 a-b 2 a-t 1 baa 20 bab 18 bat 6 bba 2 "
    "bbb 16 bbt 7 bta 6 btb 17 btt 28 b-a 1 b-b 3 b-t 3"
)
# github.com/princeton-nlp/LLMBar, Adversarial/Neighbor, GPT-4 Vanilla
NEIGHBOR = "bbb 43 aaa 58 baa 9 bab 5 abb 15 aab 1 bba 2 aba 1"

STATISTICS = {
    "correct_False": "order a, b",
    "correct_True": "order b, a",
    "correct_average": "mean of orders",
    "correct_both": "both-orders accuracy",
    "equal": "consistency",
}


def rows(counts: str) -> list[Any]:
    words = counts.split()
    cells = zip(words[::2], map(int, words[1::2]), strict=True)
    verdicts = [cell for cell, count in cells for _ in range(count)]
    return [
        {"id": n, "label": cell[0], "prediction": LETTERS[cell[1]], "prediction_swapped": LETTERS[cell[2]]}
        for n, cell in enumerate(verdicts)
    ]


def value(counts: str, name: str, **rules: Any) -> float:
    measure = dicast.evaluate(rows(counts), **rules).measure(name)
    assert measure is not None
    assert measure.value is not None
    return measure.value


@pytest.mark.parametrize(("counts", "published"), [(O1_MINI, 65.71), (HAIKU, 32.22)])
def test_judgebench_sums_the_orders(counts: str, published: float) -> None:
    assert round(100 * value(counts, "accuracy", unreadable="wrong"), 2) == published
    assert round(100 * value(counts, "accuracy"), 2) == published  # every pair has an answer in one order at least


def test_the_orders_of_judgebench_are_measured_by_themselves_and_together() -> None:
    found = dicast.evaluate(rows(O1_MINI))
    named = {measure.name: measure for section in found.sections.values() for measure in section}
    assert [round(named[name].value or 0, 3) for name in ("order a, b", "order b, a")] == [0.709, 0.746]
    assert round(named["mean of orders"].value or 0, 3) == 0.727
    low = named["mean of orders above chance"].low
    assert low is not None
    assert low > 0.18  # clearly above chance; by the merge to ties alone it is not above "always a"
    assert "majority" not in named
    tied = dicast.evaluate(rows(O1_MINI), merge="tie")
    accuracy = tied.measure("accuracy")
    assert accuracy is not None
    assert round(accuracy.value or 0, 3) == 0.580


def test_a_pair_of_judgebench_read_in_one_order_counts_whichever_failed() -> None:
    half_read = [row for row in rows(HAIKU) if None in (row["prediction"], row["prediction_swapped"])]
    assert sum(row["prediction_swapped"] is None for row in half_read) == 2
    assert sum(row["prediction"] is None for row in half_read) == 11
    found = dicast.evaluate(rows(HAIKU))
    assert (found.scored, found.unscored) == (270, {})
    assert found.notices[0].startswith("13 cases have an answer in one of the two orders only")


def test_macro_f1_is_of_the_labels_that_people_give() -> None:
    found = dicast.evaluate(rows(NEIGHBOR), merge="tie")
    assert [round(row.f1 or 0, 3) for row in found.labels] == [0.817, 0.735, 0.0]
    assert round(value(NEIGHBOR, "macro F1", merge="tie"), 3) == 0.776  # with the merge's own label .517


@pytest.fixture
def recorded() -> Path:
    folder = os.environ.get("DICAST_RECORDED") or Path(os.environ.get("DICAST_DATA", "")).parent / "recorded"
    if not (Path(folder) / "llmbar").is_dir():
        pytest.skip("set DICAST_RECORDED to the folder of recorded judgments")
    return Path(folder)


def test_llmbar_counts_unreadable_verdicts_as_wrong(recorded: Path) -> None:
    """Five printed statistics of 130 runs; only `equal` differs, where it counts two unreadable answers as equal."""
    lines = defaultdict(list)
    for subset in ("natural", "gptinst"):
        for line in (recorded / "llmbar" / f"{subset}.jsonl").read_text().splitlines():
            row = json.loads(line)
            lines[subset, row["judge"], row["setting"]].append(line)
    exact, different, unread = 0, [], 0
    for line in (recorded / "llmbar" / "published_statistics.jsonl").read_text().splitlines():
        printed = json.loads(line)
        run = printed["subset"], printed["judge"], printed["setting"]
        arrays = run_arrays(ExternalVerdicts(str(run), lines[run], {}), rules=VerdictRules(None, "wrong"))
        unread += any(
            json.loads(row)[name] is None for row in lines[run] for name in ("prediction", "prediction_swapped")
        )
        measured = {measure.name: measure.value for measure in order_agreement(arrays, MetricOptions())}
        for statistic, name in STATISTICS.items():
            percent = float(printed[statistic].rpartition("= ")[2].rstrip("%"))
            if measured[name] == pytest.approx(percent / 100, abs=1e-9):
                exact += 1
            else:
                different.append((statistic, *run))
    assert exact + len(different) == 650
    assert {statistic for statistic, *_ in different} == {"equal"}
    assert len(different) < unread < 130


def test_auto_js_both_orders_accuracy_and_consistency(recorded: Path) -> None:
    """Table 1 of arXiv 2310.05470: 54.96 and 83.41."""
    found = dicast.evaluate(recorded / "autoj" / "judgments.jsonl", unreadable="wrong")
    for name, published in (("both-orders accuracy", 54.96), ("consistency", 83.41)):
        measure = found.measure(name)
        assert measure is not None
        assert round(100 * (measure.value or 0), 2) == published
