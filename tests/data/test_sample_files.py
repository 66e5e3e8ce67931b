"""The sample files of docs/rows.md are read as the page says."""

import re
from pathlib import Path

import pytest

from dicast import read_cases
from dicast.data import Category, Persona, Reviewer, Scores, Winner

DOCS = Path(__file__).parents[2] / "docs"
DESK = {"id": "ticket", "query": "message", "response_a": "reply_1", "response_b": "reply_2", "label": "better"}
KINDS = {  # rows, type of the label, candidates a case
    "categories.csv": (3, Category, 1),
    "categories.jsonl": (3, Category, 1),
    "choices.jsonl": (2, Winner, None),
    "new.jsonl": (4, type(None), 2),
    "pairs.csv": (4, Winner, 2),
    "pairs.jsonl": (4, Winner, 2),
    "personas.jsonl": (2, Winner, 2),
    "reviewers.jsonl": (2, Scores, 1),
    "scores.csv": (3, Scores, 1),
    "scores.jsonl": (3, Scores, 1),
    "support.csv": (60, Winner, 2),
    "votes.csv": (4, Winner, 2),
    "votes.jsonl": (4, Winner, 2),
}


def cases_of(name):
    return list(read_cases(DOCS / "samples" / name, fields=DESK if name == "support.csv" else None))


@pytest.mark.parametrize("name", sorted(path.name for path in (DOCS / "samples").iterdir()))
def test_the_sample_is_read(name):
    count, label, candidates = KINDS[name]
    cases = cases_of(name)
    assert len(cases) == count
    assert {type(case.label) for case in cases} == {label}
    assert candidates is None or {len(case.candidates) for case in cases} == {candidates}


def test_votes_persons_and_references_are_read():
    assert [len(case.votes) for case in cases_of("votes.csv")] == [3, 3, 3, 3]
    assert {len(case.votes) for case in cases_of("support.csv")} == {3}
    assert [type(case.profile) for case in cases_of("personas.jsonl")] == [Persona, Persona]
    assert [type(case.profile) for case in cases_of("reviewers.jsonl")] == [Reviewer, Reviewer]
    first = cases_of("categories.csv")[0]
    assert (first.categories, first.references, bool(first.context)) == (("fail", "pass"), ("Two years.",), True)


@pytest.mark.parametrize("name", ["pairs", "scores", "categories", "votes"])
def test_csv_and_json_lines_are_the_same_cases(name):
    assert cases_of(f"{name}.csv") == cases_of(f"{name}.jsonl")


def test_the_page_links_every_sample():
    page = (DOCS / "rows.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(samples/([\w.]+)\)", page)) == set(KINDS)
