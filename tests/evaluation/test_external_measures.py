"""Rows of another tool are measured by everything that they carry."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import dicast
from dicast.cli import run
from dicast.data import Judged
from dicast.errors import DataError, DeclarationError
from dicast.evaluation.results import Evaluation, Measure

Rows = list[Any]


def measure(found: Evaluation, name: str) -> Measure:
    measured = found.measure(name)
    assert measured is not None, name
    return measured


def stories(n: int = 60) -> Rows:
    draw = random.Random(2)
    rows = []
    for number in range(n):
        quality = draw.randint(1, 5)
        votes = [min(5, max(1, quality + draw.choice((-1, 0, 1)))) for _ in range(3)]
        rows.append({"id": number, "group": number // 2, "prediction": quality, "label": sum(votes) / 3,
                     "votes": votes, "scale": [1, 5], "system": f"s{number % 3}"})  # fmt: skip
    return rows


def test_scores_of_single_annotators_give_a_human_ceiling() -> None:
    rows = stories()
    found = dicast.evaluate(rows)
    single = [vote for row in rows for vote in row["votes"]]
    others = [(sum(row["votes"]) - vote) / 2 for row in rows for vote in row["votes"]]
    ceiling = measure(found, "human ceiling")
    assert ceiling.value == pytest.approx(stats.spearmanr(single, others).statistic)


def test_a_scale_gives_error_and_leniency_and_systems_their_mean_scores() -> None:
    rows = stories()
    found = dicast.evaluate(rows)
    errors = [row["prediction"] - row["label"] for row in rows]
    assert measure(found, "leniency").value == pytest.approx(sum(errors) / len(errors))
    assert measure(found, "error").value == pytest.approx(sum(map(abs, errors)) / len(errors))
    assert {row.system for row in found.systems} == {"s0", "s1", "s2"}
    without = dicast.evaluate([{name: row[name] for name in row if name != "scale"} for row in rows])
    assert without.measure("leniency") is None
    assert dicast.evaluate([row | {"scale": "1..5"} for row in rows]).sections == found.sections


def pairs(n: int = 90) -> Rows:
    draw = random.Random(5)
    rows = []
    for number in range(n):
        first, second = draw.sample(("old", "new", "best"), 2)
        people = [draw.randint(0, 6), draw.randint(0, 6)]
        winner = draw.choice("ab")
        rows.append({"id": number, "prediction": winner, "label": people, "scale": [0, 6], "systems": [first, second],
                     "distribution": {"a": 0.7, "b": 0.3} if winner == "a" else {"a": 0.3, "b": 0.7}})  # fmt: skip
    return rows


def test_pairs_carry_systems_a_distribution_and_people_s_scores() -> None:
    found = dicast.evaluate(pairs(), judge_systems=["best"])
    assert {row.system for row in found.systems} == {"old", "new", "best"}
    assert {part.name for part in found.strata} == {"hard", "medium", "easy"}
    assert measure(found, "self-preference").n > 0
    assert measure(found, "log-loss").n == 90


def test_scores_of_both_texts_are_a_judge_of_pairs() -> None:
    rows: Rows = [{"id": n, "prediction": [n % 3, 1], "label": [2, n % 2]} for n in range(12)]
    found = dicast.evaluate(rows)
    assert found.confusion is not None
    assert found.confusion.labels == ("a", "b", "tie")
    assert measure(found, "accuracy").value == sum(n % 3 == 2 for n in range(12)) / 12
    assert found.strata


def test_scores_of_a_choice_rank_its_answers() -> None:
    rows: Rows = [
        {"id": n, "prediction": n % 4, "label": 0, "options": 4, "scores": [(n % 4 == k) + k / 10 for k in range(4)]}
        for n in range(8)
    ]
    found = dicast.evaluate(rows)
    assert measure(found, "chance").value == 0.25
    assert measure(found, "rank").value is not None


def test_a_data_frame_with_missing_values_is_read_like_the_rows() -> None:
    pandas = pytest.importorskip("pandas")
    rows: Rows = [
        {"id": 1, "prediction": "a", "prediction_swapped": "b", "label": "a", "group": 7, "votes": ["a", "a"]},
        {"id": 2, "prediction": None, "prediction_swapped": "b", "label": "b", "group": None, "certainty": 0.5},
        {"id": 3, "prediction": None, "label": "b", "group": 8},
    ]
    listed, framed = dicast.evaluate(rows), dicast.evaluate(pandas.DataFrame(rows))
    assert listed == framed
    assert (listed.cases, listed.scored, listed.unscored) == (3, 2, {"parse_failure": 1})


def test_a_letter_against_an_index_is_no_verdict() -> None:
    for fields in ({"winner": "a", "label": {"value": 3}}, {"winner": 2, "label": {"value": "b"}}):
        with pytest.raises(DataError, match="case '1': the winner is .*, the label .*Give both as letters"):
            dicast.evaluate([Judged.model_validate({"case_id": "1"} | fields)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "verdicts.jsonl"
    answers = [("a", "a")] * 10 + [("a", "b")] * 6 + [(None, "a")] * 3 + [(None, None)]
    lines = [
        json.dumps({"id": n, "prediction": ab, "prediction_swapped": ba, "label": "a", "certainty": 5 * n + 1})
        for n, (ab, ba) in enumerate(answers)
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("options", "signature", "accuracy"),
    [
        ([], "merge=sum|unreadable=out", 13 / 19),
        (["--unreadable", "wrong"], "merge=sum|unreadable=wrong", 13 / 20),
        (["--merge", "tie", "--unreadable", "wrong"], "merge=tie|unreadable=wrong", 10 / 20),
        (["--merge", "half"], "merge=half|unreadable=out", 16 / 19),
        (["--merge", "half", "--unreadable", "wrong"], "merge=half|unreadable=wrong", 14.5 / 20),
    ],
)
def test_the_rules_are_options_and_part_of_the_signature(
    file: Path, options: list[str], signature: str, accuracy: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", str(file), "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)["evaluation"]
    assert f"|{signature}|" in found["signature"]
    measured = {part["name"]: part["value"] for part in found["sections"]["agreement"]}
    assert measured["accuracy"] == pytest.approx(accuracy)
    assert found["notices"][0].startswith("certainties are read on 0..100, as the highest is 96")
    assert run(["evaluate", str(file), *options]) == 0
    table = capsys.readouterr().out
    assert signature in table
    assert "note: certainties are read on 0..100" in table
    named = dict(zip((option.strip("-") for option in options[::2]), options[1::2], strict=True))
    assert dicast.evaluate(file, **named).model_dump(mode="json")["sections"] == found["sections"]  # type: ignore[arg-type]


def test_a_report_follows_the_rules(file: Path, tmp_path: Path) -> None:
    page = dicast.report(file, tmp_path / "page.md", merge="half", unreadable="wrong")
    text = page.path.read_text()
    assert "merge=half" in text
    assert "no answer" in text
    assert "cases with a verdict (1 parse\\_failure)" in text
    assert "wrong only where the signature line of the run says unreadable=wrong" in text


def test_a_rule_that_is_none_is_refused(file: Path) -> None:
    with pytest.raises(DeclarationError, match="merge: 'mean' is not known. Give one of tie, sum, half"):
        dicast.evaluate(file, merge="mean")  # type: ignore[arg-type]


def test_a_run_folder_takes_the_rules_too(tmp_path: Path) -> None:
    rows: Rows = [
        {"query": str(n), "response_a": "x" * (n % 3 + 1), "response_b": "yy", "label": "ab"[n % 2]} for n in range(8)
    ]
    run = dicast.run("longer", rows, out=tmp_path / "run")
    plain, tied = run.evaluate(), run.evaluate(merge="tie", unreadable="wrong")
    assert "merge" not in plain.signature
    assert "merge=tie|unreadable=wrong" in tied.signature
    assert measure(tied, "accuracy").value == measure(plain, "accuracy").value  # the baseline has no orders
