"""The `dicast` command: each verb parses its options, calls a workflow and prints the result.

Commands are imported when they run, so that `dicast --help` needs neither DSPy nor numpy. Exit codes (`exit_codes`):

    0    pass, or complete
    1    fail: a judge is worse, or a requirement does not hold; nothing else is 1
    2    inconclusive, or the budget is used up
    3    a usage or operational error: no case, nothing scored, too little coverage, any unexpected error
    130  stopped by Ctrl-C or a signal
"""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from .._version import __version__
from . import failures, output
from .dspy_settings import check_settings
from .exit_codes import ERROR, EXIT_CODES, FAIL, INCONCLUSIVE, STOPPED
from .help_text import fitting
from .process_end import end_process

COMPLETION = "_DICAST_COMPLETE"  # the variable by which a shell asks

__all__ = ["ERROR", "FAIL", "INCONCLUSIVE", "STOPPED", "group", "main", "run"]

COMMANDS = {
    "init": "Look at a file of labels and write dicast.toml, which every verb reads.",
    "demo": "Judge the built-in set with a local model and show one whole judgment.",
    "check": "Check the environment, a model, a data file, or a judge for drift; say what to do.",
    "list": "List the judges.",
    "prepare": "Anonymise and summarise cases before they are judged.",
    "judge": "Judge cases; continues where it stopped.",
    "compile": "Compile a judge against human labels, with proof.",
    "distill": "Distil a judge into a small local model, accepted by human labels.",
    "lessons": "Collect what a student learns: traces, bridged judgments, histories, sets.",
    "cascade": "Certify judges that are called in turn, the cheapest first.",
    "show": "Print what a compiled judge has learned.",
    "evaluate": "Measure a run against people; compare it with others.",
    "agreement": "How far judges agree without any label, and which cases to label.",
    "export": "Write a run as CSV, Excel, JSON Lines or Parquet, with its texts.",
    "report": "Write a page about runs: plots, and the cases where judge and people disagree.",
    "experiment": "List, show and run the papers' experiments, and yours, with your LM.",
    "reproduce": "Recompute published tables from recorded judgments.",
    "models": "List, fetch and find local models.",
    "data": "List, fetch and find public human-labelled sets.",
}


class LazyGroup(click.Group):
    """A group whose commands are modules, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # `list` is a module of this package, once it is imported

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return fitting(import_module(f".{cmd_name}", __name__).command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The verbs and the group's options; no command is imported."""
        verbs = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """What the command returns, or the exit code of its failure, before click takes EOFError for Ctrl-D."""
        try:
            check_settings()
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BaseException as failure:
            return failures.exit_code(failure)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dicast")
def group() -> None:
    """LLM judges that agree with your people.

    \b
    Example:
      dicast demo
      dicast judge --judge direct --cases pairs.jsonl --out runs/first
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    from .interrupt import handle_signals

    handle_signals()
    failures.hide_tracebacks()
    code = run(arguments) if output.prepare_streams() else ERROR
    end_process(output.close_streams(code))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: its exit code."""
    try:
        result = group.main(arguments, prog_name="dicast", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except BaseException as failure:
        if isinstance(failure, SystemExit) and COMPLETION in os.environ:  # click ends so when a shell is answered
            return int(failure.code or 0)
        return failures.exit_code(failure)
