"""The fine-tune step of a compilation: a small model is trained on the train part, and taken only if it judges better.

Program, prompts and structure stay as the searches before left them; another model answers. The gradient steps belong
to a room above, so that the compiler is given what makes them. Both judges are compared on the select part with
cross-fitted heads: that of the present judge is fitted to train and select, that of the student to select alone, as a
model is surer of the cases that it was trained on than of others.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field

from ..data import Case, Judged
from ..data.case import Record
from ..data.verdict import Digest
from ..errors import BudgetSpent, DeclarationError, Internal, Unreadable
from ..evaluation.run_arrays import run_arrays
from ..judging.judge import Judge
from ..judging.models_beside import digest_beside, place_beside, whole_place
from ..judging.reading_ways import read_by_student
from .checkpoints import Checkpoints
from .cost_account import CostAccount, PerVerdict
from .evidence import Evidence, ProgressCallbacks, fit_head, without_head
from .head.fit import TooFewVerdicts
from .objective import Objective, title_of
from .recipe import Recipe

STEP = "finetune"  # its checkpoint, and the folder of the training
NO_BUDGET = "the budget is needed for the test"
LOST = 0.02  # of the cases: a student that leaves so many more unscored than the present judge is never taken


class FineTuned(Record):
    """A model that was trained for a judge."""

    model: str = Field(description="`provider/model`; in a file by its place, if it is in the compilation's folder")
    digest: Digest = Field(default="", description="of weights in the compilation's folder; empty of others")
    figures: dict[str, Any] = Field(default={}, description="of the training, by name")
    rows: dict[str, int] = Field(default={}, description="rows of the training set, by part")

    def named_in(self, folder: Path) -> "FineTuned":
        """The same, with a model in the folder named relative to it."""
        model = place_beside(self.model, folder)
        return self.model_copy(update={"model": model, "digest": digest_beside(model, folder)})

    def found_in(self, folder: Path) -> "FineTuned":
        """The same, with the whole path of a model in the folder, which may have been moved or copied.

        Raises:
            DeclarationError: other weights are in its place.
        """
        who, advice = f"{folder / STEP}.json", "give another --out."
        return self.model_copy(update={"model": whole_place(self.model, folder, self.digest, who, advice)})


class FineTuning(Record):
    """What the fine-tune step did."""

    base: str = Field(description="the model that the student began as")
    trained: FineTuned | None = Field(default=None, description="None: the step was not begun")
    objective: str = Field(description="name of the objective")
    before: float | None = Field(default=None, description="objective of the present judge on the select part")
    after: float | None = Field(default=None, description="of the student; optimistic where it was taken")
    n: int = Field(default=0, description="cases of the select part")
    taken: bool = Field(default=False, description="whether the student answers the compiled judge")
    stopped: str = Field(default="", description="why the step ended early; empty if it did not")
    problem: str = Field(default="", description="why the student could not judge the select part; empty if it did")

    def summary(self) -> str:
        """The step in a sentence."""
        if self.trained is None:
            return f"left out: {self.stopped}"
        if self.problem:
            return f"a student of {self.base}: left out, as it cannot judge: {self.problem}"
        values = " -> ".join("-" if value is None else f"{value:.3f}" for value in (self.before, self.after))
        outcome = "taken" if self.taken else "not better, and left out"
        return f"a student of {self.base}: {outcome}; {title_of(self.objective)} {values} on {self.n:,} select cases"


class StudentTrainer(Protocol):
    """Trains a model to answer a judge's questions; the same call continues where it was stopped."""

    def __call__(
        self,
        judge: Judge,
        train: Sequence[Case],
        against: Mapping[str, Sequence[Case]],
        folder: Path,
        progress: ProgressCallbacks,
    ) -> FineTuned:
        """The model.

        Args:
            judge: without a head.
            train: labelled.
            against: parts of which no text may be learnt.
            folder: stores the training.

        Raises:
            Interrupted: the training was stopped, after a checkpoint.
        """
        ...


@dataclass(frozen=True)
class FinetuneStep:
    """The step of one compilation.

    Args:
        trainer: None where the recipe trains nothing.
    """

    recipe: Recipe
    objective: Objective
    parts: Mapping[str, Sequence[Case]]
    checkpoints: Checkpoints
    account: CostAccount
    evidence: Evidence
    progress: ProgressCallbacks
    trainer: StudentTrainer | None

    def student_of(self, judge: Judge) -> Judge | None:
        """The same program answered by the trained model, without a head; None if it is not better, or none is trained.

        Args:
            judge: what the searches have, without a head.

        Raises:
            Interrupted: the step was stopped.
            DeclarationError, DataError, ModelError, RunError: the training cannot be done; see the trainer.
        """
        if self.trainer is None:
            return None
        trainer, base, folder = self.trainer, str(self.recipe.finetune), self.checkpoints.folder

        def tuned() -> dict[str, Any]:
            self._check_budget(judge)
            against = {name: part for name, part in self.parts.items() if name != "train"}
            trained = trainer(without_head(judge), self.parts["train"], against, folder / STEP, self.progress)
            compared = self._compared(judge, trained, base)
            return compared.model_copy(update={"trained": trained.named_in(folder)}).model_dump(mode="json")

        try:
            content = self.checkpoints.once(STEP, tuned)
        except BudgetSpent:
            none = FineTuning(base=base, objective=self.objective.name, stopped=NO_BUDGET).model_dump(mode="json")
            content = self.checkpoints.once(STEP, lambda: none, interrupted=bool)
        with self.checkpoints.reading(STEP):
            result = FineTuning.model_validate(content)
        self.progress.step("fine-tune", result.summary())
        if not result.taken or result.trained is None:
            return None
        return answered_by(judge, result.trained.found_in(folder).model)

    def _compared(self, judge: Judge, trained: FineTuned, base: str) -> FineTuning:
        select, learn = self.parts["select"], [*self.parts["train"], *self.parts["select"]]
        student = answered_by(judge, trained.model)
        theirs = self._crossfitted(judge, learn, self.evidence.of(judge, learn, "learn"))[-len(select) :]
        before = self.objective.value(run_arrays(theirs))
        compared = FineTuning(
            base=base, trained=trained, objective=self.objective.name, before=_known(before), n=len(select)
        )
        try:
            ours = self._crossfitted(student, select, self.evidence.of(student, select, "learn"))
        except (Unreadable, Internal) as error:  # no case at all, as when the options hold too little probability
            return compared.model_copy(update={"problem": str(error)})
        after = self.objective.value(run_arrays(ours))
        lost = sum(_unscored(ours)) - sum(_unscored(theirs))
        taken = self.objective.is_better(after, before) and lost <= LOST * len(select)
        return compared.model_copy(update={"after": _known(after), "taken": taken})

    def _crossfitted(self, judge: Judge, cases: Sequence[Case], verdicts: Sequence[Judged]) -> list[Judged]:
        """The verdicts by heads that were fitted without their groups; as they are where no head can be fitted."""
        if not self.recipe.head:
            return [*verdicts]
        try:
            fitted = fit_head(judge, cases, verdicts, **self.recipe.head_options).crossfitted
        except TooFewVerdicts:
            return [*verdicts]
        return [Judged.of(case, verdict) for case, verdict in zip(cases, fitted, strict=True)]

    def _check_budget(self, judge: Judge) -> None:
        """Raises BudgetSpent where the test of both judges could not be paid afterwards."""
        learn = [*self.parts["train"], *self.parts["select"]]
        price = PerVerdict.of(self.evidence.of(judge, learn, "learn"))
        rest = 2 * len(self.parts["test"]) + len(self.parts["select"]) + len(self.parts.get("certify", ()))
        if not self.account.affords(price, rest):
            raise BudgetSpent(NO_BUDGET)


def answered_by(judge: Judge, model: str) -> Judge:
    """A copy of a judge without a head, answered by another model; it reads no evidence beside the answers, and of a
    model in this process token probabilities."""
    student = without_head(judge)
    student.set(**read_by_student(student.settings(), model))
    if student.evidence_text:
        student.set(evidence="")
    return student.bind(model)


def check_finetune(judge: Judge, recipe: Recipe, trainer: StudentTrainer | None) -> None:
    """Refuse at once what the step would refuse after money was spent.

    Raises:
        DeclarationError: no trainer, a judge that asks nothing, or prompts that need the present model.
    """
    if recipe.finetune is None:
        return
    if trainer is None:
        raise DeclarationError("compile: finetune needs a trainer. Use dicast compile or dicast.compile.")
    if not judge.stages():
        raise DeclarationError(
            f"compile: --finetune trains a model that answers a judge's questions, and {judge.name!r} asks none. Leave "
            "it out."
        )
    if recipe.prompts == "nearest":
        raise DeclarationError("compile: --prompts nearest reads the present model's states. Leave --finetune out.")


def _unscored(verdicts: Sequence[Judged]) -> list[bool]:
    return [judged.status != "scored" for judged in verdicts]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
