"""Verdicts of other tools' judges, as rows of JSON Lines."""

import json
from pathlib import Path

import pytest

import dicast
from dicast.data import Judged, Scores, Winner
from dicast.errors import DataError, RunError
from dicast.evaluation import run_arrays
from dicast.evaluation.external_verdicts import ExternalVerdicts, read_external_verdicts


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
    ("swapped", "winner", "consistent"), [("a", "a", True), ("b", "tie", False), ("tie", "a", False)]
)
def test_two_orders_are_summed(tmp_path: Path, swapped: str, winner: str, consistent: bool) -> None:
    path = rows(tmp_path, {"id": "1", "prediction": "a", "prediction_swapped": swapped, "label": "a"})
    (judged,) = read_external_verdicts(path)
    assert (judged.winner, judged.consistent) == (winner, consistent)
    assert judged.order_winners == {"ab": "a", "ba": swapped}


def test_several_judges_are_distinguished(tmp_path: Path) -> None:
    lines = [{"id": "1", "prediction": "a", "label": "a", "judge": judge} for judge in ("x", "y")]
    path = rows(tmp_path, *lines)
    with pytest.raises(DataError, match=r"holds verdicts of judge 'x' and 'y'\. Give --where judge='y'"):
        list(read_external_verdicts(path))
    assert len(list(read_external_verdicts(path, {"judge": "y"}))) == 1


@pytest.mark.parametrize(
    ("line", "message"),
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
def test_a_bad_row_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = rows(tmp_path, {"id": "0", "prediction": "a", "label": "a"}, line)
    with pytest.raises(DataError, match=message):
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
        (TEXT | {"votes": [4, "a"]}, 'votes.1 is "a", but the row.s verdicts are scores'),
        (TEXT | {"label": "a"}, 'label is "a", but the row.s verdicts are scores'),
        (TEXT | {"prediction": 1e308}, r"field 'prediction' is 1e.308: a score is a number from -1e.50 to 1e.50"),
        (TEXT | {"label": 10**400}, "field 'label' is 1000"),
        (TEXT | {"prediction": True}, "field 'prediction' is true"),
        (PAIR | {"lengths": [10**400, 1]}, "field 'lengths.0' is 1000"),
        (PAIR | {"lengths": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, "lengths are of 9 texts, but there are 2"),
        (PAIR | {"label": 1}, "label is 1, but the row.s verdicts are letters"),
        (PAIR | {"label": [1, 2, 3]}, r"field 'label' is \[1, 2, 3\]: must be .*, or two scores"),
        (PAIR | {"votes": ["a", 2]}, "votes.1 is 2, but the row.s verdicts are letters"),
        (PAIR | {"votes": [{"label": "a", "certainty": 80}]}, "field 'votes.0.certainty' is 80"),
        (PAIR | {"prediction": [3, 1], "scale": [1, 2]}, "prediction is 3, which is not on the scale 1..2"),
        (PAIR | {"systems": ["x"]}, "systems are of 1 texts, but there are 2"),
        (PAIR | {"system": "x"}, 'system is "x", but there are 2 texts; give systems'),
        (PAIR | {"distribution": {"a": 0.5, "b": 0.2}}, "field 'distribution' is .*: must sum to 1, and sums to 0.7"),
        (
            PAIR | {"distribution": {"a": 0.5, "c": 0.5}},
            "distribution is of 'a', 'c', but the row.s verdicts are letters",
        ),
        (PAIR | {"distribution": {"a": "high"}}, "field 'distribution' is .*must be probabilities"),
        (PAIR | {"certainty": 40, "certainty_scale": 1}, "certainty is 40, but certainty_scale is 1"),
        (PAIR | {"certainty": "sure"}, "field 'certainty' is \"sure\""),
        (PAIR | {"certainty_scale": 10}, "field 'certainty_scale' is 10"),
        (PAIR | {"reason": "lazy"}, "field 'reason' is \"lazy\""),
        (PAIR | {"group": ["x"]}, "field 'group' is .*must be a text or a number"),
        (TEXT | {"scale": [5, 1]}, "field 'scale' is .*the lowest score comes first"),
        (TEXT | {"scale": "1 to 5"}, "field 'scale' is \"1 to 5\""),
        (TEXT | {"label": 9, "scale": [1, 5]}, "label is 9, which is not on the scale 1..5"),
        (TEXT | {"scores": [3]}, "scores is .*leave scores out"),
        (CHOICE | {"distribution": [0.5, 0.5, 0, 0, 0]}, "distribution is of .*indexes of options"),
        (CHOICE | {"votes": [7]}, "votes.0 is 7, which is not the index"),
        (PAIR | {"group": {"deep": []}}, "field 'group'"),
        (PAIR | {"group": "\ud83d"}, "half of a UTF-16 pair"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused_in_one_line(row: dict[str, object], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"verdicts.jsonl line 1: .*{problem}") as error:
        list(read_external_verdicts(rows(tmp_path, {"id": "1"} | row)))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(("field", "count"), [("hard=true", 2), ("year=2024", 2), ("note=x", 1), ("0=0", 1)])
def test_a_field_chooses_rows_by_the_text_that_its_subgroups_have(tmp_path: Path, field: str, count: int) -> None:
    name, _, value = field.partition("=")
    path = rows(
        tmp_path,
        {"id": 1, "hard": True, "year": 2024, "note": "x", "0": 0} | PAIR,
        {"id": 2, "hard": True, "year": 2024.0, "note": None} | PAIR,
        {"id": 3, "hard": False, "year": "2023"} | PAIR,
    )
    assert len(list(read_external_verdicts(path, {name: value}))) == count
    assert not list(read_external_verdicts(path, {"note": "None"}))  # a missing value is no text
    assert not list(read_external_verdicts(path, {"nothing": ""}))
    with pytest.raises(RunError, match=r"evaluate: no row has hard=no\. Give values of its rows \(hard: true\)\."):
        dicast.evaluate([{"id": 1, "hard": True} | PAIR], where={"hard": "no"})


def test_repeated_rows_are_counted_while_the_rows_are_read(tmp_path: Path) -> None:
    path = rows(tmp_path, {"id": 1} | PAIR, {"id": "1"} | PAIR, {"id": 2} | PAIR)
    verdicts = ExternalVerdicts.of_file(path)
    assert verdicts.repeated == 1
    assert len(list(verdicts)) == 2
    assert verdicts.repeated == 1
    evaluation = dicast.evaluate(path)
    assert evaluation.warnings == ("1 line does not count, as an equal or a later line is of the same case",)


def test_a_file_without_rows_is_no_run_to_continue(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"verdicts.jsonl: holds no verdict\. Give one verdict a line\."):
        dicast.evaluate(rows(tmp_path))


def test_a_file_holds_verdicts_of_one_kind(tmp_path: Path) -> None:
    path = rows(tmp_path, {"id": "1"} | PAIR, {"id": "2", "prediction": None}, {"id": "3"} | TEXT)
    with pytest.raises(
        DataError, match=r"line 3: the verdicts are scores, those of line 1 letters\. Give one file for"
    ):
        list(read_external_verdicts(path))


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(read_external_verdicts(tmp_path / "none.jsonl"))


def judged(folder: Path, *lines: object) -> list[Judged]:
    return list(read_external_verdicts(rows(folder, *lines)))


def test_a_pair_carries_systems_a_distribution_scores_votes_and_a_rationale(tmp_path: Path) -> None:
    (verdict,) = judged(
        tmp_path,
        {"id": 7, "group": 7.0, "prediction": "a", "scores": [4, 3], "label": [5, 2], "scale": "1..5", "rationale": "r",
         "votes": [{"label": "a", "certainty": 0.9}, "tie", [4, 1]], "systems": ["old", None],
         "distribution": {"a": 0.66, "b": 0.33}},
    )  # fmt: skip
    assert (verdict.case_id, verdict.group, verdict.scores, verdict.rationale) == ("7", "7", (4.0, 3.0), "r")
    assert verdict.label == Scores(values=(5, 2), lo=1, hi=5)
    assert verdict.votes == (Winner(value="a", certainty=0.9), Winner(value="tie"), Scores(values=(4, 1), lo=1, hi=5))
    assert verdict.systems == ("old", None)
    assert verdict.distribution is not None
    assert sum(verdict.distribution.values()) == pytest.approx(1)


def test_scores_in_both_orders_are_summed_as_scores(tmp_path: Path) -> None:
    first, second = judged(
        tmp_path,
        {"id": "1", "prediction": [7, 5], "prediction_swapped": [5, 6], "label": "a"},
        {"id": "2", "prediction": "a", "prediction_swapped": [5, 6], "label": "a"},
    )
    assert (first.winner, first.scores, first.order_winners) == ("a", (6.0, 5.5), {"ab": "a", "ba": "b"})
    assert (second.winner, second.scores) == ("tie", None)


@pytest.mark.parametrize("unread", [{"prediction": None, "prediction_swapped": "a"}, {"prediction": "a"}])
def test_the_order_that_could_be_read_is_the_verdict(tmp_path: Path, unread: dict[str, object]) -> None:
    both = {"id": "1", "prediction": "a", "prediction_swapped": "b", "label": "a"}
    _, half, nothing = judged(tmp_path, both, {"id": "2", "label": "a"} | unread, {"id": "3", "prediction": None})
    assert (half.winner, half.consistent, set(half.order_winners.values())) == ("a", None, {"a"})
    assert (nothing.status, nothing.order_winners) == ("unscored", {})


def test_a_file_of_one_order_does_not_say_which(tmp_path: Path) -> None:
    assert judged(tmp_path, {"id": "1", "prediction": "a", "prediction_swapped": None})[0].order_winners == {}


def test_the_scale_of_certainties_is_that_of_all_rows_of_the_judge(tmp_path: Path) -> None:
    row = {"prediction": "a", "label": "a"}
    hundred = [{"id": "1", "certainty": 1} | row, {"id": "2", "certainty": 90} | row]
    assert [verdict.certainty for verdict in judged(tmp_path, *hundred)] == [0.01, 0.9]
    assert [verdict.certainty for verdict in judged(tmp_path, *reversed(hundred))] == [0.9, 0.01]
    assert judged(tmp_path, hundred[0])[0].certainty == 1
    assert judged(tmp_path, hundred[0] | {"certainty_scale": 100})[0].certainty == 0.01
    several = [{"id": "1", "certainty": 0.5, "judge": "x", "part": "p"} | row, *(r | {"judge": "y"} for r in hundred)]
    path = rows(tmp_path, *several)
    assert [verdict.certainty for verdict in read_external_verdicts(path, {"judge": "x"})] == [0.5]
    notices = ExternalVerdicts.of_file(path, {"judge": "y"}).facts.notices
    assert notices[0].startswith("certainties are read on 0..100, as the highest is 90")
    # a row of the judge that is not chosen says the scale too
    assert next(read_external_verdicts(path, {"id": "1", "judge": "y"})).certainty == 0.01


def test_aspects_of_one_item_are_a_group(tmp_path: Path) -> None:
    lines = [{"id": item, "aspect": aspect, "prediction": 3, "label": 4} for item in "12" for aspect in ("x", "y")]
    run = run_arrays(judged(tmp_path, *lines))
    assert len(set(run.group.tolist())) == 2
    assert run.ids == ("1#x", "1#y", "2#x", "2#y")


def test_one_bad_row_anywhere_names_its_line(tmp_path: Path) -> None:
    good = [{"id": str(n), "prediction": 3, "label": 4, "votes": [4, 5]} for n in range(5)]
    with pytest.raises(DataError, match=r"verdicts.jsonl line 6: label is \"a\", but the row's verdicts are scores"):
        judged(tmp_path, *good, {"id": "6", "prediction": 3, "label": "a"})
