"""Task descriptions and their rating aspects, used in prompts, so that one program serves any task.

`tasks.yaml` describes summaries, dialogue turns, whole dialogues, stories, paraphrases, plots and plain responses. A
user can write another YAML file of the same form, or describe the text in words.
"""

from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import Field

from ..errors import DeclarationError
from ..parsing import parse_record, parse_yaml, read_yaml
from .case import NonEmpty, Record

OVERALL = "overall quality"


class Aspect(Record):
    """One quality of a text: what it means, and what the worst and the best text look like."""

    meaning: NonEmpty = Field(description="the quality in words")
    worst: NonEmpty = Field(description="what the worst text is like")
    best: NonEmpty = Field(description="what the best text is like")

    def level(self, level: int) -> str:
        """One of five levels in words, 1 the worst (form V4 of arXiv 2304.00723)."""
        return (
            self.worst,
            "mostly as bad as that",
            "between the worst and the best",
            "nearly as good as the best",
            self.best,
        )[level - 1]


class Task(Record):
    """The kind of text that is judged, and its aspects."""

    wording: NonEmpty = Field(description='what the texts are, as in "a summary of the source"')
    aspects: dict[str, Aspect] = Field(default={}, description="name -> aspect")

    def aspect(self, name: str | None) -> tuple[str, Aspect]:
        """An aspect's name and its meaning; an aspect that the task does not list means its name."""
        name = name or ("overall" if "overall" in self.aspects else OVERALL)
        known = next((aspect for key, aspect in self.aspects.items() if key.casefold() == name.casefold()), None)
        return name, known or Aspect(
            meaning=name, worst=f"it fails entirely in {name}", best=f"it is perfect in {name}"
        )

    def knows(self, name: str) -> bool:
        """Whether the task lists an aspect of this name."""
        return name.casefold() in map(str.casefold, self.aspects)

    def describe(self, name: str | None) -> str:
        """An aspect as a prompt names it: its name and, where it is known, its meaning."""
        known, aspect = self.aspect(name)
        return known if aspect.meaning == known else f"{known}: {aspect.meaning}"


def task(described: str) -> Task:
    """The task of a name in `tasks.yaml`, of a YAML file, or of plain words such as "a product review".

    Raises:
        DeclarationError: a file that cannot be read or does not describe a task, or no words.
    """
    known = presets()
    if described in known:
        return known[described]
    if described.endswith((".yaml", ".yml")):
        return _from_file(Path(described))
    if not described.strip():
        raise DeclarationError(f"task: no words. Use one of {', '.join(known)}, a .yaml file, or say what the text is.")
    return Task(wording=described)


@cache
def presets() -> dict[str, Task]:
    """The tasks that the package knows, by name."""
    text = files(__package__).joinpath("tasks.yaml").read_text(encoding="utf-8")
    return {name: Task.model_validate(task) for name, task in parse_yaml(text, "tasks.yaml").items()}


def _from_file(path: Path) -> Task:
    described = read_yaml(path, f"task {path}", error=DeclarationError, advice="Give a file with `wording`.")
    advice = "It needs `wording` and may list `aspects`."
    return parse_record(Task, described, f"task {path}", error=DeclarationError, advice=advice)
