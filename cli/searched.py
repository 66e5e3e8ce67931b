"""What the searches of a compilation tried and took, read from its folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import RunError

if TYPE_CHECKING:
    from ..optimizers.prompts.candidate_selection import Trial as WordingTrial
    from ..optimizers.structure.pareto import Trial
    from ..optimizers.structure.search import Searched
    from ..report import Attempt, Rewording, Search

Kind = Literal["proportion", "number"]  # of a figure


def rewordings(folder: Path) -> "Iterator[Rewording]":
    """The stages whose instructions or demos changed."""
    from ..optimizers.prompts.prompt_state import Wording
    from ..report import Rewording

    told = told_by(folder, "prompts.json")
    if not told.get("chosen"):
        return
    before = {path: Wording.model_validate(one) for path, one in told["trials"][0]["stages"].items()}
    for path, one in told["wordings"].items():
        after = Wording.model_validate(one)
        if path in before and after != before[path]:
            yield Rewording(path, before[path].instructions, after.instructions, len(after.demos))


def prompts(folder: Path, objective: str, kind: Kind) -> "Search | None":
    """The wordings that were tried; None where none were asked for."""
    from ..evaluation.results import Measure
    from ..optimizers.objective import OBJECTIVES
    from ..optimizers.prompts.candidate_selection import Trial
    from ..report import Attempt, Search

    told = told_by(folder, "prompts.json")
    if not told:
        return None
    trials = [Trial.model_validate(one) for one in told["trials"]]
    attempts = tuple(
        Attempt(
            number=trial.number,
            what=_wording(trial, trials[0]),
            figure=Measure(name=objective, value=trial.value, n=trial.judged, kind=kind),
            cases=trial.judged,
            unscored=trial.unscored,
            chosen=trial.number == told["chosen"],
        )
        for trial in trials
    )
    return Search("wordings", attempts, str(told["stopped"]), OBJECTIVES.find(objective).greater_is_better)


def _wording(trial: "WordingTrial", start: "WordingTrial") -> str:
    """How a wording differs from the first."""
    rewritten = [path for path, one in trial.stages.items() if one.instructions != start.stages[path].instructions]
    demos = sum(len(one.demos) for one in trial.stages.values())
    told = [f"instructions of {', '.join(rewritten)}"] if rewritten else []
    told += [f"{demos} {'demo' if demos == 1 else 'demos'}"] if demos else []
    return "; ".join(told) or "as it stood"


def structure(folder: Path, kind: Kind) -> "Search | None":
    """The structures that were tried; None where none were asked for."""
    from ..evaluation.results import Measure
    from ..optimizers.structure.search import Searched
    from ..report import Search

    told = told_by(folder, "structure.json")
    if not told:
        return None
    if not told["trials"]:
        return Search("structures", (), "budget")
    found = Searched.model_validate({name: told[name] for name in Searched.model_fields})
    start, best = found.trials[0], found.best
    gain = found.gain
    return Search(
        "structures",
        tuple(_attempt(trial, found, kind) for trial in found.trials),
        ended=found.ended,
        higher=found.higher,
        cost=found.cost,
        gain=Measure(name=found.objective, value=gain.value, low=gain.low, high=gain.high, kind=kind, null_value=0.0),
        settings=tuple((name, str(start.settings[name]), str(value)) for name, value in best.settings.items()),
    )


def _attempt(trial: "Trial", found: "Searched", kind: Kind) -> "Attempt":
    from ..evaluation.results import Measure
    from ..report import Attempt

    start = found.trials[0].settings
    changed = ", ".join(f"{name}={value}" for name, value in trial.settings.items() if start[name] != value)
    figure = Measure(name=found.objective, value=trial.value, low=trial.low, high=trial.high, n=trial.scored, kind=kind)
    return Attempt(
        number=trial.number,
        what=changed or "as it stood",
        figure=figure,
        cases=trial.cases,
        unscored=trial.cases - trial.scored,
        calls=trial.calls if trial.cases else None,
        tokens=trial.tokens,
        status=trial.status,
        detail=trial.detail if trial.rival is None else f"beaten by trial {trial.rival}",
        front=trial.number in found.front,
        chosen=trial.number == found.chosen,
    )


def told_by(folder: Path, name: str) -> dict[str, Any]:
    """The JSON that one step of a compilation left; empty where it is not there.

    Raises:
        RunError: it is damaged.
    """
    path = folder / name
    try:
        told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise RunError(f"{path}: is not JSON ({error}). Delete the folder and compile again.") from None
    return told if isinstance(told, dict) else {}
