"""The learnt criteria in words: a readable rubric, and the same questions as a bank that `questions` reads."""

import json
from collections.abc import Sequence

from ...data.question_bank import BankQuestion
from .selection import DRAWS, ERROR, Selection


def rubric_markdown(questions: Sequence[BankQuestion], selection: Selection, *, refused: int, writer: str) -> str:
    """The rubric as Markdown: what is asked, what a yes means and what each question is worth.

    Args:
        questions: the chosen ones, in the order in which they were added.
        refused: proposals that were not asked.
        writer: the model that proposed them.
    """
    before, after = f"{selection.loss_before:.4f}", f"{selection.loss_after:.4f}"
    lines = [
        "# Rubric learnt from labels",
        "",
        f"{len(questions)} of {selection.candidates} questions were chosen by {selection.n} labels in "
        f"{selection.groups} groups; {refused} more proposals were refused before anything was judged by them. "
        f"{writer} proposed them from cases of the train part.",
        "",
        f"The cross-fitted loss is {before} without them and {after} with them. The labels that chose them measure it, "
        "so it flatters them; the test part of the compilation does not.",
        "",
    ]
    if questions:
        lines += ["| question | yes is | worth [95 % interval by groups] | p |", "| --- | --- | --- | --- |"]
        by_name = {worth.name: worth for worth in selection.chosen}
        for question in questions:
            worth = by_name[question.name]
            cells = [
                f"**{_cell(question.name)}**: {_cell(question.ask)}",
                "good" if question.sign > 0 else "bad",
                f"{worth.worth:+.4f} [{worth.low:+.4f}, {worth.high:+.4f}]",
                f"{worth.p:.3f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    else:
        lines += ["No question lowered the loss more than chance does.", ""]
    lines += [
        "Worth: what the cross-fitted loss would grow by without this question, beside all others. p: how often the "
        f"best of as many shuffled questions did as well, of {DRAWS} draws; a question is added at p <= {ERROR:g}.",
        "",
    ]
    return "\n".join(lines)


def bank_yaml(questions: Sequence[BankQuestion], task: str = "") -> str:
    """The questions as a YAML file of a bank. Values are written as JSON, which YAML reads."""
    lines = ["# Learnt by `dicast compile --criteria learn`; a bank of the judge `questions`."]
    lines += [f"task: {_quoted(task)}"] if task else []
    lines.append("questions:")
    for question in questions:
        fields = question.model_dump(mode="json", exclude_defaults=True)
        lines += [f"  {'- ' if first else '  '}{name}: {_quoted(value)}" for first, (name, value) in _numbered(fields)]
    return "\n".join(lines) + "\n"


def _numbered(fields: dict[str, object]) -> list[tuple[bool, tuple[str, object]]]:
    return [(number == 0, item) for number, item in enumerate(fields.items())]


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("`", "\\`")
