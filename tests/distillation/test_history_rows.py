"""PerSE's instruction data: disjoint reviewers and texts, reviews and scores as the reviewer gave them."""

import json

import pytest

from dicast.data import Case, Reviewer
from dicast.data.case import Scores, Winner
from dicast.distillation.histories import history_rows
from dicast.distillation.row_texts import texts_of


def reviews(reviewers=50, texts=12):
    """A row of one review each, of generated reviewers."""
    return [
        Case(
            id=f"r{reviewer}t{text}",
            query="",
            candidates=[{"text": f"plot {text} as reviewer {reviewer} read it, told at some length"}],
            profile=Reviewer(id=f"reviewer {reviewer}", scale=(1, 10)),
            label=Scores(values=(1 + (reviewer + text) % 10,), lo=1, hi=10),
            group=f"reviewer {reviewer}",
            meta={"review": f"Reviewer {reviewer} says this of plot {text}."},
        )
        for reviewer in range(reviewers)
        for text in range(texts)
    ]


def choices(reviewers=10, pairs=4):
    return [
        Case(
            id=f"r{reviewer}p{pair}",
            query="",
            candidates=[
                {"text": f"first plot {pair} of reviewer {reviewer}"},
                {"text": f"second plot {pair} of {reviewer}"},
            ],
            profile=Reviewer(id=f"reviewer {reviewer}"),
            aspect="surprise" if pair % 2 else "ending",
            label=Winner(value="a" if pair % 3 else "b"),
            group=f"reviewer {reviewer}",
        )
        for reviewer in range(reviewers)
        for pair in range(pairs)
    ]


@pytest.mark.slow
def test_fifty_reviewers_are_split_nine_to_one_and_reviews_are_learnt():
    rows = history_rows(reviews(), k=3, seed=1)
    assert len(rows.validation_groups) == 5
    assert len({row.group for row in rows.rows}) == 50
    by_id = {case.id: case for case in reviews()}
    for row in rows.rows:
        case = by_id[row.case_id]
        assert json.loads(row.answer) == {"review": case.meta["review"], "score": case.label.values[0]}
        assert row.messages[-2].content.count("says this of plot") == 3
        assert case.meta["review"] not in row.messages[-2].content
        assert (row.source, row.targets, row.task) == ("histories", {}, "perse.single")


def test_the_text_to_judge_is_in_no_history_of_its_reviewer():
    rows = history_rows(reviews(reviewers=4), k=3).rows
    judged = {(row.group, texts_of(row)[-1]) for row in rows}
    for row in rows:
        history = row.messages[-2].content.split("New text")[0].casefold()
        own = [text for group, text in judged if group == row.group]
        assert sum(text in history for text in own) <= 1  # the prompt's own text alone, in its place


def test_without_comments_the_score_is_learnt_as_one_token():
    rows = history_rows(reviews(reviewers=4), k=2, comments=False).rows
    by_id = {case.id: case for case in reviews()}
    for row in rows:
        assert row.targets == {str(level): float(level == by_id[row.case_id].label.values[0]) for level in range(1, 11)}
        assert "says this of plot" not in row.messages[-2].content


def test_choices_are_learnt_in_both_orders_and_by_aspect():
    everything = history_rows(choices(), k=1)
    assert {row.task for row in everything.rows} == {"perse-pairwise.pairwise"}
    by_case = {}
    for row in everything.rows:
        by_case.setdefault(row.case_id, {})[row.order] = row.targets
    for case in choices():
        if case.id in by_case:
            first = {"a": "A", "b": "B"}[case.label.value]
            assert by_case[case.id]["ab"][first] == 1
            assert by_case[case.id]["ba"][first] == 0
    endings = history_rows(choices(), k=1, aspect="ending").rows
    assert 0 < len(endings) < len(everything.rows)


@pytest.mark.parametrize("k", [1, 4])
def test_so_many_reviews_are_shown(k):
    for row in history_rows(reviews(reviewers=2), k=k, validation=0.0).rows:
        assert row.messages[-2].content.count("says this of plot") == k


def test_the_same_seed_gives_the_same_rows():
    assert history_rows(reviews(reviewers=5), seed=4) == history_rows(reviews(reviewers=5), seed=4)
