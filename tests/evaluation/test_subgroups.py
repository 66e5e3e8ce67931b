"""A run by fields of its cases: the figures of each value, the adjusted tests, and where the judge is worst."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dicast
from dicast.data import Judged, Scores, Winner
from dicast.errors import DeclarationError
from dicast.evaluation.results import Evaluation, Subgroup, Subgroups
from dicast.evaluation.run_arrays import run_arrays
from dicast.evaluation.subgroups import subgroups
from dicast.stats.paired import holm


def pairs(counts: dict[str, tuple[int, int]], field: str = "subset", group_size: int = 1) -> list[Judged]:
    """Verdicts by value: so many right ones of so many."""
    verdicts = []
    for value, (right, n) in counts.items():
        for number in range(n):
            name = f"{value}/{number:04}"
            verdicts.append(
                Judged(
                    case_id=name,
                    winner="a" if number * right % n < right else "b",
                    label=Winner(value="a"),
                    group=f"{value}/{number // group_size}",
                    attributes={field: value} if value else {},
                )
            )
    return verdicts


def by(verdicts: Sequence[Judged], *fields: str) -> Subgroups:
    return subgroups(run_arrays(verdicts), fields or ("subset",))


def row(result: Subgroups, value: str) -> Subgroup:
    return next(row for table in result.tables for row in table.rows if row.value == value)


COUNTS = {"natural": (80, 100), "neighbor": (40, 100), "manual": (75, 100)}


def test_each_value_has_the_figure_that_a_run_of_its_cases_has() -> None:
    result = by(pairs(COUNTS))
    for value, (right, n) in COUNTS.items():
        of_value = dicast.evaluate(pairs({value: COUNTS[value]})).measure("accuracy")
        assert row(result, value).figure == of_value
        assert row(result, value).figure.value == right / n
    assert [row.value for row in result.tables[0].rows] == ["neighbor", "manual", "natural"]


def test_the_line_names_where_the_judge_is_worst() -> None:
    result = by(pairs(COUNTS))
    assert row(result, "neighbor").difference is not None
    assert row(result, "neighbor").difference.value == pytest.approx(0.4 - 155 / 200)  # type: ignore[union-attr]
    assert result.summary.startswith("Worst on subset=neighbor: accuracy 0.400 [")
    assert result.summary.endswith("0.375 below the other cases, p < 0.001 (Holm)")


def test_without_a_difference_the_line_says_so() -> None:
    result = by(pairs({"x": (40, 60), "y": (41, 60), "z": (42, 60)}))
    assert result.summary.startswith("No value of subset is shown to be below the other cases (least p ")


def test_a_value_that_is_better_is_no_worst_value() -> None:
    result = by(pairs({"x": (40, 60), "y": (40, 60), "z": (40, 60), "best": (58, 60)}))
    assert result.summary.startswith("No value of subset is shown to be below")
    assert result.summary.endswith("; above them: subset=best")


def test_p_values_are_adjusted_over_all_values_of_all_fields() -> None:
    verdicts = [
        judged.model_copy(update={"attributes": judged.attributes | {"digit": str(number % 4)}})
        for number, judged in enumerate(pairs({"x": (20, 60), "y": (30, 60), "z": (41, 60)}))
    ]
    result = by(verdicts, "subset", "digit")
    rows = [row for table in result.tables for row in table.rows]
    assert len(rows) == 7
    assert [row.p_holm for row in rows] == pytest.approx(holm([row.p or 0.0 for row in rows]).tolist())


def test_the_two_values_of_a_field_are_one_test() -> None:
    for each in by(pairs({"x": (50, 60), "y": (30, 60)})).tables[0].rows:
        assert each.p == each.p_holm


def test_few_cases_or_groups_are_shown_without_a_test() -> None:
    few = by(pairs({"x": (50, 60), "y": (30, 60), "few": (0, 9)}))
    assert (row(few, "few").figure.n, row(few, "few").p, row(few, "few").difference) == (9, None, None)
    assert row(few, "few").note == "no test: the value or the others have fewer than 10 cases or 3 groups"
    grouped = by([*pairs({"x": (50, 60), "y": (30, 60)}), *pairs({"few": (3, 40)}, group_size=20)])
    assert row(grouped, "few").p is None
    assert row(grouped, "x").p is not None


def test_cases_without_a_value_have_a_row() -> None:
    result = by(pairs({"x": (50, 60), "": (30, 60)}))
    assert row(result, "(none)").figure.value == 0.5


def test_unscored_cases_are_counted_and_nothing_else() -> None:
    unscored = [
        Judged(case_id=f"un/{n}", status="unscored", reason="refusal", attributes={"subset": "x"}) for n in range(40)
    ]
    with_unscored, without = by([*pairs(COUNTS | {"x": (15, 30)}), *unscored]), by(pairs(COUNTS | {"x": (15, 30)}))
    assert (row(with_unscored, "x").cases, row(without, "x").cases) == (70, 30)
    assert row(with_unscored, "x").model_copy(update={"cases": 30}) == row(without, "x")


def test_exchanging_the_two_texts_changes_nothing() -> None:
    verdicts = pairs(COUNTS, group_size=4)
    assert by(verdicts) == by([judged.swapped() for judged in verdicts])


def test_the_order_of_the_rows_changes_nothing() -> None:
    verdicts = pairs(COUNTS, group_size=4)
    assert by(verdicts) == by(verdicts[::-1])


def texts(rho: dict[str, float], n: int = 120) -> list[Judged]:
    """Scores of texts on two aspects of different levels, by value."""
    rng, verdicts = np.random.default_rng(0), []
    for value, own in rho.items():
        for number in range(n):
            for level, aspect in ((1.5, "coherence"), (4, "fluency")):
                people = rng.normal()
                judge = own * people + np.sqrt(1 - own**2) * rng.normal()
                label = Scores(values=(float(np.clip(level + people / 4, 0, 6)),), lo=0, hi=6)
                verdicts.append(
                    Judged(
                        case_id=f"{value}/{number}#{aspect}", scores=(6 - level + judge,), label=label, aspect=aspect,
                        group=f"{value}/{number}", attributes={"source": value},
                    )
                )  # fmt: skip
    return verdicts


@pytest.mark.slow
def test_scores_have_the_mean_over_aspects_of_spearmans_correlation() -> None:
    verdicts = texts({"news": 0.8, "chat": 0.2})
    result = by(verdicts, "source")
    for value in ("news", "chat"):
        of_value = dicast.evaluate([judged for judged in verdicts if judged.attributes["source"] == value])
        assert row(result, value).figure.value == of_value.measure("spearman").value  # type: ignore[union-attr]
    assert row(result, "chat").p_holm is not None
    assert row(result, "chat").p_holm < 0.001  # type: ignore[operator]
    assert result.summary.startswith("Worst on source=chat: spearman 0.")


def test_the_aspect_is_a_field() -> None:
    result = by(texts({"news": 0.8}), "aspect")
    assert {row.value for row in result.tables[0].rows} == {"coherence", "fluency"}
    assert all(row.p is not None and row.p > 0.01 for row in result.tables[0].rows)


@pytest.mark.parametrize("field", ["source", "aspect"])
def test_an_aspect_of_constant_scores_takes_no_test_from_the_others(field: str) -> None:
    verdicts = texts({"news": 0.8, "chat": 0.2})
    label = Scores(values=(1.0,), lo=0, hi=6)
    constant = [
        judged.model_copy(update={"case_id": f"{judged.case_id}!", "aspect": "grammar", "label": label})
        for judged in verdicts
        if judged.aspect == "fluency"
    ]
    without, beside = by(verdicts, field), by([*verdicts, *constant], field)
    for value in (row.value for row in without.tables[0].rows):
        assert row(beside, value).p == row(without, value).p
        assert row(beside, value).figure.value == row(without, value).figure.value
    assert {row.value for row in beside.tables[0].rows if row.p is None} <= {"grammar"}


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("sorce", "--by sorce: the run has no such field. It has: subset."),
        ("id", "--by id: it has more than 100 values, too many for subgroups. Give another field. It has: subset."),
    ],
)
def test_a_field_that_divides_nothing_is_refused_with_those_that_do(field: str, problem: str) -> None:
    verdicts = [
        judged.model_copy(update={"attributes": judged.attributes | {"id": judged.case_id}}) for judged in pairs(COUNTS)
    ]
    with pytest.raises(DeclarationError) as caught:
        by(verdicts, field)
    assert str(caught.value) == problem


def test_a_run_without_any_field_says_what_a_field_is() -> None:
    with pytest.raises(DeclarationError, match=r"It has none: fields are the aspect, and columns of the cases"):
        by([Judged(case_id="1", winner="a", label=Winner(value="a"))])


def test_without_labels_nothing_is_compared() -> None:
    with pytest.raises(DeclarationError, match="--by: no verdict has a human label"):
        by([Judged(case_id="1", winner="a", attributes={"subset": "x"})])


def test_evaluate_takes_rows_of_another_tool_and_gives_json() -> None:
    rows: Any = [
        {"id": n, "prediction": "ab"[n % 3 == 0], "label": "a", "language": ("en", "fr")[n % 2]} for n in range(60)
    ]
    evaluation = dicast.evaluate(rows, by="language")
    assert evaluation.subgroups is not None
    read = Evaluation.model_validate(json.loads(evaluation.model_dump_json()))
    assert read == evaluation
    assert dicast.evaluate(rows).subgroups is None


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [False, True])
def test_a_judge_without_differences_is_seldom_called_worse_anywhere(mixed: bool) -> None:
    """40 worlds of 30 prompts of six cases, intraclass correlation .3, six values: at most 5 % may name a worst one."""
    rng, named = np.random.default_rng(1), 0
    for _ in range(40):
        chance = rng.beta(0.75 * 7 / 3, 0.25 * 7 / 3, size=30)
        values = rng.integers(6, size=30)
        verdicts = [
            Judged(
                case_id=f"{prompt:02}/{n}", winner="a" if rng.random() < chance[prompt] else "b",
                label=Winner(value="a"), group=str(prompt),
                attributes={"subset": str(rng.integers(6) if mixed else values[prompt])},
            )
            for prompt in range(30)
            for n in range(6)
        ]  # fmt: skip
        named += by(verdicts).summary.startswith("Worst on")
    assert named <= 5  # at 5 % more than 5 of 40 come in 1.4 % of cases


@pytest.mark.parametrize("merge", ["tie", "sum", "half"])
def test_two_orders_count_as_in_the_run_itself(merge: Any) -> None:
    rows: Any = [
        {
            "id": n,
            "prediction": "ab"[n % 3 == 0],
            "prediction_swapped": "ab"[n % 2],
            "label": "a",
            "kind": "xy"[n % 5 < 2],
        }
        for n in range(100)
    ]
    result = dicast.evaluate(rows, by="kind", merge=merge).subgroups
    assert result is not None
    for value in "xy":
        of_value: Any = [each for each in rows if each["kind"] == value]
        accuracy, figure = dicast.evaluate(of_value, merge=merge).measure("accuracy"), row(result, value).figure
        assert accuracy is not None
        assert (figure.value, figure.low, figure.high) == (accuracy.value, accuracy.low, accuracy.high)
        assert figure.n == accuracy.n == len(of_value)


@pytest.fixture
def llmbar() -> list[dict[str, Any]]:
    """Verdicts of one judge on two subsets of LLMBar, in both orders."""
    folder = os.environ.get("DICAST_RECORDED") or Path(os.environ.get("DICAST_DATA", "")).parent / "recorded"
    files = {subset: Path(folder) / "llmbar" / f"{subset}.jsonl" for subset in ("natural", "gptinst")}
    if not all(file.is_file() for file in files.values()):
        pytest.skip("set DICAST_RECORDED to the folder of recorded judgments")
    rows = [
        json.loads(line) | {"subset": name} for name, file in files.items() for line in file.read_text().splitlines()
    ]
    return [row for row in rows if (row["judge"], row["setting"]) == ("ChatGPT-0301", "CoT")]


def test_recorded_verdicts_of_llmbar_by_subset(llmbar: Any) -> None:
    """82.0 % on Natural are the published mean of both orders (published_statistics.jsonl, correct_average)."""
    result = dicast.evaluate(llmbar, by="subset", merge="half").subgroups
    assert result is not None
    assert (row(result, "natural").figure.value, row(result, "natural").figure.n) == (0.82, 100)
    gptinst = [each for each in llmbar if each["subset"] == "gptinst"]
    hits = [each["label"] == each[order] for each in gptinst for order in ("prediction", "prediction_swapped")]
    assert row(result, "gptinst").figure.value == pytest.approx(np.mean(hits))
    assert result.summary.startswith("Worst on subset=gptinst: accuracy 0.")
