"""The texts of a compilation's cases, read again from where it read them, so that its page can show them."""

import json
from collections.abc import Collection
from pathlib import Path

from ..data import Case
from ..engines.jsonl import write_whole
from ..errors import DicastError
from ..optimizers.compile_folder import read_json
from .case_source import CaseSource
from .progress import Progress
from .run_texts import texts_of

SOURCE = "source.json"  # in the folder: where the cases were read


def note_source(folder: Path, source: CaseSource) -> None:
    """Note where the cases of a compilation were read."""
    write_whole(folder / SOURCE, json.dumps(source.to_json(), indent=1, ensure_ascii=False) + "\n")


def compiled_texts(folder: Path, ids: Collection[str], cases: CaseSource | None, progress: Progress) -> dict[str, Case]:
    """The cases of a compilation with these ids; none, with a notice, where they cannot or may not be read.

    Args:
        cases: where the user says that they are; None: where the compilation read them, if that is in this project.
    """
    if not ids:
        return {}
    try:
        noted = read_json(folder / SOURCE)
        source = texts_of(folder, CaseSource.from_json(noted) if noted else None, cases)
        return {case.id: case for case in source.cases() if case.id in ids} if source else {}
    except DicastError as error:
        progress.notice(f"report: the page has no texts of {folder}: {error}")
        return {}
