"""Every link of the pages leads to a file that exists, and every anchor to a heading of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(path for path in sorted((ROOT / "docs").rglob("*.md"))),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
]
GENERATED = "reference/"  # pages made from the code when the site is built; Sphinx checks links to them


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of the page's headings, as GitHub and MyST write them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_lead_somewhere(page):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", prose(page))):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or path.removeprefix("../").startswith(GENERATED):
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_a_heading_with_code_and_a_link_has_an_anchor(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Why `a/b`, and [how](x.md)?\n")
    assert anchors(page) == {"why-ab-and-how"}
