"""Distil a judge: split, ask the teacher, write lessons, train, compile the student, and accept it or not.

Every step writes a file to the distillation's folder, so that a kill at any moment loses little and the same call
continues. The cases are split as `dicast compile` splits them: teacher and student are compared on the same untouched
test part. Of the labelled cases only the train part is learnt; the student's head is fitted to others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..data import Case, Judged, Usage
from ..engines.batch import RunFolder
from ..engines.ledger import Budget
from ..engines.models import get_lm
from ..errors import BudgetSpent, DeclarationError
from ..judging import Judge
from ..judging.judge_file import save
from ..optimizers.checkpoints import SPENT, Checkpoints
from ..optimizers.compile import Compiled, Compiler, TooFewLabels
from ..optimizers.compile_folder import HEAD
from ..optimizers.cost_account import CostAccount
from ..optimizers.evidence import Evidence, Interrupted, ProgressCallbacks, fit_head, identity, with_head, without_head
from ..optimizers.fingerprints import digest, digest_of
from ..optimizers.head.fit import TooFewVerdicts
from ..optimizers.looks import read_looks
from ..optimizers.objective import objective_for
from ..optimizers.recipe import LEAST
from ..optimizers.result import free_verdicts
from ..optimizers.split_step import split_step
from ..programs.baselines import Longer, Majority, ReviewerAverage
from .acceptance import BASE, STUDENT, TEACHER, UNTRAINED, Acceptance, accept
from .distil_folder import (
    ACCEPTANCE,
    COMPILATION,
    EVIDENCE,
    IDENTITY,
    LESSONS,
    RESULTS,
    SET,
    TEACHER_HEAD,
    TRACES,
    TRAINED,
    TRAINING,
)
from .distil_recipe import DistilRecipe
from .judge_memory import judge_memory
from .measured_cost import measure_cost
from .questions import question_rows
from .row import TrainingRow
from .student import base_of, student_of
from .teacher_cases import teacher_cases
from .teacher_scale import teacher_scale
from .trace_rows import rows_of_traces
from .traces import collect, read_traces
from .trained_model import TrainedModel, Trainer, figures_text
from .training_set import build
from .untouched import apart, check_teacher, has_learnt_test


@dataclass(frozen=True)
class Distilled:
    """A student, compiled and compared with its teacher on the test part.

    Attributes:
        compiled: its judge with a head, and its own test.
        trained: None where no gradient step was made.
    """

    compiled: Compiled
    acceptance: Acceptance
    trained: TrainedModel | None
    origin: Mapping[str, Any]

    @property
    def judge(self) -> Judge:
        return self.compiled.judge

    def save(self, path: Path | str) -> None:
        """Write the judge file, with how the student came to be."""
        training = self.compiled.training | {"distilled": self.origin}
        save(self.judge, path, training=training, certificate=self.compiled.training["certificate"])


class Distiller:
    """One distillation.

    Args:
        teacher: bound to its models; its head counts.
        cases: labelled, of one kind; those without a label are left out.
        folder: stores the steps.
        base: `provider/model` of the model that the student begins as.
        trainer: makes the gradient steps; None for a recipe of mode probe.
        unlabelled: further cases that the teacher judges for the student.
        training: of the teacher's judge file; empty where it has none.
        workers: cases in flight.
        budget: of this call.

    Raises:
        TooFewLabels: fewer than 40 labelled cases.
        DeclarationError: a teacher that was compiled on cases of this test part, or a recipe that does not fit.
        RunError: the folder holds another distillation.
    """

    def __init__(
        self,
        teacher: Judge,
        cases: Sequence[Case],
        folder: Path,
        recipe: DistilRecipe,
        *,
        base: str,
        trainer: Trainer | None = None,
        unlabelled: Sequence[Case] = (),
        training: Mapping[str, Any] | None = None,
        workers: int = 2,
        budget: Budget | None = None,
        progress: ProgressCallbacks | None = None,
    ) -> None:
        self.teacher, self.recipe, self.base, self.trainer, self.workers = teacher, recipe, base, trainer, workers
        if teacher.threshold is not None:
            self.teacher = teacher.deepcopy()
            self.teacher.threshold = None
        self.folder, self.training, self.progress = folder, training or {}, progress or ProgressCallbacks()
        self.cases = [case for case in cases if case.label is not None]
        if len(self.cases) < LEAST:
            raise TooFewLabels(
                f"distil: {len(self.cases)} labelled cases; at least {LEAST} are needed to teach a student on some and "
                "to accept it on others. Label more; docs/measuring.md says how many show a difference."
            )
        self.objective = objective_for(recipe.objective, self.cases)
        if trainer is None and recipe.mode != "probe":
            raise DeclarationError(f"distil: mode {recipe.mode} is trained, and there is no trainer. Give one.")
        self._student(base)  # settings that the program cannot take are refused before anything is spent
        self.extra = list(unlabelled)
        self.checkpoints = Checkpoints(
            folder, self._identity(), file=IDENTITY, work="distillation", results=RESULTS
        )  # fmt: skip
        self.account = CostAccount(folder / SPENT, budget)
        proportions = recipe.compile_recipe().proportions(self.cases[0].kind != "texts")
        self.parts, text = split_step(self.cases, proportions, recipe.seed, self.checkpoints)
        self.progress.step("split", text)
        check_teacher(self.training, self.parts, recipe.seed)
        self.unlabelled = apart(self.extra, self.parts)
        if self._overlapping:
            text = (
                f"{self._overlapping:,} of {len(self.extra):,} share a text, group or id with a part that is measured"
            )
            self.progress.step("unlabelled", f"{text}: left out")
        as_read = {case.id: case for case in (*self.cases, *self.extra)}
        self.evidence = Evidence(folder / EVIDENCE, self.account, self.progress, workers, as_read)

    def run(self) -> Distilled:
        """The student and whether it may replace its teacher; steps that an earlier call finished are not repeated.

        Raises:
            Interrupted: the distillation was stopped.
            BudgetSpent: the same call with a larger budget continues.
        """
        with self.account.session():
            self.teacher = self._teacher()
            taught = self._taught()
            trained = self._trained(taught)
        student = self._student(trained.model if trained else self.base)
        compiler = self._compiler(student, taught)
        compiled = compiler.run()
        with self.account.session():
            acceptance = self._accepted(compiled, compiler)
        origin = {
            "teacher": self.teacher.name,
            "teacher_models": self.teacher.resolved_models(),
            "base": self.base,
            "recipe": self.recipe.model_dump(mode="json"),
            "training": trained.figures if trained else {},
            "outcome": acceptance.outcome,
            "summary": acceptance.summary,
        }
        return Distilled(compiled, acceptance, trained, origin)

    # the steps

    def _teacher(self) -> Judge:
        """The teacher; with a head of train and select where that of its file was fitted to the test part too."""
        teacher = self.teacher
        if teacher.head is None or not has_learnt_test(self.training, self.parts):
            return teacher
        learn = [*self.parts["train"], *self.parts["select"]]
        verdicts = self.evidence.of(teacher, learn, "teacher")

        def fitted() -> dict[str, Any]:
            result = fit_head(without_head(teacher), learn, verdicts, seed=self.recipe.seed, length=self.recipe.length)
            return {"head": result.head.model_dump(mode="json")}

        try:
            content = self.checkpoints.once(TEACHER_HEAD, fitted)
        except TooFewVerdicts as error:
            self.progress.step("teacher", f"without its head, which has learnt the test part: {error}")
            return without_head(teacher)
        with self.checkpoints.reading(TEACHER_HEAD):
            head = HEAD.validate_python(content["head"])
        self.progress.step(
            "teacher", f"its head is fitted anew to the {head.n:,} labels of train and select: that of its file was "
            "fitted to the test part too",
        )  # fmt: skip
        return with_head(teacher, head)

    def _taught(self) -> dict[str, Judged]:
        """The teacher's verdicts on the cases that the student learns from, by id; none where labels alone teach."""
        if self.recipe.mode == "probe" and not self.unlabelled:
            return {}
        if self.recipe.targets == "labels":
            return {}
        cases = self.lesson_cases
        folder, before = self.folder / TRACES, self.account.ledger.total
        with self.account.recording() as count:

            def on_verdict(judged: Judged) -> None:
                count(judged)
                if self.progress.on_verdict is not None:
                    self.progress.on_verdict(judged)

            collected = collect(
                self.teacher, cases, folder, workers=self.workers, on_verdict=on_verdict, stop=self.progress.stop
            )
        if collected.status == "budget":
            raise BudgetSpent(collected.message)
        if collected.status == "stopped":
            raise Interrupted
        verdicts = {judged.case_id: judged for judged in RunFolder(folder).judged()}
        scored = sum(judged.status == "scored" for judged in verdicts.values())
        spent = self.account.ledger.total.calls - before.calls
        self.progress.step("teacher", f"{scored:,} of {len(cases):,} cases have a verdict; {spent:,} new calls")
        return verdicts

    @property
    def lesson_cases(self) -> list[Case]:
        """The cases that the student learns from: of the train part, and unlabelled ones."""
        labelled = [] if self.recipe.mode == "probe" else self.parts["train"]
        unlabelled = self.unlabelled if self.recipe.targets != "labels" else []
        return [*labelled, *unlabelled]

    def _trained(self, taught: Mapping[str, Judged]) -> TrainedModel | None:
        if self.trainer is None or self.recipe.mode == "probe":
            return None
        trainer = self.trainer

        def written() -> dict[str, Any]:
            rows, counts = self._rows(taught)
            if self._overlapping:
                counts = {**counts, "unlabelled cases of a group, text or id of a measured part": self._overlapping}
            against = {name: part for name, part in self.parts.items() if name != "train"}
            seed = self.recipe.seed
            card = build(rows, self.folder / SET, against=against, seed=seed, before=counts).card
            return {
                "counts": {**counts, **card.dropped},
                "rows": {"train": card.train.rows, "validation": card.validation.rows},
            }

        content = self.checkpoints.once(LESSONS, written)
        with self.checkpoints.reading(LESSONS):
            words = ", ".join(f"{reason} {n:,}" for reason, n in content["counts"].items())
            rows = ", ".join(f"{part} {n:,}" for part, n in content["rows"].items())
        self.progress.step("lessons", f"{rows} rows ({words})")

        def trained() -> dict[str, Any]:
            model = trainer(self.folder / SET, self.folder / TRAINING, self.progress)
            return model.named_in(self.folder).model_dump(mode="json")

        content = self.checkpoints.once(TRAINED, trained)
        with self.checkpoints.reading(TRAINED):
            model = TrainedModel.model_validate(content).found_in(self.folder, TRAINING)
        figures = figures_text(model.figures)
        self.progress.step("train", f"{model.model}: {figures}" if figures else model.model)
        return model

    @property
    def _overlapping(self) -> int:
        """How many unlabelled cases are left out (`untouched.apart`)."""
        return len(self.extra) - len(self.unlabelled)

    def _rows(self, taught: Mapping[str, Judged]) -> tuple[Sequence[TrainingRow], Mapping[str, int]]:
        """What the student learns, and what became of the teacher's calls or of the student's questions."""
        recipe = self.recipe
        if recipe.mode == "chain":
            traces = read_traces(self.folder / TRACES)
            chain = rows_of_traces(traces, recipe.targets, human_weight=recipe.human_weight)
            return chain.rows, chain.counts
        rows = question_rows(
            self._student(self.base), self.lesson_cases, taught, recipe.targets,
            human_weight=recipe.human_weight, scale=teacher_scale(self.teacher, taught.values()),
            special_tokens=get_lm(self.base).special_tokens,
        )  # fmt: skip
        return rows.rows, rows.counts

    def _compiler(self, student: Judge, taught: Mapping[str, Judged]) -> Compiler:
        """The compilation of the student: its head, certificate and test, over the same parts."""
        lessons: list[Case] = []
        if self.recipe.mode == "probe" and taught:
            lessons = teacher_cases(self.unlabelled, taught.values())
            self.progress.step("lessons", f"{len(lessons):,} cases with the teacher's probabilities")
        compiler = Compiler(
            student, self.cases, self.folder / COMPILATION, self.recipe.compile_recipe(), workers=self.workers,
            budget=self._left(), progress=self.progress.without("split"), looks=read_looks(self.training.get("looks")),
            seen=self.training.get("cases"), head_parts=self.recipe.head_parts, lessons=lessons, refit=False,
        )  # fmt: skip
        same = {name: [case.id for case in part] for name, part in compiler.parts.items()}
        assert same == {name: [case.id for case in part] for name, part in self.parts.items()}
        return compiler

    def _accepted(self, compiled: Compiled, compiler: Compiler) -> Acceptance:
        test = self.parts["test"]
        student = without_head(compiled.judge)
        student.head = compiled.judge.head

        def accepted() -> dict[str, Any]:
            others = {TEACHER: self.teacher, **self._bases()}
            judges = {STUDENT: student, **others}
            runs = {STUDENT: compiler.evidence.with_head(student, test, "test")}
            runs |= {name: self.evidence.with_head(judge, test, "test") for name, judge in others.items()}
            measured = {name: measure_cost(judges[name], test, stop=self.progress.stop) for name in (STUDENT, TEACHER)}
            baselines = free_verdicts(ReviewerAverage(), test) | free_verdicts(Longer(), test)
            baselines |= free_verdicts(Majority().fit(self.parts["train"]), test)
            return accept(
                runs, self.objective, baselines=baselines, identity=identity(student), margin=self.recipe.margin,
                looks=compiled.result.looks.number if compiled.result.looks else 1, seed=self.recipe.seed,
                memory={name: judge_memory(judge) for name, judge in judges.items()}, measured=measured,
            ).model_dump(mode="json")  # fmt: skip

        content = self.checkpoints.once(ACCEPTANCE, accepted)
        with self.checkpoints.reading(ACCEPTANCE):
            acceptance = Acceptance.model_validate(content)
        self.progress.step("accept", acceptance.summary)
        return acceptance

    def _bases(self) -> dict[str, Judge]:
        """The model that the student begins as, as a judge: as it comes, and with a head on the same labels."""
        base = base_of(self.teacher, self.cases[0], self.recipe.mode, self.base, self.recipe.set)
        if base is None:
            return {}
        learn = [*self.parts["train"], *self.parts["select"]]
        evidence = self.evidence.of(base, learn, "learn")
        try:
            fitted = fit_head(base, learn, evidence, seed=self.recipe.seed, length=self.recipe.length)
        except TooFewVerdicts as error:
            self.progress.step("base", f"without a head: {error}")
            return {UNTRAINED: base}
        self.progress.step("base", f"head fitted to {fitted.head.n} cases: {fitted.head.fitted}")
        return {UNTRAINED: base, BASE: with_head(base, fitted.head)}

    # what it is

    def _student(self, model: str) -> Judge:
        return student_of(self.teacher, self.cases[0], self.recipe.mode, model, self.recipe.set)

    def _identity(self) -> dict[str, Any]:
        teacher = {name: value for name, value in identity(self.teacher).items() if name != "data"}
        head = digest({"head": self.teacher.head.model_dump_json() if self.teacher.head else ""})
        return {
            **teacher,
            "models": self.teacher.resolved_models(),
            "state": digest(identity(self.teacher)),
            "head": head,
            "base": self.base,
            "cases": digest_of(self.cases),
            "unlabelled": digest_of(self.extra),
            "recipe": self.recipe.model_dump(mode="json"),
        }

    def _left(self) -> Budget:
        """The budget of this call that the student's compilation may spend."""
        budget, used = self.account.ledger.budget, self.account.ledger.total
        tokens = used.prompt_tokens + used.completion_tokens
        left = {
            "calls": _less(budget.calls, used.calls),
            "tokens": _less(budget.tokens, tokens),
            "cost": _less(budget.cost, used.cost or 0.0),
        }
        return replace(budget, **left)


def total_usage(*accounts: CostAccount) -> Usage:
    """What several accounts have spent in all their sessions."""
    return sum((account.total.usage for account in accounts), Usage())


def _less(limit: float | None, used: float) -> float | None:
    return None if limit is None else max(0.0, limit - used)
