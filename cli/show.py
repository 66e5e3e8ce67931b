"""`dicast show`: what a judge file has learnt, in words."""

import difflib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from ..errors import DeclarationError
from . import options
from .figures import counted_proportion
from .judgment import SHOWN

if TYPE_CHECKING:
    from ..judging.judge_file import JudgeFile
    from ..judging.judge_record import JudgeRecord, StageRecord

LONGEST = 400  # characters of a demo's field on a terminal; --json has all of them
STYLES = {"+": "green", "-": "red", "@": "dim"}
ROW = ("accuracy", "kappa", "spearman", "kendall")  # of each judge on the test part
Line = tuple[int, str, str]  # indentation, text, style


@click.command("show")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@options.json_option
def command(path: Path, as_json: bool) -> None:
    """Say what a judge file has learnt: settings, instructions against the program's own, demos, head, certificate.

    \b
    Example:
      dicast show tone.judge.json
    """
    from ..judging.judge_file import fingerprint, read
    from . import render

    file = read(path)
    told = {"file": str(path), "fingerprint": fingerprint(path), **whole(file)}
    if as_json:
        options.print_json(told)
        return
    for indent, text, style in _lines(told):
        for line in text.translate(SHOWN).split("\n"):
            render.console.print(Text(" " * indent + line, style), soft_wrap=True)


def whole(file: "JudgeFile") -> dict[str, Any]:
    """Everything of a judge file but what the program comes with anyway."""
    from ..evaluation.drift import estimate_as_dict
    from ..judging.judge_file import versions

    accuracies = {when: file.accuracy(when) for when in ("before", "after")}
    told = {*accuracies, "certificate"}
    shown = {name: value for name, value in file.training.items() if name not in told and value is not None}
    return {
        "judge": learnt(file.judge),
        "certificate": file.certificate,
        "accuracy": {
            when: estimate_as_dict(recorded.estimate) for when, recorded in accuracies.items() if recorded is not None
        },
        "training": shown,
        "versions": file.versions,
        "here": versions(),
    }


def learnt(judge: "JudgeRecord") -> dict[str, Any]:
    """What differs from the program as it comes; where the program is not installed, all that the file holds."""
    from ..judging.judge_record import default_record

    try:
        own, problem = default_record(judge), ""
    except DeclarationError as error:
        own, problem = judge.model_copy(update={"settings": {}, "stages": {}}), str(error)
    settings = {
        name: {"value": value, "default": own.settings.get(name)}
        for name, value in judge.settings.items()
        if name not in _decides(judge) and (name not in own.settings or value != own.settings[name])
    }
    stages = {name: changed(stage, own.stages.get(name)) for name, stage in judge.stages.items()}
    return {
        "program": judge.program,
        "declared": judge.declaration is not None,
        "problem": problem,
        "lm": judge.lm,
        "settings": settings,
        "stages": {name: told for name, told in stages.items() if told},
        "learned": {name: state for name, state in judge.learned.items() if state != own.learned.get(name) or problem},
        "head": judge.head.describe() if judge.head else None,
        "threshold": judge.threshold,
        "members": [
            learnt(member) | {"decides": _decides(judge).get(f"thresholds[{number}]")}
            for number, member in enumerate(judge.members)
        ],
    }


def _decides(judge: "JudgeRecord") -> dict[str, Any]:
    """The certainty from which on each member of a cascade decides, by its setting; empty for any other judge."""
    from ..judging import Cascade

    given = judge.settings.items() if judge.program == Cascade.name else ()
    return {name: value for name, value in given if name.startswith("thresholds[")}


def changed(stage: "StageRecord", own: "StageRecord | None") -> dict[str, Any]:
    """How a stage differs from the program's own; empty when it does not."""
    before = own.instructions if own else ""
    lines = difflib.unified_diff(before.splitlines(), stage.instructions.splitlines(), lineterm="", n=1)
    described = {field.name: field.description for field in own.fields} if own else {}
    told = {
        "instructions": [line for line in lines if not line.startswith(("---", "+++"))],
        "fields": {f.name: f.description for f in stage.fields if own and f.description != described.get(f.name)},
        "demos": list(stage.demos),
        "decisions": stage.decisions,
    }
    return {name: value for name, value in told.items() if value}


def _lines(told: dict[str, Any]) -> Iterator[Line]:
    yield 0, f"{Path(told['file']).name}  {told['fingerprint'][:12]}", "bold"
    yield from _judge(told["judge"], 2)
    if told["certificate"]:
        yield 2, "certificate", "bold"
        yield from _certificate(told["certificate"])
    if told["accuracy"] or told["training"]:
        yield 2, "training", "bold"
    for when, accuracy in told["accuracy"].items():
        yield 4, f"{when}: accuracy {counted_proportion(accuracy)}", ""
    yield from _facts({name: _brief(name, value) for name, value in told["training"].items()}, 4)
    yield 2, "written by " + ", ".join(f"{name} {number}" for name, number in told["versions"].items()), "dim"
    other = [f"{name} {now}" for name, now in told["here"].items() if told["versions"].get(name) != now]
    if other:
        yield 2, f"here: {', '.join(other)}", "yellow"


def _brief(name: str, value: Any) -> Any:
    """A part of the training record in few words, or as it is where another hand has made it; --json has all of it."""
    try:
        return _in_few_words(name, value)
    except (KeyError, TypeError, ValueError):
        return value


def _in_few_words(name: str, value: Any) -> Any:
    if name == "test" and isinstance(value, Mapping):
        rows = {judge: row for judge, row in value.items() if isinstance(row, Mapping) and "figures" in row}
        return {**value, **{judge: _row(row) for judge, row in rows.items()}}
    if name == "parts" and isinstance(value, Mapping):
        return ", ".join(f"{part} {n}" for part, n in value.items())
    if name == "baselines" and isinstance(value, list):
        return {str(one.get("name")): one for one in value if _is_figure(one) and one["n"]}
    if name == "spent" and isinstance(value, Mapping) and isinstance(value.get("usage"), Mapping):
        calls, minutes = value["usage"].get("calls", 0), value.get("minutes", 0.0)
        return f"{calls:,} calls, {minutes:.1f} minutes"
    return value[:12] if name == "cases" and isinstance(value, str) else value


def _row(row: Mapping[str, Any]) -> str:
    """One judge on the test part."""
    shown = [f"{name} {_plain(row['figures'][name])}" for name in ROW if name in row["figures"]]
    return "; ".join([*shown, f"{row.get('calls', 0):.1f} calls"])


def _judge(told: dict[str, Any], at: int) -> Iterator[Line]:
    lms = ", ".join(f"{role}={model}" for role, model in told["lm"].items()) if len(told["lm"]) > 1 else ""
    answered = lms or next(iter(told["lm"].values()), "")
    declared = " (declared in YAML)" if told["declared"] else ""
    yield at, f"{told['program']}{declared}" + (f", answered by {answered}" if answered else ""), ""
    if told["problem"]:
        yield at, told["problem"], "red"
    if told["settings"]:
        yield at, "settings", "bold"
    for name, one in told["settings"].items():
        was = "" if one["default"] is None else f"  (by itself {one['default']})"
        yield at + 2, f"{name} = {one['value']}{was}", ""
    for name, stage in told["stages"].items():
        yield at, f"stage {name}", "bold"
        yield from _stage(stage, at + 2)
    for name, state in told["learned"].items():
        yield at, name, "bold"
        yield from _facts(state, at + 2)
    if told["head"]:
        (name, words), *weights = told["head"]
        yield at, f"{name}: {words}", "bold"
        yield from ((at + 2, f"{name}: {words}", "") for name, words in weights)
    if told["threshold"] is not None:
        yield at, f"abstains below a certainty of {told['threshold']:g}", "bold"
    for number, member in enumerate(told["members"], start=1):
        sure = member["decides"]
        decides = "" if sure is None else f", which decides from a certainty of {_plain(sure)} on"
        yield at, f"member {number}{decides}", "bold"
        yield from _judge(member, at + 2)
    if not any(told[part] for part in ("settings", "stages", "learned", "head", "members", "problem")):
        yield at, "nothing was learnt: it is the program as it comes", ""


def _certificate(told: dict[str, Any]) -> Iterator[Line]:
    """Its sentence; what holds no certificate of ours, as it is."""
    from ..optimizers.certificates.certificate_check import read_certificate

    found = read_certificate(told)
    if found is None:
        yield from _facts(told, 4)
    else:
        yield 4, found.summary(), ""


def _stage(stage: dict[str, Any], at: int) -> Iterator[Line]:
    for line in stage.get("instructions", ()):
        yield at, line, STYLES.get(line[:1], "")
    for name, description in stage.get("fields", {}).items():
        yield at, f"{name}: {description}", "green"
    for name, decision in stage.get("decisions", {}).items():
        yield at, f"{name}: {decision}", ""
    demos = stage.get("demos", ())
    if demos:
        yield at, f"{len(demos)} {'demo' if len(demos) == 1 else 'demos'}, the first:", ""
        for name, value in demos[0].items():
            yield at + 2, f"{name}: {_short(str(value))}".replace("\n", "\n" + " " * (at + 2)), "dim"


def _facts(value: Mapping[str, Any], at: int) -> Iterator[Line]:
    """A name and words a line; what holds names itself is indented, but for a figure, which is one line."""
    for name, one in value.items():
        if isinstance(one, Mapping) and one and not _is_figure(one):
            yield at, f"{name}:", ""
            yield from _facts(one, at + 2)
        else:
            yield at, f"{name}: {_plain(one)}", ""


def _is_figure(value: Any) -> bool:
    return isinstance(value, Mapping) and {"value", "low", "high", "n"} <= set(value)


def _plain(value: Any) -> str:
    if _is_figure(value):
        low, high = (_plain(value[end]) for end in ("low", "high"))
        return f"{_plain(value['value'])} [{low}, {high}], n {_plain(value['n'])}"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.4g}"
    if isinstance(value, list):
        return _short(", ".join(map(_plain, value)) or "none")
    return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text):,} characters)"
