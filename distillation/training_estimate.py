"""What a training on a set will take, counted from its rows before it starts."""

from pydantic import Field

from ..data.case import Record
from .base_model import open_base
from .estimate import few_steps, training_minutes
from .memory import check_memory
from .training_recipe import TrainingRecipe
from .training_set import TrainingSet


class TrainingEstimate(Record):
    """What a training will take."""

    rows: int = Field(description="training rows that are learnt")
    too_long: int = Field(description="rows that are left out, as longer than the recipe's length")
    tokens: int = Field(description="of these rows in all epochs, prompts included")
    learnt_tokens: int = Field(description="of them, tokens that are learnt")
    steps: int = Field(description="of the optimizer, about")
    memory: str = Field(description="of the training, in a sentence")
    minutes: float | None = Field(default=None, description="wall time; None: no speed is known, see notes")
    notes: tuple[str, ...] = Field(default=(), description="what the estimate rests on")


def estimate_training(training_set: TrainingSet, recipe: TrainingRecipe) -> TrainingEstimate:
    """The estimate; the base's tokenizer reads each row, and nothing is trained.

    Raises:
        DeclarationError: the training does not fit this machine, or a package is missing.
        ModelError: the base cannot be used.
        DataError: a damaged row, or labels that begin with the same token.
    """
    from ..engines.torch_models.chat import Chat
    from .learnt_tokens import RowTokenizer, tokenized
    from .train import shards

    base = open_base(recipe.base, recipe.template)
    rows = list(training_set.rows("train"))
    most = base.config.get_text_config().max_position_embeddings if recipe.method == "tail" else recipe.length
    learnt, longer = tokenized(rows, RowTokenizer(Chat(base.tokenizer)), most)
    longest = max((len(row.ids) for row in learnt), default=1)
    needed = check_memory(
        recipe, base, devices=shards(), longest=longest if recipe.method == "tail" else None
    )  # fmt: skip
    tokens = round(sum(len(row.ids) for row in learnt) * recipe.epochs)
    minutes, basis = training_minutes(recipe, tokens)
    note = few_steps(recipe, len(learnt))
    return TrainingEstimate(
        rows=len(learnt),
        too_long=len(longer),
        tokens=tokens,
        learnt_tokens=round(sum(row.learnt for row in learnt) * recipe.epochs),
        steps=max(1, round(recipe.epochs * len(learnt) / recipe.global_batch)),
        memory=needed.sentence,
        minutes=minutes,
        notes=(basis, note) if note else (basis,),
    )
