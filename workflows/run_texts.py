"""Which file the texts of a run are read from: where the user points, and not wherever the manifest of a folder does.

A run folder may be somebody else's. Its manifest is followed to a public set by name, and to files below the working
folder or beside the run folder; anything else the user names with --cases.
"""

from dataclasses import replace
from pathlib import Path

from ..data.layout import PLAIN
from ..data.readers import HUB
from ..errors import DataError
from .case_source import CaseSource


def named_source(cases: CaseSource | str | Path) -> CaseSource:
    """The source that a user names."""
    return cases if isinstance(cases, CaseSource) else CaseSource(str(cases))


def texts_of(folder: Path, source: CaseSource | None, cases: CaseSource | None = None) -> CaseSource | None:
    """The source of a run's texts; None for a file of verdicts without `cases`.

    Args:
        folder: of the run.
        source: of its manifest.
        cases: where the user says that they are; without `fields`, `scale`, `categories` and
            `layout` they are read as the run read its cases.

    Raises:
        DataError: the manifest names a place that only the user may name.
    """
    from ..catalog import DATA_SETS

    if cases is not None:
        is_described = cases.fields or cases.categories or cases.layout != PLAIN
        if source is None or is_described or tuple(cases.scale) != CaseSource.scale:
            return cases
        reading = {name: getattr(source, name) for name in ("fields", "scale", "categories", "layout")}
        return replace(cases, **reading)
    if source is None:
        return None
    places = (Path.cwd(), folder.resolve().parent)
    if source.source in DATA_SETS:
        root = source.root
        usual = CaseSource(source.source).to_json()["root"]  # of DICAST_DATA
        return source if root is None or str(root) == usual or _is_below(root, places) else replace(source, root=None)
    if not source.source.startswith(HUB) and _is_below(Path(source.source), places):
        return source
    raise DataError(
        f"{folder}: its manifest names {source.source}, which is not in this project, so it is not read. If these are "
        f"the texts add --cases {source.source} (cases= in Python)."
    )


def _is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    """Whether the path, with links followed, lies in one of the folders."""
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
