"""The built-in names that a shell completes, from a file: no registry, and no DSPy, is imported for a key press.

`python tests/support/completion_names.py` writes known_names.json from the registries, and a test compares them. Names
of other packages come from their entry points.
"""

from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files

from ..parsing import load_json

GROUPS = {
    "judges": "dicast.judges",
    "preparations": "dicast.preparations",
    "sets": "dicast.data_sets",
    "tables": "dicast.published_tables",
    "objectives": "dicast.objectives",
    "prompts": "dicast.prompt_optimizers",
    "presets": "dicast.training_presets",
    "formats": "dicast.judgment_sets",
}  # the group of entry points of each kind


@cache
def known_names() -> dict[str, list[str]]:
    """The built-in names by kind."""
    names: dict[str, list[str]] = load_json(files(__package__).joinpath("known_names.json").read_text("utf-8"))
    return names


def names_of(kind: str) -> tuple[str, ...]:
    """The built-in names of a kind, and those that other packages add."""
    group = GROUPS.get(kind)
    others = [point.name for point in entry_points(group=group)] if group else []
    return tuple(dict.fromkeys([*known_names()[kind], *others]))
