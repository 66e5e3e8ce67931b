"""A public set brings its task and its aspects under the names that the judges of a task know."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

import dicast
from dicast.catalog import DATA_SETS, PublicSet, read
from dicast.cli import run as command
from dicast.data.task_descriptions import task
from dicast.errors import DeclarationError
from dicast.programs.reference_free import Explicit
from dicast.testing import ScriptedLM, prompt_text
from dicast.workflows import CaseSource, Progress

STORY = {
    "id": "openmeva_roc/1/s",
    "kind": "pointwise",
    "group": "1",
    "context": "A man went out.",
    "text": "He came back.",
    "system": "s",
    "scores": {"overall": 3.0},
    "annotators": {},
    "scale": {"overall": [1, 5]},
    "meta": {},
}


class Notices(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def notice(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sets with one story, in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    file = tmp_path / "sets" / "openmeva_roc" / "test.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(STORY) + "\n")
    return tmp_path / "sets"


def asked(
    judge: str | dicast.Judge | dicast.JudgeSpec, sets: Path, out: str = "out"
) -> tuple[str, dict[str, Any], list[str]]:
    """The prompt of a judge for the story, the settings of the run, and the notices."""
    lm, notices = ScriptedLM(lambda request: {"score": 50}), Notices()
    with dspy.context(lm=lm):
        run = dicast.run(judge, CaseSource("openmeva", root=sets), out=out, progress=notices)
    return prompt_text(lm.requests[0]), dict(run.identity["settings"]), notices.lines


@pytest.mark.parametrize("judge", ["explicit", Explicit(), dicast.JudgeSpec("explicit", settings={"form": "V1"})])
def test_a_set_of_stories_is_judged_as_stories(judge, sets: Path) -> None:
    prompt, settings, notices = asked(judge, sets)
    assert task("story").wording in prompt
    assert f"overall: {task('story').aspects['overall'].meaning}" in prompt
    assert settings["task"] == "story"
    assert "task: story, as the texts of openmeva are; the parameter task asks about another." in notices


@pytest.mark.parametrize(
    "judge",
    [
        dicast.JudgeSpec("explicit", settings={"task": "response"}),
        Explicit().set(task="response"),
        Explicit(task="a tale"),
        dicast.JudgeSpec("explicit", settings={"task": "a tale"}),
    ],
)
def test_the_task_that_a_user_sets_wins(judge, sets: Path) -> None:
    prompt, settings, notices = asked(judge, sets)
    assert task("story").wording not in prompt
    assert settings["task"] in ("response", "a tale")
    assert not [line for line in notices if line.startswith("task:")]


def test_a_judge_that_asks_about_no_task_gets_none(sets: Path) -> None:
    run = dicast.run("longer", CaseSource("openmeva", root=sets), out="out")
    assert "task" not in run.identity["settings"]


def test_a_judge_file_keeps_the_task_that_it_was_saved_with(sets: Path) -> None:
    file = Path("mine.judge.json")
    dicast.save(Explicit(), file)
    prompt, settings, _ = asked(str(file), sets)
    assert task("response").wording in prompt
    assert settings["task"] == "response"


def test_a_user_s_own_file_brings_no_task(sets: Path) -> None:
    Path("own.jsonl").write_text('{"id": "1", "query": "q", "response": "r", "score": 3}\n')
    assert CaseSource("own.jsonl").task is None
    assert CaseSource("openmeva", root=sets).task == "story"


def test_a_preparation_says_which_task_its_cases_need(sets: Path) -> None:
    file, notices = sets / "openmeva_roc" / "test.jsonl", Notices()
    other = STORY | {"id": "openmeva_roc/1/t", "text": "It rained.", "scores": {"overall": 1.0}}
    file.write_text(json.dumps(STORY) + "\n" + json.dumps(other) + "\n")
    dicast.prepare("pairs", CaseSource("openmeva", root=sets), out="pairs.jsonl", progress=notices, settings={"n": 1})
    assert "task: judges of openmeva ask about 'story'; give those of the new file --set task=story." in notices.lines


def test_the_signature_line_of_a_run_shows_the_task(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked("explicit", sets, "out")
    assert command(["evaluate", "out"]) == 0
    assert "task=story" in capsys.readouterr().out


@pytest.mark.parametrize("entry", list(DATA_SETS), ids=lambda entry: entry.name)
def test_the_task_of_a_set_describes_each_of_its_aspects(entry: PublicSet) -> None:
    unknown = [aspect for aspect in entry.aspects if not task(entry.task).knows(aspect)]
    assert unknown == []


def test_pairs_of_a_set_with_one_aspect_are_about_it(tmp_path: Path) -> None:
    row = {"id": "rank19/0", "kind": "pairwise", "query": "q", "response_a": "a", "response_b": "b", "label": "a"}
    file = tmp_path / "rank19" / "test.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps(row | {"annotators": [], "category": "c", "meta": {}}) + "\n")
    assert [case.aspect for case in read("rank19", tmp_path)] == ["consistency"]
    assert [case.aspect for case in read("rank19", tmp_path, aspect="consistency")] == ["consistency"]


def test_a_set_of_an_unknown_task_is_refused() -> None:
    with pytest.raises(DeclarationError, match="data set 'x': there is no task 'storys'. Use one of response, summary"):
        PublicSet(
            name="x", title="", kind="pairwise", size=1, labels="", licence="", citation="", packaged=Path("x"),
            task="storys",
        )  # fmt: skip
