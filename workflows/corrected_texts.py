"""The texts that a run rewrote, as cases beside their originals, for another judge to score."""

import os
from pathlib import Path

from ..data.rewritten_texts import is_version, versions
from ..engines.jsonl import write_whole
from ..errors import DeclarationError, DicastError, RunError
from ..judging import Judge
from ..parsing import parse_object
from ..paths import path_of
from .run_results import Run

ENDING, OPTION = ".jsonl", "--corrected"


def corrected_path(out: str | Path, cases: str | None) -> Path:
    """The file for rewritten texts; its folder is made.

    Args:
        cases: the file or set that is judged, which is not overwritten.

    Raises:
        RunError: another ending than .jsonl, a file of anything but rewritten texts, or no folder to write into.
    """
    path = path_of(out, OPTION)
    if path.suffix != ENDING:
        raise RunError(f"{OPTION} {path}: the cases are written as JSON lines. Give a name that ends in {ENDING}.")
    if path.exists() and cases and os.path.exists(cases) and path.samefile(cases):
        raise RunError(f"{OPTION} {path}: is the file of the cases. Give another file.")
    if path.exists() and not _holds_versions(path):
        raise RunError(f"{OPTION} {path}: exists, and does not hold rewritten texts. Give another file.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        reason = "" if os.access(path.parent, os.W_OK) else "the folder is read-only"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise RunError(f"{OPTION} {path}: cannot be written ({reason}). Give another file.")
    return path


def check_rewrites(judge: Judge) -> None:
    """Raises DeclarationError for a judge that never rewrites a text."""
    if not judge.rewrites:
        raise DeclarationError(
            f"{OPTION}: judge {judge.name!r} never rewrites a text. Use fennec-correct, or leave {OPTION} out; a judge "
            "class of yours that rewrites says so by `rewrites = True`."
        )


def _holds_versions(path: Path) -> bool:
    """Whether the first line of a file is the version of a text, or the file is empty."""
    try:
        with path.open("rb") as file:
            first = file.readline()
            return not first or is_version(str(parse_object(first, str(path), error=RunError).get("id")))
    except (OSError, DicastError):
        return False


def write_corrected(run: Run, out: str | Path) -> int:
    """Write each rewritten text of a run and its original, as JSON Lines of cases; the number of rewritten texts.

    Without any nothing is written.

    Args:
        run: of a judge that rewrites, such as `fennec-correct`.
        out: the .jsonl file, which every function here takes as cases; a file that exists must hold rewritten texts.

    Raises:
        RunError: the file cannot be written or holds anything else, the run does not say where its cases were read,
            or a case of its verdicts is no longer there.
        DataError: its cases cannot be read.
    """
    source = run.source
    path = corrected_path(out, source.source if source else None)
    corrected = {judged.case_id: judged for judged in run if judged.corrections}
    if not corrected:
        return 0
    if source is None:
        raise RunError(f"{run.path}: does not say where its cases were read. Name a folder that dicast judge wrote.")
    lines = []
    for case in source.cases():
        if judged := corrected.pop(case.id, None):
            lines += [version.model_dump_json() for version in versions(case, judged)]
    if corrected:
        raise RunError(
            f"{run.path}: case {next(iter(corrected))!r} is no longer in {source.source}. Bring the cases back."
        )
    write_whole(path, "".join(line + "\n" for line in lines))
    return len(lines) // 2
