"""`dicast export`: a run as a table."""

from pathlib import Path

import click

from . import options, output


@click.command("export")
@click.argument("path", type=options.RUN, metavar="RUN")
@click.option(
    "--out",
    default="verdicts.csv",
    show_default=True,
    help="The file: .csv, .tsv, .jsonl, .xlsx or .parquet; - for stdout.",
)
@click.option("--no-texts", is_flag=True, help="Only the verdicts, without the texts and other columns of the cases.")
@click.option("--cases", "cases_source", help="Where the texts are, if not where the run read them.")
@options.data_option
def command(path: str, out: str, no_texts: bool, cases_source: str | None, root: Path | None) -> int:
    """Write the verdicts of a run as a table, a row each, with the texts and other columns of their cases.

    \b
    Example:
      dicast export runs/first --out verdicts.csv
      dicast export runs/first --out verdicts.parquet --no-texts
      dicast export runs/first --out - | head
    """
    import sys

    from .. import workflows
    from ..workflows.exported_table import export_table, table_text
    from . import render

    cases = workflows.CaseSource(cases_source, root=root) if cases_source else None
    if out == "-":
        output.write_text(sys.stdout, table_text(path, cases=cases, texts=not no_texts))
        return 0
    count = export_table(path, out, cases=cases, texts=not no_texts)
    render.console.print(f"{count:,} verdicts: {out}", soft_wrap=True)
    return 0
