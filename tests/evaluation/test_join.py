"""Runs meet by case id: what is no same case is refused, with both places, and what one run lacks the other gives."""

import json
from pathlib import Path
from typing import Any

import pytest

import dicast
from dicast.data import Case, Judged, Scores, Winner
from dicast.errors import DataError
from dicast.evaluation.compare import compare
from dicast.evaluation.join import join
from dicast.evaluation.run_arrays import run_arrays

Rows = list[dict[str, Any]]


def write(path: Path, rows: Rows) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def drawn(n: int = 60, **more: Any) -> Rows:
    """Rows of a judge that is right in two thirds of the cases."""
    return [
        {"id": str(n), "prediction": "ab"[(n // 2 + (n % 3 == 0)) % 2], "label": "ab"[n // 2 % 2]} | more
        for n in range(n)
    ]


def exchanged(rows: Rows) -> Rows:
    other = {"a": "b", "b": "a", "tie": "tie"}
    return [
        row
        | {name: other[row[name]] for name in ("prediction", "label")}
        | ({"lengths": row["lengths"][::-1]} if "lengths" in row else {})
        for row in rows
    ]


def verdicts(*lines: tuple[str, str, str | None], **more: Any) -> list[Judged]:
    return [
        Judged(case_id=name, winner=winner, label=Winner(value=label) if label else None, **more)
        for name, winner, label in lines
    ]


def evaluate_rows(rows: Any) -> Any:
    return dicast.evaluate(rows)


# one file


def test_a_repeated_first_or_last_row_changes_no_comparison(tmp_path: Path) -> None:
    rows = drawn()
    first, second = write(tmp_path / "first.jsonl", [rows[0], *rows]), write(tmp_path / "last.jsonl", [*rows, rows[-1]])
    assert (dicast.evaluate(first).cases, dicast.evaluate(first).repeated) == (60, 1)
    (comparison,) = dicast.compare([first, second])
    tests = {test.name: test for test in comparison.tests}
    assert (comparison.cases, comparison.only_first, comparison.only_second) == (60, 0, 0)
    assert (tests["accuracy"].difference.value, tests["accuracy"].p) == (0.0, 1.0)
    assert tests["same verdict"].difference.value == 1.0


def test_different_rows_of_one_case_are_refused_with_both_lines(tmp_path: Path) -> None:
    rows = drawn()
    path = write(tmp_path / "rows.jsonl", [*rows, rows[2] | {"prediction": "tie"}])
    message = (
        r"rows.jsonl line 61: case '2' is in line 3 with another verdict \(this line: {\"winner\": \"tie\"}\)\. Delete"
    )
    for run in (path, str(Path(path))):
        with pytest.raises(DataError, match=message):
            dicast.evaluate(run)
    with pytest.raises(DataError, match="evaluate line 61: case '2'"):
        evaluate_rows([*rows, rows[2] | {"label": "tie"}])


def test_verdicts_of_one_case_are_refused_in_arrays() -> None:
    with pytest.raises(DataError, match="case '1' has several. Give one verdict for each case"):
        run_arrays(verdicts(("1", "a", "a"), ("2", "a", "a"), ("1", "b", "a")))


def test_a_source_that_repeats_rows_has_its_own_figure_from_the_last_of_them(tmp_path: Path) -> None:
    """As in DAMO-NLP-SG/LLM_summeval: three of twelve systems were judged twice for one aspect, and its program counts
    the last row: Spearman .343 of 1,200 rows; all 1,500 rows give .311."""
    rows: Rows = [{"id": str(n), "prediction": n % 5, "label": n % 7, "aspect": "consistency"} for n in range(40)]
    repeated = [row | {"prediction": (row["prediction"] + 3) % 5} for row in rows[:10]]
    path = write(tmp_path / "rows.jsonl", [*rows, *repeated])
    with pytest.raises(DataError, match="line 41: case '0#consistency' is in line 1 with another verdict"):
        dicast.evaluate(path)
    last = {row["id"]: row for row in [*rows, *repeated]}
    evaluation = dicast.evaluate(write(tmp_path / "last.jsonl", list(last.values())))
    assert evaluation.cases == 40


# two runs


def test_exchanged_pairs_are_named_as_the_cause(tmp_path: Path) -> None:
    rows = [row | {"lengths": [number, number + 7]} for number, row in enumerate(drawn())]
    runs = [write(tmp_path / "ours.jsonl", rows), write(tmp_path / "theirs.jsonl", exchanged(rows))]
    with pytest.raises(DataError) as refusal:
        dicast.compare(runs)
    message = str(refusal.value)
    assert "ours.jsonl and theirs.jsonl: case '0' has label \"a\" in " in message
    assert f'{runs[0]} line 1 and label "b" in {runs[1]} line 1; 60 of 60 shared cases differ (label 60). ' in message
    assert "They are mirror images: theirs.jsonl has its pairs exchanged. Exchange a and b in its rows" in message


def test_labels_alone_make_an_exchange_likely(tmp_path: Path) -> None:
    rows = drawn()
    runs = [write(tmp_path / "ours.jsonl", rows), write(tmp_path / "theirs.jsonl", exchanged(rows))]
    with pytest.raises(DataError, match="mirror images: likely theirs.jsonl has its pairs exchanged"):
        dicast.compare(runs)


def test_reversed_lengths_show_an_exchange_where_labels_tie(tmp_path: Path) -> None:
    rows = [row | {"label": "tie", "lengths": [3, 9]} for row in drawn()]
    runs = [write(tmp_path / "ours.jsonl", rows), write(tmp_path / "theirs.jsonl", exchanged(rows))]
    with pytest.raises(DataError, match=r"lengths \[3, 9\] .* lengths \[9, 3\] .*has its pairs exchanged"):
        dicast.compare(runs)


@pytest.mark.parametrize(
    ("field", "ours", "theirs", "advice"),
    [
        ("label", "a", "tie", "Which label is right cannot be known: give both runs the same labels, or leave"),
        ("group", "p1", "p2", "Other cases are in one group with it: give both runs the same groups"),
        ("lengths", [1, 2], [1, 3], "Compare runs that judged the same texts"),
    ],
)
def test_a_difference_is_refused_with_places_values_and_count(
    tmp_path: Path, field: str, ours: Any, theirs: Any, advice: str
) -> None:
    rows, others = drawn(5, **{field: ours}), drawn(5, **{field: ours})
    others[3][field] = others[4][field] = theirs
    runs = [write(tmp_path / "ours.jsonl", rows), write(tmp_path / "theirs.jsonl", others[::-1])]
    with pytest.raises(DataError) as refusal:
        dicast.compare(runs)
    message = str(refusal.value)
    assert f"case '3' has {field} {json.dumps(ours)} in {runs[0]} line 4 and {field} {json.dumps(theirs)} in" in message
    assert f"{runs[1]} line 2; 2 of 5 shared cases differ ({field} 2). " in message
    assert advice in message


def test_groups_may_have_other_names() -> None:
    ours = verdicts(("1", "a", "a"), ("2", "b", "a"), group="p1") + verdicts(("3", "a", "a"), group="p2")
    theirs = verdicts(("1", "a", "a"), ("2", "b", "a"), group="x") + verdicts(("3", "a", "a"), group="y")
    joined = join([("ours", run_arrays(ours)), ("theirs", run_arrays(theirs))])
    assert [run.group.tolist() for run in joined.runs] == [[0, 0, 1], [0, 0, 1]]
    moved = verdicts(("1", "a", "a"), group="x") + verdicts(("2", "b", "a"), ("3", "a", "a"), group="y")
    with pytest.raises(DataError, match='case \'2\' has group "p1" in ours and group "y" in moved; 2 of 3'):
        join([("ours", run_arrays(ours)), ("moved", run_arrays(moved))])


def test_texts_that_differ_are_refused_by_their_digests() -> None:
    def judged(text: str) -> list[Judged]:
        case = Case(id="1", query="q", candidates=[{"text": text}, {"text": "y"}], label={"value": "a"})
        verdict = verdicts(("1", "a", None))[0]
        return [Judged.of(case, verdict, case_digest=case.digest)]

    with pytest.raises(DataError, match="case '1' has one text in one and another text in two; 1 of 1 shared cases"):
        compare([("one", run_arrays(judged("x"))), ("two", run_arrays(judged("z")))])
    assert compare([("one", run_arrays(judged("x"))), ("two", run_arrays(judged("x")))])[0].cases == 1


def test_a_label_that_was_edited_in_one_run_is_seen_beside_equal_digests() -> None:
    ours, theirs = verdicts(("1", "a", "a"), case_digest="ab"), verdicts(("1", "a", "tie"), case_digest="ab")
    with pytest.raises(DataError, match='case \'1\' has label "a" in ours and label "tie" in theirs'):
        join([("ours", run_arrays(ours)), ("theirs", run_arrays(theirs))])


def test_labels_and_groups_of_the_run_that_has_them_count_for_both() -> None:
    labelled = verdicts(("1", "a", "a"), ("2", "b", "a"), ("3", "a", "a"), group="p")
    unlabelled = verdicts(("1", "a", None), ("2", "a", None), ("3", "b", None))
    runs = [("labelled", run_arrays(labelled)), ("unlabelled", run_arrays(unlabelled))]
    for pair in (runs, runs[::-1]):
        (comparison,) = compare(pair)
        assert comparison.cases == 3
        assert comparison.tests[0].difference.value == 0.0
        assert comparison.tests[0].difference.groups == 1
        assert [run.human.tolist() for run in join(pair).runs] == [[0, 0, 0], [0, 0, 0]]


def test_scores_and_choices_are_shared_with_the_labels_of_both() -> None:
    def choice(name: str, winner: int, label: int | None) -> Judged:
        return Judged(case_id=name, winner=winner, label=None if label is None else Winner(value=label))

    ours = run_arrays([choice("1", 2, None), choice("2", 0, 3), choice("3", 1, None)])
    theirs = run_arrays([choice("1", 0, 2), choice("2", 0, None), choice("3", 4, 4)])
    joined = join([("ours", ours), ("theirs", theirs)])
    for run in joined.runs:
        assert [run.labels[code] for code in run.human] == ["2", "3", "4"]
    assert [joined.runs[0].labels[code] for code in joined.runs[0].judge] == ["2", "0", "1"]

    def text(name: str, score: float, label: float | None) -> Judged:
        return Judged(
            case_id=name, scores=(score,), label=None if label is None else Scores(values=(label,), lo=0, hi=9)
        )

    ours = run_arrays([text("1", 2, None), text("2", 0, 3)])
    theirs = run_arrays([text("1", 2, 4.5), text("2", 0, 3 + 1e-9)])
    assert [run.human_score.tolist()[0] for run in join([("ours", ours), ("theirs", theirs)]).runs] == [4.5, 4.5]


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    rows, others = drawn(group="p"), drawn(group="p")
    for row in others[::4]:
        row["prediction"] = "tie"
    forward = dicast.compare([write(tmp_path / "a.jsonl", rows), write(tmp_path / "b.jsonl", others)])
    backward = dicast.compare([write(tmp_path / "a.jsonl", rows[::-1]), write(tmp_path / "b.jsonl", others)])
    assert forward == backward


def test_cases_of_one_run_alone_are_counted_and_named(tmp_path: Path) -> None:
    rows = drawn(30)
    runs = [write(tmp_path / "ours.jsonl", rows[:28]), write(tmp_path / "theirs.jsonl", rows[12:])]
    (comparison,) = dicast.compare(runs)
    assert (comparison.cases, comparison.only_first, comparison.only_second) == (16, 12, 2)
    assert comparison.only_second_ids == ("28", "29")
    assert len(comparison.only_first_ids) == 10


# two judges of one file


def test_two_judges_of_one_file_are_compared(tmp_path: Path) -> None:
    rows = [row | {"judge": "A, the first: one"} for row in drawn()]
    rows += [row | {"judge": "B", "prediction": row["label"], "setting": "CoT"} for row in drawn()]
    path = write(tmp_path / "both.jsonl", rows)
    with pytest.raises(DataError, match=r"Give --where judge='B', or name one as in FILE.jsonl:judge=B"):
        dicast.evaluate(path)
    first, second = f"{path}:judge=B,setting=CoT", f"{path}:judge=A, the first: one"
    accuracies = [measure.value for run in (first, second) if (measure := dicast.evaluate(run).measure("accuracy"))]
    (comparison,) = dicast.compare([first, second])
    assert accuracies[0] == 1.0
    assert accuracies[1] is not None
    assert (comparison.first, comparison.second) == ("B, CoT", "A, the first: one")
    assert dicast.workflows.open_run(first).name == "both.jsonl:judge=B,setting=CoT"
    assert comparison.tests[0].difference.value == pytest.approx(accuracies[0] - accuracies[1])
    assert dicast.compare([f"{path}:judge=B", path], where={"judge": "A, the first: one"})[0].cases == 60
    assert dicast.workflows.open_run(first).where == {"judge": "B", "setting": "CoT"}


def test_a_path_that_exists_wins_over_its_fields(tmp_path: Path) -> None:
    odd = write(tmp_path / "rows.jsonl:judge=B", drawn())
    write(tmp_path / "rows.jsonl", drawn(5, judge="B"))
    assert dicast.evaluate(odd).cases == 60


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rows.jsonl:judge=C", r"no row has judge=C\. Give values of its rows \(judge: A, B\)"),
        ("rows.jsonl:judge", "what follows .*rows.jsonl: is not FIELD=VALUE"),
        ("none.jsonl:judge=A", "there is no such run"),
        (".:judge=A", "is a run folder, of which every verdict counts"),
    ],
)
def test_a_name_that_chooses_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "rows.jsonl", [*drawn(3, judge="A"), *drawn(3, judge="B")])
    with pytest.raises(dicast.DeclarationError, match=message):
        dicast.evaluate(name)
