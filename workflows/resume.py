"""How a run is continued: its folder must hold verdicts of the same judge, models and cases.

A file of cases may have changed since: it continues a run where every judged case is still in it as it was read then,
whatever the order, the names of its columns, and the cases that are new.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..data import Rejects
from ..engines.batch import RunFolder
from ..engines.jsonl import key
from ..engines.run_identity import OF_CASES, Difference, differences
from ..errors import RunError
from .case_source import ROWS, CaseSource
from .memory_rows import StoredRows
from .progress import Progress


def identity_before(folder: RunFolder) -> dict[str, Any] | None:
    """The identity of the run that the folder holds; None for a folder without a verdict.

    Raises:
        RunError: verdicts without a manifest, or with a damaged one.
    """
    if not folder.has_lines():
        return None
    manifest = folder.read_manifest()
    source = manifest.get("source") or {}
    recorded = {name: source[name] for name in ("fields", "scale") if name in source}  # by earlier versions
    return recorded | dict(manifest["identity"])


def check_judge_part(folder: RunFolder, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """What differs in how the cases are read.

    Raises:
        RunError: anything else differs.
    """
    changes = list(differences(before, now))
    for difference in changes:
        if difference.name.partition(".")[0] not in OF_CASES:
            folder.refuse(difference)
    return changes


def check_cases(
    folder: RunFolder, changes: list[Difference], cases: CaseSource | StoredRows, progress: Progress, *, skip_bad: bool
) -> None:
    """Compare the cases with the judged ones, where they are read in another way than before.

    Args:
        changes: the differences in how they are read.
        skip_bad: leave out bad rows.

    Raises:
        RunError: verdicts that do not say of which case they are, another case under a known id, or a judged case that
            is missing.
    """
    folder.read_done()
    if folder.without_digest:
        folder.refuse(changes[0])
    known, name = 0, cases.source if isinstance(cases, CaseSource) else "these rows"
    with tempfile.TemporaryDirectory() as temporary, Rejects(Path(temporary) / "rejects.jsonl") as rejects:
        source = cases if isinstance(cases, CaseSource) else cases.store(Path(temporary) / ROWS)
        for case in source.cases(rejects if skip_bad else None):
            content = folder.done.get(key(case.id))
            if content not in (None, int(case.digest, 16)):
                options = [str(difference) for difference in changes if difference.name != "data"]
                folder.refuse_case(case, name, "; ".join(options))
            known += content is not None
    if missing := len(folder.done) - known:
        raise RunError(
            f"{folder.path}: {missing:,} of its {len(folder.done):,} judged cases are not in {name}. Give a "
            "file that holds them all, or another --out."
        )
    progress.notice(f"{name}: not as before; its {known:,} judged cases are the same, so the run goes on.")


def resume_notices(folder: RunFolder) -> Iterator[str]:
    """What a user should know of the verdicts that a folder holds already."""
    if folder.without_digest:
        yield (
            f"{folder.path}: {folder.without_digest:,} verdicts are of an earlier version and name neither case nor "
            "model; only the manifest was compared."
        )
    if folder.repeated:
        yield repeated_notice(folder.verdicts, folder.repeated)


def repeated_notice(path: Path | str, count: int) -> str:
    """That lines have a later one of the same case, as a sentence."""
    lines = "line has a later one" if count == 1 else "lines have a later one"
    return f"{path}: {count:,} {lines} of the same case; the last one counts."
