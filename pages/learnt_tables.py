"""What a compiled judge learnt, as tables with words: its settings, and what its head weighs."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import DicastError
from ..judging.building import build
from ..judging.head_weights import head_weights, odds_note
from ..judging.heads import CategoryHead, Head, ScoreHead
from ..judging.judge import Judge
from ..judging.judge_record import default_judge
from ..judging.parameter_help import parameter_help
from ..optimizers.compile_folder import Compilation
from .formatting import MINUS, THIN
from .text_tables import TextCell, TextRow, TextTable

YES_NO = {"True": "yes", "False": "no", "": "none"}
MOST_WEIGHTS = 24  # rows of the table
MODEL = "model."  # begins the name of a setting that says which model answers a role


def settings_grid(compilation: Compilation) -> TextTable | None:
    """The settings of the judge, each with its sentence: changed ones first, then all others of the structure search;
    without a search those that differ from the program's. None where there is nothing to say."""
    program = _program(compilation)
    sentences = parameter_help(program) if program is not None else {}
    search = compilation.structure
    before: Mapping[str, Any] = search.trials[0].settings if search else compilation.identity["settings"]
    after: Mapping[str, Any] = search.settings if search else before
    defaults = program.settings() if program is not None else {}
    names = [name for name in after if search or after[name] != defaults.get(name, after[name])]
    rows = []
    for name in sorted(names, key=lambda name: after[name] == before.get(name)):
        now, old = setting_value(after[name]), setting_value(before.get(name, ""))
        values = (now, "" if now == old else old) if search else (now,)
        cells = (TextCell(name), *map(TextCell, values), TextCell("", _sentence(name, sentences)))
        rows.append(TextRow(cells, "faint" if search and now == old else ""))
    if not rows:
        return None
    title = "Settings of the chosen structure" if search else "Settings that differ from the program's"
    heads = ("Setting", "Compiled", "Uncompiled", "What it does") if search else ("Setting", "Value", "What it does")
    return TextTable(title, heads, tuple(rows), "" if search else "Compiling left them as they were.", wordy=True)


def setting_value(value: object) -> str:
    """A value as a reader knows it.

    Example:
        >>> setting_value(True), setting_value(""), setting_value(0.5)
        ('yes', 'none', '0.5')
    """
    text = str(value)
    return YES_NO.get(text, text)


def weights_grid(head: Head | None) -> TextTable | None:
    """Each feature of the head with what it says and what its weight does; None without a head."""
    if head is None:
        return None
    rows = head_weights(head)
    weights = [row for row in rows if not row.of_ties]
    lines = tuple(
        TextRow((TextCell(row.name, row.words), TextCell(_signed(row.weight)), TextCell(row.effect)))
        for row in (*weights[:MOST_WEIGHTS], *rows[len(weights) :])
    )
    more = len(weights) - MOST_WEIGHTS
    note = " ".join([*([f"{more:,} more have smaller weights."] if more > 0 else []), *_notes(head)])
    return TextTable("What the head weighs", ("Evidence", "Weight", "What it does"), lines, note) if lines else None


def _notes(head: Head) -> Iterator[str]:
    """What else the head does, in sentences."""
    if odds := odds_note(head):
        yield odds
    facts = dict(head.describe())
    if "ties" in facts:
        which = (
            facts["ties"].replace(" %", f"{THIN}%").replace("at margin 0", "where the evidence leans to neither side")
        )
        yield f"Ties: {which}."
    knots = () if isinstance(head, CategoryHead) else getattr(head, "knots", ())
    if knots:
        number = "score" if isinstance(head, ScoreHead) else "lean"
        yield f"The {number} is then mapped by a rising line through {len(knots)} points, so that it fits the labels."
    for name, block in sorted(head.blocks.items()):
        yield f"{name[:1].upper()}{name[1:]} holds {block.describe()}."
    if isinstance(head, ScoreHead):
        yield f"Scores are on people's scale, {head.lo:g} to {head.hi:g}, and start from {head.intercept:.3g}."
    if isinstance(head, CategoryHead) and head.cutoff is not None and head.costs:
        yield f"It says {head.categories[1]} from a probability of {head.cutoff:.3g} on, by the costs of errors."


def _signed(weight: float) -> str:
    return f"{weight:+.3g}".replace("-", MINUS)


def _sentence(name: str, sentences: Mapping[str, str]) -> str:
    if name.startswith(MODEL):
        return f"the model that answers as {name.removeprefix(MODEL)}"
    sentence = sentences.get(name) or ""
    return sentence.rstrip(".")


def _program(compilation: Compilation) -> Judge | None:
    """The program without anything learnt; None where it is not installed here."""
    try:
        if compilation.judge_file is not None:
            return default_judge(compilation.judge_file.judge)
        return build(compilation.judge_name)
    except DicastError:
        return None
