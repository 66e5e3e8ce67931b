"""`dicast report`: one page of a run or several, with plots and the cases where judge and people disagree.

A folder that `dicast compile` wrote has a page of its own kind: what was learnt, and whether that is better.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DeclarationError, DicastError, RunError
from . import options
from .measured import Run, compared, evaluated, measuring_options

if TYPE_CHECKING:
    from ..data import Case
    from ..report import RunReport

RUN = click.Path(path_type=Path, exists=True)
PAGE = "report.html"


@click.command("report")
@click.argument("paths", type=RUN, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=PAGE,
    show_default=True,
    help="The page; a name that ends in .md is written as Markdown, without plots and cases.",
)
@click.option("--title", show_default="Judge report, or the compiled judge's name")
@click.option("--cases", "cases_source", help="Where the texts are, if they are no longer where the run read them.")
@click.option("--data", "root", type=click.Path(path_type=Path, file_okay=False), help="Folder of public sets.")
@click.option(
    "--most", type=click.IntRange(0, 2000), default=200, show_default=True, help="Cases shown of each run, worst first."
)
@measuring_options
@options.json_option
def command(
    paths: tuple[Path, ...], out: Path, title: str | None, cases_source: str | None, root: Path | None, most: int,
    where: dict[str, str], as_json: bool, **given: Any,
) -> int:  # fmt: skip
    """Write one self-contained page about runs: it opens offline, and can be sent to people.

    The first run is compared with each other one. Cases are read again from where the run read them. The page of a
    folder that dicast compile wrote says what was learnt, and whether that is better.

    \b
    Example:
      dicast report runs/first
      dicast report runs/fennec runs/first --out fennec.html
      dicast report runs/first --out first.md
      dicast report compiled/direct-labels
    """
    from ..optimizers.compile_folder import is_compilation
    from . import render

    if compiled := [path for path in paths if is_compilation(path)]:
        return _compilation(compiled[0], paths, out, title, as_json)
    runs = [Run(path, where) for path in paths]
    elsewhere = options.CaseSource(cases_source, root=root) if cases_source else None
    size = write(runs, out, title=title or "Judge report", elsewhere=elsewhere, most=most, **given)
    if as_json:
        options.print_json({"out": str(out), "runs": _names(runs), "bytes": size})
    else:
        render.console.print(f"report: {out} ({size / 1e6:.1f} MB)", markup=False, soft_wrap=True)
    return 0


def write(
    runs: list[Run], out: Path, *, title: str, elsewhere: options.CaseSource | None, most: int, **given: Any
) -> int:
    """Write the page of these runs: its size in bytes.

    Raises:
        RunError: the file cannot be written.
        DeclarationError: the extra `report` is missing.
    """
    from ..report import runs_html, runs_markdown

    names = _names(runs)
    reports = [_report(run, name, elsewhere, most, given) for run, name in zip(runs, names, strict=True)]
    make = runs_markdown if out.suffix == ".md" else runs_html
    comparisons = [one for one in compared(runs, given["seed"], names) if one.cases]  # runs of other cases stand alone
    return _kept(out, make(reports, comparisons, title=title, now=_now()))


def compilation_page(folder: Path, *, title: str | None = None) -> str:
    """The page of a compilation, as HTML.

    Raises:
        RunError: it did not come to its test, or a file of it is damaged.
        DeclarationError: the extra `report` is missing.
    """
    from ..optimizers.compile_folder import read_compilation
    from ..report import compilation_html

    compilation = read_compilation(folder)
    return compilation_html(compilation, title=title or f"{compilation.judge_name}, compiled", now=_now())


def write_page(folder: Path) -> Path | None:
    """Write the page of a compilation into its folder: its path; None, told in a line, without the extra `report`.

    Raises:
        RunError: it did not come to its test, or the page cannot be written.
    """
    from . import render

    try:
        text = compilation_page(folder)
    except DeclarationError as error:
        render.errors.print(str(error), markup=False, soft_wrap=True)
        return None
    _kept(folder / PAGE, text)
    return folder / PAGE


def _compilation(folder: Path, paths: tuple[Path, ...], out: Path, title: str | None, as_json: bool) -> int:
    from ..optimizers.compile_folder import read_compilation
    from ..report import compilation_markdown
    from . import render

    if len(paths) > 1:
        raise DeclarationError(
            f"report: {folder} is a compilation, and {len(paths) - 1} more were given with it. Give it alone: its page "
            "is of one compilation, with every judge of its test part; runs have a page of their own."
        )
    if out.suffix == ".md":
        compilation = read_compilation(folder)
        text = compilation_markdown(compilation, title=title or f"{compilation.judge_name}, compiled", now=_now())
    else:
        text = compilation_page(folder, title=title)
    size = _kept(out, text)
    if as_json:
        options.print_json({"out": str(out), "compilation": str(folder), "bytes": size})
    else:
        render.console.print(f"report: {out} ({size / 1e6:.1f} MB)", markup=False, soft_wrap=True)
    return 0


def _kept(out: Path, text: str) -> int:
    """Write a page: its size in bytes."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RunError(f"--out {out}: cannot be written ({error.strerror}). Give another file.") from None
    return len(text.encode())


def _now() -> str:
    return f"{datetime.now(UTC):%d %B %Y, %H:%M} UTC"


def _report(run: Run, name: str, elsewhere: options.CaseSource | None, most: int, given: dict[str, Any]) -> "RunReport":
    from ..evaluation.disagreements import disagreements
    from ..report import Disagreement, RunReport

    evaluation = evaluated(run, **given)
    wanted = disagreements(run.read, most)
    ids = frozenset(wanted)
    found = {judged.case_id: judged for judged in run.verdicts() if judged.case_id in ids} if ids else {}
    texts = _texts(run, elsewhere, ids)
    shown = [Disagreement(found[one], texts.get(one)) for one in wanted]
    return RunReport(name, evaluation, shown)


def _texts(run: Run, elsewhere: options.CaseSource | None, wanted: frozenset[str]) -> "dict[str, Case]":
    """The cases of these ids, read again; what cannot be read is told, and the page does without."""
    from . import render

    source = elsewhere or run.source()
    if source is None or not wanted:
        return {}
    try:
        return {case.id: case for case in source.cases() if case.id in wanted}
    except DicastError as error:
        render.errors.print(f"report: the page has no texts of {run.name}: {error}", markup=False)
        return {}


def _names(runs: list[Run]) -> list[str]:
    """Folder names; whole paths where two are the same."""
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]
