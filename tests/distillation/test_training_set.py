"""Duplicates, overlap with evaluation sets, mixing and split of training sets, with their card."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dicast.data import Case, EarlierConversation, Reviewer
from dicast.data.profile_text import profile_text
from dicast.data.profiles import capped
from dicast.data.text_digest import normalised
from dicast.distillation.mixing import mixed_tasks, split_rows
from dicast.distillation.row import TrainingRow
from dicast.distillation.row_texts import overlap, texts_of
from dicast.distillation.training_set import CARD, build, check_against, read_set
from dicast.errors import DataError, DeclarationError
from dicast.judging.delimiters import Fence, defuse
from dicast.parsing import parse_yaml

LONG = "Describe how a tide comes about, in simple words for a child of ten who has never seen the sea."


def row(number=0, *texts, task="direct.pairwise", group=None, targets=None, answer="A"):
    """A row whose prompt shows these texts, each in its fence."""
    fence = Fence(texts)
    prompt = "\n\n".join(f"Text:\n{fence(text)}" for text in texts or (f"text number {number} of the rows",))
    messages = ({"role": "user", "content": prompt}, {"role": "assistant", "content": answer})
    about = {"task": task, "case_id": f"c{number}", "group": group or f"g{number}", "source": "traces"}
    return TrainingRow.model_validate({"messages": messages, "targets": targets or {}, **about})


def case(query="q", *texts, number=0):
    return Case(id=f"e{number}", query=query, candidates=[{"text": text} for text in texts or ("one", "two")])


def test_the_texts_of_a_prompt_are_those_in_fences():
    assert texts_of(row(0, "One  text.", "with >>> marks <<< inside", "")) == [
        "one text.",
        "with >>> marks <<< inside",
        "",
    ]


@pytest.mark.parametrize(
    ("texts", "evaluation", "kind"),
    [
        ((LONG, "x"), case(LONG), "pandalm: an equal text"),
        ((LONG.upper(), "x"), case(LONG), "pandalm: an equal text"),
        (("q", LONG.replace("ten", "nine")), case("q", LONG, "y"), "pandalm: a near duplicate"),
        (("2+2?", "4", "5"), case("2+2?", "5", "4"), "pandalm: the same short texts"),
        (("2+2?", "4", "5", "a reference"), case("2+2?", "5", "4"), "pandalm: the same short texts"),
        (("2+2?", "4", "7"), case("2+2?", "5", "4"), None),
        (("2+2?", "yes", "7"), Case(id="1", query="", candidates=[{"text": "yes"}]), None),
        (("2+2?", "yes", "no"), Case(id="1", query="", candidates=[{"text": "yes"}, {"text": "no"}]), None),
        (
            ("no", "yes"),
            Case(id="1", query="", candidates=[{"text": "yes"}, {"text": "no"}]),
            "pandalm: the same short texts",
        ),
        (("Explain the rain to a child of ten, with an example.", "x"), case(LONG), None),
    ],
)
def test_rows_with_texts_of_an_evaluation_set_are_dropped(texts, evaluation, kind):
    shared = overlap([row(0, "some other text of the training rows", "y"), row(1, *texts)], {"pandalm": [evaluation]})
    assert shared.counts == ({kind: 1} if kind else {})
    assert shared.rows == ({1} if kind else frozenset())


def review(text, **fields):
    return {"text": text, "score": 7, "comment": "A fine tale of the sea."} | fields


OTHER = "A lamp goes out in the tower, and the keeper looks for oil all night long."
LABELS = f"{LONG}\nScore: 3 to 1 at half time\nand no more"
HISTORIES = {
    "equal": [review(OTHER), review(LONG.upper())],
    "query": [review(OTHER, query=LONG)],
    "near": [review(LONG.replace("ten", "nine")), review(OTHER)],
    "with lines of labels": [review(OTHER), review(LABELS)],
    "another": [review(OTHER), review("Explain the rain to a child of ten, with an example.")],
}


@pytest.mark.parametrize(
    ("history", "evaluation", "kind"),
    [
        ("equal", case(LONG), "a set: an equal text in a history"),
        ("query", case("q", LONG, "y"), "a set: an equal text in a history"),
        ("near", case(LONG), "a set: a near duplicate in a history"),
        (
            "with lines of labels",
            case(HISTORIES["with lines of labels"][1]["text"]),
            "a set: an equal text in a history",
        ),
        ("another", case(LONG), None),
        ("another", case("7", "A fine tale of the sea.", "A poor tale of the sea, at any rate."), None),
    ],
)
def test_rows_whose_history_holds_an_evaluation_text_are_dropped(history, evaluation, kind):
    """What a reviewer said of a text is not compared, the text is."""
    shown = profile_text(Reviewer(id="r", reviews=HISTORIES[history]))
    rows = [row(0, "some other text of the training rows", "y"), row(1, shown, "a new text that is judged")]
    shared = overlap(rows, {"a set": [evaluation]})
    assert shared.counts == ({kind: 1} if kind else {})
    assert shared.rows == ({1} if kind else frozenset())


def test_earlier_choices_turns_and_cut_texts_are_compared_too():
    choice = {"response_a": OTHER, "response_b": LONG, "label": "b"}
    turns = [{"role": "user", "text": LONG}, {"role": "assistant", "text": "Certainly."}]
    long = Reviewer(id="r", reviews=[review(f"{LONG} {OTHER} {OTHER}"), review("short")])
    cut, notes = capped(long, words=40)
    assert notes
    profiles = [Reviewer(id="r", comparisons=[choice]), EarlierConversation(turns=turns), cut]
    rows = [row(number, profile_text(profile), f"new {number}") for number, profile in enumerate(profiles)]
    assert overlap(rows, {"set": [case(LONG)]}).rows == {0, 1}
    assert overlap(rows[2:], {"set": [case(f"{LONG} {OTHER} {OTHER}")]}).counts == {
        "set: an equal text in a history": 1
    }
    assert overlap(rows[2:], {"set": [case(f"{LONG} A lamp burns on. {OTHER} {OTHER}")]}).rows == frozenset()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=30, max_size=60), min_size=1, max_size=3), st.data())
def test_a_text_is_noticed_in_a_history_whatever_it_says(texts, data):
    wanted = data.draw(st.sampled_from(texts))
    shown = profile_text(Reviewer(id="r", reviews=[review(text) for text in texts]))
    rows = overlap([row(0, shown, "new")], {"set": [case(wanted)]}).rows
    if len(normalised(defuse(wanted)).encode()) >= 24:
        assert rows == {0}


def test_an_option_that_answers_many_requests_shows_nothing():
    fixed = "I am sorry, but I cannot help with that request."
    questions = [case(f"question number {n} of the evaluation set", fixed, f"answer {n}", number=n) for n in range(7)]
    assert overlap([row(0, "another, quite different request", fixed)], {"set": questions}).rows == frozenset()
    assert overlap([row(0, "another, quite different request", fixed)], {"set": questions[:4]}).rows == {0}


def test_the_overlap_does_not_depend_on_the_order_of_rows_and_cases():
    rows = [row(n, f"{LONG} {n}" if n % 3 == 0 else f"wholly different words {n} " * 3) for n in range(12)]
    cases = [case(f"{LONG} 1", number=1), case("short", "a b c d e f g h i j k l m", "z", number=2)]
    first = overlap(rows, {"a": cases})
    second = overlap(rows[::-1], {"a": cases[::-1]})
    assert {11 - number for number in second.rows} == first.rows == {0, 3, 6, 9}


def test_a_set_has_each_conversation_once_and_says_what_it_dropped(tmp_path):
    rows = [row(n % 8, targets={"A": 0.75, "B": 0.25}) for n in range(10)] + [row(9, LONG)]
    made = build(rows, tmp_path / "set", against={"held out": [case(LONG)]}, validation=0.25, before={"judged": 4})
    assert made.card.dropped == {"equal to an earlier row": 2, "in the evaluation set held out: an equal text": 1}
    assert (made.card.train.rows, made.card.validation.rows, made.card.recurring) == (6, 2, 0)
    assert made.card.train.answers == {"direct.pairwise": {"A": 6}}
    assert made.card.against == {"held out": 1}
    page = (tmp_path / "set" / "card.md").read_text()
    for line in ("| rows | 6 | 2 |", "| equal to an earlier row | 2 |", "| judged | 4 |", "| held out | 1 |"):
        assert line in page


def test_a_set_is_read_back_and_is_the_same_for_the_same_seed(tmp_path):
    rows = [row(n) for n in range(20)]
    first, second = build(rows, tmp_path / "a", seed=3), build(rows, tmp_path / "b", seed=3)
    assert first.card == second.card
    again = read_set(tmp_path / "a")
    assert [*again.rows("train"), *again.rows("validation")] == [*first.rows("train"), *first.rows("validation")]
    assert {r.case_id for part in ("train", "validation") for r in again.rows(part)} == {r.case_id for r in rows}


def test_a_set_that_is_not_whole_is_refused(tmp_path):
    build([row(n) for n in range(4)], tmp_path)
    with (tmp_path / "train.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(DataError, match="not the file that card.json describes"):
        read_set(tmp_path)
    (tmp_path / CARD).unlink()
    with pytest.raises(DataError, match=r"has no card\.json"):
        read_set(tmp_path)


def test_no_row_left_is_an_error_that_says_why(tmp_path):
    with pytest.raises(DataError, match="no row is left to train on .1 in the evaluation set x: an equal text"):
        build([row(0, LONG)], tmp_path / "set", against={"x": [case(LONG)]})
    assert not (tmp_path / "set").exists()


def test_a_set_that_overlaps_the_evaluation_is_refused():
    check_against([row(0)], {"x": [case(LONG)]})
    with pytest.raises(DeclarationError, match="1 of 2 rows hold texts of an evaluation set"):
        check_against([row(0), row(1, LONG)], {"x": [case(LONG)]})


def test_other_trainers_can_read_the_set(tmp_path):
    build([row(n) for n in range(4)], tmp_path)
    info = json.loads((tmp_path / "dataset_info.json").read_text())
    config = parse_yaml((tmp_path / "axolotl.yaml").read_text(), "axolotl.yaml")
    files = {info["dicast_train"]["file_name"], info["dicast_validation"]["file_name"]}
    assert files == {config["datasets"][0]["path"], config["test_datasets"][0]["path"]}
    column, role = info["dicast_train"]["columns"]["messages"], info["dicast_train"]["tags"]["role_tag"]
    line = json.loads((tmp_path / "train.jsonl").read_text().splitlines()[0])
    assert [message[role] for message in line[column]] == ["user", "assistant"]


def test_tasks_are_mixed_by_their_weights_and_both_orders_of_a_pair_stay_together():
    pairs = [row(n // 2, f"pair {n}", task="pairwise") for n in range(40)]
    others = [row(100 + n, f"guideline {n}", task="guideline") for n in range(10)]
    free = [row(200, "free", task="criteria")]
    mixed = mixed_tasks([*pairs, *others, *free], {"pairwise": 3, "guideline": 2}, seed=1)
    counts = Counter(r.task for r in mixed)
    assert counts == {"pairwise": 16, "guideline": 10, "criteria": 1}  # 15 is half a pair
    assert set(Counter(r.case_id for r in mixed if r.task == "pairwise").values()) == {2}


@pytest.mark.parametrize(("mix", "problem"), [({"x": 1}, "no row is of the task 'x'"), ({"pairwise": 0}, "is 0")])
def test_weights_that_cannot_be_used_are_refused(mix, problem):
    with pytest.raises(DeclarationError, match=problem):
        mixed_tasks([row(0, task="pairwise")], mix, 0)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.floats(0, 0.5), st.integers(0, 5))
def test_no_group_is_in_both_parts_and_no_row_is_lost(groups, validation, seed):
    rows = [row(n, group=f"g{group}") for n, group in enumerate(groups)]
    train, held_out = split_rows(rows, validation, seed)
    assert not {r.group for r in train} & {r.group for r in held_out}
    assert sorted(r.case_id for r in [*train, *held_out]) == sorted(r.case_id for r in rows)
    assert train
    assert not held_out or validation > 0
    if validation > 0 and len(set(groups)) > 1:
        assert held_out


def test_named_groups_validate():
    rows = [row(n, group=f"g{n % 3}") for n in range(9)]
    train, held_out = split_rows(rows, 0.1, 0, {"g1"})
    assert {r.group for r in held_out} == {"g1"}
    assert len(train) == 6
