"""Verdicts of other tools' judges, as rows of JSON Lines."""

import json
from pathlib import Path

import pytest

from dicast.data import Judged, Scores, Winner
from dicast.errors import DataError
from dicast.evaluation.external_verdicts import read_external_verdicts


def rows(folder: Path, *lines: object) -> Path:
    path = folder / "verdicts.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_pairs_texts_and_choices_are_read(tmp_path: Path) -> None:
    def read(*lines: object) -> list[Judged]:
        return list(read_external_verdicts(rows(tmp_path, *lines)))

    pair, failed = read(
        {"id": 1, "prediction": "a", "label": "b", "certainty": 80, "votes": ["b", "b"], "lengths": [3, 4]},
        {"id": "4", "prediction": None, "label": "a"},
        "",
    )
    (text,) = read({"item_id": "2", "prediction": 3, "label": 4.5, "aspect": "fluency", "system": "s"})
    (choice,) = read({"id": "3", "prediction": 2, "label": 0, "options": 4, "certainty": 0.4})
    assert (pair.case_id, pair.winner, pair.label, pair.certainty) == ("1", "a", Winner(value="b"), 0.8)
    assert (len(pair.votes), pair.lengths) == (2, (3, 4))
    assert (text.case_id, text.scores, text.aspect, text.systems) == ("2#fluency", (3.0,), "fluency", ("s",))
    assert isinstance(text.label, Scores)
    assert text.label.values == (4.5,)
    assert (choice.winner, choice.label, choice.certainty) == (2, Winner(value=0), 0.4)
    assert (failed.status, failed.reason) == ("unscored", "parse_failure")


@pytest.mark.parametrize(
    ("swapped", "winner", "consistent"), [("a", "a", True), ("b", "tie", False), ("tie", "tie", False)]
)
def test_two_orders_that_differ_are_a_tie(tmp_path: Path, swapped: str, winner: str, consistent: bool) -> None:
    path = rows(tmp_path, {"id": "1", "prediction": "a", "prediction_swapped": swapped, "label": "a"})
    (judged,) = read_external_verdicts(path)
    assert (judged.winner, judged.consistent) == (winner, consistent)
    assert judged.order_winners == {"ab": "a", "ba": swapped}


def test_several_judges_are_told_apart(tmp_path: Path) -> None:
    lines = [{"id": "1", "prediction": "a", "label": "a", "judge": judge} for judge in ("x", "y")]
    path = rows(tmp_path, *lines)
    with pytest.raises(DataError, match=r"holds verdicts of judge 'x' and 'y'\. Give --where judge='y'"):
        list(read_external_verdicts(path))
    assert len(list(read_external_verdicts(path, {"judge": "y"}))) == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            '{"id": "1", "prediction": "c", "label": "a"}',
            'line 2: field .prediction. is "c": must be .a., .b. or .tie., a score',
        ),
        ('{"prediction": "a"}', "line 2: .*id"),
        ('{"id": "1", "prediction": "a", "certainty": 101}', "line 2: .*certainty.*101"),
        ("[1]", "line 2"),
        ('{"id": "1", "pred', "line 2"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, line: str, told: str) -> None:
    path = rows(tmp_path, {"id": "0", "prediction": "a", "label": "a"}, line)
    with pytest.raises(DataError, match=told):
        list(read_external_verdicts(path))


PAIR, TEXT, CHOICE = {"prediction": "a", "label": "a"}, {"prediction": 3, "label": 4}, {"prediction": 2, "options": 4}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (CHOICE | {"prediction": 1.5}, "prediction is 1.5, which is not the index of one of 4 options"),
        (CHOICE | {"prediction": 4}, "prediction is 4, which is not the index"),
        (CHOICE | {"prediction": "a"}, 'prediction is "a", but the row.s verdicts are indexes of options'),
        (CHOICE | {"options": 10**400}, "field 'options'"),
        (TEXT | {"prediction_swapped": "a"}, "prediction_swapped is for pairs, but the row.s verdicts are scores"),
        (TEXT | {"votes": ["a"]}, "votes is for pairs"),
        (TEXT | {"label": "a"}, 'label is "a", but the row.s verdicts are scores'),
        (TEXT | {"prediction": 1e308}, "field 'prediction' is 1e.308"),
        (TEXT | {"label": 10**400}, "field 'label' is 1000"),
        (TEXT | {"prediction": True}, "field 'prediction' is true"),
        (PAIR | {"lengths": [10**400, 1]}, "field 'lengths.0' is 1000"),
        (PAIR | {"lengths": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, "lengths are of 9 texts, but there are 2"),
        (PAIR | {"label": 1}, "label is 1, but the row.s verdicts are letters"),
        (PAIR | {"group": {"deep": []}}, "field 'group'"),
        (PAIR | {"group": "\ud83d"}, "half of a UTF-16 pair"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused_in_one_line(row: dict[str, object], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"verdicts.jsonl line 1: .*{problem}") as error:
        list(read_external_verdicts(rows(tmp_path, {"id": "1"} | row)))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_a_file_holds_verdicts_of_one_kind(tmp_path: Path) -> None:
    path = rows(tmp_path, {"id": "1"} | PAIR, {"id": "2", "prediction": None}, {"id": "3"} | TEXT)
    with pytest.raises(
        DataError, match=r"line 3: the verdicts are scores, those of line 1 letters\. Give one file for"
    ):
        list(read_external_verdicts(path))


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(read_external_verdicts(tmp_path / "none.jsonl"))
