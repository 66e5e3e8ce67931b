"""Training sets out of folders of traces and of bridged judgments, or out of reviewers' histories."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..data import Case
from ..distillation.bridging.bridge_folder import LINES, BridgeFolder
from ..distillation.bridging.reverse_rows import reverse_rows
from ..distillation.histories import history_rows
from ..distillation.rejection import accepted
from ..distillation.row import TrainingRow
from ..distillation.soft_targets import Targets
from ..distillation.trace_rows import rows_of_traces
from ..distillation.traces import TRACES, read_traces
from ..distillation.training_set import CARD, PROPORTION, TrainingSet, build
from ..errors import DataError, DeclarationError, RunError
from ..paths import path_of
from ..programs.reverse import Reverse
from .case_source import ROWS, CaseSource
from .given_cases import Cases, case_source
from .memory_rows import StoredRows
from .preflight import check_count, read_sample, stored
from .progress import SILENT, Progress


def training_set(
    folders: Sequence[str | Path],
    out: str | Path,
    *,
    against: Sequence[Cases] = (),
    root: Path | None = None,
    mix: Mapping[str, float] | None = None,
    targets: Targets = "both",
    human_weight: float = 0.5,
    swap: bool = True,
    unchecked: bool = False,
    reverse: bool = False,
    validation: float = PROPORTION,
    seed: int = 0,
) -> TrainingSet:
    """The set of what the folders hold: rows of traces, and rows of bridged judgments that are confirmed.

    Args:
        folders: those of `collect_traces` and of `bridge_set`.
        out: the set's folder; the same arguments write the same files.
        against: evaluation sets, whose texts are in no row.
        root: the folder of public sets, of evaluation sets that are named.
        mix: see `distillation.mixing.mixed_tasks`.
        targets: see `distillation.trace_rows.rows_of_traces`.
        human_weight: likewise.
        swap: likewise.
        unchecked: likewise.
        reverse: rows of a student that bridges, out of traces of `fennec`, in place of rows of the judge.
        validation: the proportion of rows for validation, by group.
        seed: of mixing and split.

    Raises:
        RunError: a folder holds neither, or `out` cannot be written.
        DataError: no row is left.
        DeclarationError: a weight or proportion that cannot be used.
    """
    if not folders:
        raise DeclarationError("training set: give at least one folder of traces or of bridged judgments.")
    sets = _evaluation_sets(against, root)  # a name that is wrong is said before anything is read
    rows, before = list[TrainingRow](), Counter[str]()
    for folder in map(path_of, folders):
        if (folder / LINES).is_file() and not reverse:
            bridged = BridgeFolder(folder).rows()
            rows += bridged.rows
            for counted in bridged.statistics:
                before.update(counted.outcomes)
        elif (folder / TRACES).is_file():
            traces = list(read_traces(folder))
            if reverse:
                sampled = accepted(traces, unchecked=unchecked)
                rows += reverse_rows(sampled.traces, Reverse())
                before.update({f"cases: {reason}": n for reason, n in sampled.counts.items()})
            else:
                of_traces = rows_of_traces(
                    traces, targets, human_weight=human_weight, swap=swap, unchecked=unchecked
                )  # fmt: skip
                rows += of_traces.rows
                before.update(of_traces.counts)
        else:
            content = "traces" if reverse else "traces and no bridged judgments"
            raise RunError(f"{folder}: holds no {content}. Give the --out of dicast lessons traces or bridge.")
    return build(
        rows, _free(path_of(out)), against=sets, mix=mix, validation=validation, seed=seed, before=before
    )  # fmt: skip


def history_sets(
    cases: Cases,
    out: str | Path,
    *,
    k: int | str = "auto",
    comments: bool = True,
    each_aspect: bool = False,
    aspect: str | None = None,
    against: Sequence[Cases] = (),
    limit_groups: int | None = None,
    validation: float = 0.1,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    skip_bad: bool = False,
    progress: Progress = SILENT,
) -> dict[str, TrainingSet]:
    """PerSE's instruction data of reviewers' histories: one set, or one for each aspect.

    Args:
        cases: rows of one review or one choice each.
        out: the set's folder; with `each_aspect` it holds a set for each aspect.
        k: reviews or choices in each history; auto is 3 or 1.
        comments: learn the review too, from a history with reviews.
        each_aspect: a set, and so a student, for each aspect; no aspect is in the set of another.
        aspect: only the queries of this aspect.
        against: evaluation sets, whose texts are in no row.
        limit_groups: only this many reviewers, sampled with `seed`.
        validation: the proportion of reviewers that are held out.
        seed: of reviewers, split, prior pools and histories.
        settings: further parameters of the preparation `histories`, as in {"queries": 5}.
        skip_bad: leave bad rows out, in the folder's rejects.jsonl.
        progress: callbacks.

    Returns:
        The sets by aspect, "" for one of all.

    Raises:
        DataError: no case can be built, or no row is left.
        DeclarationError: a parameter that does not exist.
    """
    check_count("limit_groups", limit_groups)
    source, place = case_source(cases), path_of(out)
    root = source.root if isinstance(source, CaseSource) else None
    rows = read_sample(
        stored(source, place), place, None, seed, limit_groups=limit_groups, skip_bad=skip_bad, progress=progress
    )
    aspects: list[str | None] = [aspect]
    if each_aspect:
        aspects = [*sorted({case.aspect for case in rows if case.aspect is not None})]
        if not aspects:
            raise DataError("--each-aspect: no row names an aspect. Leave it out, or give rows with one.")
    sets, evaluations = dict[str, TrainingSet](), _evaluation_sets(against, root)
    for chosen in aspects:
        histories = history_rows(
            rows, k=k, comments=comments, aspect=chosen, validation=validation, seed=seed, **(settings or {})
        )
        folder = place / _folder_name(chosen) if each_aspect and chosen else place
        sets[chosen or ""] = build(
            histories.rows,
            _free(folder),
            against=evaluations,
            validation_groups=histories.validation_groups,
            seed=seed,
            before=histories.counts,
        )
    return sets


def _evaluation_sets(against: Iterable[Cases], root: Path | None) -> dict[str, list[Case]]:
    """The cases of each evaluation set, each under a separate name."""
    sets: dict[str, list[Case]] = {}
    for number, cases in enumerate(against, start=1):
        source = case_source(cases, root=root)
        name = source.stem if isinstance(source, CaseSource) else f"cases {number}"
        try:
            sets[f"{name} {number}" if name in sets else name] = _cases_of(source)
        except DataError as error:
            raise DataError(str(error).replace("--cases", "--against")) from None
    return sets


def _cases_of(source: CaseSource | StoredRows) -> list[Case]:
    if isinstance(source, CaseSource):
        return list(source.cases())
    with TemporaryDirectory() as folder:
        return list(source.store(Path(folder) / ROWS).cases())


def _free(folder: Path) -> Path:
    """The folder, where it holds a training set or nothing that a set would hide."""
    others = [name for name in (TRACES, LINES, "verdicts.jsonl") if (folder / name).exists()]
    if others and not (folder / CARD).exists():
        raise RunError(f"{folder}: holds {others[0]}, so it is no training set. Give another --out.")
    return folder


def _folder_name(aspect: str) -> str:
    """An aspect as the name of a folder."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in aspect.casefold()).split()) or "aspect"
