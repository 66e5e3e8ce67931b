"""`dicast show`: print what a judge file has learnt."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from ..data.counting import cases_text
from . import options

if TYPE_CHECKING:
    from ..judging.judge_summary import FileSummary, JudgeSummary, StageChange
    from ..optimizers.claims import Claim

LONGEST = 400  # characters of a demo's field on a terminal; --json has all of them
STYLES = {"+": "green", "-": "red", "@": "dim"}
METRICS = ("accuracy", "kappa", "spearman", "kendall")  # of each judge on the test part
Line = tuple[int, str, str]  # indentation, text, style


@click.command("show")
@click.argument(
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=False,
    shell_complete=options.completion.judge_files,
)
@click.option("--history", is_flag=True, help="Show the tests and checks that this machine has noted, and no file.")
@options.json_option
def command(path: Path | None, history: bool, as_json: bool) -> None:
    """Show what a judge file has learnt: settings, changed instructions, demos, head, threshold, certificate.

    \b
    Example:
      dicast show tone.judge.json
      dicast show --history
    """
    if (path is None) != history:
        raise click.UsageError("Give a judge file, or --history.")
    if path is None:
        _show_history(as_json)
        return
    from ..judging.judge_summary import summarize_file
    from . import render

    summary = summarize_file(path)
    if as_json:
        options.print_json(summary.model_dump(mode="json"))
        return
    for indent, text, style in _lines(summary):
        for line in text.split("\n"):
            render.console.print(Text(" " * indent + line, style), soft_wrap=True)


def _show_history(as_json: bool) -> None:
    """Print the tests of compilations and the checks of judges that this machine has noted, the oldest first."""
    from ..evaluation.check_history import noted_checks
    from ..optimizers.looks import ledger
    from . import render

    looks, checks = ledger(), noted_checks()
    if as_json:
        options.print_json({"tests": [look.model_dump() for look in looks], "checks": checks})
        return
    lines = [f"test   {look.line}" for look in looks]
    lines += ["check  {date} {judge}, {right:,} of {labels:,} verdicts right".format(**check) for check in checks]
    for line in lines or ["nothing was tested or checked on this machine"]:
        render.console.print(Text(line), soft_wrap=True)


def _lines(summary: "FileSummary") -> Iterator[Line]:
    from .render.evaluation import counted_proportion

    yield 0, f"{Path(summary.file).name}  {summary.fingerprint[:12]}", "bold"
    yield from _judge(summary.judge, 2)
    if summary.certificate:
        yield 2, "certificate", "bold"
        yield from _certificate(summary.certificate)
    if summary.accuracy or summary.training:
        yield 2, "training", "bold"
    for when, accuracy in summary.accuracy.items():
        yield 4, f"{when}: accuracy {counted_proportion(accuracy)}", ""
    yield from _facts({name: _shortened(name, value) for name, value in summary.training.items()}, 4)
    yield 2, "written by " + ", ".join(f"{name} {version}" for name, version in summary.versions.items()), "dim"
    changed = [f"{name} {now}" for name, now in summary.installed.items() if summary.versions.get(name) != now]
    if changed:
        yield 2, f"installed: {', '.join(changed)}", "yellow"


def _judge(judge: "JudgeSummary", indent: int) -> Iterator[Line]:
    roles = ", ".join(f"{role}={model}" for role, model in judge.lm.items()) if len(judge.lm) > 1 else ""
    model = roles or next(iter(judge.lm.values()), "")
    declared = " (declared in YAML)" if judge.declared else ""
    yield indent, f"{judge.program}{declared}" + (f", model {model}" if model else ""), ""
    if judge.problem:
        yield indent, judge.problem, "red"
    if judge.settings:
        yield indent, "settings", "bold"
    for name, setting in judge.settings.items():
        default = "" if setting.default is None else f"  (default {setting.default})"
        yield indent + 2, f"{name} = {setting.value}{default}", ""
    for name, stage in judge.stages.items():
        yield indent, f"stage {name}", "bold"
        yield from _stage(stage, indent + 2)
    for name, state in judge.learned.items():
        yield indent, name, "bold"
        yield from _facts(state, indent + 2)
    if judge.head:
        yield from _head(judge, indent)
    if judge.threshold is not None:
        yield indent, f"abstains below certainty {judge.threshold:g}", "bold"
    for position, member in enumerate(judge.members, start=1):
        threshold = member.decision_threshold
        decides = "" if threshold is None else f", decides at certainty {threshold:.4g} or more"
        yield indent, f"member {position}{decides}", "bold"
        yield from _judge(member, indent + 2)
    if judge.is_unchanged:
        yield indent, "nothing was learnt: the judge is the program with its defaults", ""


def _head(judge: "JudgeSummary", indent: int) -> Iterator[Line]:
    """What the head is, each weight in words, and what else it does."""
    (name, words), *rows = judge.head or ()
    yield indent, f"{name}: {words}", "bold"
    for weight in judge.weights:
        yield indent + 2, f"{weight.name} {weight.weight:+.3g}: {weight.effect}", ""
        yield indent + 4, weight.words, "dim"
    if judge.weights and judge.odds:
        yield indent + 2, judge.odds, "dim"
    in_words = {weight.name for weight in judge.weights}
    yield from ((indent + 2, f"{name}: {words}", "") for name, words in rows if name not in in_words)


def _stage(stage: "StageChange", indent: int) -> Iterator[Line]:
    for line in stage.instructions:
        yield indent, line, STYLES.get(line[:1], "")
    for name, description in stage.fields.items():
        yield indent, f"{name}: {description}", "green"
    for name, decision in stage.decisions.items():
        yield indent, f"{name}: {decision}", ""
    if stage.nearest:
        yield indent, f"demos: {stage.nearest}", ""
    if stage.demos:
        n = len(stage.demos)
        yield indent, f"{n} {'demo' if n == 1 else 'demos'}, the first:", ""
        for name, value in stage.demos[0].items():
            yield indent + 2, f"{name}: {_cut(str(value))}".replace("\n", "\n" + " " * (indent + 2)), "dim"


def _certificate(content: dict[str, Any]) -> Iterator[Line]:
    """The sentence of the certificate; the content of an unknown one."""
    from ..optimizers.certificates.certificate_check import read_certificate

    certificate = read_certificate(content)
    if certificate is None:
        yield from _facts(content, 4)
    else:
        yield 4, certificate.summary(), ""


def _shortened(name: str, value: Any) -> Any:
    """A part of the training record, shortened; unchanged if it has another form. --json has all of it."""
    try:
        return _short_form(name, value)
    except (KeyError, TypeError, ValueError):
        return value


def _short_form(name: str, value: Any) -> Any:
    if name == "test" and isinstance(value, Mapping):
        rows = {judge: row for judge, row in value.items() if isinstance(row, Mapping) and "measures" in row}
        return {**value, **{judge: _test_row(row) for judge, row in rows.items()}}
    if name == "parts" and isinstance(value, Mapping):
        return ", ".join(f"{part} {n}" for part, n in value.items())
    if name == "baselines" and isinstance(value, list):
        return {str(measure.get("name")): measure for measure in value if _is_measure(measure) and measure["n"]}
    if name == "spent" and isinstance(value, Mapping) and isinstance(value.get("usage"), Mapping):
        calls, minutes = value["usage"].get("calls", 0), value.get("minutes", 0.0)
        return f"{calls:,} calls, {minutes:.1f} minutes"
    if name == "aspects" and isinstance(value, list):
        return {str(row["aspect"]): _aspect_row(row) for row in value}
    if name == "head" and isinstance(value, Mapping):
        from ..optimizers.head.head_labels import HeadLabels

        labels = HeadLabels.model_validate(value)
        return "; ".join(filter(None, [f"fitted to {cases_text(labels.n)}", labels.sentence]))
    if name == "evidence" and isinstance(value, list):
        from ..optimizers.head.worth import EvidenceWorth

        return {worth.name: worth.sentence.partition(": ")[2] for worth in map(EvidenceWorth.model_validate, value)}
    if name == "claims" and isinstance(value, list):
        from ..optimizers.claims import Claim

        return {claim.of: _claim_text(claim) for claim in map(Claim.model_validate, value)}
    if name == "looks" and isinstance(value, list):
        from ..optimizers.looks import read_looks

        return {f"test {number}": look.line for number, look in enumerate(read_looks(value), start=1)}
    if name == "cases" and isinstance(value, str):
        from ..optimizers.fingerprints import count_of

        count = count_of(value)
        return value[:12] if count is None else f"digests of {cases_text(count)}"
    return value


def _claim_text(claim: "Claim") -> str:
    """Whether something improved, from what to what, with its adjusted p-value, or why it was not tested."""
    from ..optimizers.claims import measured

    if claim.test is None or claim.test.p_looks is None:
        return ": ".join(filter(None, [claim.state, claim.reason]))
    before, after, p = map(_value_text, (claim.before, claim.after, claim.test.p_looks))
    return f"{claim.state}, {measured(claim)} {before} -> {after}, p = {p} (adjusted)"


def _aspect_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The objective on one aspect before and after compiling, and the difference."""
    difference = {"difference": row["test"]["difference"], "p": row["test"]["p"]} if row["test"] else {}
    return {"before": row["before"], "after": row["after"], **difference}


def _test_row(row: Mapping[str, Any]) -> str:
    """One judge on the test part."""
    measures = row["measures"]
    shown = [f"{name} {_value_text(measures[name])}" for name in METRICS if name in measures]
    return "; ".join([*shown, f"{row.get('calls', 0):.1f} calls"])


def _facts(content: Mapping[str, Any], indent: int) -> Iterator[Line]:
    """A line for each name and value; a mapping is indented below its name, unless it is a measure."""
    for name, value in content.items():
        if isinstance(value, Mapping) and value and not _is_measure(value):
            yield indent, f"{name}:", ""
            yield from _facts(value, indent + 2)
        else:
            yield indent, f"{name}: {_value_text(value)}", ""


def _is_measure(value: Any) -> bool:
    return isinstance(value, Mapping) and {"value", "low", "high", "n"} <= set(value)


def _measure_text(value: Mapping[str, Any]) -> str:
    """Value and interval as `dicast evaluate` prints them; the value only, if an end of the interval is missing."""
    from ..evaluation.results import Measure
    from .render.measures import interval_text

    ends = {name: value.get(name) for name in ("value", "low", "high", "null_value")}
    return interval_text(Measure(name="", **ends))


def _value_text(value: Any) -> str:
    if value is None:
        return "-"
    if _is_measure(value):
        return f"{_measure_text(value)}, n {value['n']}"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.4g}"
    if isinstance(value, list):
        return _cut(", ".join(map(_value_text, value)) or "none")
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text):,} characters)"
