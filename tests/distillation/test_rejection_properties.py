"""Rejection sampling and the comparison with evaluation sets, as properties of any traces and texts."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dicast.data import Case, Judged, Verdict
from dicast.data.case import Category, Scores, Winner
from dicast.distillation.bridging.judgment import SETS, ReadCounts, read_judgments
from dicast.distillation.rejection import accepted, reason_of
from dicast.distillation.row import ChatMessage, TrainingRow
from dicast.distillation.row_texts import overlap
from dicast.distillation.soft_targets import human_targets
from dicast.distillation.trace import Trace, program_of, with_verdict
from dicast.judging.delimiters import Fence
from dicast.programs.fennec import Fennec

LETTERS = ("a", "b", "tie")
WORDS = (
    "harbour", "lantern", "copper", "meadow", "thunder", "violin", "orchard", "compass",
    "glacier", "saddle", "pepper", "mirror", "canyon", "ribbon", "walnut", "feather",
    "tunnel", "basket", "marble", "cinnamon",
)  # fmt: skip


def trace(case_id: str = "c", **fields: object) -> Trace:
    """A written judgment."""
    shown = {"program": "fennec", "stage": "judgment", "task": "fennec.pairwise", "group": case_id}
    user = ChatMessage(role="user", content="?")
    return Trace.model_validate({"case_id": case_id, "messages": (user,), "answer": "{}", **shown, **fields})


winners = st.sampled_from(LETTERS)
labels = st.none() | winners.map(lambda value: Winner(value=value))
judgments = st.lists(
    st.tuples(st.integers(0, 5), winners, labels, st.sampled_from([True, False, None]), st.booleans()), max_size=20
)


@settings(max_examples=100, deadline=None)
@given(judgments, st.booleans())
def test_every_case_is_counted_once_and_nothing_wrong_is_accepted(
    rows: list[tuple[int, str, Winner | None, bool | None, bool]], unchecked: bool
) -> None:
    by_case = {number: (winner, label, consistent, scored) for number, winner, label, consistent, scored in rows}
    traces = [
        trace(f"c{number}", winner=winner, label=label, consistent=consistent, scored=scored)
        for number, *_ in rows
        for winner, label, consistent, scored in [by_case[number]]
    ]
    sampled = accepted(traces, unchecked=unchecked)
    assert sum(sampled.counts.values()) == len(by_case)
    assert (
        Counter(reason_of(judged) for judged in {judged.case_id: judged for judged in traces}.values())
        == sampled.counts
    )
    taken = {judged.case_id for judged in sampled.traces}
    for number, (winner, label, consistent, scored) in by_case.items():
        right = winner == label.value if label else consistent or (unchecked and consistent is None)
        assert (f"c{number}" in taken) == bool(scored and right)
    assert len(sampled.traces) == sum(judged.case_id in taken for judged in traces)
    again = accepted(traces[::-1], unchecked=unchecked)
    assert again.counts == sampled.counts


@pytest.mark.parametrize(("category", "reason"), [("pass", "agrees with the label"), ("fail", "contradicts the label")])
def test_a_category_agrees_when_it_is_the_labels(category: str, reason: str) -> None:
    judged = trace(label=Category(category="pass"), category=category)
    assert reason_of(judged) == reason


def test_votes_for_categories_are_the_targets_of_their_question() -> None:
    votes = tuple(Category(category=word) for word in ("pass", "pass", "fail", "pass"))
    read: dict[str, Any] = {"probabilities": {"A": 0.5, "B": 0.5}, "meanings": {"A": "fail", "B": "pass"}}
    assert human_targets(trace(votes=votes, **read)) == {"A": 0.25, "B": 0.75}
    assert human_targets(trace(label=Category(category="maybe"), **read)) is None


@pytest.mark.parametrize(("score", "agrees"), [(4.0, True), (4.5, True), (4.6, False), (1.0, False)])
def test_a_score_may_be_half_a_point_of_1_to_5_away(score: float, agrees: bool) -> None:
    judged = trace(label=Scores(values=(4,), lo=1, hi=5), scores=(score,), scale=(1.0, 5.0))
    assert (reason_of(judged) == "agrees with the label") == agrees


def test_questions_of_fennec_have_one_name_whatever_the_judge_is_called() -> None:
    judge = Fennec(single=True)
    assert (judge.name, program_of(judge)) == ("fennec-single", "fennec")


def test_the_verdict_of_another_judge_replaces_a_category() -> None:
    case = Case(id="1", query="q", candidates=[{"text": "t"}])
    judged = Judged.of(case, Verdict(case_id="1", category="fail"))
    assert with_verdict(trace(category="pass"), judged).category == "fail"


def row(*texts: str) -> TrainingRow:
    """A row whose prompt shows these texts, each in its fence."""
    fence = Fence(texts)
    messages = (
        ChatMessage(role="user", content="\n\n".join(f"Text:\n{fence(text)}" for text in texts)),
        ChatMessage(role="assistant", content="A"),
    )
    return TrainingRow(task="direct.pairwise", messages=messages, case_id="r", group="g", source="traces")


sentences = st.lists(st.sampled_from(WORDS), min_size=6, max_size=14, unique=True).map(" ".join)
spaces = st.sampled_from([" ", "  ", "\n", "\t "])


@settings(max_examples=40, deadline=None)
@given(sentences, spaces, st.booleans())
def test_a_text_of_an_evaluation_set_is_noticed_in_any_spacing_and_case(text: str, space: str, upper: bool) -> None:
    shown = space.join(text.split())
    evaluation = Case(id="e", query=text, candidates=[{"text": "one"}, {"text": "two"}])
    shared = overlap([row(shown.upper() if upper else shown, "x")], {"held out": [evaluation]})
    assert shared.counts == {"held out: an equal text": 1}


@settings(max_examples=40, deadline=None)
@given(st.permutations(WORDS), st.integers(0, 17))
def test_one_other_word_in_eighteen_is_a_near_duplicate_and_other_words_are_none(words: list[str], place: int) -> None:
    """18 words of 5 to 8 letters: one other word changes at most 12 of about 115 shingles of 5 characters, which is a
    Jaccard of at least .8; texts of other words share almost none."""
    text, spare = words[:18], words[18]
    changed = [*text[:place], spare[: len(text[place])], *text[place + 1 :]]
    evaluation = Case(id="e", query=" ".join(text), candidates=[{"text": "one"}, {"text": "two"}])
    assert overlap([row(" ".join(changed), "x")], {"s": [evaluation]}).counts == {"s: a near duplicate": 1}
    other = "Quite different things are said here, about sums, taxes, and the year in which they fall due."
    assert overlap([row(other, "x")], {"s": [evaluation]}).counts == {}


def test_every_registered_set_counts_what_it_reads() -> None:
    for name in SETS.names():
        counts = ReadCounts()
        assert list(read_judgments(name, [], counts)) == []
        assert (counts.rows, counts.judgments) == (0, 0)
