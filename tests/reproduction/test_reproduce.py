"""Published tables recomputed: verdicts pinned on the recorded judgments, and every verdict on small written folders.

Set DICAST_RECORDED, or DICAST_DATA with `recorded` beside it, for the tests on the recorded judgments.
"""

import json
import math
import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml
from scipy.stats import kendalltau

from dicast.cli import run
from dicast.errors import DataError, DeclarationError
from dicast.reproduction import TABLES, PublishedValue, Recomputed, folder
from dicast.reproduction.comparison import Explanation, compare, rounds_to
from dicast.reproduction.recorded import RecordedPreference, RecordedScore, read
from dicast.reproduction.tables.personalized_judge import _only_count

AUTOJ = "autoj/judgments.jsonl"
HEAD = [
    "autoj  both-orders accuracy and consistency of Auto-J 13B on its pairwise test set, percent",
    "Li et al. 2023, arXiv 2310.05470; leaderboard of github.com/GAIR-NLP/auto-j",
]


@pytest.fixture
def recorded() -> Path:
    """The folder of recorded judgments; a user's clone has none."""
    try:
        return folder()
    except DataError:
        pytest.skip("set DICAST_RECORDED to the folder of recorded judgments")


@pytest.fixture(scope="module")
def rows_of():
    """The rows of a table, recomputed once."""
    return cache(lambda name, root: TABLES.find(name).rows(root))


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty working folder, and no folder named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DICAST_DATA", raising=False)
    monkeypatch.delenv("DICAST_RECORDED", raising=False)
    return tmp_path


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def verdict(prediction, swapped, label="a", **other):
    named = {"dataset_id": "s", "item_id": "s/1", "judge": "j", "setting": "default"}
    return named | {"prediction": prediction, "prediction_swapped": swapped, "label": label} | other


def autoj(agreeing, consistent, n):
    """So many of n rows agree with people, and so many more are consistent."""
    rows = [verdict("a", "a")] * agreeing + [verdict("b", "b")] * (consistent - agreeing)
    return rows + [verdict("a", "b")] * (n - consistent)


def lines(capsys) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


# On the recorded judgments.


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("personalized-judge-table-1", {"rounds equal": 20, "differs": 4}),
        ("personalized-judge-table-2", {"exact": 22, "rounds equal": 19, "differs": 7, "not recorded": 21}),
        ("personalized-judge-tables-3-4", {"exact": 8, "rounds equal": 12, "not recorded": 20}),
        ("personalized-judge-no-persona", {"rounds equal": 1, "differs": 1, "not recorded": 1}),
        ("personalized-judge-notebook", {"exact": 46, "rounds equal": 58, "differs": 5}),
        ("autoj", {"rounds equal": 2}),
        ("pandalm", {"exact": 3, "differs": 8, "not recorded": 3}),
        ("llmbar", {"exact": 1170}),
        ("unieval", {"exact": 42}),
        ("openmeva-chatgpt", {"rounds equal": 11, "differs": 1}),
        ("fed-replication", {"exact": 36}),
    ],
)
def test_recorded_judgments_give_the_published_tables(recorded, rows_of, name, verdicts):
    rows = rows_of(name, recorded)
    assert [row.name for row in rows if row.unexplained] == []
    assert Counter(row.verdict for row in rows) == verdicts


def test_every_table_is_pinned_and_the_whole_command_passes(recorded, capsys):
    assert run(["reproduce", "all", "--data", str(recorded)]) == 0
    assert lines(capsys)[-2:] == [
        "1,521 values: 1,327 exact, 123 round equal, 26 differ (all explained), 45 not recorded (all explained)",
        "18 of them are recomputed from printed counts of runs whose judgments are not in the folder",
    ]


def test_every_explanation_is_in_use(recorded, rows_of):
    for table in TABLES:
        absent = "is not there; the repository has it in its folder outputs"
        rows = [row for row in rows_of(table.name, recorded) if row.why and absent not in row.why]
        assert {row.name for row in rows} == set(table.publication.explained), table.name


def test_counts_of_table_2_are_the_rounded_accuracy_times_n(recorded, rows_of):
    rows = {row.name: row for row in rows_of("personalized-judge-table-2", recorded)}
    for name, row in rows.items():
        if name.endswith(": correct"):
            accuracy = rows[name.replace(": correct", ": accuracy")]
            assert int(accuracy.published * accuracy.n) == row.published


def test_the_stale_rows_explain_part_of_the_missing_persona(recorded):
    text = (recorded / "personalized_judge" / "judgments.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    clean = [
        row
        for row in rows
        if (row["dataset_id"], row["setting"]) == ("personalized_prism", "no_persona")
        and row.get("quality_flag") is None
        and row["prediction"] in ("a", "b")
    ]
    assert (sum(row["prediction"] == row["label"] for row in clean), len(clean)) == (519, 782)


def test_fed_correlations_need_the_furthest_annotation_dropped(recorded):
    rows = [row for row in read(recorded / "fed_metric" / "judgments.jsonl", RecordedScore) if row.label is not None]
    printed = TABLES.find("fed-replication").publication.published_values()
    from dicast.stats.proportions import correlations

    for level, aspect in {(row.setting, row.aspect) for row in rows}:
        chosen = [row for row in rows if (row.setting, row.aspect) == (level, aspect)]
        all_five = correlations((row.prediction, row.label) for row in chosen)
        for name in ("pearson", "spearman"):
            if figure := printed.get(f"{level}, {aspect}, {name}"):
                assert not rounds_to(all_five[name], figure.value, figure.decimals)


def test_tau_c_would_be_printed_as_the_one_figure_that_differs(recorded):
    prompts = {}
    for row in read(recorded / "openmeva_chatgpt" / "judgments.jsonl", RecordedScore):
        if row.judge == "bertscore-f":
            prompts.setdefault(row.item_id.rpartition("/")[0], []).append((row.prediction, row.label))
    each = [kendalltau(*zip(*pairs, strict=True), variant="c").statistic for pairs in prompts.values()]
    assert rounds_to(sum(each) / len(each), 0.103, 3)


# Verdicts.


def only(figure, printed, explained=None):
    (row,) = compare("t", {"f": figure} if figure else {}, {"f": printed}, {"f": explained} if explained else {})
    return row


@pytest.mark.parametrize(
    ("figure", "printed", "message"),
    [
        (Recomputed(0.81, 100, 81), PublishedValue(0.81, 2, 81, 100), "exact"),
        (Recomputed(0.81, 100, 81), PublishedValue(0.81, 2, 162, 200), "differs, unexplained"),
        (Recomputed(0.405, 200, 81), PublishedValue(0.81, 2, 81, 100), "differs, unexplained"),
        (Recomputed(105, 105), PublishedValue(105, 0), "exact"),
        (Recomputed(104.9, 105), PublishedValue(105, 0), "rounds equal"),
        (Recomputed(106, 106), PublishedValue(105, 0), "differs, unexplained"),
        (Recomputed(0.4436661, 9), PublishedValue(0.443666, 6), "exact"),
        (Recomputed(0.44367, 9), PublishedValue(0.44367, 5), "rounds equal"),
        (Recomputed(-0.0275, 9), PublishedValue(-0.028, 3), "rounds equal"),
        (Recomputed(math.nan, 9), PublishedValue(0.5, 1), "not recorded, unexplained"),
        (None, PublishedValue(0.5, 1), "not recorded, unexplained"),
    ],
)
def test_verdicts(figure, printed, message):
    assert only(figure, printed).verdict_text == message


@pytest.mark.parametrize(
    ("value", "printed", "equal"),
    [
        (0.0125, 0.013, True),
        (0.0125, 0.012, True),
        (0.0135, 0.014, True),
        (0.0135, 0.013, False),
        (0.01249, 0.013, False),
    ],
)
def test_halves_may_be_rounded_up_or_to_even(value, printed, equal):
    assert rounds_to(value, printed, 3) is equal


def test_an_explanation_holds_only_for_the_value_that_it_names():
    known = Explanation(recorded=0.78, why="another run")
    assert only(Recomputed(0.7804, 9), PublishedValue(0.796, 3), known).why == "another run"
    assert only(Recomputed(0.7806, 9), PublishedValue(0.796, 3), known).unexplained
    assert only(Recomputed(0.7804, 9), PublishedValue(0.78, 2), known).why == ""  # nothing is left to explain
    assert only(None, PublishedValue(0.80, 2), known).unexplained
    assert only(Recomputed(0.7804, 9), PublishedValue(0.80, 2), Explanation(why="no rows")).unexplained
    assert not only(None, PublishedValue(0.80, 2), Explanation(why="no rows")).unexplained


def test_a_row_has_both_values_and_their_difference():
    row = only(Recomputed(0.5, 4, 2), PublishedValue(0.6, 1))
    assert (row.recomputed, row.published, row.hits, row.n, row.basis) == (0.5, 0.6, 2, 4, "items")
    assert row.difference == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("share", "n", "count"),
    [
        (0.908, 120, 109),
        (0.703, 871, 612),
        (0.804, 480, 386),
        (0.602, 2535, math.nan),
        (0.5, 10**6, math.nan),
        (0.0, 0, math.nan),
    ],
)
def test_a_rounded_share_leaves_one_count_or_several(share, n, count):
    brute = [hits for hits in range(n + 1) if n and n < 10**5 and abs(hits / n - share) <= 0.0005]
    assert _only_count(share, n) == pytest.approx(count, nan_ok=True)
    if n < 10**5:
        assert (len(brute) == 1) is not math.isnan(count)


def test_published_figures_keep_the_decimals_of_their_sources():
    printed = TABLES.find("personalized-judge-table-1").publication.published_values()
    assert printed["PRISM, command-r-plus"] == PublishedValue(0.72, 3)
    assert TABLES.find("pandalm").publication.published_values()["labels, tie"] == PublishedValue(105, 0)
    assert TABLES.find("unieval").publication.published_values()["qags_xsum, consistency, spearman"].decimals == 6


def test_the_tables_are_those_of_the_file_of_published_figures():
    text = (Path(__file__).parents[2] / "reproduction" / "published.yaml").read_text(encoding="utf-8")
    record = yaml.safe_load(text)
    assert set(record) == set(TABLES.names())
    for name, table in record.items():
        if "values" in table:
            of_paper = {value for value in table.get("explained", {}) if not value.endswith(" (notebook)")}
            assert of_paper <= set(table["values"]), name


# What is recomputed, by hand.


def test_the_option_of_a_tie_changes_which_rows_count(tmp_path):
    rows = [
        verdict("a", None, dataset_id="personalized_ec", setting=setting, judge="gpt-4o", certainty=certainty)
        for setting in ("all_features", "with_tie")
        for certainty in (80, 79, None)
    ]
    rows += [row | {"prediction": None} for row in rows[::3]] + [row | {"prediction": "b"} for row in rows[::3]]
    rows += [row | {"prediction": "tie", "label": "tie"} for row in rows[3:4]]
    write(tmp_path / "personalized_judge" / "judgments.jsonl", rows)
    aggregate = {"setting": "all_features", "overall_acc": 0.5, "high_acc": 0.5, "low_acc": 0.602}
    aggregate |= {"high_n": 2, "low_n": 2535, "per_item_file_available": False}
    write(
        tmp_path / "personalized_judge" / "notebook_aggregates.jsonl",
        [aggregate | {"dataset_id": f"personalized_{name}", "judge": "gpt-4o"} for name in ("ec", "opinionqa")],
    )
    first = {row.name: row for row in TABLES.find("personalized-judge-table-1").rows(tmp_path)}
    assert (first["EC, gpt-4o"].hits, first["EC, gpt-4o"].n) == (3, 4)  # an unreadable answer is left out
    assert (first["EC with tie, gpt-4o"].hits, first["EC with tie, gpt-4o"].n) == (4, 6)  # and here it is wrong
    assert (first["OpinionQA, gpt-4o"].basis, first["OpinionQA, gpt-4o"].n) == ("aggregates", 2537)
    assert first["PR, gpt-4o"].verdict == "not recorded"
    second = {row.name: row for row in TABLES.find("personalized-judge-table-2").rows(tmp_path)}
    assert second["OpinionQA, gpt-4o, high: correct"].recomputed == 1
    assert second["OpinionQA, gpt-4o, low: correct"].verdict == "not recorded"
    found = TABLES.find("personalized-judge-table-2").recompute(tmp_path)
    assert (found["EC, gpt-4o, high: cases"].value, found["EC, gpt-4o, high: correct"].value) == (2, 1)
    assert (found["EC, gpt-4o, low: cases"].value, found["EC, gpt-4o, low: correct"].value) == (2, 2)


def test_llmbar_statistics_are_made_as_the_source_made_them(tmp_path):
    rows = [verdict(*one) for one in (("a", "a", "a"), ("b", "b", "b"), ("a", "b", "b"), (None, None, "a"))]
    write(tmp_path / "llmbar" / "natural.jsonl", rows)
    write(tmp_path / "llmbar" / "gptinst.jsonl", rows)
    found = TABLES.find("llmbar").recompute(tmp_path)
    run_ = "natural, j default"
    assert [found[f"{run_}, {name}"].hits for name in ("accuracy", "accuracy, responses exchanged")] == [2, 3]
    assert [found[f"{run_}, {name}"].hits for name in ("both-orders accuracy", "positional agreement")] == [2, 3]
    assert found[f"{run_}, accuracy, mean of both orders"].value == 0.625
    # scikit-learn 1.7: cohen_kappa_score([1, 0, 1, 0], [1, 2, 2, 1]) and ([1, 0, 1, 0], [1, 0, 0, 0])
    assert found[f"{run_}, kappa as printed"].value == pytest.approx(0.0)
    assert found[f"{run_}, kappa as printed, of the two orders"].value == pytest.approx(0.5)


def test_pandalm_averages_over_the_three_labels_alone(tmp_path):
    labels = ["a", "a", "b", "b", "tie", "tie"]
    rows = [
        verdict(prediction, None, label, item_id=str(item))
        for item, (prediction, label) in enumerate(zip(["a", None, "b", "a", "tie", "tie"], labels, strict=True))
    ]
    write(tmp_path / "pandalm" / "judgments.jsonl", rows + [row | {"judge": "other"} for row in rows])
    found = TABLES.find("pandalm").recompute(tmp_path)
    assert found["labels, a"].value == 2  # items, not rows
    assert (found["j, accuracy"].hits, found["j, accuracy"].n) == (4, 6)
    assert found["j, F1"].value == pytest.approx((1 / 2 + 2 / 3 + 1) / 3)
    assert found["j, precision"].value == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert found["j, recall"].value == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)


def test_constant_prompts_are_left_out_of_the_sample_level(tmp_path):
    scores = {"p": [(1, 1), (2, 2), (3, 3)], "q": [(3, 1), (2, 2), (1, 3)], "r": [(4, 1), (4, 2), (4, 3)]}
    write(
        tmp_path / "openmeva_chatgpt" / "judgments.jsonl",
        [
            {"dataset_id": "o", "item_id": f"o/{prompt}/{system}", "judge": "chatgpt", "setting": "s"}
            | {"aspect": "overall", "prediction": prediction, "label": label}
            for prompt, pairs in scores.items()
            for system, (prediction, label) in enumerate(pairs)
        ],
    )
    found = TABLES.find("openmeva-chatgpt").recompute(tmp_path)
    assert found["chatgpt, sample level, spearman"] == Recomputed(0.0, 6)
    assert found["chatgpt, data-set level, spearman"].n == 9


# The command.


def test_rounded_figures_pass(elsewhere, capsys):
    write(elsewhere / "there" / AUTOJ, autoj(5496, 8341, 10_000))
    assert run(["reproduce", "autoj", "--data", "there"]) == 0
    assert lines(capsys) == [
        *HEAD,
        "  value                 recomputed             n  published  difference  verdict       basis",
        "  both-orders accuracy  54.960      5,496/10,000  54.96      +0.000      rounds equal  items",
        "  consistency           83.410      8,341/10,000  83.41      +0.000      rounds equal  items",
        "",
        "2 values: 2 round equal",
    ]


def test_a_figure_that_nothing_explains_is_a_failure(elsewhere, capsys):
    write(elsewhere / "there" / AUTOJ, autoj(55, 83, 100))
    assert run(["reproduce", "autoj", "--data", "there"]) == 1
    assert lines(capsys) == [
        *HEAD,
        "  value                 recomputed       n  published  difference  verdict               basis",
        "  both-orders accuracy  55.000      55/100  54.96      +0.040      differs, unexplained  items",
        "  consistency           83.000      83/100  83.41      -0.410      differs, unexplained  items",
        "",
        "2 values: 2 differ (2 unexplained)",
    ]


def no_persona(name, hits, n):
    row = verdict("a", None, dataset_id=name, setting="no_persona", judge="command-r-plus")
    return [row] * hits + [row | {"label": "b"}] * (n - hits)


def test_an_explained_difference_is_no_failure(elsewhere, capsys):
    rows = no_persona("personalized_prism", 519, 986) + no_persona("personalized_ec", 254, 510)
    write(elsewhere / "there" / "personalized_judge" / "judgments.jsonl", rows)
    assert run(["reproduce", "personalized-judge-no-persona", "--data", "there"]) == 0
    output = lines(capsys)
    assert output[2:6] == [
        "  value                  recomputed        n  published  difference  verdict       basis",
        "  PRISM, no persona      0.5264      519/986  0.685      -0.1586     differs       items",
        "  OpinionQA, no persona  -                 -  0.575      -           not recorded  -",
        "  EC, no persona         0.4980      254/510  0.498      +0.0000     rounds equal  items",
    ]
    assert output[6].startswith(
        "  PRISM, no persona: the released run and the notebook have .526 (519 of 986); without the"
    )
    assert output[8] == "  OpinionQA, no persona: no run without a persona is released for OpinionQA."
    assert output[-1] == "3 values: 1 round equal, 1 differ (all explained), 1 not recorded (all explained)"


AGGREGATE = {
    "run": "opinionqa_gpt-4o",
    "dataset_id": "personalized_opinionqa",
    "setting": "all_features",
    "judge": "gpt-4o",
    "overall_acc": 0.634,
    "high_n": 480,
    "high_acc": 0.804,
    "low_n": 2535,
    "low_acc": 0.602,
    "per_item_file_available": False,
}


def own_rows(high, low, right_high, right_low, *, least="80"):
    """Rows of a run as the repository has it, 480 sure ones and 2,535 others or fewer."""
    sure = [{"answer": "A", "certainty": least, "ground_truth": "AB"[n >= right_high]} for n in range(high)]
    unsure = [{"answer": "B", "certainty": "79", "ground_truth": "BA"[n >= right_low]} for n in range(low)]
    return [*sure, *unsure, {"answer": False, "certainty": False, "ground_truth": "A"}]


@pytest.mark.parametrize(("own", "basis", "correct"), [(False, "aggregates", None), (True, "items", 1526.0)])
def test_a_user_s_copy_of_a_run_takes_the_place_of_its_aggregates(elsewhere, own, basis, correct):
    folder = elsewhere / "there" / "personalized_judge"
    write(folder / "judgments.jsonl", no_persona("personalized_ec", 254, 510))
    write(folder / "notebook_aggregates.jsonl", [AGGREGATE])
    if own:
        write(folder / "outputs" / "opinionqa_gpt-4o.jsonl", own_rows(480, 2535, 386, 1526))
    rows = {row.name: row for row in TABLES.find("personalized-judge-table-2").rows(elsewhere / "there")}
    high, low = (rows[f"OpinionQA, gpt-4o, {side}: accuracy"] for side in ("high", "low"))
    assert (high.basis, low.basis) == (basis, basis)
    assert (high.n, low.n) == (480, 2535)
    assert rows["OpinionQA, gpt-4o, low: correct"].recomputed == correct
    first = {row.name: row for row in TABLES.find("personalized-judge-table-1").rows(elsewhere / "there")}
    assert (first["OpinionQA, gpt-4o"].basis, first["OpinionQA, gpt-4o"].n) == (basis, 3015)


def test_a_value_of_a_run_that_is_not_there_says_which_file_has_it(elsewhere):
    folder = elsewhere / "there" / "personalized_judge"
    write(folder / "judgments.jsonl", no_persona("personalized_ec", 254, 510))
    write(folder / "notebook_aggregates.jsonl", [AGGREGATE | {"setting": "key_features", "run": "key"}])
    rows = TABLES.find("personalized-judge-tables-3-4").rows(elsewhere / "there")
    assert {row.verdict for row in rows} == {"not recorded"}
    where = "personalized_judge/outputs/key.jsonl"
    assert {row.why for row in rows} == {f"{where} is not there; the repository has it in its folder outputs"}
    write(elsewhere / "there" / where, own_rows(480, 2535, 386, 1526))
    rows = TABLES.find("personalized-judge-tables-3-4").rows(elsewhere / "there")
    assert {row.verdict for row in rows} == {"exact", "rounds equal"}


def llmbar(folder, **other):
    """Two runs of two rows with the source's statistics, which are exact but for `other`."""
    expected = {"judge": "j", "setting": "default", "correct_False": "1 / 2 = 50.0%", "correct_True": "2 / 2 = 100.0%"}
    expected |= {"correct_average": "75.0%", "correct_both": "1 / 2 = 50.0%", "equal": "1 / 2 = 50.0%"}
    expected |= {"kappa_False": 1 / 3, "kappa_True": 1 / 3, "kappa_average": 1 / 3, "kappa_agreement": 0.0}
    for subset in ("natural", "gptinst"):
        write(folder / "llmbar" / f"{subset}.jsonl", [verdict("a", "a"), verdict("a", "b", "b")])
    statistics = [expected | {"subset": "natural"}, expected | {"subset": "gptinst"} | other]
    write(folder / "llmbar" / "published_statistics.jsonl", statistics)


def test_printed_counts_are_exact_or_differ(elsewhere, capsys):
    # By hand: verdicts 1, 1 and 1, 0 against labels 1, 2: kappa 0 and 1/3.
    llmbar(elsewhere / "there", kappa_False=0.0, kappa_average=1 / 6)
    assert run(["reproduce", "llmbar", "--data", "there", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["unexplained"] == [
        "llmbar: natural, j default, kappa as printed",
        "llmbar: natural, j default, kappa as printed, mean of both orders",
    ]
    assert record["verdicts"] == {"exact": 16, "rounds equal": 0, "differs": 2, "not recorded": 0}


@pytest.mark.parametrize("share", ["1 of 2", "1 / 0 = 0%", ""])
def test_a_share_that_is_not_written_as_the_source_writes_them_is_refused(elsewhere, capsys, share):
    llmbar(elsewhere / "there", equal=share)
    assert run(["reproduce", "llmbar", "--data", "there"]) == 3
    assert "published_statistics.jsonl line 2: field 'equal' is" in capsys.readouterr().err


def test_all_tells_what_is_not_there(elsewhere, capsys):
    write(elsewhere / "recorded" / AUTOJ, autoj(5496, 8341, 10_000))
    assert run(["reproduce", "all", "--data", "recorded"]) == 0
    output = lines(capsys)
    assert output[6] == f"personalized-judge-table-1: missing ({Path('recorded/personalized_judge/judgments.jsonl')})"
    assert sum(": missing (" in line for line in output) == len(TABLES.names()) - 1
    assert output[-1] == "2 values: 2 round equal"


def test_json_has_every_row(elsewhere, capsys):
    write(elsewhere / "recorded" / AUTOJ, autoj(55, 83, 100))
    assert run(["reproduce", "all", "--data", "recorded", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["verdicts"] == {"exact": 0, "rounds equal": 0, "differs": 2, "not recorded": 0}
    assert record["unexplained"] == ["autoj: both-orders accuracy", "autoj: consistency"]
    assert len(record["missing"]) == len(TABLES.names()) - 1
    (table,) = record["tables"]
    assert table["rows"][0] | {"difference": None, "recomputed": None} == {
        "table": "autoj",
        "name": "both-orders accuracy",
        "recomputed": None,
        "n": 100,
        "hits": 55,
        "basis": "items",
        "published": 54.96,
        "decimals": 2,
        "difference": None,
        "verdict": "differs",
        "why": "",
    }


def test_long_tables_are_summarised_in_a_line_a_subset_unless_full(recorded, capsys):
    assert run(["reproduce", "llmbar", "--data", str(recorded)]) == 0
    short = lines(capsys)
    assert short[2:4] == ["  natural: 585 values: 585 exact", "  gptinst: 585 values: 585 exact"]
    assert len(short) == 6
    assert run(["reproduce", "llmbar", "--data", str(recorded), "--full"]) == 0
    assert len(lines(capsys)) == 3 + 1170 + 2


def test_reasons_follow_the_table_and_are_given_once(recorded, capsys):
    assert run(["reproduce", "personalized-judge-table-2", "--data", str(recorded)]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert output.count("which loses one") == 1
    assert (
        "PRISM, gpt-4o, high: correct; PRISM, command-r-plus, low: correct; OpinionQA, gpt-4o, high: correct:" in output
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"item_id": "x"', "line 2: Invalid JSON: EOF while parsing"),
        ('["a"]', "line 2: Input should be an object."),
        ('{"dataset_id": "s", "item_id": "s/1", "judge": "j"}', "line 2: field 'setting': Field required."),
        (
            json.dumps(verdict("left", "a")),
            "line 2: field 'prediction' is \"left\": Input should be 'a', 'b' or 'tie'.",
        ),
    ],
)
def test_a_damaged_row_is_named(elsewhere, capsys, row, message):
    path = elsewhere / "there" / AUTOJ
    write(path, autoj(1, 1, 1))
    path.write_text(path.read_text() + row + "\n")
    assert run(["reproduce", "all", "--data", "there"]) == 3
    assert capsys.readouterr().err.startswith(f"dicast: {Path('there') / AUTOJ} {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a table of dicast reproduce --list, or all."),
        (["autoj"], "dicast: reproduce: no recorded judgments are named. Give --data DIR or set DICAST_RECORDED."),
        (["autoj", "--data", "nowhere"], "dicast: reproduce: nowhere is no folder."),
        (["autoj", "--data", "."], f"dicast: autoj: {AUTOJ} is missing."),
        (["all", "--data", "."], "dicast: all: personalized_judge/judgments.jsonl is missing."),
        (
            ["auto-j", "--data", "."],
            "dicast: published table 'auto-j': there is no such published table. Did you mean 'autoj'?",
        ),
        (
            ["zzz", "--data", "."],
            "dicast: published table 'zzz': there is no such published table. dicast reproduce --list has all.",
        ),
    ],
)
def test_what_is_wrong_is_one_clear_line(elsewhere, capsys, arguments, message):
    assert run(["reproduce", *arguments]) == 3
    assert message in capsys.readouterr().err


def test_empty_and_unreadable_files_are_refused(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(DataError, match=r"empty\.jsonl: there are no rows in it"):
        list(read(tmp_path / "empty.jsonl", RecordedPreference))
    with pytest.raises(DataError, match="cannot be read"):
        list(read(tmp_path, RecordedPreference))


def test_the_folder_is_the_one_given_or_named_or_beside_the_sets(elsewhere, monkeypatch):
    for name in ("given", "named", "recorded", "sets"):
        (elsewhere / name).mkdir()
    monkeypatch.setenv("DICAST_DATA", str(elsewhere / "sets"))
    assert folder() == elsewhere / "recorded"
    monkeypatch.setenv("DICAST_RECORDED", str(elsewhere / "named"))
    assert folder() == elsewhere / "named"
    assert folder(elsewhere / "given") == elsewhere / "given"


def test_the_list_names_sources_and_files(elsewhere, capsys):
    assert run(["reproduce", "--list"]) == 0
    output = lines(capsys)
    assert output[output.index(HEAD[0]) : output.index(HEAD[0]) + 3] == [HEAD[0], f"  {HEAD[1]}", f"  needs {AUTOJ}"]
    assert run(["reproduce", "--list", "--json"]) == 0
    assert [table["name"] for table in json.loads(capsys.readouterr().out)] == TABLES.names()


def test_an_unknown_table_is_a_wrong_declaration():
    with pytest.raises(DeclarationError, match="there is no such published table"):
        TABLES.find("nothing")


def test_the_guide_has_the_verdict_counts_of_every_table(recorded, rows_of):
    guide = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for table in TABLES:
        rows = rows_of(table.name, recorded)
        counts = Counter(row.verdict for row in rows)
        cells = [len(rows), *(counts[name] for name in ("exact", "rounds equal", "differs", "not recorded"))]
        (line,) = [line for line in guide.splitlines() if line.startswith(f"| `{table.name}` |")]
        assert [cell.strip() for cell in line.split("|")[3:-1]] == [f"{cell:,}" for cell in cells]


def test_recorded_judgments_are_not_in_the_repository():
    root = Path(__file__).parents[2]
    assert not list((root / "evaluation").rglob("*.jsonl"))
    assert os.environ.get("DICAST_RECORDED") is None or root not in Path(os.environ["DICAST_RECORDED"]).parents
