"""Whether the built site opens without a network: no script, style, font or picture of another server.

python docs/_site/offline.py FOLDER    prints what would be fetched, and fails if there is anything
"""

import re
import sys
from pathlib import Path

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc=["'](?:https?:)?//[^"']*|"""
    r"""<link(?![^>]*rel=["'](?:canonical|edit)["'])[^>]*\shref=["'](?:https?:)?//[^"']*|"""
    r"""url\(\s*["']?(?:https?:)?//[^)]*|@import\s+["'](?:https?:)?//[^"']*"""
)


def fetched(folder: Path) -> list[str]:
    """What the pages and styles below a folder would fetch, "file: what"."""
    pages = (path for path in sorted(folder.rglob("*")) if path.suffix in {".html", ".css"})
    return [
        f"{path.relative_to(folder)}: {match}"
        for path in pages
        for match in LOADED.findall(path.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    requests = fetched(Path(sys.argv[1]))
    if requests or not (Path(sys.argv[1]) / "index.html").exists():
        sys.exit("\n".join(requests) or "no index.html")
