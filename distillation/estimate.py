"""What a distillation will cost, before any model is called: teacher and student judge a few cases by a stand-in.

Calls and prompts are those that would be sent, as far as they do not hold earlier answers. Minutes rest on speeds that
were measured before (`known_speeds`), and are unknown where there are none.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dspy
from pydantic import Field

from ..data import Case, Usage
from ..data.case import Record
from ..engines.known_reading import KnownWay, known_way, way_without_tokens
from ..engines.ledger import Ledger, charge_to
from ..engines.prices import price_of
from ..engines.stand_in import StandInLM
from ..errors import DicastError
from ..judging import Judge
from ..judging.module_base import StagedModule
from ..optimizers.evidence import without_head
from .distil_recipe import DistilRecipe, Mode
from .known_speeds import seconds_a_call, training_speed
from .student import base_of, student_of

if TYPE_CHECKING:
    from .training_recipe import TrainingRecipe

FEW_STEPS, SMALLEST_BATCH = 30, 8
COUNTED = 3  # cases that the stand-in is asked about
ABOUT = "tokens are characters by four, answers have a usual length, and those kept from earlier runs are not deducted"


class JudgingEstimate(Record):
    """What one judge will be asked."""

    name: str = Field(description="teacher, student or base; or the program")
    cases: int = Field(description="cases that it judges, or judgments")
    calls: int = Field(description="LM calls")
    prompt_tokens: int = Field(description="tokens read")
    completion_tokens: int = Field(description="tokens written")
    dollars: float | None = Field(description="US dollars; 0 on this machine; None where no price is known")
    minutes: float | None = Field(default=None, description="wall time; None: not known before it has answered")
    note: str = Field(default="", description="why not every call was counted")
    unasked: tuple[str, ...] = Field(
        default=(), description="models of which this machine does not know whether they give token probabilities"
    )
    if_sampled: "JudgingEstimate | None" = Field(
        default=None,
        description="the same if these give none, and each distribution is read from sampled answers, or as stated by "
        "a model that is known to think",
    )


class DistilEstimate(Record):
    """What a distillation will take."""

    parts: dict[str, int] = Field(description="labelled cases of each part, about")
    mode: Mode = Field(default="verdict", description="what the student is")
    lessons: int = Field(
        description="cases that the student is trained on, or of mode probe those that the teacher labels"
    )
    head: dict[str, int] = Field(
        default={}, description="labelled cases of each part that the student's head learns from, about"
    )
    judging: tuple[JudgingEstimate, ...] = Field(description="teacher, student and base")
    training_tokens: int | None = Field(default=None, description="read in all epochs; None: nothing is trained")
    training_minutes: float | None = Field(default=None, description="wall time; None: no speed is known, see notes")
    memory: str = Field(default="", description="of the training, in a sentence")
    notes: tuple[str, ...] = Field(default=(), description="what limits the estimate")


def estimate_distillation(
    teacher: Judge,
    cases: Sequence[Case],
    unlabelled: Sequence[Case],
    recipe: DistilRecipe,
    base: str,
    training: "TrainingRecipe | None" = None,
    learned: Mapping[str, Any] | None = None,
) -> DistilEstimate:
    """The estimate of a distillation of which nothing has been done.

    Args:
        learned: the training record of the teacher's judge file.
        cases: labelled.
        base: `provider/model` of the student before training.
        training: None where nothing is trained on this machine.

    Raises:
        DeclarationError: the training does not fit this machine.
    """
    labelled = [case for case in cases if case.label is not None]
    has_certificate = bool(labelled) and labelled[0].kind != "texts"
    shares = recipe.compile_recipe().proportions(has_certificate)
    parts = {name: round(share * len(labelled)) for name, share in shares.items()}
    learn, test = parts["train"] + parts["select"], parts["test"]
    probe = recipe.mode == "probe"
    lessons = (0 if probe else parts["train"]) + (0 if recipe.targets == "labels" else len(unlabelled))
    taught = 0 if recipe.targets == "labels" else lessons
    student = student_of(teacher, labelled[0], recipe.mode, base, recipe.set)
    untrained = base_of(teacher, labelled[0], recipe.mode, base, recipe.set)
    head = sum(parts[name] for name in recipe.head_parts) + parts.get("certify", 0)
    sample = able_cases(teacher, labelled)[:COUNTED]
    judging = [_with_minutes(judging_estimate("teacher", teacher, sample, taught + test), learned or {})]
    judging.append(judging_estimate("student", student, sample, head + test + (lessons if probe else 0)))
    if untrained is not None:
        judging.append(judging_estimate("base", untrained, sample, learn + test))
    notes = [ABOUT, *(f"{row.name}: not every call was counted ({row.note})" for row in judging if row.note)]
    if judging[0].minutes is not None:
        notes.append("minutes of the teacher: at the pace of the calls of its compilation")
    notes.append("minutes of judging are otherwise not known before a model has answered")
    tokens, minutes, memory = None, None, ""
    if training is not None:
        per_case = judging[1].prompt_tokens / max(1, judging[1].cases)
        tokens = round(lessons * per_case * training.epochs)
        memory = training_memory(training)
        minutes, basis = training_minutes(training, tokens)
        notes.append(basis)
        rows = round(lessons * judging[1].calls / max(1, judging[1].cases))
        notes += [note] if (note := few_steps(training, rows)) else []
    return DistilEstimate(
        parts=parts,
        mode=recipe.mode,
        lessons=lessons,
        head={name: parts[name] for name in recipe.head_parts},
        judging=tuple(judging),
        training_tokens=tokens,
        training_minutes=minutes,
        memory=memory,
        notes=tuple(notes),
    )


def _with_minutes(row: JudgingEstimate, learned: Mapping[str, Any]) -> JudgingEstimate:
    seconds = seconds_a_call(learned)
    return row if seconds is None else row.model_copy(update={"minutes": row.calls * seconds / 60})


def training_minutes(training: "TrainingRecipe", tokens: int) -> tuple[float | None, str]:
    """Minutes of wall time, and what they rest on."""
    from ..engines.torch_models.torch_import import device_name, torch_and_transformers

    torch, _ = torch_and_transformers("A training", "train")
    device = device_name(torch)
    speed = training_speed(training, device)
    if speed is None:
        return None, (
            f"minutes of the training: not known before its first steps, as {training.base} was not trained by "
            f"{training.method} on this machine ({device}) yet; the training says them, and they are remembered"
        )
    return tokens / speed.tokens / 60, (
        f"minutes of the training: at {speed.tokens:,.0f} tokens/s, measured on this machine ({device}) when "
        f"{training.base} was trained by {training.method}, {speed.day}"
    )


def few_steps(training: "TrainingRecipe", rows: int) -> str:
    """A note where so many rows make few steps of the optimizer, with a smaller batch that makes more; else empty.

    Example:
        >>> from .training_recipe import TrainingRecipe
        >>> few_steps(TrainingRecipe(epochs=3, global_batch=512), 400)
        'about 2 steps in all, of 512 rows each: --train global_batch=32 makes about 38'
        >>> few_steps(TrainingRecipe(epochs=3, global_batch=512), 100_000)
        ''
    """
    steps = max(1, round(training.epochs * rows / training.global_batch))
    batch = training.global_batch
    while batch > SMALLEST_BATCH and training.epochs * rows / batch < FEW_STEPS:
        batch //= 2
    if steps >= FEW_STEPS or batch == training.global_batch:
        return ""
    return (
        f"about {steps:,} {'step' if steps == 1 else 'steps'} in all, of {training.global_batch:,} rows each: --train "
        f"global_batch={batch} makes about {max(1, round(training.epochs * rows / batch)):,}"
    )


def able_cases(judge: Judge, cases: Sequence[Case]) -> list[Case]:
    """The cases that have what the judge reads; it asks nothing about the others."""
    return [case for case in cases if not judge.lacks(case)]


def judging_estimate(name: str, judge: Judge, sample: Sequence[Case], cases: int) -> JudgingEstimate:
    """What judging so many cases will take, by the mean over the sampled ones."""
    return asking_estimate(name, without_head(judge), sample, cases)


def asking_estimate(name: str, program: StagedModule, sample: Sequence[Any], cases: int) -> JudgingEstimate:
    """What a program will be asked of so many inputs, by the mean over the sampled ones.

    With `readout=auto` a model is read as this machine knows that it can be; where it was never asked there are two
    estimates, see `if_sampled`.

    Args:
        program: answers one input; it stays as it is.
    """
    ways = {stage.model: known_way(stage.model) for stage in program.stages()}
    unasked = tuple(model for model, way in ways.items() if way is None) if _is_auto(program) else ()
    estimate = _asked(name, program, sample, cases, ways)
    if not unasked:
        return estimate
    others = {model: way or way_without_tokens(model) for model, way in ways.items()}
    sampled = _asked(name, program, sample, cases, others)
    if sampled == estimate:  # what is asked is written
        return estimate
    return estimate.model_copy(update={"unasked": unasked, "if_sampled": sampled})


def _is_auto(program: StagedModule) -> bool:
    """Whether a part of the program is read as its model can be."""
    return any(
        name.rpartition(".")[2] == "reading" and hparam.value == "auto" for name, hparam in program.hparams().items()
    )


def _asked(
    name: str, program: StagedModule, sample: Sequence[Any], cases: int, ways: Mapping[str, KnownWay | None]
) -> JudgingEstimate:
    """The estimate where the models are read in these ways; None: from token probabilities."""
    ledger, problem = Ledger(), ""
    models = {stage.role: stage.model for stage in program.stages()}
    stand_ins = {model: StandInLM(way or "tokens") for model, way in ways.items()}
    unbound: StagedModule = program.deepcopy()
    for stage in unbound.stages():
        stage.ask.lm = stand_ins[stage.model]
    for seat in unbound.seats():
        seat.use("")
    with dspy.context(lm=StandInLM()), charge_to(ledger):
        for example in sample:
            try:
                unbound(example)
            except DicastError as error:
                problem = problem or str(error)
    times = cases / max(1, len(sample))
    usage = sum(ledger.stages.values(), Usage())
    costs = [_price(models.get(role, ""), spent, times) for role, spent in ledger.stages.items()]
    return JudgingEstimate(
        name=name,
        cases=cases,
        calls=round(times * usage.calls),
        prompt_tokens=round(times * usage.prompt_tokens),
        completion_tokens=round(times * usage.completion_tokens),
        dollars=None if None in costs else sum(cost for cost in costs if cost is not None),
        note=problem,
    )


def _price(model: str, usage: Usage, times: float) -> float | None:
    if not model:
        return None
    return price_of(model, round(times * usage.prompt_tokens), round(times * usage.completion_tokens))


def training_memory(training: "TrainingRecipe") -> str:
    """The sentence of the estimate of memory; raises DeclarationError where the training does not fit."""
    from .base_model import open_base
    from .memory import check_memory

    return check_memory(training, open_base(training.base, training.template)).sentence
