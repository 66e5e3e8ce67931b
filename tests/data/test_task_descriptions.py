"""What the texts are and by which aspects they are judged: the presets, a user's file, plain words."""

from pathlib import Path

import pytest

from dicast.data.task_descriptions import OVERALL, Aspect, Task, presets, task
from dicast.errors import DeclarationError

# The aspects that the public sets label (SummEval, FED, Topical-Chat USR, OpenMEVA) and PerSE's five of story pairs.
LABELLED = {
    "summary": {"coherence", "consistency", "fluency", "relevance"},
    "plot": {"interestingness", "adaptability", "surprise", "character development", "ending"},
    "dialogue": {
        *("interesting", "engaging", "specific", "relevant", "correct", "semantically appropriate", "understandable"),
        *("fluent", "overall", "understandability", "engagingness", "naturalness", "coherence", "groundedness"),
    },
    "dialogue-whole": {
        *("coherent", "error recovery", "consistent", "diverse", "depth", "likeable", "understanding"),
        *("flexible", "informative", "inquisitive", "overall"),
    },
    "story": {"overall"},
    "paraphrase": {"overall"},
    "response": {"overall"},
}


@pytest.mark.parametrize("name", LABELLED)
def test_a_preset_describes_every_labelled_aspect(name: str) -> None:
    assert set(task(name).aspects) >= LABELLED[name]


def test_there_is_no_preset_without_its_aspects_listed_here() -> None:
    assert set(presets()) == set(LABELLED)


@pytest.mark.parametrize("name", LABELLED)
def test_the_ends_of_every_aspect_differ(name: str) -> None:
    assert all(aspect.worst != aspect.best for aspect in task(name).aspects.values())


@pytest.mark.parametrize("name", LABELLED)
def test_every_preset_knows_an_overall_aspect(name: str) -> None:
    known, aspect = task(name).aspect(None)
    assert known == "overall"
    assert aspect == task(name).aspects["overall"]


def test_the_levels_of_an_aspect_give_its_ends() -> None:
    aspect = Aspect.model_validate({"meaning": "m", "levels": ["1", "2", "3", "4", "5"]})
    assert (aspect.worst, aspect.best, aspect.level(2)) == ("1", "5", "2")


def test_ends_that_are_given_beside_levels_stay() -> None:
    aspect = Aspect.model_validate(
        {"meaning": "m", "levels": ["1", "2", "3", "4", "5"], "worst": "bad", "best": "good"}
    )
    assert (aspect.worst, aspect.best, aspect.level(1)) == ("bad", "good", "1")


def test_an_aspect_has_five_different_levels_between_its_ends() -> None:
    aspect = Aspect(meaning="m", worst="bad", best="good")
    levels = [aspect.level(level) for level in range(1, 6)]
    assert (levels[0], levels[-1]) == ("bad", "good")
    assert len(set(levels)) == 5


@pytest.mark.parametrize("name", ["coherence", "Coherence", "COHERENCE"])
def test_an_aspect_is_found_whatever_its_case(name: str) -> None:
    assert task("summary").aspect(name) == (name, task("summary").aspects["coherence"])
    assert task("summary").describe(name) == f"{name}: {task('summary').aspects['coherence'].meaning}"


def test_an_unknown_aspect_is_described_by_its_name_alone() -> None:
    assert task("summary").describe("wit") == "wit"
    _, aspect = task("summary").aspect("wit")
    assert "wit" in aspect.worst
    assert "wit" in aspect.best
    assert aspect.worst != aspect.best


def test_plain_words_are_a_task_without_aspects() -> None:
    assert task("a product review") == Task(wording="a product review")
    assert task("a product review").describe(None) == OVERALL


def test_a_file_of_the_same_form_is_a_task(tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text("wording: a recipe\naspects:\n  clear: {meaning: easy to follow, worst: a mess, best: a joy}\n")
    assert task(str(file)).wording == "a recipe"
    assert task(str(file)).describe("clear") == "clear: easy to follow"
    file.rename(file.with_suffix(".yml"))
    assert task(str(file.with_suffix(".yml"))).wording == "a recipe"


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    for wording in ("a recipe", "a poem"):
        file.write_text(f"wording: {wording}\n")
        assert task(str(file)).wording == wording


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("aspects: {}\n", "field 'wording': Field required. It needs `wording`"),
        ("wording: ''\n", "field 'wording' is \"\""),
        ("wording: a\ncolour: red\n", "field 'colour' is \"red\": Extra inputs are not permitted"),
        ("wording: a\naspects: {x: {meaning: m, worst: w}}\n", "field 'aspects.x.best': Field required"),
        (
            "wording: a\naspects: {x: {meaning: m, levels: [a, b, c]}}\n",
            "3 levels; describe 5, the worst first, or give worst and best alone",
        ),
        ("wording: a\naspects: {x: {meaning: m, levels: [a, b, b, c, d]}}\n", "two levels have the same description"),
        ("wording: a\naspects: {x: {meaning: m, levels: good}}\n", "field 'aspects.x.levels'"),
        ("- a list\n", "It needs `wording` and may list `aspects`"),
        ("", "It needs `wording` and may list `aspects`"),
        ("wording: [\n", "not YAML"),
    ],
)
def test_a_file_that_is_no_task_says_what_is_wrong(tmp_path: Path, content: str, expected: str) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(content)
    with pytest.raises(DeclarationError) as caught:
        task(str(file))
    assert str(caught.value).startswith(f"task {file}: ")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_is_named() -> None:
    with pytest.raises(DeclarationError, match=r"task none\.yaml: cannot be read \(No such file or directory\)"):
        task("none.yaml")


def test_a_file_of_bytes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_bytes(b"wording: \xff\xfe\x00")
    with pytest.raises(DeclarationError):
        task(str(file))


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_no_words_are_no_task(blank: str) -> None:
    with pytest.raises(DeclarationError, match="task: no words. Use one of response, summary"):
        task(blank)
