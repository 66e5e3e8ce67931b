"""The catalogue of public sets: finding, fetching and converting them.

The rows here are written for the tests. Tests that read whole sets need DICAST_DATA, the folder of public sets.
"""

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dicast.catalog import DATA_SETS, PublicSet, SourceFile, get, locate, read
from dicast.catalog.converters import KINDS, cases
from dicast.catalog.personas import persona
from dicast.catalog.public_set import ReadOriginal
from dicast.data.case import Case, EarlierConversation, Persona, Preference, Reviewer, Scores, Winner
from dicast.errors import DataError, DeclarationError
from dicast.paths import home

PAIR: dict[str, Any] = {
    "id": "made/1",
    "kind": "pairwise",
    "query": "Say hello.",
    "response_a": "Hello.",
    "response_b": "Good day to you.",
    "label": "b",
    "annotators": ["b", "b", "tie"],
    "category": "greeting",
    "meta": {"instruction": "Say hello."},
}
TEXT: dict[str, Any] = {
    "id": "made/2",
    "kind": "pointwise",
    "group": None,
    "context": "User: Hi!",
    "text": "System: Hi.",
    "system": "S1",
    "scores": {"fluent": 1.5, "overall": 3.0},
    "annotators": {"fluent": [1, 2, "N/A (too short)"], "overall": [3, 3, 3]},
    "scale": {"fluent": [0, 2], "overall": [0, 4]},
    "meta": {"level": "turn", "source_index": 6},
}
CHOICE: dict[str, Any] = {
    "id": "made/3",
    "kind": "choice",
    "question": "Where shall I eat?",
    "preference": "I eat no meat.",
    "options": ["A grill.", "A bean bar.", "A fish hall.", "A ham shop."],
    "label": 1,
    "explanation": "Beans have no meat.",
    "meta": {"topic": "food"},
}
REVIEW: dict[str, Any] = {
    "id": "made/4",
    "kind": "profile",
    "reviewer": "r1",
    "reviews": [{"text": "A heist.", "review": "Dull.", "score": 3, "title": "Vault"}],
    "text": "A chase.",
    "review": "Fast.",
    "score": 8,
    "scale": [1, 10],
    "meta": {},
}
CHOSEN: dict[str, Any] = {
    "id": "made/5",
    "kind": "profile_pairwise",
    "reviewer": "r2",
    "comparisons": [{"response_a": "Rain.", "response_b": "Sun.", "label": "b"}],
    "response_a": "Snow.",
    "response_b": "Wind.",
    "label": "a",
    "aspect": "Interestingness",
    "meta": {},
}
ALL_FEATURES = (
    "The person is female. The person is 25-34 years old. The person is working part-time. The person's highest "
    "education level is some university but no degree. The person's marital status is married. Racially, The person is "
    "Mixed. The person has no religious affiliation. The person is born in Peru and currently lives in Chile."
)
KEY_FEATURES = (
    "The person's highest education level is some university but no degree. Racially, The person is Mixed. The person "
    "is born in Peru and currently lives in Chile."
)
ASKED: dict[str, Any] = {
    "id": "made/6",
    "kind": "persona_pairwise",
    "persona": {"all_features": ALL_FEATURES},
    "question": "How do I start a choir?",
    "response_a": "Sing.",
    "response_b": "Ask friends.",
    "label": "a",
    "meta": {},
}


def converted(*rows: dict[str, Any]) -> list[Case]:
    return list(cases(rows, rows[0]["kind"], source="made"))


def written(path: Path, *rows: Any) -> Path:
    """A file of the rows: JSON Lines, or one JSON array when the name ends in .json."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(list(rows))] if path.suffix == ".json" else [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read_original(name: str) -> ReadOriginal:
    function = DATA_SETS.find(name).read_original
    assert function
    return function


def rows_of(name: str, *paths: Path) -> list[dict[str, Any]]:
    """The converted rows of an original; each must make cases."""
    rows = list(read_original(name)(paths))
    assert list(cases(rows, DATA_SETS.find(name).kind, source=name))
    return rows


# converted rows to cases


def test_a_pair_keeps_its_annotators_as_votes() -> None:
    (case,) = converted(PAIR)
    assert case.label == Winner(value="b")
    assert [vote.value for vote in case.votes if isinstance(vote, Winner)] == ["b", "b", "tie"]
    assert case.meta == {"instruction": "Say hello.", "category": "greeting"}


def test_pairs_of_one_prompt_share_a_group() -> None:
    first, again, other = converted(PAIR, PAIR | {"id": "made/1b"}, PAIR | {"id": "made/1c", "query": "Wave."})
    assert first.group == again.group != other.group


def test_a_text_gives_one_case_an_aspect_on_its_own_scale() -> None:
    fluent, overall = converted(TEXT)
    assert (fluent.id, fluent.aspect) == ("made/2#fluent", "fluent")
    assert fluent.label == Scores(values=(1.5,), lo=0, hi=2)
    assert overall.label == Scores(values=(3.0,), lo=0, hi=4)
    assert overall.query == "User: Hi!"


def test_votes_that_are_no_numbers_are_left_out_and_counted() -> None:
    fluent, overall = converted(TEXT)
    assert [vote.values for vote in fluent.votes if isinstance(vote, Scores)] == [(1.0,), (2.0,)]
    assert fluent.meta["votes_not_numeric"] == 1
    assert "votes_not_numeric" not in overall.meta


def test_turns_of_one_dialog_share_a_group() -> None:
    turns = [TEXT | {"id": f"made/{n}", "meta": {"level": "turn", "source_index": n}} for n in (4, 5, 6, 8)]
    groups = [case.group for case in converted(*turns) if case.aspect == "overall"]
    assert groups == ["dialog/1", "dialog/1", "dialog/1", "dialog/2"]


def test_a_choice_is_made_for_a_preference() -> None:
    (case,) = converted(CHOICE)
    assert case.profile == Preference(text="I eat no meat.")
    assert case.label == Winner(value=1)
    assert case.meta["explanation"] == "Beans have no meat."


def test_a_review_history_makes_a_reviewer() -> None:
    (case,) = converted(REVIEW)
    assert isinstance(case.profile, Reviewer)
    assert case.profile.reviews[0].comment == "Dull."
    assert case.label == Scores(values=(8.0,), lo=1, hi=10)
    assert case.group == "r1"


def test_earlier_choices_make_a_reviewer() -> None:
    (case,) = converted(CHOSEN)
    assert isinstance(case.profile, Reviewer)
    assert case.profile.comparisons[0].label == "b"
    assert (case.aspect, case.label) == ("Interestingness", Winner(value="a"))


def test_a_persona_is_parsed_into_named_features() -> None:
    made = persona({"key_features": KEY_FEATURES, "all_features": ALL_FEATURES})
    assert made == Persona(
        text=ALL_FEATURES,
        features={
            "gender": "female",
            "age": "25-34",
            "employment": "working part-time",
            "education": "some university but no degree",
            "marital_status": "married",
            "ethnicity": "Mixed",
            "religion": "no religious affiliation",
            "birth_country": "Peru",
            "residence_country": "Chile",
        },
    )


def test_one_person_has_one_group_whatever_features_a_row_names() -> None:
    key, age = {"key_features": KEY_FEATURES}, {"least_imp_feature": "The person is 25-34 years old."}
    other = {"all_features": ALL_FEATURES.replace("Peru", "Fiji")}
    rows = [ASKED, ASKED | {"persona": key}, ASKED | {"persona": age}, ASKED | {"persona": other, "question": "Why?"}]
    groups = [case.group for case in converted(*rows)]
    assert groups[0] == groups[1] == groups[2] != groups[3]


def test_the_feature_set_texts_stay_in_meta() -> None:
    (case,) = converted(ASKED)
    assert case.meta["persona_sets"] == {"all_features": ALL_FEATURES}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**PAIR, "kind": "choice"}, "the kind is 'choice', not 'pairwise'"),
        ({name: value for name, value in PAIR.items() if name != "label"}, "field 'label' is missing"),
        ({**PAIR, "label": "c"}, "the label is 'c', not a, b or tie"),
        ({**PAIR, "annotators": ["b", 1]}, "the label is 1, not a, b or tie"),
    ],
)
def test_a_bad_converted_row_is_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        list(cases([row], "pairwise", source="made.jsonl"))
    assert "made.jsonl: row 'made/1'" in str(raised.value)


# originals to converted rows


def test_pandalm_takes_the_majority_of_three(tmp_path: Path) -> None:
    item = {"idx": 7, "motivation_app": "Mail", "cmp_key": "x_y", "instruction": "Greet.", "input": "Ann"}
    item |= {"response1": "Hi Ann", "response2": True, "annotator1": 1, "annotator2": 0, "annotator3": 1}
    (row,) = rows_of("pandalm", written(tmp_path / "set.json", item))
    assert (row["id"], row["label"], row["annotators"]) == ("pandalm/7", "a", ["a", "tie", "a"])
    assert (row["query"], row["response_b"]) == ("Greet.\n\nAnn", "True")


def test_autoj_and_llmbar_codes_become_letters(tmp_path: Path) -> None:
    items = [{"scenario": "s", "label": n, "prompt": "p", "response 1": "x", "response 2": "y"} for n in (0, 1, 2)]
    assert [row["label"] for row in rows_of("autoj", written(tmp_path / "a.jsonl", *items))] == ["a", "b", "tie"]
    pairs = [{"input": "p", "output_1": "x", "output_2": "y", "label": n} for n in (1, 2)]
    rows = rows_of("llmbar-manual", written(tmp_path / "b.json", *pairs))
    assert [(row["id"], row["label"]) for row in rows] == [("llmbar/manual/0", "a"), ("llmbar/manual/1", "b")]


def test_faireval_files_are_read_in_step(tmp_path: Path) -> None:
    question = written(tmp_path / "q.jsonl", {"question_id": 1, "text": "Why?", "category": "generic"})
    answers = [written(tmp_path / f"{name}.jsonl", {"text": name}) for name in ("gpt", "vicuna")]
    verdict = tmp_path / "human.txt"
    verdict.write_text("VICUNA13B")
    (row,) = rows_of("faireval", question, *answers, verdict)
    assert (row["response_a"], row["response_b"], row["label"]) == ("gpt", "vicuna", "b")


def test_rank19_draws_the_order_and_keeps_the_right_sentence(tmp_path: Path) -> None:
    item = {"article_sent": "s", "correct_sent": "right", "incorrect_sent": "wrong"}
    rows = rows_of("rank19", written(tmp_path / "pairs.json", *[item] * 12))
    assert {row[f"response_{row['label']}"] for row in rows} == {"right"}
    assert {row["label"] for row in rows} == {"a", "b"}


def test_summeval_means_the_experts(tmp_path: Path) -> None:
    item = {"id": "cnn-1", "filepath": "a/0123456789ab.story", "model_id": "M8", "text": "news", "decoded": "sum"}
    votes = {f"{who}_annotations": [{"fluency": n} for n in (1, 2, 3)] for who in ("expert", "turker")}
    (row,) = rows_of("summeval", written(tmp_path / "M8.jsonl", item | votes))
    assert (row["id"], row["scores"], row["annotators"]) == (
        "summeval/01234567/M8",
        {"fluency": 2.0},
        {"fluency": [1, 2, 3]},
    )


def test_summeval_keeps_the_references_of_an_article(tmp_path: Path) -> None:
    item = {"id": "cnn-1", "filepath": "a/0123456789ab.story", "model_id": "M8", "text": "news", "decoded": "sum"}
    votes = {f"{who}_annotations": [{"fluency": 2}] for who in ("expert", "turker")}
    (row,) = rows_of("summeval", written(tmp_path / "M8.jsonl", item | votes | {"references": ["own", "other"]}))
    assert row["references"] == ["own", "other"]


def test_summeval_16_has_all_systems_with_one_reference(tmp_path: Path) -> None:
    scores = {"coherence": 1.0, "consistency": 2.0, "fluency": 3.0, "relevance": 4.0, "overall": 2.5}
    item = {"doc_id": "dm-test-0123456789ab", "source": "news", "reference": "r", "system_output": "s"} | {
        "scores": scores
    }
    rows = rows_of("summeval-16", written(tmp_path / "s.json", item | {"system_id": "M0"}, item | {"system_id": "M1"}))
    assert [row["id"] for row in rows] == ["summeval-16/01234567/M0", "summeval-16/01234567/M1"]
    assert (rows[0]["group"], rows[0]["references"], len(rows[0]["scores"])) == ("01234567", ["r"], 4)


def test_a_file_may_be_pinned_by_git_s_own_id() -> None:
    file = SourceFile("o/r", "f", "0" * 40, git_blob="ce013625030ba8dba906f756967f9e9ca394464a")  # of "hello\n"
    assert file.mismatch(b"hello\n") == ""
    assert file.mismatch(b"hullo\n") == "git's id d05bb6c55560..., not ce013625030b..."


def test_openmeva_gives_one_row_a_system(tmp_path: Path) -> None:
    story = {"text": "t", "score": {"human": 2.4}}
    item = {"doc_id": "9", "prompt": "p", "reference": "r", "gen": {"gpt": story, "s2s": story}}
    rows = rows_of("openmeva", written(tmp_path / "o.json", item))
    assert [row["id"] for row in rows] == ["openmeva_roc/9/gpt", "openmeva_roc/9/s2s"]


def test_fed_turns_and_dialogs_come_from_one_file(tmp_path: Path) -> None:
    turn = {"context": "User: Hi!", "response": "System: Hi.", "system": "S", "annotations": {"Overall": [4, "N/A", 2]}}
    dialog = {
        "context": "User: Hi!\nSystem: Hi.",
        "system": "S",
        "annotations": {"Error recovery": ["N/A"], "Depth": [1]},
    }
    path = written(tmp_path / "fed.json", turn, dialog)
    (first,), (second,) = rows_of("fed-turn", path), rows_of("fed-dialog", path)
    assert (first["id"], first["scores"], first["scale"]) == ("fed/turn/0", {"overall": 3.0}, {"overall": [0, 4]})
    assert (second["id"], second["scores"], second["text"]) == ("fed/dialog/1", {"depth": 1}, dialog["context"])


def test_usr_groups_by_the_dialog_history(tmp_path: Path) -> None:
    items = [
        {"source": source, "system_output": "o", "system_id": "S", "context": "fact", "scores": {"overall": 4.0}}
        for source in ("one", "one", "two")
    ]
    rows = rows_of("usr-topical-chat", written(tmp_path / "usr.json", *items))
    assert rows[0]["group"] == rows[1]["group"] != rows[2]["group"]


def test_prefeval_options_are_shuffled_the_same_way_each_time(tmp_path: Path) -> None:
    options = ["right", "w1", "w2", "w3"]
    item = {"preference": "p", "question": "q", "explanation": "e", "classification_task_options": options}
    path = written(tmp_path / "food.json", *[item] * 12)
    rows = rows_of("prefeval-mcq", path)
    assert {row["options"][row["label"]] for row in rows} == {"right"}
    assert {row["label"] for row in rows} > {0}
    assert rows == rows_of("prefeval-mcq", path)


MCQ: dict[str, Any] = {
    "preference": "I eat no fish.",
    "question": "Where shall I eat tonight?",
    "explanation": "Many places here serve fish.",
    "classification_task_options": ["A grill.", "A sushi bar.", "A fish hall.", "A crab shack."],
}
CHOSEN_TURNS = ["What shall I cook?", "1. Beef. 2. Trout.", "The first, no trout.", "Beef it is."]
SAID: dict[str, Any] = {
    "preference": MCQ["preference"],
    "question": MCQ["question"],
    "implicit_query": CHOSEN_TURNS[0],
    "options": ["Beef.", "Trout."],
    "conversation": dict(
        zip(("query", "assistant_options", "user_selection", "assistant_acknowledgment"), CHOSEN_TURNS, strict=True)
    ),
    "aligned_op": "Beef.",
}
PERSONA_SAID: dict[str, Any] = {
    "preference": MCQ["preference"],
    "question": MCQ["question"],
    "persona": "a retired baker",
    "conversation": {
        "turn1": {"user": "Hello.", "assistant": "Hi."},
        "turn2": {"user": "No trout!", "assistant": "Ok."},
    },
}


def prefeval_files(folder: Path, said: dict[str, Any]) -> tuple[Path, Path]:
    return written(folder / "said" / "food.json", said), written(folder / "asked" / "food.json", MCQ)


@pytest.mark.parametrize(
    ("name", "said", "turns"),
    [
        ("prefeval-implicit", SAID, CHOSEN_TURNS),
        ("prefeval-persona", PERSONA_SAID, ["Hello.", "Hi.", "No trout!", "Ok."]),
    ],
)
def test_prefeval_asks_what_followed_a_conversation(
    name: str, said: dict[str, Any], turns: list[str], tmp_path: Path
) -> None:
    paths = prefeval_files(tmp_path, said)
    (row,) = rows_of(name, *paths)
    (case,) = cases([row], "choice", source=name)
    assert (case.query, case.meta["explanation"]) == (MCQ["question"], MCQ["explanation"])
    assert isinstance(case.label, Winner)
    assert case.candidates[int(case.label.value)].text == "A grill."
    assert isinstance(case.profile, EarlierConversation)
    assert [(turn.role, turn.text) for turn in case.profile.turns] == list(
        zip(["user", "assistant"] * 2, turns, strict=True)
    )
    stated = next(iter(cases(rows_of("prefeval-mcq", paths[1]), "choice", source="mcq")))
    assert (case.candidates, case.label, case.group) == (stated.candidates, stated.label, stated.group)
    assert case.id != stated.id


@pytest.mark.parametrize("problem", [{"question": "Another?"}, {"conversation": {}}, {"conversation": {"query": "x"}}])
def test_a_conversation_of_another_question_is_not_prefeval_s(problem: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(KeyError if "conversation" in problem else ValueError):
        rows_of("prefeval-implicit", *prefeval_files(tmp_path, SAID | problem))


def converted_of_the_first_question(folder: Path, **mcq: str) -> Path:
    """Converted rows as they were: the first question with its own options, and the options of the other beside it."""
    first = CHOICE | {
        "id": "prefeval/implicit_choice/food/0",
        "question": CHOSEN_TURNS[0],
        "options": SAID["options"],
        "meta": {"topic": "food", "followup_question": MCQ["question"], "conversation": SAID["conversation"]},
    }
    (asked,) = rows_of("prefeval-mcq", written(folder / "mcq" / "food.json", MCQ))
    written(folder / "prefeval" / "mcq.jsonl", asked | mcq)
    return written(folder / "prefeval" / "implicit_choice.jsonl", first)


def test_converted_rows_of_the_first_question_get_the_question_that_followed(cache: Path, tmp_path: Path) -> None:
    converted_of_the_first_question(tmp_path)
    (from_original,) = rows_of("prefeval-implicit", *prefeval_files(tmp_path, SAID))
    expected = list(cases([from_original], "choice", source="original"))
    assert list(read("prefeval-implicit", tmp_path)) == expected
    get("prefeval-implicit", tmp_path)  # the cache has them joined
    assert list(read("prefeval-implicit")) == expected


def test_converted_rows_of_the_first_question_alone_are_refused(cache: Path, tmp_path: Path) -> None:
    path = converted_of_the_first_question(tmp_path, question="Another?")
    with pytest.raises(DataError, match="is of the first question, and mcq.jsonl beside it has no options"):
        list(read("prefeval-implicit", tmp_path))
    (path.parent / "mcq.jsonl").unlink()
    with pytest.raises(DataError, match="Copy both files, or take the original"):
        get("prefeval-implicit", path)


def test_perse_takes_the_last_example_as_the_target(tmp_path: Path) -> None:
    examples = [
        {
            "reviewer_name": "r",
            "movie_id": "m",
            "movie_title": f"t{n}",
            "summ_plot": f"p{n}",
            "clean_review": "c",
            "score": n,
        }
        for n in (5, 6, 7)
    ]
    (row,) = rows_of("perse-mpst", written(tmp_path / "m.jsonl", {"examples": examples, "idx": 1, "review_index": 0}))
    assert (row["id"], row["score"], [past["score"] for past in row["reviews"]]) == ("perse/mpst/1-0-0", 7, [5, 6])


def test_perse_plots_are_cut_out_of_the_prompt(tmp_path: Path) -> None:
    def block(side: str, text: str) -> str:
        return f"[The Start of Plot {side}]\n{text}\n[The End of Plot {side}]\n"

    prompt = (
        block("A", "old a") + block("B", "old b") + '"Choice": "Plot A",\n' + block("A", "new a") + block("B", "new b")
    )
    item = {"idx": 3, "review_id": "r", "prompt": [prompt], "completion": '"Choice": "Plot B"'}
    (row,) = rows_of("perse-doc", written(tmp_path / "d.jsonl", item))
    assert row["comparisons"] == [{"response_a": "old a", "response_b": "old b", "label": "a"}]
    assert (row["response_a"], row["response_b"], row["label"]) == ("new a", "new b", "b")


def test_the_five_files_of_perdoc_are_taken_from_a_user_s_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def block(side: str) -> str:
        plot = f"Premise  A cook sails.Settings  {side}."
        return f"[The Start of Plot {side}]\n{plot}\n[The End of Plot {side}]\n"

    def item(number: int, earlier: str, choice: str) -> dict[str, Any]:
        prompt = block("A") + block("B") + f'"Choice": "{earlier}",\n' + block("A") + block("B")
        return {"idx": number, "review_id": "r", "prompt": [prompt], "completion": f'"Choice": "{choice}"'}

    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    for initial in "IASCE":
        rows = (item(1, "Plot A", "Plot B"), item(2, "N/A", "Plot A"), item(3, "Plot A", "N/A"))
        written(tmp_path / "own" / f"PerDOC.{initial}.jsonl", *rows)
    with pytest.raises(DataError, match="perse-doc-full: it is not downloaded. To use it, unpack https"):
        get("perse-doc-full")
    get("perse-doc-full", tmp_path / "own")
    found = list(read("perse-doc-full"))
    aspects = ["Interestingness", "Adaptability", "Surprise", "Character Development", "Ending"]
    assert [case.aspect for case in found] == [aspect for aspect in aspects for _ in range(2)]
    assert len({case.id for case in found}) == 10
    assert {case.query for case in found} == {"A cook sails."}
    assert [len(case.profile.comparisons) for case in found[:2] if isinstance(case.profile, Reviewer)] == [1, 0]
    assert [case.aspect for case in read("perse-doc-full", aspect="Ending")] == ["Ending"] * 2
    written(tmp_path / "other.jsonl", {"a": 1})
    with pytest.raises(DataError, match="not the original of perse-mpst-full .KeyError"):
        get("perse-mpst-full", tmp_path / "other.jsonl")
    assert not (tmp_path / "home" / "data" / "perse-mpst-full").exists()


def test_the_premise_of_two_plots_is_the_query_of_the_case_and_of_earlier_choices(tmp_path: Path) -> None:
    def plots(premise: str, *rest: str) -> dict[str, str]:
        texts = (f"Premise  {premise}Settings  {settings}" for settings in rest)
        return dict(zip(("response_a", "response_b"), texts, strict=True))

    row = {
        "id": "x", "kind": "profile_pairwise", "reviewer": "r", "aspect": "Ending", "label": "b", "meta": {},
        "comparisons": [plots("A cook sails.", "a boat.", "a port.") | {"label": "a"}],
        **plots("A tailor sings.", "a shop.", "a stage."),
    }  # fmt: skip
    (case,) = cases([row], "profile_pairwise", source="test")
    assert (case.query, [text.text for text in case.candidates]) == (
        "A tailor sings.", ["Settings  a shop.", "Settings  a stage."],
    )  # fmt: skip
    assert isinstance(case.profile, Reviewer)
    (choice,) = case.profile.comparisons
    assert (choice.query, choice.aspect, choice.response_b) == ("A cook sails.", "Ending", "Settings  a port.")
    other = row | {"response_b": "Premise  Another one.Settings  a stage."}
    (case,) = cases([other], "profile_pairwise", source="test")
    assert (case.query, case.candidates[1].text) == ("", other["response_b"])


def test_prism_merges_runs_and_leaves_out_gold_ties(tmp_path: Path) -> None:
    run = {"question": "q", "asst_A": "x", "asst_B": "y", "ground_truth": "A", "conversation_type": "unguided"}
    turned = run | {"asst_A": "y", "asst_B": "x", "ground_truth": "B", "user_info": KEY_FEATURES}
    first = written(tmp_path / "prism_all_features.jsonl", run | {"user_info": ALL_FEATURES})
    tie, same = run | {"question": "t", "ground_truth": "C"}, run | {"asst_B": "x"}
    second = written(tmp_path / "prism_key_features.jsonl", turned, tie | {"user_info": ""}, same | {"user_info": ""})
    (row,) = rows_of("prism", first, second)
    assert (row["response_a"], row["label"]) == ("x", "a")
    assert row["persona"] == {"all_features": ALL_FEATURES, "key_features": KEY_FEATURES}


def run_of(prompt: str, **more: str) -> dict[str, str]:
    return {"prompt": prompt, "ground_truth": "B", "user_info": "The person is in the 30-49 age group.", **more}


def test_pr_pairs_are_cut_out_of_the_prompt_with_the_right_person(tmp_path: Path) -> None:
    pairs = (
        "[Question-Answer Pair A]\nQuestion: q1\nAnswer: a1\n\n\n[Question-Answer Pair B]\nQuestion: q2\nAnswer: a2\n"
    )
    person = "The person is 31 years old. The person is male. The person is living at Zurich, Switzerland."
    person += " The person is single."
    prompt = f"Choose.\n\n[User Profile]\n{person}\n\n{pairs}\n\n[Answer]\n[["
    (row,) = rows_of("personalized-pr", written(tmp_path / "ap.jsonl", run_of(prompt)))
    assert (row["question"], row["response_a"], row["response_b"]) == (
        "",
        "Question: q1\nAnswer: a1",
        "Question: q2\nAnswer: a2",
    )
    (case,) = cases([row], "persona_pairwise", source="pr")
    assert isinstance(case.profile, Persona)
    assert case.profile.features == {
        "age": "31",
        "gender": "male",
        "residence": "Zurich, Switzerland",
        "marital_status": "single",
    }
    assert case.label == Winner(value="b")


def test_a_prompt_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a prompt without '\[User Profile\]'"):
        rows_of("personalized-pr", written(tmp_path / "ap.jsonl", run_of("Choose.")))


def test_ec_merges_runs_and_has_the_ties_of_those_that_allow_them(tmp_path: Path) -> None:
    run = {"article": "news", "asst_A": "x", "asst_B": "y", "ground_truth": "A", "user_info": "The person is female."}
    first = written(tmp_path / "ec.jsonl", run)
    turned = run | {"asst_A": "y", "asst_B": "x", "ground_truth": "B"}
    second = written(tmp_path / "ec_tie.jsonl", turned, run | {"asst_B": "z", "ground_truth": "C"})
    made = list(cases(rows_of("personalized-ec", first, second), "persona_pairwise", source="ec"))
    assert [(case.candidates[0].text, case.candidates[1].text) for case in made] == [("x", "y"), ("x", "z")]
    assert [case.label and case.label.winner for case in made] == ["a", "tie"]
    assert made[0].query == "news"
    assert made[0].group == made[1].group


def test_opinionqa_questions_and_answers_are_cut_out_of_the_prompt(tmp_path: Path) -> None:
    person = (
        "Racially, the person is white. The person lives in the south region. The person is in the 30-49 age group. "
        "The person is a citizen of the United States. The person is married. The person follows the roman catholic "
        "religion and attends religious services seldom. Politically, the person aligns with the democrat party and "
        "considers themselves liberal. The person earns $30,000-$50,000 per year."
    )
    prompt = f"Infer.\n\n[User Profile]\n{person}\n\n[Question]\nHow safe?\n(A) Very safe\n(B) Not safe\n\n[Answer]\n("
    (row,) = rows_of("personalized-opinionqa", written(tmp_path / "o.jsonl", run_of(prompt, user_info=person)))
    (case,) = cases([row], "persona_pairwise", source="o")
    assert (case.query, [candidate.text for candidate in case.candidates]) == ("How safe?", ["Very safe", "Not safe"])
    assert isinstance(case.profile, Persona)
    assert case.profile.features == {
        "ethnicity": "white",
        "region": "south",
        "age": "30-49",
        "citizenship": "a citizen of the United States",
        "marital_status": "married",
        "religion": "roman catholic",
        "religious_services": "seldom",
        "party": "democrat",
        "ideology": "liberal",
        "income": "$30,000-$50,000",
    }


def prism_ties(tmp_path: Path, scores: list[float], texts: list[str] | None = None) -> list[Case]:
    person: dict[str, Any] = {
        "user_id": "u1",
        "age": "25-34",
        "gender": "Prefer not to say",
        "ethnicity": {"simplified": "White"},
    }
    person |= {"location": {"birth_country": "Chile", "reside_country": "Peru"}, "religion": None}
    texts = texts or [f"answer {n}" for n in range(len(scores))]
    said = [
        {"interaction_id": "int1", "user_id": "u1", "turn": 0, "user_prompt": "q", "conversation_type": "unguided"}
        | {"model_name": f"m{n}", "score": score, "model_response": text}
        for n, (score, text) in enumerate(zip(scores, texts, strict=True))
    ]
    later = said[0] | {"turn": 1, "model_response": "a second turn", "score": 100}
    files = written(tmp_path / "survey.jsonl", person), written(tmp_path / "utterances.jsonl", *said, later)
    return list(cases(rows_of("prism-ties", *files), "persona_pairwise", source="p"))


@pytest.mark.parametrize(("scores", "is_tie"), [((50, 59), True), ((50, 60), False), ((60, 50), False), ((7, 7), True)])
def test_prism_answers_less_than_ten_points_apart_are_a_tie_with_their_own_texts(
    tmp_path: Path, scores: tuple[float, float], is_tie: bool
) -> None:
    (case,) = prism_ties(tmp_path, list(scores))
    best = max(range(2), key=lambda n: scores[n])
    assert {candidate.text for candidate in case.candidates} == {"answer 0", "answer 1"}
    assert {candidate.system for candidate in case.candidates} == {"m0", "m1"}
    winner = "tie" if is_tie else "ab"[[c.text for c in case.candidates].index(f"answer {best}")]
    assert case.label == Winner(value=winner)
    assert case.profile == Persona(
        features={"age": "25-34", "ethnicity": "White", "birth_country": "Chile", "residence_country": "Peru"}
    )


def test_prism_pairs_have_the_best_of_the_answers_that_the_filter_leaves(tmp_path: Path) -> None:
    (case,) = prism_ties(tmp_path, [90, 10, 40, 99], ["best", "worst", "mean", "As an AI, no."])
    assert "best" in {candidate.text for candidate in case.candidates}


# the catalogue


def test_every_set_can_be_converted() -> None:
    assert all(entry.read_original for entry in DATA_SETS if entry.files)
    assert {entry.kind for entry in DATA_SETS} == set(KINDS)


UNPINNED = {  # files that a user brings
    "mt-bench-alpaca-13b", "mt-bench-human", "mt-bench-llama-2-7b-chat", "perse-doc-full",
    "perse-mpst-full", "personalized-opinionqa", "prism-ties",
}  # fmt: skip


def test_every_file_is_pinned_and_no_pickle() -> None:
    files = [file for entry in DATA_SETS for file in entry.files if entry.name not in UNPINNED]
    assert all("Not pinned by digest" in " ".join(DATA_SETS.find(name).cautions) for name in UNPINNED)
    assert all(len(file.commit) == 40 for file in files)
    assert all((len(file.sha256 or ""), len(file.git_blob or "")) in ((64, 0), (0, 40)) for file in files)
    assert not [file.path for file in files if file.path.endswith((".pkl", ".pickle"))]


def test_files_of_a_set_lie_apart_in_the_cache() -> None:
    for entry in DATA_SETS:
        assert len({entry.stored(file) for file in entry.files}) == len(entry.files)
    assert [DATA_SETS.find("faireval").stored(file) for file in DATA_SETS.find("faireval").files][
        1
    ] == "answer/answer_gpt35.jsonl"


def test_source_names_repository_path_and_commit() -> None:
    assert DATA_SETS.find("pandalm").source == (
        "github.com/WeOpenML/PandaLM, data/testset-v1.json, commit 3871806e72b4832f815ecafd24d3503c73403f48"
    )
    assert "11 files in outputs" in DATA_SETS.find("prism").source


def test_an_unknown_name_gets_the_close_ones() -> None:
    with pytest.raises(DeclarationError, match=r"'pandlm': there is no such data set\. Did you mean 'pandalm'"):
        read("pandlm")
    with pytest.raises(DeclarationError, match="Use one of authored, autoj"):
        get("zzzz")


def test_the_authored_set_is_packaged() -> None:
    made = list(read("authored"))
    assert len(made) == DATA_SETS.find("authored").size
    assert get("authored") == locate("authored")
    assert all(case.meta["reason"] and case.meta["category"] for case in made)


def test_an_unknown_aspect_is_refused_at_once() -> None:
    with pytest.raises(DataError, match=r"no aspect 'speed'\. Its aspects are coherence"):
        read("summeval", aspect="speed")
    with pytest.raises(DataError, match="It has none"):
        read("pandalm", aspect="speed")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"DICAST_HOME": "/h", "XDG_CACHE_HOME": "/x"}, Path("/h")),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/dicast")),
        ({"HOME": "/me"}, Path("/me/.cache/dicast")),
    ],
)
def test_home_follows_the_environment(given: dict[str, str], expected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DICAST_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert home() == expected


# fetching


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of sets of a new cache; no other folder is looked at."""
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DICAST_DATA", raising=False)
    return tmp_path / "home" / "data"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """What BASE/OWNER/NAME/COMMIT/PATH serves: two files of one LLMBar pair each."""
    items = [{"input": "p", "output_1": "x", "output_2": "y", "label": n} for n in (1, 2)]
    for name, item in zip(("one", "two"), items, strict=True):
        written(tmp_path / "web" / "some" / "repo" / "c0ffee" / "data" / f"{name}.json", item)
    return tmp_path / "web"


def made_set(published: Path, *names: str) -> PublicSet:
    folder = published / "some" / "repo" / "c0ffee"
    files = [
        SourceFile("some/repo", f"data/{name}.json", "c0ffee", hashlib.sha256(path.read_bytes()).hexdigest())
        for name in names
        for path in [folder / "data" / f"{name}.json"]
    ]
    return replace(DATA_SETS.find("llmbar-natural"), name="made", files=tuple(files), converted="made/test.jsonl")


def registered(entry: PublicSet, monkeypatch: pytest.MonkeyPatch) -> PublicSet:
    built_in = DATA_SETS.built_in()
    assert isinstance(built_in, dict)
    monkeypatch.setitem(built_in, entry.name, entry)
    return entry


@pytest.fixture
def single(published: Path, monkeypatch: pytest.MonkeyPatch) -> PublicSet:
    return registered(made_set(published, "one"), monkeypatch)


@pytest.fixture
def server(published: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(published))) as http:
        thread = threading.Thread(target=partial(http.serve_forever, poll_interval=0.01), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_set_is_downloaded_and_read(cache: Path, single: PublicSet, server: str) -> None:
    path = get("made", base=server)
    assert path == cache / "made" / "one.json" == locate("made")
    assert [case.id for case in read("made")] == ["llmbar/natural/0"]
    assert [file.name for file in (cache / "made").iterdir()] == ["one.json"]


def test_a_set_of_many_files_is_a_folder(
    cache: Path, published: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(made_set(published, "one", "two"), monkeypatch)
    assert get("made", base=server) == cache / "made"
    assert sorted(file.name for file in (cache / "made").iterdir()) == ["one.json", "two.json"]


def test_what_is_there_is_not_downloaded_again(cache: Path, single: PublicSet, server: str) -> None:
    get("made", base=server)
    assert get("made", base="http://127.0.0.1:9") == cache / "made" / "one.json"


def test_a_damaged_file_is_downloaded_again(cache: Path, single: PublicSet, server: str) -> None:
    path = get("made", base=server)
    path.write_text("[]")
    assert [case.id for case in (get("made", base=server), list(read("made")))[1]] == ["llmbar/natural/0"]


@pytest.mark.parametrize("base", ["http://127.0.0.1:9", "nonsense"])
def test_a_failed_download_says_what_to_do(cache: Path, single: PublicSet, base: str) -> None:
    with pytest.raises(DataError, match=r"made: .* cannot be downloaded .* dicast data get made --from PATH"):
        get("made", base=base)
    assert not cache.exists()


def test_a_missing_file_on_the_server_is_an_error(cache: Path, single: PublicSet, published: Path, server: str) -> None:
    (published / "some/repo/c0ffee/data/one.json").unlink()
    with pytest.raises(DataError, match="404"):
        get("made", base=server)


def test_another_digest_is_refused_and_not_stored(cache: Path, single: PublicSet, published: Path, server: str) -> None:
    (published / "some/repo/c0ffee/data/one.json").write_text("[]")
    with pytest.raises(DataError, match=r"data/one.json has SHA-256 .* as pinned. Take it unchanged from some/repo"):
        get("made", base=server)
    assert not cache.exists()


@pytest.mark.parametrize("place", ["some/repo/c0ffee", "some/repo/c0ffee/data", "some/repo/c0ffee/data/one.json"])
def test_an_own_copy_is_taken_from_a_checkout_a_folder_or_a_file(
    place: str, cache: Path, single: PublicSet, published: Path
) -> None:
    assert get("made", published / place) == cache / "made" / "one.json"


def test_an_own_copy_that_is_not_there_is_an_error(cache: Path, single: PublicSet, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no"):
        get("made", tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"does not hold data/one.json"):
        get("made", tmp_path)


def test_one_file_of_many_is_refused(cache: Path, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registered(made_set(published, "one", "two"), monkeypatch)
    with pytest.raises(DataError, match=r"is one file of 2\. Give the folder"):
        get("made", published / "some/repo/c0ffee/data/one.json")


def test_converted_rows_are_taken_as_they_are(cache: Path, single: PublicSet, tmp_path: Path) -> None:
    copy = written(tmp_path / "mine.jsonl", PAIR)
    assert get("made", copy) == cache / "made" / "converted.jsonl"
    assert [case.id for case in read("made")] == ["made/1"]


def test_asking_for_the_original_replaces_converted_rows(
    cache: Path, single: PublicSet, tmp_path: Path, server: str
) -> None:
    get("made", written(tmp_path / "mine.jsonl", PAIR))
    get("made", base=server)
    assert locate("made") == cache / "made" / "one.json"


def test_converted_rows_with_an_id_twice_are_refused(cache: Path, single: PublicSet, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'made/1' occurs twice"):
        get("made", written(tmp_path / "mine.jsonl", PAIR, PAIR))


def test_a_folder_of_sets_is_looked_at_before_the_cache(
    cache: Path, single: PublicSet, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    get("made", base=server)
    monkeypatch.setenv("DICAST_DATA", str(tmp_path / "sets"))
    assert locate("made") == cache / "made" / "one.json"
    own = written(tmp_path / "sets" / "made" / "test.jsonl", PAIR)
    assert locate("made") == own
    with pytest.raises(DataError, match="the set is not in"):
        locate("made", tmp_path / "elsewhere")


def test_a_set_that_is_nowhere_says_what_to_run(cache: Path) -> None:
    with pytest.raises(DataError, match=r"pandalm: .* Run: dicast data get pandalm .* --from PATH"):
        read("pandalm")


def test_a_file_that_is_not_the_original_is_named(cache: Path) -> None:
    path = written(cache / "pandalm" / "testset-v1.json", {"idx": 1})
    with pytest.raises(DataError, match=r"not the original of pandalm \(KeyError"):
        list(read("pandalm"))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"testset-v1\.json: is UTF-16, not UTF-8\. Copy the file again"):
        list(read("pandalm"))


def test_a_line_that_is_not_json_is_named(cache: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "pandalm" / "test.jsonl", PAIR)
    path.write_text(path.read_text() + "{\n")
    with pytest.raises(DataError, match=r"test\.jsonl line 2: is not JSON"):
        list(read("pandalm", tmp_path))


# whole sets


def public(name: str) -> list[Case]:
    root = os.environ.get("DICAST_DATA")
    if not root:
        pytest.skip("set DICAST_DATA to the folder of public sets")
    try:
        locate(name, Path(root))
    except DataError:
        pytest.skip(f"{name} is not under DICAST_DATA")
    return list(read(name, Path(root)))


def whole(name: str) -> list[Case]:
    """The cases of a set that is there as a whole; a folder of sets may hold parts."""
    made = public(name)
    if len({case.id.partition("#")[0] for case in made}) != DATA_SETS.find(name).size:
        pytest.skip(f"DICAST_DATA holds a part of {name}")
    return made


def longer_wins(made: list[Case]) -> float:
    """The share of non-ties that 'the longer response' gets; equal lengths count as b."""
    untied = [case for case in made if isinstance(case.label, Winner) and case.label.value != "tie"]
    right = 0
    for case in untied:
        a, b = (len(candidate.text) for candidate in case.candidates)
        right += case.label == Winner(value="a" if a > b else "b")
    return right / len(untied)


def label_counts(made: list[Case]) -> dict[str, int]:
    return dict(Counter(str(case.label.value) for case in made if isinstance(case.label, Winner)))


@pytest.mark.parametrize("name", sorted(set(DATA_SETS.names()) - {"authored"}))
def test_every_row_of_a_set_becomes_a_case(name: str) -> None:
    made = public(name)
    root = Path(os.environ["DICAST_DATA"])
    path = locate(name, root)
    if path.is_file() and path == root / DATA_SETS.find(name).converted and not DATA_SETS.find(name).read_converted:
        rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        assert len(made) == sum(len(row["scores"]) if "scores" in row else 1 for row in rows)
        assert {case.id.partition("#")[0] for case in made} == {row["id"] for row in rows}
    assert len({case.id for case in made}) == len(made)
    assert all(case.label is not None and case.group for case in made)
    assert {case.aspect for case in made} - {None} == set(DATA_SETS.find(name).aspects)


# Counts as the README of each converted set states them.
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("autoj", {"a": 520, "b": 499, "tie": 373}),
        ("faireval", {"a": 41, "b": 25, "tie": 14}),
        ("llmbar-gptinst", {"a": 45, "b": 47}),
        ("llmbar-natural", {"a": 42, "b": 58}),
        ("llmbar-gptout", {"a": 22, "b": 25}),
        ("llmbar-manual", {"a": 22, "b": 24}),
        ("llmbar-neighbor", {"a": 75, "b": 59}),
        ("pandalm", {"a": 422, "b": 472, "tie": 105}),
        ("personalized-ec", {"a": 254, "b": 256, "tie": 101}),
        ("personalized-pr", {"a": 272, "b": 253}),
        ("perse-doc", {"a": 2, "b": 8}),
        ("prefeval-implicit", {"0": 262, "1": 250, "2": 245, "3": 243}),
        ("prefeval-mcq", {"0": 262, "1": 250, "2": 245, "3": 243}),
        ("prefeval-persona", {"0": 262, "1": 250, "2": 245, "3": 243}),
        ("prism", {"a": 1340, "b": 1303}),
    ],
)
def test_label_counts_are_the_published_ones(name: str, counts: dict[str, int]) -> None:
    assert label_counts(whole(name)) == counts


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("autoj", 0.718),
        ("faireval", 0.591),
        ("llmbar-gptinst", 0.130),
        ("pandalm", 0.672),
        ("prism", 0.655),
        ("personalized-ec", 0.522),
        ("personalized-pr", 0.057),
    ],
)
def test_longer_wins_as_often_as_the_caution_says(name: str, share: float) -> None:
    assert longer_wins(whole(name)) == pytest.approx(share, abs=5e-4)
    assert any(f"{share:.3f}"[1:] in caution for caution in DATA_SETS.find(name).cautions)


def test_authored_pairs_do_not_favour_length() -> None:
    assert longer_wins(list(read("authored"))) == 0.5


# Means as the README of the converted set states them.
@pytest.mark.parametrize(
    ("aspect", "mean", "lo", "hi"),
    [("coherence", 2.25, 1, 3), ("groundedness", 0.55, 0, 1), ("overall", 3.14, 1, 5)],
)
def test_usr_scores_have_the_published_means(aspect: str, mean: float, lo: int, hi: int) -> None:
    labels = [case.label for case in public("usr-topical-chat") if case.aspect == aspect]
    scores = [label for label in labels if isinstance(label, Scores)]
    assert len(scores) == 360
    assert sum(label.values[0] for label in scores) / 360 == pytest.approx(mean, abs=5e-3)
    assert {(label.lo, label.hi) for label in scores} == {(lo, hi)}


def test_an_aspect_can_be_read_alone() -> None:
    whole = public("fed-turn")
    alone = list(read("fed-turn", Path(os.environ["DICAST_DATA"]), aspect="relevant"))
    assert alone == [case for case in whole if case.aspect == "relevant"]
    assert len(alone) == 375


def test_fed_votes_without_a_number_are_counted() -> None:
    made = public("fed-turn")
    assert all(len(case.votes) + case.meta.get("votes_not_numeric", 0) == 5 for case in made)
    assert any("votes_not_numeric" in case.meta for case in made)


def test_a_pandalm_label_is_the_majority_of_its_votes() -> None:
    for case in public("pandalm"):
        letters = [vote.value for vote in case.votes if isinstance(vote, Winner)]
        assert len(letters) == 3
        assert case.label == Winner(value=Counter(letters).most_common(1)[0][0])


def test_prism_personas_are_parsed_whole() -> None:
    for case in public("prism"):
        assert isinstance(case.profile, Persona)
        said = case.profile.text.rstrip(".").split(". ")
        countries = "birth_country" in case.profile.features  # one sentence names two
        assert len(said) == len(case.profile.features) - countries
