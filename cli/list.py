"""`dicast list`: the judges."""

from typing import Any

import click

from . import options


@click.command("list")
@options.json_option
def command(as_json: bool) -> None:
    """List every judge: what it judges, its stages and parameters, its calls for a case, its source.

    \b
    Example:
      dicast list
    """
    from ..programs import PROGRAMS
    from . import render

    rows: list[dict[str, Any]] = []
    for program in PROGRAMS.values():
        judge = program.build()
        stages = list(dict.fromkeys(stage.role for stage in judge.stages()))
        rows.append({
            "name": program.name, "summary": program.summary, "inputs": program.inputs, "stages": stages,
            "parameters": judge.settings(), "calls": program.calls, "source": program.source,
        })  # fmt: skip
    if as_json:
        options.print_json(rows)
        return
    for row in rows:
        render.console.print(f"[bold]{row['name']}[/]  {row['summary']}")
        if row["stages"]:
            parameters = ", ".join(f"{name}={value}" for name, value in row["parameters"].items())
            render.console.print(f"    stages {' -> '.join(row['stages'])}; {parameters}", style="dim")
        render.console.print(f"    judges {row['inputs']}; calls {row['calls']}; {row['source']}", style="dim")
