"""`dicast report`: one page about runs, or about a compilation."""

from pathlib import Path
from typing import Any

import click

from . import options


@click.command("report")
@click.argument("paths", type=options.RUN, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--out",
    type=options.OutPath(path_type=Path, dir_okay=False),
    default="report.html",
    show_default=True,
    help="The page; a name that ends in .md is written as Markdown, without plots and cases.",
)
@click.option("--title", show_default="the judges and their data, or the compiled judge's name")
@click.option(
    "--cases", "cases_source", help="Where the texts are, if not where the run read them, or outside of this project."
)
@options.data_option
@click.option(
    "--most", type=click.IntRange(0, 2000), default=200, show_default=True, help="Cases shown of each run, worst first."
)
@click.option("--no-texts", is_flag=True, help="Leave out everything that people or a model wrote of the cases.")
@options.measuring_options
@options.json_option
def command(
    paths: tuple[str, ...], out: Path, cases_source: str | None, root: Path | None, where: dict[str, str],
    no_texts: bool, as_json: bool, **values: Any,
) -> int:  # fmt: skip
    """Write one self-contained page about runs: it opens offline, and can be sent to people.

    The first run is compared with each other one. Texts are read again from where the run read them, if that is a
    public set or in this project (below the working folder, or beside RUN), else from --cases. The page of a folder
    that dicast compile wrote says what was learned, and whether the compiled judge is better.

    \b
    Example:
      dicast report runs/first
      dicast report runs/fennec runs/first --out fennec.html
      dicast report runs/first --out first.md
      dicast report compiled/direct-labels
    """
    from .. import workflows
    from . import render

    cases = workflows.CaseSource(cases_source, root=root) if cases_source else None
    with render.RunProgress(quiet=as_json) as progress:
        page = workflows.report(
            paths, out, cases=cases, where=where, show_texts=not no_texts, progress=progress, **values
        )
    if as_json:
        about = {"compilation": page.titles[0]} if page.is_compilation else {"runs": list(page.titles)}
        options.print_json({"out": str(out), **about, "bytes": page.size})
    else:
        render.console.print(f"report: {out} ({page.size / 1e6:.1f} MB)", soft_wrap=True)
    return 0
