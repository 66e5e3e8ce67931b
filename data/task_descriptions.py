"""Task descriptions and their rating aspects, used in prompts, so that one program serves any task.

`tasks.yaml` describes summaries, dialogue turns, whole dialogues, stories, paraphrases, plots and plain responses. A
user can write another YAML file of the same form, or describe the text in words.
"""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from ..errors import DeclarationError
from ..parsing import parse_record, parse_yaml, read_yaml
from .case import NonEmpty, Record

OVERALL = "overall quality"
DEFAULT_TASK = "response"
LEVELS = 5  # of an aspect, described for form V4 of arXiv 2304.00723


class Aspect(Record):
    """One quality of a text: what it means, and what texts of five levels are like, or the worst and the best alone."""

    meaning: NonEmpty = Field(description="the quality in words")
    levels: tuple[NonEmpty, ...] = Field(default=(), description="what each of five levels is like, the worst first")
    worst: NonEmpty = Field(description="what the worst text is like; the first level where it is not given")
    best: NonEmpty = Field(description="what the best text is like; the last level where it is not given")

    @model_validator(mode="before")
    @classmethod
    def _ends_of_the_levels(cls, fields: Any) -> Any:
        levels = fields.get("levels") if isinstance(fields, dict) else None
        if not isinstance(levels, list | tuple) or not levels:
            return fields
        return {"worst": levels[0], "best": levels[-1], **fields}

    @field_validator("levels")
    @classmethod
    def _five_or_none(cls, levels: tuple[str, ...]) -> tuple[str, ...]:
        if levels and len(levels) != LEVELS:
            raise ValueError(f"{len(levels)} levels; describe {LEVELS}, the worst first, or give worst and best alone")
        if len(set(levels)) < len(levels):
            raise ValueError("two levels have the same description; the model could not choose between them")
        return levels

    def level(self, level: int) -> str:
        """One of five levels in words, 1 the worst (form V4 of arXiv 2304.00723).

        Where only the ends are described, those between are named by their place.
        """
        between = ("mostly as bad as that", "between the worst and the best", "nearly as good as the best")
        return (self.levels or (self.worst, *between, self.best))[level - 1]


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
    advice = "It needs `wording` and may list `aspects`, each with `meaning` and five `levels`, or `worst` and `best`."
    return parse_record(Task, described, f"task {path}", error=DeclarationError, advice=advice)
