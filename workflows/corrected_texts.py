"""The texts that a run rewrote, as cases beside their originals, for another judge to score."""

from pathlib import Path

from ..data.rewritten_texts import versions
from ..engines.jsonl import write_whole
from ..errors import RunError
from ..paths import path_of
from .run_results import Run


def write_corrected(run: Run, out: str | Path) -> int:
    """Write each rewritten text of a run and its original, as JSON Lines of cases; the number of rewritten texts.

    Without any nothing is written.

    Args:
        run: of a judge that rewrites, such as `fennec-correct`.
        out: the .jsonl file, which every function here takes as cases.

    Raises:
        RunError: the run does not say where its cases were read, or a case of its verdicts is no longer there.
        DataError: its cases cannot be read.
    """
    corrected = {judged.case_id: judged for judged in run if judged.corrections}
    if not corrected:
        return 0
    source = run.source
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
    write_whole(path_of(out), "".join(line + "\n" for line in lines))
    return len(lines) // 2
