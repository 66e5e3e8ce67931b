"""The page of one run or several: plots, and the cases where judge and human labels disagree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import Case, Judged
from ..errors import DeclarationError, DicastError, RunError
from ..evaluation.disagreements import disagreements
from ..evaluation.verdict_rules import Merge, Unreadable, VerdictRules, merged_verdict
from ..optimizers.compile_folder import is_compilation, read_compilation
from ..paths import path_of
from .case_source import CaseSource
from .comparisons import compare
from .evaluations import evaluate
from .progress import SILENT, Progress
from .run_results import AnyRun, Run, check_where, listed_runs, open_run, run_titles
from .run_texts import named_source, texts_of

if TYPE_CHECKING:
    from ..pages import RunReport

PAGE = "report.html"
ENDINGS = (".html", ".htm", ".md")


@dataclass(frozen=True)
class Page:
    """A page that was written.

    Attributes:
        path: the file.
        size: in bytes.
        titles: what it is about: the names of the runs, or the folder of the compilation.
        is_compilation: whether it is about a compilation.
    """

    path: Path
    size: int
    titles: tuple[str, ...]
    is_compilation: bool = False


def report(
    runs: AnyRun | Sequence[AnyRun],
    out: str | Path = PAGE,
    *,
    title: str | None = None,
    cases: CaseSource | str | Path | None = None,
    most: int = 200,
    seed: int = 0,
    where: Mapping[str, str] | None = None,
    merge: Merge | None = None,
    unreadable: Unreadable = "out",
    progress: Progress = SILENT,
    **options: Any,
) -> Page:
    """Write one self-contained page about runs, the first of which is compared with each other, or of a compilation.

    Args:
        runs: a run or several: folders, .jsonl files of verdicts, or what `dicast.run` returned; or the folder of one
            compilation.
        out: the page; a name that ends in .md is written as Markdown, without plots and cases.
        cases: where the texts are, if not where the run read them, or outside of this project.
        most: cases shown of each run, the strongest disagreements first.
        seed: of everything that is resampled.
        where: of .jsonl files, only rows whose fields have these values.
        merge: as of `dicast.evaluate`.
        unreadable: as of `dicast.evaluate`.
        options: more options of `dicast.evaluate`.

    Raises:
        RunError: the page cannot be written, or a run holds no verdict.
        DeclarationError: no run, a page with another ending, or the extra `report` is not installed.
    """
    from ..pages import runs_html, runs_markdown

    out = path_of(out)
    if out.suffix not in ENDINGS:
        raise DeclarationError(f"--out {out}: a page is HTML or Markdown. Give a name that ends in .html or .md.")
    paths = listed_runs("report", runs)
    compiled = [run for run in paths if not isinstance(run, Run) and is_compilation(path_of(run, "report"))]
    if compiled and len(paths) > 1:
        raise DeclarationError(
            f"report: {compiled[0]} is a compilation, and {len(paths) - 1} more were given with it. Give it alone: its "
            "page is of one compilation, with every judge of its test part; give runs without it for a page about runs."
        )
    if compiled:
        return write_compilation_page(Path(compiled[0]), out, title=title)
    opened = [open_run(run, where) for run in paths]
    check_where(opened)
    if not opened:
        raise DeclarationError("report: there is no run. Give one or more.")
    names, named = run_titles(opened), None if cases is None else named_source(cases)
    options |= {"seed": seed, "merge": merge, "unreadable": unreadable}
    reports = [_run_report(run, name, named, most, progress, options) for run, name in zip(opened, names, strict=True)]
    compared = compare(opened, names=names, seed=seed, merge=merge, unreadable=unreadable, by=options.get("by", ()))
    comparisons = [comparison for comparison in compared if comparison.cases]
    render = runs_markdown if out.suffix == ".md" else runs_html
    return write_page(out, render(reports, comparisons, title=title or "Judge report", now=timestamp()), names)


def write_compilation_page(folder: Path, out: Path | None = None, *, title: str | None = None) -> Page:
    """Write the page of a compilation: what was learned, and whether the compiled judge is better.

    Args:
        out: the page; by default report.html in the folder.

    Raises:
        RunError: the compilation has no test result yet, a file of it is damaged, or the page cannot be written.
        DeclarationError: the extra `report` is not installed.
    """
    from ..pages import compilation_html, compilation_markdown

    out, compilation = out or folder / PAGE, read_compilation(folder)
    render = compilation_markdown if out.suffix == ".md" else compilation_html
    text = render(compilation, title=title or f"{compilation.judge_name}, compiled", now=timestamp())
    return write_page(out, text, [str(folder)], is_compilation=True)


def timestamp() -> str:
    """The time of a page, in words."""
    return f"{datetime.now(UTC):%d %B %Y, %H:%M} UTC"


def write_page(out: Path, text: str, titles: Sequence[str], *, is_compilation: bool = False) -> Page:
    """Write a page; raises RunError when that is not possible."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunError(f"--out {out}: cannot be written ({error.strerror}). Give another file.") from None
    return Page(out, len(text.encode()), tuple(titles), is_compilation)


def _run_report(
    run: Run, name: str, cases: CaseSource | None, most: int, progress: Progress, options: dict[str, Any]
) -> "RunReport":
    from ..pages import Disagreement, RunReport

    evaluation = evaluate(run, cases=cases, **options)
    merge = options["merge"]
    ids = disagreements(run.arrays_by(VerdictRules(merge)), most)
    listed = frozenset(ids)
    shown = (merged_verdict(judged, merge) for judged in run if judged.case_id in listed) if ids else ()
    verdicts = {judged.case_id: judged for judged in shown}
    texts = _texts(run, cases, verdicts, progress)
    return RunReport(name, evaluation, [Disagreement(verdicts[case_id], texts.get(case_id)) for case_id in ids])


def _texts(run: Run, cases: CaseSource | None, verdicts: Mapping[str, Judged], progress: Progress) -> dict[str, Case]:
    """The cases of these verdicts, read again; none, with a notice, where they cannot or may not be read."""
    if not verdicts:
        return {}
    try:
        source = texts_of(run.path, run.source, cases)
        read = {case.id: case for case in source.cases() if case.id in verdicts} if source else {}
    except DicastError as error:
        progress.notice(f"report: the page has no texts of {run.name}: {error}")
        return {}
    same = {name: case for name, case in read.items() if verdicts[name].case_digest in ("", case.digest)}
    if left_out := len(read) - len(same):
        progress.notice(f"report: {left_out:,} cases of {run.name} have changed since; the page has no texts of them.")
    return same
