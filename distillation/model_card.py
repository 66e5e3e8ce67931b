"""The card of a student: what it was trained from, on what, how, and what it came to, as README.md in its folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..parsing import read_object
from .training_figures import TrainingFigures
from .training_recipe import TrainingRecipe

CARD = "README.md"  # in the student's folder, as the hub reads it
NOTED = ("method", "rank", "alpha", "first_layer", "epochs", "schedule", "warm_up", "global_batch", "length", "seed")


def model_card(
    name: str,
    recipe: TrainingRecipe,
    figures: TrainingFigures,
    *,
    versions: Mapping[str, str],
    set_card: Mapping[str, Any] | None = None,
    results: Mapping[str, str] | None = None,
) -> str:
    """The card as Markdown with the metadata that the Hugging Face hub reads.

    Args:
        versions: of packages, by name.
        set_card: of the training set (card.json); its counts are quoted.
        results: what a test on people's labels said, a line each.
    """
    base = recipe.base
    head = {"library_name": "peft" if recipe.has_adapters else "transformers", "pipeline_tag": "text-generation"}
    lines = ["---", *(f"{key}: {value}" for key, value in head.items()), "tags: [llm-as-a-judge, dicast]", "---", ""]
    lines += [f"# {name}", "", f"A judge trained from `{base}` by dicast; the licence is that of the base.", ""]
    lines += ["## Results", ""]
    lines += [f"- {key}: {value}" for key, value in (results or {}).items()] or ["- not tested on people's labels yet"]
    lines += ["", "## Training", "", "| | |", "| --- | --- |"]
    settings = recipe.model_dump(mode="json", include=set(NOTED)) | {"learning_rate": recipe.highest_rate}
    lines += [f"| {key.replace('_', ' ')} | {settings[key]} |" for key in (*NOTED, "learning_rate")]
    fields = {key: field.description for key, field in TrainingFigures.model_fields.items()}
    values = figures.model_dump()
    lines += ["", "| figure | value | |", "| --- | --- | --- |"]
    lines += [f"| {key.replace('_', ' ')} | {_shown(values[key])} | {fields[key]} |" for key in fields]
    lines += ["", "Versions: " + ", ".join(f"{package} {version}" for package, version in versions.items()) + "."]
    if set_card:
        lines += ["", "## Data", "", "```json", json.dumps(set_card, indent=1, ensure_ascii=False), "```"]
    return "\n".join(lines) + "\n"


def read_set_card(folder: Path) -> dict[str, Any] | None:
    """The card of a training set; None where its folder has none."""
    path = folder / "card.json"
    return read_object(path) if path.is_file() else None


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
