"""`dicast lessons histories`: PerSE's instruction data of 50 generated reviewers (`flat_reviews`)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flat_reviews import ASPECTS, flat_choices, flat_reviews, write

from dicast.cli import run
from dicast.data.text_digest import normalised
from dicast.distillation.row import TrainingRow
from dicast.distillation.row_texts import texts_of
from dicast.distillation.training_set import read_set

Capsys = pytest.CaptureFixture[str]
USABLE = 36  # of the 50 reviewers: those with 6 reviews or more; a reviewer has 3 to 14


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("reviews.jsonl"), flat_reviews(50))
    write(Path("choices.jsonl"), flat_choices(50))


def histories(*more: str, cases: str = "reviews.jsonl", out: str = "set") -> int:
    return run(["lessons", "histories", "--cases", cases, "--scale", "1..10", "--out", out, "--seed", "1", *more])


def rows_of(out: str) -> dict[str, list[TrainingRow]]:
    made = read_set(Path(out))
    return {part: list(made.rows(part)) for part in ("train", "validation")}


def reviews_by_text() -> dict[tuple[str, str], dict[str, Any]]:
    rows = [json.loads(line) for line in Path("reviews.jsonl").read_text().splitlines()]
    return {(row["reviewer"], normalised(row["text"])): row for row in rows}


def query_of(row: TrainingRow) -> str:
    """The text that is judged."""
    return texts_of(row)[-1]


def history_of(row: TrainingRow) -> list[tuple[str, str, str]]:
    """Text, review and score of each review in the history."""
    reviews = re.findall(r"Text: (.*)\nReview: (.*)\nScore: (\d+)", row.messages[-2].content)
    return [(normalised(text), review, score) for text, review, score in reviews]


def test_reviewers_are_split_nine_to_one_and_no_text_is_prior_and_query() -> None:
    assert histories("--k", "3") == 0
    rows, reviews = rows_of("set"), reviews_by_text()
    assert (len(rows["train"]), len(rows["validation"])) == (160, 20)
    groups = {part: {row.group for row in of_part} for part, of_part in rows.items()}
    assert not groups["train"] & groups["validation"]
    assert (len(groups["train"]), len(groups["validation"])) == (USABLE - 4, 4)
    asked: dict[str, set[str]] = {}
    shown: dict[str, set[str]] = {}
    for row in [*rows["train"], *rows["validation"]]:
        history, query = history_of(row), query_of(row)
        review = reviews[row.group, query]
        assert json.loads(row.answer) == {"review": review["review"], "score": review["score"]}
        assert len(history) == 3
        for text, said, score in history:
            assert (reviews[row.group, text]["review"], reviews[row.group, text]["score"]) == (said, int(score))
        asked.setdefault(row.group, set()).add(query)
        shown.setdefault(row.group, set()).update(text for text, _, _ in history)
    assert all(not asked[reviewer] & shown[reviewer] for reviewer in asked)


@pytest.mark.parametrize("k", [1, 5])
def test_k_reviews_are_shown_and_drawn_by_the_seed(k: int) -> None:
    write(Path("reviews.jsonl"), flat_reviews(12))
    assert histories("--k", str(k)) == 0
    assert histories("--k", str(k), out="again") == 0
    assert histories("--k", str(k), "--seed", "2", out="other") == 0
    first, again, other = (Path(out, "train.jsonl").read_text() for out in ("set", "again", "other"))
    assert first == again
    assert first != other
    assert {len(history_of(row)) for row in rows_of("set")["train"]} == {k}


def test_without_comments_the_score_is_one_token_and_no_review_is_shown() -> None:
    assert histories("--no-comments") == 0
    reviews = reviews_by_text()
    for row in rows_of("set")["train"]:
        score = reviews[row.group, query_of(row)]["score"]
        assert row.targets == {str(level): float(level == score) for level in range(1, 11)}
        prompt = row.messages[-2].content
        assert (prompt.count("Score: "), prompt.count("Review: "), prompt.count("Reader ")) == (3, 0, 0)


def test_one_set_holds_all_aspects_or_each_has_its_own(capsys: Capsys) -> None:
    assert histories("--json", cases="choices.jsonl") == 0
    unified = json.loads(capsys.readouterr().out)["card"]
    assert histories("--each-aspect", "--json", cases="choices.jsonl", out="sets") == 0
    each = json.loads(capsys.readouterr().out)["sets"]
    assert sorted(each) == sorted(ASPECTS)
    counts = [one["card"]["train"]["rows"] + one["card"]["validation"]["rows"] for one in each.values()]
    assert sum(counts) == unified["train"]["rows"] + unified["validation"]["rows"]
    for aspect, one in each.items():
        assert one["out"] == str(Path("sets", aspect))
        ids = {row.case_id for part in rows_of(one["out"]).values() for row in part}
        aspects = {json.loads(line)["aspect"] for line in lines_of("choices.jsonl", ids)}
        assert aspects == {aspect}
    held_out = [{row.group for row in rows_of(one["out"])["validation"]} for one in each.values()]
    assert not held_out[0] & {row.group for row in rows_of(each[ASPECTS[1]]["out"])["train"]}


def lines_of(name: str, ids: set[str]) -> list[str]:
    """The rows of these ids, which are FILE:LINE."""
    lines = Path(name).read_text().splitlines()
    return [lines[int(case_id.rpartition(":")[2]) - 1] for case_id in ids]


def test_the_card_is_printed_and_its_counts_are_those_of_the_rows(capsys: Capsys) -> None:
    assert histories() == 0
    rows, printed = rows_of("set"), capsys.readouterr().out
    train, validation = rows["train"], rows["validation"]
    reviewers = [len({row.group for row in part}) for part in (train, validation)]
    assert f"| rows | {len(train)} | {len(validation)} |" in printed
    assert f"| groups | {reviewers[0]} | {reviewers[1]} |" in printed
    assert re.search(r"\| rows of reviewers with fewer than 6 texts \| \d+ \|", printed)
    assert Path("set/card.md").read_text().removeprefix("# Training set\n\n") in printed


def test_some_reviewers_and_other_settings_can_be_taken(capsys: Capsys) -> None:
    assert histories("--limit-groups", "10", "--set", "queries=2", "--set", "minimum=4", "--json") == 0
    card = json.loads(capsys.readouterr().out)["card"]
    assert card["train"]["groups"] + card["validation"]["groups"] <= 10
    assert card["train"]["cases"] <= 2 * card["train"]["groups"]
    assert histories("--set", "queries=no", out="other") == 3
    assert histories("--k", "many", out="other") == 3
    assert "k" in capsys.readouterr().err
    assert not Path("other").exists()


def test_bad_rows_are_left_out_when_asked(capsys: Capsys) -> None:
    with Path("reviews.jsonl").open("a") as file:
        file.write('{"reviewer": "r1", "text": "no score", "score": "high"}\n')
    assert histories() == 3
    assert histories("--skip-bad", out="skipped") == 0
    assert "1 bad rows are in skipped/rejects.jsonl" in capsys.readouterr().err
