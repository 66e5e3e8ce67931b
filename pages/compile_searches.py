"""The searches of a compilation in words: what each trial changed, how it ended, and which trial was chosen."""

from typing import Literal

from ..evaluation.results import Measure
from ..optimizers.compile_folder import Compilation, PromptSearch
from ..optimizers.objective import OBJECTIVES, title_of
from ..optimizers.prompts.candidate_selection import PromptTrial
from ..optimizers.result import Result
from ..optimizers.structure.pareto import StructureTrial
from ..optimizers.structure.search import StructureSearch
from .formatting import format_interval, format_measure

Kind = Literal["proportion", "number"]  # of a measure
UNCHANGED = "uncompiled"
STATUS = {"stopped": "stopped early", "unusable": "unusable"}
ENDED = {"trials": "", "exhausted": " All structures were tried.", "budget": " The budget ended the search."}


def structure_measure(trial: StructureTrial, compilation: Compilation) -> Measure:
    """The objective of a structure on the cases of the search."""
    return Measure(
        name=title_of(compilation.result.objective),
        value=trial.value,
        low=trial.low,
        high=trial.high,
        n=trial.scored,
        kind=objective_kind(compilation.result),
    )


def prompt_measure(trial: PromptTrial, compilation: Compilation) -> Measure:
    """The objective of a prompt on the select part."""
    kind = objective_kind(compilation.result)
    return Measure(name=title_of(compilation.result.objective), value=trial.value, n=trial.judged, kind=kind)


def objective_kind(result: Result) -> Kind:
    """Whether the objective is a proportion, which is printed in percent."""
    sections = result.judges[0].evaluation.sections.values()
    kinds = (measure.kind for section in sections for measure in section if measure.name.lower() == result.objective)
    return next(kinds, "number")


def higher_is_better(result: Result) -> bool:
    return OBJECTIVES.find(result.objective).greater_is_better


def structure_change(trial: StructureTrial, search: StructureSearch) -> str:
    """The settings that differ from the uncompiled judge's."""
    start = search.trials[0].settings
    changed = [f"{name}={value}" for name, value in trial.settings.items() if start[name] != value]
    return ", ".join(changed) or UNCHANGED


def prompt_change(trial: PromptTrial, search: PromptSearch) -> str:
    """The stages with other instructions, and the number of demos."""
    start = search.trials[0].stages
    stages = [path for path, wording in trial.stages.items() if wording.instructions != start[path].instructions]
    demos = sum(len(wording.demos) for wording in trial.stages.values())
    parts = [f"instructions of {', '.join(stages)}"] if stages else []
    parts += [f"{demos} {'demo' if demos == 1 else 'demos'}"] if demos else []
    parts += [f"the {trial.nearest} nearest labelled"] if trial.nearest else []
    return "; ".join(parts) or UNCHANGED


def structure_summary(search: StructureSearch, compilation: Compilation) -> str:
    """The structure search in two sentences."""
    trials = search.trials
    summary = _tried(len(trials), "structures", sum(trial.cases for trial in trials))
    counts = [(sum(trial.status == status for trial in trials), words) for status, words in STATUS.items()]
    summary += "".join(f"; {n:,} {words}" for n, words in counts if n)
    if search.chosen:
        gain = Measure(
            name=title_of(search.objective),
            value=search.gain.value,
            low=search.gain.low,
            high=search.gain.high,
            kind=objective_kind(compilation.result),
            null_value=0.0,
        )
        interval = f" ({format_interval(gain)})" if format_interval(gain) else ""
        summary += f". Trial {search.chosen} was chosen: {format_measure(gain)}{interval} on the cases of the search."
    else:
        summary += ". The structure of the uncompiled judge was kept."
    return summary + ENDED.get(search.ended, f" The search ended early: {search.ended}.")


def prompt_summary(search: PromptSearch) -> str:
    """The prompt search in two sentences."""
    summary = _tried(len(search.trials), "prompts", sum(trial.judged for trial in search.trials))
    chosen = f"Trial {search.chosen} was chosen." if search.chosen else "The original prompts were kept."
    ended = f" The search ended early: {search.stopped}." if search.stopped else ""
    return f"{summary}. {chosen}{ended}"


def no_budget(search: str) -> str:
    """A search that was not begun."""
    name = search if search == "fine-tuning" else f"{search} search"
    return f"The {name} was not started: the test needed the rest of the budget."


def _tried(trials: int, noun: str, verdicts: int) -> str:
    return f"{trials:,} {noun} were tried with {verdicts:,} verdicts"
