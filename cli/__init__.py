"""The `dicast` command: each verb parses its options, calls a workflow and prints the result.

Commands are imported when they run, so that `dicast --help` needs neither DSPy nor numpy. Exit codes: 0 pass, 1 fail,
2 inconclusive, 3 a usage or operational error, 130 stopped by Ctrl-C.
"""

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from .._version import __version__
from ..errors import DicastError

FAIL, INCONCLUSIVE, ERROR, STOPPED = 1, 2, 3, 130
COMMANDS = {
    "demo": "Judge the built-in set with a local model and show one whole judgment.",
    "check": "Check the environment, a model, a data file, or a judge for drift; say what to do.",
    "list": "List the judges.",
    "prepare": "Anonymise and summarise cases before they are judged.",
    "judge": "Judge cases; continues where it stopped.",
    "compile": "Compile a judge against human labels, with proof.",
    "cascade": "Certify judges that are called in turn, the cheapest first.",
    "show": "Print what a compiled judge has learned.",
    "evaluate": "Measure a run against people; compare it with others.",
    "report": "Write a page about runs: plots, and the cases where judge and people disagree.",
    "reproduce": "Recompute published tables from recorded judgments.",
    "models": "List, fetch and find local models.",
    "data": "List, fetch and find public human-labelled sets.",
}


class LazyGroup(click.Group):
    """A group whose commands are modules, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{cmd_name}", __name__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


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
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: its exit code."""
    try:
        result = group.main(arguments, prog_name="dicast", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return ERROR
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped.", err=True)
        return STOPPED
    except DicastError as error:
        click.echo(f"dicast: {error}", err=True)
        return ERROR
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone
        return 0
    except OSError as error:
        if error.filename is None:
            raise
        click.echo(f"dicast: {error.filename}: {error.strerror}. Give another path, or make room.", err=True)
        return ERROR
