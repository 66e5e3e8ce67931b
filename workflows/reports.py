"""The page of one run or several: plots, and the cases where judge and human labels disagree."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ..distillation.distil_folder import is_distillation, read_distillation
from ..errors import DeclarationError, RunError
from ..evaluation.verdict_rules import Merge, Unreadable
from ..optimizers.compile_folder import is_compilation, read_compilation
from ..paths import path_of
from .case_source import CaseSource
from .comparisons import compare
from .compilation_texts import compiled_texts
from .progress import SILENT, Progress
from .run_checks import check_where
from .run_pages import run_report
from .run_results import AnyRun, Run, listed_runs, open_run, run_titles
from .run_subjects import page_names, page_title, run_subject
from .run_texts import named_source

PAGE = "report.html"
ENDINGS = (".html", ".htm", ".md")
MOST_CHANGED = 400  # cases of the page of a compilation


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
    show_texts: bool = True,
    progress: Progress = SILENT,
    **options: Any,
) -> Page:
    """Write one self-contained page about runs, the first of which is compared with each other, or of a compilation.

    Args:
        runs: a run or several: folders, .jsonl files of verdicts, or what `dicast.run` returned; or the folder of one
            compilation or distillation.
        out: the page; a name that ends in .md is written as Markdown, without plots and cases.
        cases: where the texts are, if not where the run read them, or outside of this project.
        most: cases shown of each run, the strongest disagreements first.
        seed: of everything that is resampled.
        where: of .jsonl files, only rows whose fields have these values.
        merge: as of `dicast.evaluate`.
        unreadable: as of `dicast.evaluate`.
        show_texts: whether the page shows what people or a model wrote of the cases.
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
    compiled = [run for run in paths if not isinstance(run, Run) and _has_own_page(path_of(run, "report"))]
    if compiled and len(paths) > 1:
        raise DeclarationError(
            f"report: {compiled[0]} is a compilation, and {len(paths) - 1} more were given with it. Give it alone: its "
            "page is of one compilation, with every judge of its test part; give runs without it for a page about runs."
        )
    if compiled and is_distillation(Path(compiled[0])):
        return write_distillation_page(Path(compiled[0]), out, title=title)
    if compiled:
        named = None if cases is None else named_source(cases)
        return write_compilation_page(
            Path(compiled[0]), out, title=title, cases=named, texts=show_texts, most=most, progress=progress
        )
    opened = [open_run(run, where) for run in paths]
    check_where(opened)
    if not opened:
        raise DeclarationError("report: there is no run. Give one or more.")
    names, named = page_names(opened), None if cases is None else named_source(cases)
    options |= {"seed": seed, "merge": merge, "unreadable": unreadable}
    reports = [
        run_report(run, name, named, most, progress, options, with_texts=show_texts)
        for run, name in zip(opened, names, strict=True)
    ]
    compared = compare(opened, names=names, seed=seed, merge=merge, unreadable=unreadable, by=options.get("by", ()))
    comparisons = [comparison for comparison in compared if comparison.cases]
    render = runs_markdown if out.suffix == ".md" else runs_html
    title = title or page_title([run_subject(run) for run in opened], names)
    return write_page(out, render(reports, comparisons, title=title, now=timestamp()), run_titles(opened))


def write_compilation_page(
    folder: Path,
    out: Path | None = None,
    *,
    title: str | None = None,
    cases: CaseSource | None = None,
    texts: bool = True,
    most: int = MOST_CHANGED,
    progress: Progress = SILENT,
) -> Page:
    """Write the page of a compilation: what was learned, and whether the compiled judge is better.

    Args:
        out: the page; by default report.html in the folder.
        cases: where the texts are, if not where the compilation read them, or outside of this project.
        texts: whether the page shows texts of cases.
        most: cases shown whose verdict changed, the surest first.
        progress: gets a notice where the texts cannot be read.

    Raises:
        RunError: the compilation has no test result yet, a file of it is damaged, or the page cannot be written.
        DeclarationError: the extra `report` is not installed.
    """
    from ..pages import compilation_html, compilation_markdown

    compilation = read_compilation(folder)
    ids = frozenset(row.after.case_id for row in compilation.changed)
    of_cases = compiled_texts(folder, ids, cases, progress) if texts and most else {}
    html = partial(compilation_html, compilation, texts=of_cases if texts else None, most=most)
    pages = html, partial(compilation_markdown, compilation)
    return _folder_page(folder, out, pages, title or f"{compilation.judge_name}, compiled")


def write_distillation_page(folder: Path, out: Path | None = None, *, title: str | None = None) -> Page:
    """Write the page of a distillation: may the student replace its teacher, and what does it cost.

    Args:
        out: the page; by default report.html in the folder.

    Raises:
        RunError: the distillation has no test result yet, a file of it is damaged, or the page cannot be written.
        DeclarationError: the extra `report` is not installed.
    """
    from ..pages import distillation_html, distillation_markdown

    distillation = read_distillation(folder)
    pages = partial(distillation_html, distillation), partial(distillation_markdown, distillation)
    return _folder_page(folder, out, pages, title or f"{distillation.identity.get('judge')}, distilled")


def _folder_page(
    folder: Path, out: Path | None, pages: tuple[Callable[..., str], Callable[..., str]], title: str
) -> Page:
    """Write one of the two pages, HTML or Markdown, by the ending of `out`."""
    out = out or folder / PAGE
    html, markdown = pages
    text = (markdown if out.suffix == ".md" else html)(title=title, now=timestamp())
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


def _has_own_page(path: Path) -> bool:
    """Whether the folder is of a compilation or a distillation, which have a page of another kind than runs."""
    return is_compilation(path) or is_distillation(path)
