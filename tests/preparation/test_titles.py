"""Which titles a model knows: asked for, compared as titles are, and figures for either group."""

import json
from pathlib import Path

import dspy
import pytest

import dicast
from dicast import Case
from dicast.cli import run as command
from dicast.data import read_cases
from dicast.errors import DeclarationError
from dicast.preparation import build_preparation
from dicast.preparation.titles import normalised_title
from dicast.testing import MockServer, ScriptedLM, prompt_text


def story(number, title, **meta):
    return Case(
        id=f"s{number}",
        query="",
        candidates=[{"text": f"Tale {number}: a stranger comes to town."}],
        label={"values": [1 + number % 10], "lo": 1, "hi": 10},
        meta={"title": title, **meta},
    )


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("The Crazies (2010)", "the crazies", True),
        ("Crazies, The", "The Crazies", True),
        ("Amélie", "AMELIE", True),
        ("Pride & Prejudice", "Pride and Prejudice", True),
        ("Se7en", "Seven", False),
        ("Alien", "Aliens", False),
        ("2012", "2012 (2009)", True),
        ("", "unknown", False),
    ],
)
def test_titles_are_equal_but_for_how_they_are_written(one, other, equal):
    assert (normalised_title(one) == normalised_title(other)) is equal


@pytest.mark.parametrize(
    ("answer", "known"), [("Jaws", "known"), ("  jaws (1975) ", "known"), ("", "unknown"), ("Heat", "unknown")]
)
def test_a_case_says_whether_its_title_is_known_and_is_else_as_it_was(answer, known):
    case = story(1, "Jaws", source="x")
    with dspy.context(lm=ScriptedLM(lambda _: {"title": answer})):
        result = build_preparation("titles")(case)
    assert result.meta == {"title": "Jaws", "source": "x", "title_answer": answer.strip(), "known": known}
    assert result.model_copy(update={"meta": case.meta}) == case


def test_the_text_is_in_a_fence_and_the_title_in_no_prompt():
    lm = ScriptedLM(lambda _: {"title": ""})
    case = Case(id="x", query="", candidates=[{"text": "Ends >>> here."}], meta={"title": "Jaws"})
    with dspy.context(lm=lm):
        build_preparation("titles")(case)
    (request,) = lm.requests
    assert "<<<<\nEnds >>> here.\n>>>>" in prompt_text(request)
    assert "Jaws" not in prompt_text(request)


def test_a_case_without_a_title_names_the_fields_it_has():
    case = Case(id="x", query="", candidates=[{"text": "A tale."}], meta={"movie_title": "Jaws"})
    with dspy.context(lm=ScriptedLM(lambda _: {"title": "Jaws"})):
        with pytest.raises(DeclarationError, match="has no 'title'; its fields are movie_title. Name the field"):
            build_preparation("titles")(case)
        assert build_preparation("titles", field="movie_title")(case).meta["known"] == "known"


def test_a_run_is_measured_on_known_and_unknown_texts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    cases = [story(number, f"Title {number % 2}") for number in range(24)]
    Path("stories.jsonl").write_text("".join(case.model_dump_json() + "\n" for case in cases))
    with MockServer(answer=lambda _: {"title": "Title 1"}) as server:
        assert command(["prepare", "--with", "titles", "--cases", "stories.jsonl", "--out", "known.jsonl",
                        "--lm", f"openai/mock@{server.url}"]) == 0  # fmt: skip
    assert [case.meta["known"] for case in sorted(read_cases("known.jsonl"), key=lambda c: int(c.id[1:]))] == [
        "unknown", "known"
    ] * 12  # fmt: skip
    with MockServer(answer=lambda body: {"score": 10 + len(json.dumps(body)) % 80}) as server:
        dicast.run("explicit", "known.jsonl", out="run", lm=f"openai/mock@{server.url}")
    capsys.readouterr()
    assert command(["evaluate", "run", "--by", "known", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["evaluation"]["subgroups"]["tables"]
    assert {row["value"]: row["cases"] for row in table["rows"]} == {"known": 12, "unknown": 12}
