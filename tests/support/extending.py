"""The examples of docs/extending.md by section, for tests that install and run them."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def section(title: str) -> str:
    """The text below the heading `## TITLE`."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[title]


def blocks(title: str, language: str) -> list[str]:
    """The code blocks of a section in that language ("python", "toml", "sh", ...)."""
    return re.findall(rf"```{language}\n(.*?)```", section(title), re.DOTALL)


def entry_points(title: str) -> str:
    """The section's TOML block as the text of a dist-info `entry_points.txt`."""
    (toml,) = blocks(title, "toml")
    return toml.replace('[project.entry-points."', "[").replace('"]', "]").replace('"', "")
