"""Flat reviews and choices become cases with a history: disjoint pools, split by reviewer, counts as asked."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from flat_reviews import flat_choices, flat_reviews, write

import dicast
from dicast import Case
from dicast.cli import run as command
from dicast.data import read_cases
from dicast.errors import DataError, DeclarationError, RunError
from dicast.preparation import build_preparation
from dicast.preparation.histories import Histories
from dicast.preparation.registry import build_pipeline
from dicast.testing import MockServer
from dicast.workflows import CaseSource


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty working folder and store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    return tmp_path


def prepared(rows, *, seed=1, scale=(1, 10), **settings):
    write_to = write(Path("flat.jsonl"), rows)
    out = f"out-{seed}-{'-'.join(f'{name}{value}' for name, value in settings.items())}.jsonl"
    run = dicast.prepare("histories", CaseSource(str(write_to), scale=scale), out, seed=seed, settings=settings)
    return run, list(read_cases(out))


def texts_judged_and_shown(cases):
    """Of each reviewer the texts that are judged, and those of the histories."""
    judged, shown = defaultdict(set), defaultdict(set)
    for case in cases:
        judged[case.profile.id] |= {candidate.text for candidate in case.candidates}
        shown[case.profile.id] |= {review.text for review in case.profile.reviews}
        shown[case.profile.id] |= {text for c in case.profile.comparisons for text in (c.response_a, c.response_b)}
    return judged, shown


@pytest.mark.parametrize("k", [1, 3, 5])
def test_no_text_is_both_judged_and_shown_and_k_reviews_are_shown(k):
    run, cases = prepared(flat_reviews(), k=k)
    judged, shown = texts_judged_and_shown(cases)
    assert all(not judged[name] & shown[name] for name in judged)
    assert {len(case.profile.reviews) for case in cases} == {k}
    assert all(len({review.text for review in case.profile.reviews}) == k for case in cases)
    assert run.status == "complete"
    assert run.cases == len(cases) == len({case.id for case in cases})


def test_a_case_is_a_row_with_others_of_the_same_reviewer():
    rows = flat_reviews()
    by_text = {(row["reviewer"], row["text"]): row for row in rows}
    _, cases = prepared(rows)
    for case in cases:
        own = by_text[case.profile.id, case.candidates[0].text]
        assert case.label.values == (own["score"],)
        assert (case.label.lo, case.label.hi) == case.profile.scale == (1, 10)
        assert (case.meta["review"], case.meta["title"]) == (own["review"], own["title"])
        assert case.group == case.profile.id
        for review, title in zip(case.profile.reviews, case.meta["titles"], strict=True):
            result = by_text[case.profile.id, review.text]
            assert (review.comment, review.score, title) == (result["review"], result["score"], result["title"])


def test_reviewers_are_split_nine_to_one_and_no_reviewer_is_in_both_parts():
    rows = flat_reviews()
    run, cases = prepared(rows)
    history = Counter(row["reviewer"] for row in rows)
    assert {case.profile.id for case in cases} == {name for name, count in history.items() if count >= 6}
    parts = {name: list(read_cases(path)) for name, path in run.files.items()}
    reviewers = {name: {case.group for case in part} for name, part in parts.items()}
    assert not reviewers["train"] & reviewers["validation"]
    assert len(reviewers["validation"]) == round(0.1 * len({case.group for case in cases}))
    assert sorted(case.id for part in parts.values() for case in part) == sorted(case.id for case in cases)
    assert all(case.meta["split"] == name for name, part in parts.items() for case in part)
    assert {path.name for path in run.files.values()} == {"out-1-.train.jsonl", "out-1-.validation.jsonl"}


def test_what_is_left_out_adds_up_to_the_rows():
    rows = flat_reviews()
    run, cases = prepared(rows, queries=2, k=2)
    built, history = run.built, Counter(row["reviewer"] for row in rows)
    short = sum(count for count in history.values() if count < 6)
    assert built.left_out["rows of reviewers with fewer than 6 texts"] == short > 0
    enough = [count for count in history.values() if count >= 6]
    beyond = sum(max(count - max(2, round(count / 2)) - 2, 0) for count in enough)
    assert built.left_out["rows beyond 2 queries of a reviewer"] == beyond > 0
    assert len(cases) == 2 * len(enough)
    assert built.counts == {"rows": len(rows), "reviewers": 50, "reviewers with cases": len(enough)}
    assert sum(part["cases"] for part in built.parts.values()) == len(cases)
    assert sum(part["reviewers"] for part in built.parts.values()) == len(enough)


def test_the_words_of_history_and_text_are_counted_against_the_cap():
    run, cases = prepared(flat_reviews(), max_words=85)
    for case in cases:
        texts = [case.candidates[0].text, *(text for r in case.profile.reviews for text in (r.text, r.comment))]
        assert case.meta["words"] == len(" ".join(texts).split())
    over = sum(case.meta["words"] > 85 for case in cases)
    assert 0 < over < len(cases)
    assert sum(part["over 85 words"] for part in run.built.parts.values()) == over


def test_the_same_seed_gives_the_same_cases_and_another_seed_others():
    first = prepared(flat_reviews(), seed=1)[1]
    assert Histories().build(list(read_cases("flat.jsonl", scale=(1, 10))), seed=1).cases == first
    assert prepared(flat_reviews(), seed=2)[1] != first


def test_the_seed_and_the_limit_are_part_of_the_identity_of_the_file():
    prepared(flat_reviews(), seed=1)
    source = CaseSource("flat.jsonl", scale=(1, 10))
    again = dicast.prepare("histories", source, "out-1-.jsonl", seed=1)
    assert (again.prepared, again.cases > 100) == (0, True)
    with pytest.raises(RunError, match="seed = 1, now it is 0"):
        dicast.prepare("histories", source, "out-1-.jsonl")
    with pytest.raises(RunError, match="limit = None, now it is 300"):
        dicast.prepare("histories", source, "out-1-.jsonl", seed=1, limit=300)


def test_choices_lose_both_and_neither_and_keep_histories_of_their_aspect():
    rows = flat_choices()
    run, cases = prepared(rows)
    labels = Counter(row["label"].lower() for row in rows)
    assert run.built.left_out["rows labelled both"] == labels["both"] > 0
    assert run.built.left_out["rows labelled neither"] == labels["neither"] > 0
    judged, shown = texts_judged_and_shown(cases)
    assert cases
    assert all(not judged[name] & shown[name] for name in judged)
    result = {(row["reviewer"], row["response_a"], row["aspect"]): row["label"].lower() for row in rows}
    for case in cases:
        (earlier,) = case.profile.comparisons  # k is 1 for choices
        assert case.query.startswith("Premise ")
        assert case.label.value == result[case.profile.id, case.candidates[0].text, case.aspect] in ("a", "b")
        assert earlier.label == result[case.profile.id, earlier.response_a, case.aspect]
        assert earlier.aspect == case.aspect
        assert earlier.query.startswith("Premise ")
    assert set(run.built.parts) == {
        f"{split} ({aspect})" for split in ("train", "validation") for aspect in ("ending", "interestingness")
    }


def test_earlier_reviews_keep_their_premise_and_aspect():
    rows = [row | {"query": f"Premise of {row['text']}", "aspect": "ending"} for row in flat_reviews()]
    _, cases = prepared(rows)
    earlier = [review for case in cases for review in case.profile.reviews]
    assert earlier
    assert all((review.query, review.aspect) == (f"Premise of {review.text}", "ending") for review in earlier)


def test_a_text_judged_again_and_a_row_without_a_score_are_counted():
    rows = flat_reviews(reviewers=12)
    again = {**rows[0], "text": f"  {rows[0]['text'].upper()}", "score": 5}
    unscored = {key: value for key, value in rows[1].items() if key != "score"} | {"text": "Another tale."}
    run, _ = prepared([*rows, again, unscored])
    assert run.built.left_out["rows of a text that the reviewer judged before"] == 1
    assert run.built.left_out["rows without a score or label"] == 1


def test_two_pairs_with_a_common_text_are_never_on_both_sides():
    rows = [
        {"reviewer": "r", "response_a": f"Plot {a}", "response_b": f"Plot {b}", "label": "a"}
        for a, b in [(1, 2), (2, 3), (3, 4), (10, 11), (11, 12)]
    ]
    judged, shown = texts_judged_and_shown(prepared(rows)[1])
    assert not judged["r"] & shown["r"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"query": "", "response": "A tale.", "score": 3}], "names no reviewer. Give rows of one review"),
        ([{"reviewer": "r", "reviews": [{"text": "x", "score": 1}], "query": "", "response": "y", "score": 3}],
         "has a history already"),
        ([{"reviewer": "r", "text": "A tale.", "score": 3}],
         r"no case can be built \(1 rows of reviewers with fewer than 6 texts\). Set minimum or k lower"),
        ([{"reviewer": "r", "text": f"Tale {n}"} for n in range(9)],
         r"no case can be built \(9 rows without a score or label\). Give rows with a score, or a or b as label"),
        ([{"reviewer": "r", "text": f"Tale {n}", "score": 1, "scale": [0, 1 + n]} for n in range(9)], "other scales"),
    ],
)  # fmt: skip
def test_rows_of_which_no_history_can_be_made_are_one_clear_error(rows, message):
    with pytest.raises(DataError, match=message):
        prepared(rows)


def test_what_builds_cases_out_of_a_set_comes_first():
    with pytest.raises(DeclarationError, match="'histories': builds its cases out of a whole set, so that it can only"):
        build_pipeline("anonymise,histories")
    with pytest.raises(DeclarationError, match="'pairs': builds its cases out of a whole set. Use dicast.prepare"):
        build_preparation("pairs")
    assert build_pipeline("histories,summarise", k=2, words=90).settings()["words"] == 90


def test_histories_and_a_model_in_one_command_continue_where_they_stopped():
    write(Path("flat.jsonl"), flat_reviews(reviewers=12))

    def answer(body):
        return {"summary": "A walk."}

    with MockServer(answer=answer) as server:
        arguments = ["prepare", "--with", "histories,summarise", "--cases", "flat.jsonl", "--scale", "1..10",
                     "--set", "words=5", "--out", "out.jsonl", "--lm", f"openai/mock@{server.url}"]  # fmt: skip
        assert command([*arguments, "--budget", "calls=10"]) == 2
        assert command(arguments) == 0
    cases = list(read_cases("out.jsonl"))
    assert {case.candidates[0].text for case in cases} == {"A walk."}
    assert {case.meta["split"] for case in cases} == {"train", "validation"}
    assert len(list(read_cases("out.train.jsonl"))) + len(list(read_cases("out.validation.jsonl"))) == len(cases)


def test_the_command_says_what_was_read_left_out_and_made(capsys):
    rows = flat_reviews()
    write(Path("flat.jsonl"), rows)
    arguments = ["prepare", "--with", "histories", "--cases", "flat.jsonl", "--scale", "1..10", "--seed", "1"]
    assert command([*arguments, "--out", "out.jsonl"]) == 0
    out = capsys.readouterr().out
    counts = Counter(Counter(row["reviewer"] for row in rows).values())
    short = sum(size * count for size, count in counts.items() if size < 6)
    able = sum(count for size, count in counts.items() if size >= 6)
    assert f"{len(rows)} rows, 50 reviewers, {able} reviewers with cases" in out
    assert f"left out: {short} rows of reviewers with fewer than 6 texts" in out
    assert "train: out.train.jsonl" in out
    assert "usage" not in out
    assert command([*arguments, "--out", "json.jsonl", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["counts"]["reviewers"] == 50
    assert record["parts"]["validation"]["reviewers"] == 4
    assert record["files"] == {"train": "json.train.jsonl", "validation": "json.validation.jsonl"}
    assert record["cases"] == sum(part["cases"] for part in record["parts"].values())


def test_perse_is_judged_on_them():
    prepared(flat_reviews())

    def answer(body):
        prompt = body["messages"][-1]["content"]
        liked = prompt.count("a joy") >= prompt.count("a bore")
        return {"review": "As ever.", "score": 8 if liked else 3}

    with MockServer(answer=answer) as server:
        run = dicast.run("perse", "out-1-.validation.jsonl", out="run", lm=f"openai/mock@{server.url}")
    assert run.arrays.rated.n == len(list(read_cases("out-1-.validation.jsonl")))
    assert "of 3 wanted are known" not in (run.path / "verdicts.jsonl").read_text()


def test_a_built_case_is_a_case_as_it_is_written():
    _, cases = prepared(flat_reviews())
    assert all(Case.model_validate_json(case.model_dump_json()) == case for case in cases)


# flat rows that were not prepared


def test_judging_flat_rows_says_that_they_hold_no_history(capsys):
    write(Path("flat.jsonl"), flat_reviews(reviewers=1))
    with MockServer(answer=lambda _: {"review": "Fine.", "score": 5}) as server:
        arguments = ["judge", "--judge", "perse", "--cases", "flat.jsonl", "--scale", "1..10", "--out", "run",
                     "--lm", f"openai/mock@{server.url}"]  # fmt: skip
        assert command(arguments) == 0
    output = " ".join(capsys.readouterr().err.split())
    assert "names reviewer 'r0' without any earlier review: perse judges it without a history. Rows of one" in output
    assert "dicast prepare --with histories" in output
    assert "3 of 3 cases were judged without a history of their reviewer." in output


@pytest.mark.parametrize("arguments", [["--judge", "longer"], ["--judge", "perse", "--set", "k=0"]])
def test_a_judge_that_reads_no_history_says_nothing_of_it(arguments, capsys):
    write(Path("flat.jsonl"), flat_reviews(reviewers=1))
    with MockServer(answer=lambda _: {"review": "Fine.", "score": 5}) as server:
        assert command(["judge", *arguments, "--cases", "flat.jsonl", "--scale", "1..10", "--out", "run",
                        "--lm", f"openai/mock@{server.url}"]) == 0  # fmt: skip
    assert "history" not in capsys.readouterr().err
