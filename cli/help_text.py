"""The help of commands: no line is wider than the terminal.

An example that is wider goes on in the next line after a backslash, as a shell reads it; a list of choices is divided
between two of them.
"""

import re
from collections.abc import Iterable

import click

MARGIN = 2  # columns that click leaves free
HANGING = 2
OPTION = r"--?\S+(?: +[^-\s]\S*)?|\S+"  # an option of an example with its value, or a word


class FittingFormatter(click.HelpFormatter):
    """Writes help of which the wide lines are divided."""

    def write(self, string: str) -> None:
        width = self.width + MARGIN
        super().write("\n".join(row for line in string.split("\n") for row in divided(line, width)))


class FittingContext(click.Context):
    """The context of a command whose help fits."""

    formatter_class = FittingFormatter


def fitting(command: click.Command) -> click.Command:
    """The command, with all commands below it, so that their help fits."""
    command.context_class = FittingContext
    if isinstance(command, click.Group):
        for nested in command.commands.values():
            fitting(nested)
    return command


def divided(line: str, width: int) -> Iterable[str]:
    """The lines that a line of help is divided into.

    Example:
        >>> list(divided("  dicast judge --out runs/first", 24))
        ['  dicast judge \\\\', '    --out runs/first']
    """
    text = line.strip()
    if len(line) <= width or not text:
        return [line]
    is_command = text.startswith("dicast ")
    pieces = re.findall(OPTION, text) if is_command else re.findall(r"[^|]+\|?", text)
    joint, end = (" ", " \\") if is_command else ("", "")
    indent = " " * (len(line) - len(line.lstrip()))
    rows = [indent + pieces[0]]
    for piece in pieces[1:]:
        if len(rows[-1] + joint + piece + end) <= width:
            rows[-1] += joint + piece
        else:
            rows[-1] += end
            rows.append(indent + " " * HANGING + piece)
    return rows
