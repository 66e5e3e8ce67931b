"""What a compilation will cost, before a model is asked: its judges judge a few cases by a stand-in that is counted."""

from collections.abc import Sequence

from pydantic import Field

from ..data import Case
from ..data.case import Record
from ..distillation.estimate import (
    ABOUT,
    COUNTED,
    JudgingEstimate,
    able_cases,
    judging_estimate,
    training_memory,
    training_minutes,
)
from ..distillation.trained_model import base_model_string
from ..errors import DeclarationError
from ..judging import Judge
from ..optimizers.finetune import answered_by
from ..optimizers.recipe import Recipe
from ..optimizers.split_step import ALL
from .finetuning import recipe_of_compilation


class CompileEstimate(Record):
    """What a compilation will take, without the trials of its searches."""

    parts: dict[str, int] = Field(description="labelled cases of each part, about")
    judging: tuple[JudgingEstimate, ...] = Field(description="the judge, its baseline and a student that is trained")
    training_tokens: int | None = Field(default=None, description="read in all epochs; None: nothing is trained")
    training_minutes: float | None = Field(default=None, description="wall time; None: no speed is known, see notes")
    memory: str = Field(default="", description="of the training, in a sentence")
    notes: tuple[str, ...] = Field(default=(), description="what limits the estimate")


def estimate_compilation(
    judge: Judge, cases: Sequence[Case], recipe: Recipe, baseline: Judge | None = None
) -> CompileEstimate:
    """The estimate of a compilation of which nothing has been done.

    Args:
        cases: labelled.

    Raises:
        DeclarationError: no labelled case, or a training that does not fit this machine.
    """
    labelled = [case for case in cases if case.label is not None]
    if not labelled:
        raise DeclarationError("compile: no case has a label. Give labelled cases.")
    recipe = recipe.for_labels(len(labelled))
    is_searched = any(is_on for _, is_on in _searches(recipe)) or recipe.finetune is not None
    if recipe.is_cross_fitted(len(labelled), searched=is_searched, many=bool(judge.evidence_text)):
        parts = {ALL: len(labelled)}
    else:
        shares = recipe.proportions(len(labelled[0].candidates) > 1)
        parts = {name: round(share * len(labelled)) for name, share in shares.items()}
    tested = parts.get("test", len(labelled))
    after = parts.get("select", 0) + parts.get("certify", 0) + tested
    sample = able_cases(judge, labelled)[:COUNTED]
    judging = [judging_estimate("judge", judge, sample, sum(parts.values()))]
    if baseline is not None:
        judging.append(judging_estimate("baseline", baseline, able_cases(baseline, labelled)[:COUNTED], tested))
    notes = [ABOUT, *(f"{row.name}: not every call was counted ({row.note})" for row in judging if row.note)]
    searches = [name for name, is_on in _searches(recipe) if is_on]
    if searches:
        notes.append(f"what is tried in the search for {' and '.join(searches)} is not counted; --budget limits it")
    notes.append("minutes of judging are not known before a model has answered")
    tokens, minutes, memory = None, None, ""
    training = recipe_of_compilation(recipe)
    if training is not None:
        student = answered_by(judge, base_model_string(str(recipe.finetune)))
        judging.append(judging_estimate("student", student, sample, after))
        row = judging[-1]
        tokens = round(parts["train"] * row.prompt_tokens / max(1, row.cases) * training.epochs)
        memory = training_memory(training)
        minutes, basis = training_minutes(training, tokens)
        notes.append(basis)
    return CompileEstimate(
        parts=parts, judging=tuple(judging), training_tokens=tokens, training_minutes=minutes, memory=memory,
        notes=tuple(notes),
    )  # fmt: skip


def _searches(recipe: Recipe) -> tuple[tuple[str, bool], ...]:
    return (
        ("criteria", recipe.criteria != "none"),
        ("prompts", recipe.prompts != "none"),
        ("structures", bool(recipe.trials)),
    )
