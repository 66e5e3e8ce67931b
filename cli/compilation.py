"""A compilation's folder read as what its page is made of."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import RunError
from .searched import Kind, prompts, rewordings, structure, told_by

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ..judging.judge_file import JudgeFile
    from ..optimizers.result import Result
    from ..report import Compilation, Guarantee, Tested, Weights

    Kept = TypeVar("Kept", bound=BaseModel)

IDENTITY, TEST = "compile.json", "test.json"
FRESH, MORE = "fresh-labels.jsonl", "more-labels.jsonl"  # stand for a user's files in the commands


def is_compilation(path: Path) -> bool:
    """Whether `dicast compile` wrote this folder."""
    return (path / IDENTITY).is_file()


def read_compilation(folder: Path) -> "Compilation":
    """What a compilation's folder says of it.

    Raises:
        RunError: it did not come to its test, or a file of it is damaged.
    """
    from ..optimizers.cost_account import Spent
    from ..optimizers.result import Result
    from ..report import Compilation

    identity = told_by(folder, IDENTITY).get("identity")
    tested = _record(folder, TEST, Result)
    if not isinstance(identity, dict) or tested is None:
        raise RunError(f"{folder}: the compilation did not come to its test. Give the same dicast compile to go on.")
    path, file = _judge_file(folder)
    parts = {name: len(ids) for name, ids in told_by(folder, "split.json").items()}
    spent = _record(folder, "spent.json", Spent)
    kind = _kind(tested)
    return Compilation(
        name=str(identity["judge"]),
        tested=_tested(tested),
        parts=parts,
        spent=None if spent is None else spent.usage,
        minutes=None if spent is None else spent.minutes,
        weights=_weights(folder, file),
        rewordings=tuple(rewordings(folder)),
        prompts=prompts(folder, tested.objective, kind),
        structure=structure(folder, kind),
        guarantee=_guarantee(folder, tested),
        facts=tuple(_facts(identity, tested, file)),
        commands=tuple(_commands(str(identity["judge"]), path)) if path else (),
    )


def _tested(found: "Result") -> "Tested":
    from ..optimizers.result import COMPILED, UNCOMPILED
    from ..report import Contender, Tested

    return Tested(
        objective=found.objective,
        outcome=found.outcome,
        judges=tuple(Contender(row.name, row.evaluation, row.calls, row.tokens) for row in found.rows),
        comparisons=found.comparisons,
        decisive=found.decisive,
        before=UNCOMPILED,
        after=COMPILED,
    )


def _weights(folder: Path, file: "JudgeFile | None") -> "Weights | None":
    """The head of the judge file; without one that of the only head that was fitted."""
    from ..optimizers.compile import HEADS
    from ..report import Weights

    head = file.judge.head if file is not None else None
    fitted = sorted(folder.glob("head-*.json"))
    if file is None and len(fitted) == 1:
        head = HEADS.validate_python(told_by(folder, fitted[0].name)["head"])
    if head is None:
        return None
    ties = getattr(head, "threshold", {})
    shown = {"head", *head.weights, *(f"ties by {name}" for name in ties)}
    facts = tuple((name, words) for name, words in head.describe() if name not in shown)
    return Weights(head.fitted, head.n, head.weights, ties, facts)


def _guarantee(folder: Path, tested: "Result") -> "Guarantee | None":
    from ..evaluation.results import CurvePoint, Measure
    from ..optimizers.certificates.certificate import Certificate
    from ..report import Guarantee
    from ..stats.proportions import Proportion

    found = _record(folder, "certificate.json", Certificate)
    if found is None:
        return None
    points = []
    for one in (point for point in found.curve if point.kept):
        right = Proportion(one.kept - one.errors, one.kept)
        low, high = right.interval
        share = Measure(name="accuracy", value=right.value, low=low, high=high, n=one.kept, kind="proportion")
        points.append(CurvePoint(threshold=one.threshold, coverage=one.kept / found.n, accuracy=share))
    held = tested.kept.told() if tested.kept else ""
    given = found.told(), held, found.risk, found.n, tuple(points), found.threshold, found.coverage
    return Guarantee(*given, grouped=found.n != found.cases)


def _facts(identity: Mapping[str, Any], tested: "Result", file: "JudgeFile | None") -> Iterator[tuple[str, str]]:
    """Seed, models, steps and versions."""
    recipe = identity["recipe"]
    yield "program", str(identity["judge"])
    yield "objective", tested.objective
    yield "model", str(identity["lm"])
    if file is not None and (models := sorted(set(file.judge.lm.values()))) and models != [identity["lm"]]:
        yield "model of the compiled judge", ", ".join(f"{role}={model}" for role, model in file.judge.lm.items())
    settings = ", ".join(f"{name}={value}" for name, value in identity["settings"].items())
    yield "settings to begin with", settings or "none"
    yield "head", "fitted" if recipe["head"] else "none"
    writer = f", written by {recipe['prompt_lm']}" if recipe["prompt_lm"] else ""
    yield "prompts", "as they come" if recipe["prompts"] == "none" else recipe["prompts"] + writer
    yield "structures", f"{recipe['trials']} trials at most, prefer {recipe['prefer']}" if recipe["trials"] else "one"
    yield "seed", str(recipe["seed"])
    yield "labelled cases", f"SHA-256 {str(identity['cases'])[:12]}"
    if file is not None:
        yield "written by", ", ".join(f"{name} {number}" for name, number in file.versions.items())


def _commands(name: str, path: Path) -> Iterator[tuple[str, str]]:
    file = shlex.quote(str(path))
    yield f"dicast judge --judge {file} --cases new.jsonl", "Judge new cases"
    yield f"dicast show {file}", "All that it has learnt"
    yield f"dicast check --judge {file} --cases {FRESH}", "Does it still agree with people?"
    yield (
        f"dicast compile {shlex.quote(name)} --cases {MORE}",
        "Compile again, with more labels and the options of this time",
    )


def _kind(found: "Result") -> Kind:
    """Whether the objective is told in percent."""
    sections = found.rows[0].evaluation.sections.values()
    kinds = (one.kind for section in sections for one in section if one.name.lower() == found.objective)
    return next(kinds, "number")


def _judge_file(folder: Path) -> "tuple[Path | None, JudgeFile | None]":
    from ..judging.judge_file import read

    found = sorted(folder.glob("*.judge.json"))
    return (found[0], read(found[0])) if found else (None, None)


def _record(folder: Path, name: str, kind: "type[Kept]") -> "Kept | None":
    """A record of the folder; None where it is not there."""
    told = told_by(folder, name)
    try:
        return kind.model_validate(told) if told else None
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise RunError(f"{folder / name}: is damaged ({reason}). Delete the folder and compile again.") from None
