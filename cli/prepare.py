"""`dicast prepare`: rewrite cases before they are judged."""

import dataclasses
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..errors import BudgetSpent, ExecutionError
from . import FAIL, INCONCLUSIVE, STOPPED, options
from .running import default_workers, now, parse_budget, parse_settings, prepare_models, versions


@click.command("prepare")
@click.option("--with", "names", required=True, metavar="NAMES", help="anonymise, summarise, or both with a comma.")
@options.case_options
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The .jsonl file of prepared cases."
)
@options.lm_option
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter, as in words=100.")
@click.option("--limit", type=click.IntRange(1), help="This many cases: the first, or with --seed a random sample.")
@click.option("--seed", type=int, help="Draw the cases of --limit at random with this seed.")
@click.option("--workers", type=click.IntRange(1, 256), help="Cases at once [default: 2 local, 16 for a server].")
@click.option("--budget", metavar="LIMITS", help="Stop at limits, as in calls=1000,tokens=2e6,cost=5,minutes=30.")
@options.json_option
def command(**given: Any) -> int:
    """Replace names and summarise long texts, so that a model cannot know a text by heart.

    Running again goes on where it stopped and tries the failed cases anew. Cases that failed are in OUT.rejects.jsonl
    with the reason; the exit code is then 1. Anonymise first: a summary must not bring the names back.

    \b
    Example:
      dicast prepare --with anonymise,summarise --cases stories.jsonl --out prepared.jsonl
      dicast judge --judge perse --cases prepared.jsonl
    """
    options.load_environment()
    fields = {field.name for field in dataclasses.fields(options.CaseSource)}
    source = options.CaseSource(**{name: given.pop(name) for name in fields & given.keys()})
    return prepare_cases(source, **given)


def prepare_cases(
    source: options.CaseSource, *, names: str, out: Path, lm: str | None, limit: int | None, seed: int | None,
    skip_bad: bool, workers: int | None, budget: str | None, settings: tuple[str, ...], as_json: bool,
) -> int:  # fmt: skip
    from ..data import Case, Rejects
    from ..data.split import sample
    from ..engines.ledger import Ledger, charge_to
    from ..engines.models import Roles
    from ..engines.parallel import stream
    from ..preparation.registry import build_preparation
    from ..workflows.prepare import PreparedCases
    from . import render
    from .interrupt import stop_on_interrupt

    roles = Roles.parse(lm) if lm else Roles({})
    preparation = build_preparation(names, **parse_settings(settings)).bind(roles)
    journal, ledger, problem = PreparedCases(out), Ledger(budget=parse_budget(budget)), None
    identity = {
        "with": preparation.name, "settings": preparation.settings(), "lm": str(roles), "data": source.digest(),
        "seed": seed, "limit": limit if seed is not None else None, "aspect": source.aspect,
    }  # fmt: skip

    def attempt(case: Case) -> Case | ExecutionError:
        try:
            return preparation(case)  # type: ignore[no-any-return]
        except BudgetSpent:
            raise
        except ExecutionError as error:
            return error

    prepare_models(preparation)
    manifest = {"identity": identity, "cases": source.source, "started": now(), "versions": versions()}
    bad, failed = Rejects(out.with_suffix(".bad_rows.jsonl")), Failures(journal.rejects)
    with journal.locked(), bad, failed, stop_on_interrupt() as stop, charge_to(ledger):
        journal.open(manifest)
        chosen = journal.missing(sample(source.cases(bad if skip_bad else None), limit, seed))
        before = len(journal.done)
        with journal.append() as file, _progress(limit or source.count(), before, ledger, quiet=as_json) as step:
            try:
                for case, result in stream(
                    attempt, chosen, workers=workers or default_workers(preparation), stop=stop, failed=_of_the_server
                ):
                    if isinstance(result, ExecutionError):
                        failed.add(case.id, result)
                    else:
                        journal.add(file, result.id, result.model_dump_json())
                    step(failed.count)
            except BudgetSpent as error:
                problem = error
    told = {"out": str(out), "prepared": len(journal.done) - before, "cases": len(journal.done)}
    told |= {"failed": failed.count, "bad_rows": bad.count}
    if as_json:
        spent = {"usage": ledger.total.model_dump(), "stages": {n: u.model_dump() for n, u in ledger.stages.items()}}
        options.print_json(told | spent)
    else:
        render.console.print(f"prepared {told['prepared']:,} cases; {out} holds {told['cases']:,}")
        render.console.print(f"usage: {render.spent(ledger.total)}")
        for stage, usage in ledger.stages.items():
            render.console.print(f"  {stage}: {render.spent(usage)}, {usage.seconds:.1f} s of model time", style="dim")
        if failed.count:
            render.console.print(f"{failed.count:,} cases failed and are in {journal.rejects}; run again to try anew")
        if bad.count:
            render.console.print(f"{bad.count:,} bad rows are in {bad.path}")
    if problem is not None:
        render.errors.print(f"dicast: {problem} The same command goes on where it stopped.", markup=False)
        return INCONCLUSIVE
    return STOPPED if stop.is_set() else FAIL if failed.count else 0


class Failures:
    """A JSONL file of the cases that failed this time: `{"id", "reason", "error"}`; there is none without failures."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0

    def __enter__(self) -> "Failures":
        self.path.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Every failure is written already."""

    def add(self, case_id: str, error: ExecutionError) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            line = {"id": case_id, "reason": error.reason, "error": str(error)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.count += 1


def _of_the_server(result: Any) -> str:
    return str(result) if isinstance(result, ExecutionError) and result.reason == "infrastructure" else ""


@contextmanager
def _progress(total: int | None, done: int, ledger: Any, *, quiet: bool) -> Iterator[Any]:
    """A bar on a terminal, a line now and then elsewhere; call what it gives with the failures so far."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from . import render

    count, told = done, time.monotonic()
    with Progress(
        TextColumn("preparing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"), console=render.errors, disable=quiet or not render.errors.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=total, completed=done, note="")

        def step(failures: int) -> None:
            nonlocal count, told
            count, usage = count + 1, ledger.total
            note = f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:.1f}k tokens"
            note += f", {failures} failed" if failures else ""
            bar.update(task, completed=count, note=note)
            if not quiet and not render.errors.is_terminal and time.monotonic() - told > render.LINE_EVERY:
                told = time.monotonic()
                render.errors.print(f"prepared {count}{f' of {total}' if total else ''}: {note}")

        yield step
