"""Compile a judge: split, record evidence, fit a head, optimise prompts, search structure, certify, and test once.

With few labels and nothing but a head to fit there are no parts: every label is learnt from, and the judge is measured
by verdicts out of fold (`head_step`). In either case the head of the judge that is delivered is fitted to all labels at
the end, unless a certificate holds for an earlier one.

Every step writes a file to the compilation's folder and its evidence to run folders, so that a kill at any moment loses
little and the same call continues to the same judge. The test part is judged once, at the end.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data import Case, Judged
from ..engines.ledger import Budget
from ..errors import DeclarationError, Infrastructure, ModelError, NoTokenProbabilities, Unreadable
from ..judging.judge import Judge
from ..judging.judge_file import save
from ..programs.baselines import Longer, Majority, ReviewerAverage
from .certificates.certify import Certificate, check, judge_evidence
from .certificates.out_of_fold import out_of_fold
from .certify_step import Certifiable, CertifyStep
from .changed_verdicts import changed_verdicts, write_changed
from .checkpoints import CERTIFICATE, GROUPS, SPENT, Checkpoints
from .compile_folder import LOOKS, read_json
from .cost_account import CostAccount
from .criteria.learn import check_criteria
from .evidence import Evidence, Interrupted, ProgressCallbacks, identity, without_head
from .finetune import STEP, FinetuneStep, StudentTrainer, check_finetune
from .fingerprints import case_fingerprints, digest, digest_of
from .head_step import HeadStep, columns
from .looks import Look, Looks, look_at, note_look, read_looks
from .objective import objective_for
from .prompts.prompt_state import demonstrated
from .recipe import LEAST, Recipe
from .result import (
    COMPILED,
    UNCOMPILED,
    UNTUNED,
    Result,
    claims_on_all,
    compare_on_test,
    free_verdicts,
    training_record,
)  # fmt: skip
from .search_steps import SearchSteps, check_prompts, searched_space
from .split_step import ALL, split_step

HEAD_PARTS = ("train", "select")


class TooFewLabels(DeclarationError):
    """There are too few labelled cases to compile any judge."""


@dataclass(frozen=True)
class Compiled:
    """A compiled judge with its head and threshold, and its test.

    Attributes:
        certificate: None if nothing was to be certified, or the test part contradicts the certificate.
        certifiable: what the labels can certify at all.
    """

    judge: Judge
    result: Result
    certificate: Certificate | None
    training: dict[str, Any]
    certifiable: Certifiable

    def save(self, path: Path | str) -> None:
        """Write the judge file, with training record and certificate; see `judge_file.save`."""
        save(self.judge, path, training=self.training, certificate=self.training["certificate"])


@dataclass(frozen=True)
class BestSoFar:
    """The judge after the finished steps, not tested."""

    judge: Judge
    training: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write the judge file; see `judge_file.save`."""
        save(self.judge, path, training=self.training)


class Compiler:
    """One compilation.

    Args:
        judge: bound to its models; it is not changed.
        cases: of the same kind; those without a label are left out.
        folder: stores the steps and the evidence.
        baseline: a simple judge to compare with on the test part.
        workers: cases in flight.
        budget: of this call; searches leave enough of it for the test.
        looks: earlier tests that the file of the judge holds; those of this machine are known.
        seen: fingerprints of the cases that the file of the judge was compiled on; its prompts may come from them.
        head_parts: the parts that the head is fitted to; a model that was trained on the train part is surer of it than
            of new cases, so that its head is fitted to the select part alone.
        lessons: labelled cases beside the parts that the head is fitted to as well, such as a teacher's verdicts; none
            is of a group of a part but train.
        trainer: makes the gradient steps of a recipe that fine-tunes.
        refit: fit the head of the delivered judge to all labels; without it the head is the one of the test.

    Attributes:
        account: the cost of this compilation so far.

    Raises:
        TooFewLabels: fewer than 40 labelled cases.
        DeclarationError: an objective that is not for these cases, several cases with the same id, or a recipe whose
            space, stages or models the judge cannot take.
        RunError: the folder holds another compilation.
    """

    def __init__(
        self,
        judge: Judge,
        cases: Sequence[Case],
        folder: Path,
        recipe: Recipe,
        *,
        baseline: Judge | None = None,
        workers: int = 2,
        budget: Budget | None = None,
        progress: ProgressCallbacks | None = None,
        looks: Sequence[Look] = (),
        seen: object = None,
        head_parts: Sequence[str] = HEAD_PARTS,
        lessons: Sequence[Case] = (),
        trainer: StudentTrainer | None = None,
        refit: bool = True,
    ) -> None:
        self.head_parts, self.lessons, self.refit = tuple(head_parts), tuple(lessons), refit
        self.judge, self.workers, self.progress = without_head(judge), workers, progress or ProgressCallbacks()
        self.baseline, self.looks, self.seen = baseline, tuple(looks), seen
        self.cases = [case for case in cases if case.label is not None]
        if repeated := [name for name, times in Counter(case.id for case in self.cases).items() if times > 1]:
            raise DeclarationError(f"compile: several cases have the id {repeated[0]!r}. Give every case another id.")
        if len(self.cases) < LEAST:
            raise TooFewLabels(
                f"compile: {len(self.cases)} labelled cases; at least {LEAST} are needed to fit a judge on some "
                "and test it on others. Label more; docs/measuring.md says how many show a difference."
            )
        self.recipe = recipe = recipe.for_labels(len(self.cases))
        self.objective = objective_for(recipe.objective_name, self.cases)
        space = searched_space(recipe, self.judge, self.cases)
        check_prompts(recipe, self.judge, self.objective, workers)
        check_criteria(self.judge, recipe.criteria, recipe.criteria_lm)
        check_finetune(self.judge, recipe, trainer)
        self.checkpoints = Checkpoints(folder, self._identity())
        self.account = CostAccount(folder / SPENT, budget)
        as_read = {case.id: case for case in self.cases}
        self.evidence = Evidence(folder / "evidence", self.account, self.progress, workers, as_read)
        chosen_on_labels = (
            recipe.criteria != "none"
            or recipe.finetune is not None
            or recipe.prompts != "none"
            or space is not None
            or any(demonstrated(judge, case) for case in self.cases)
            or bool(self._other_head)
        )
        self.head_only = not chosen_on_labels
        many = bool(judge.evidence_text)  # numbers: a head's verdicts out of fold vary more than an interval knows
        self.parts = self._split(recipe.is_cross_fitted(len(self.cases), searched=chosen_on_labels, many=many))
        self.searches = SearchSteps(
            recipe, self.objective, space, self.parts, int(baseline is not None), self.checkpoints, self.account,
            self.evidence, self.progress, workers,
        )  # fmt: skip
        self.finetune = FinetuneStep(
            recipe, self.objective, self.parts, self.checkpoints, self.account, self.evidence, self.progress,
            trainer if recipe.finetune else None,
        )  # fmt: skip
        searched = chosen_on_labels or many or bool(recipe.costs)  # least cost is not always highest certainty
        self.certify = CertifyStep(recipe, self.parts, self._certifiable, searched, self.checkpoints, self.progress)
        self.heads = HeadStep(recipe, self.parts, self.evidence, self.checkpoints, self.progress, self.lessons)

    def run(self) -> Compiled:
        """The compiled judge; steps that an earlier call finished are not repeated.

        Raises:
            Interrupted: the compilation was stopped.
            BudgetSpent: before the test was done; the same call with a larger budget continues.
        """
        with self.account.session():
            limits = self.certify.announce()
            variants = self._with_student(self._variants())
            final = variants[COMPILED]
            certificate = self._certified(final, limits) if limits.part == "certify" else None
            tested = self._tested(variants, certificate)
            looks = tested.looks.number if tested.looks else 1
            if limits.out_of_fold and (ALL in self.parts or len(self.cases[0].categories) != 2):
                final = self._refitted(final)
                certificate = self._certified(final, limits, looks, of_all=self.refit or ALL in self.parts)
            else:
                certificate = self._certified(final, limits, looks) if limits.part == "test" else certificate
                final = self._refitted(final, None if tested.withdrawal else certificate)
        if tested.withdrawal:
            certificate = None
        if certificate is not None:
            final.threshold = certificate.threshold
        return Compiled(final, tested, certificate, self._training(tested, certificate), limits)

    def best_so_far(self) -> BestSoFar | None:
        """The judge of an interrupted compilation; None before its evidence was recorded."""
        return None if self.heads.best is None else BestSoFar(self.heads.best, self._training(None, None))

    # the steps

    def _split(self, cross_fitted: bool) -> dict[str, list[Case]]:
        proportions = None if cross_fitted else self.recipe.proportions(self._certifiable)
        parts, text = split_step(self.cases, proportions, self.recipe.seed, self.checkpoints)
        self.progress.step("split", text)
        return parts

    def _variants(self) -> dict[str, Judge]:
        """The judges to test: uncompiled, after each step that changed the judge, and compiled."""
        learn = self.learn
        variants, headed = {UNCOMPILED: self.judge}, self.heads.with_head(self.judge, learn, searched=False)
        if self.recipe.head:
            variants["head"] = headed
        questioned = self.searches.questioned(self.judge, headed)
        if questioned is not self.judge:
            name = "head and criteria" if self.recipe.head else "criteria"
            headed = variants[name] = self.heads.with_head(questioned, learn, searched=True)
        judge = self.searches.prompted(questioned)
        if judge is not questioned:
            name = "head and prompts" if self.recipe.head else "prompts"
            headed = variants[name] = self.heads.with_head(judge, learn, searched=True)
        prompted = judge is not questioned
        try:
            structured = self.searches.structured(judge, prompted=prompted)
        except Interrupted as stopped:
            if stopped.best is not None:
                self.heads.with_head(stopped.best, learn, searched=prompted)
            raise
        if identity(structured) != identity(judge):
            return {**variants, COMPILED: self.heads.with_head(structured, learn, searched=prompted)}
        steps = {name: variant for name, variant in variants.items() if name == UNCOMPILED or variant is not headed}
        return {**steps, COMPILED: headed}

    def _with_student(self, variants: dict[str, Judge]) -> dict[str, Judge]:
        """The judges to test, of which the compiled one is answered by a trained model where that is better."""
        before = variants[COMPILED]
        student = self.finetune.student_of(without_head(before))
        if student is None:
            return variants
        others = {name: judge for name, judge in variants.items() if name != COMPILED}
        if before is not self.judge:
            others[UNTUNED] = before
        return {**others, COMPILED: self.heads.with_head(student, self.parts["select"], searched=True)}

    def _refitted(self, judge: Judge, certificate: Certificate | None = None) -> Judge:
        """The judge with its head fitted to all labels, unless it may not learn from them.

        Args:
            certificate: of the head that it has.
        """
        reason = ""
        if self._other_head or self.finetune.trainer is not None:
            reason = "its model has learnt from labels as well"
        elif certificate is not None and certificate.accepts_any:
            reason = "the certificate holds for it alone"
        return self.heads.refitted(judge, reason=reason, searched=not self.head_only) if self.refit else judge

    def _certified(self, judge: Judge, limits: Certifiable, looks: int = 1, of_all: bool = False) -> Certificate | None:
        """The certificate; None where the labels can certify nothing, or no verdict has a certainty.

        Args:
            of_all: whether its head is fitted to all labels.
        """
        if not (limits.possible or self.checkpoints.has(CERTIFICATE)):
            return None
        part, learned = self.parts[limits.part], None
        verdicts = self.evidence.with_head(judge, part, "learn" if limits.part == ALL else limits.part)
        if limits.out_of_fold and judge.head is not None and not self.checkpoints.has(CERTIFICATE):
            rows, others = self.heads.rows(judge), list[tuple[Case, Judged]]()
            if not of_all:
                rows, others = rows[: len(self.learn)], rows[len(self.learn) :]
            learned = out_of_fold(judge.head, self.heads.fit(judge, rows), *columns(rows), *columns(others))
            if of_all and learned is None:  # another version fitted it, and its own labels are no evidence
                return None
        return self.certify.certificate(limits.part, verdicts, learned, looks, untouched=not of_all)

    def _tested(self, variants: Mapping[str, Judge], certificate: Certificate | None) -> Result:
        cross_fitted = self.heads.is_cross_fitted
        part, folder = (self.parts[ALL], "learn") if cross_fitted else (self.parts["test"], "test")

        def tested() -> dict[str, Any]:
            runs: dict[str, Sequence[Judged]] = free_verdicts(ReviewerAverage(), part)
            runs |= self._baseline_verdicts(part, folder)
            constant = Majority().fit(part if cross_fitted else self.parts["train"])
            baselines = runs | free_verdicts(Longer(), part) | free_verdicts(constant, part)
            runs |= {name: self.evidence.with_head(judge, part, folder) for name, judge in variants.items()}
            final, order = runs[COMPILED] if cross_fitted else None, dict[str, float]()
            if cross_fitted:
                runs[COMPILED], order = self.heads.out_of_fold(variants[COMPILED])
            result = compare_on_test(
                runs, self.objective, baselines=baselines, seed=self.recipe.seed, identity=identity(self.judge),
                count_looks=lambda: self._looks(part, runs), final=final, order=order,
            )  # fmt: skip
            if not cross_fitted:
                result = self._with_all_labels(result, variants[COMPILED])
            if certificate is not None and certificate.threshold is not None:
                sides, groups = judge_evidence(runs[COMPILED]), [case.split_key for case in part]
                threshold_check = check(certificate, *sides, groups=groups, ids=[case.id for case in part])
                result = result.model_copy(update={"threshold_check": threshold_check})
            write_changed(self.checkpoints.folder, changed_verdicts(runs[COMPILED], runs[UNCOMPILED]))
            self.checkpoints.settle()
            return result.model_dump(mode="json")

        content = self.checkpoints.once("test", tested)
        with self.checkpoints.reading("test"):
            result = Result.model_validate(content)
        self.progress.step("test", result.summary)
        return result

    def _with_all_labels(self, result: Result, judge: Judge) -> Result:
        """The result with what the cross-fitted verdicts of all labels say, where nothing but the head is fitted."""
        if not self.head_only or judge.head is None:
            return result
        (verdicts, order), (_, uncompiled) = self.heads.out_of_fold(judge), columns(self.heads.rows(self.judge))
        final, seed = self.heads.of_all(judge), self.recipe.seed
        claims = claims_on_all(verdicts, uncompiled, self.objective, order=order, final=final, seed=seed)
        return result.model_copy(update={"beside": claims, "beside_n": len(verdicts)})

    def _looks(self, part: Sequence[Case], runs: Mapping[str, Sequence[Judged]]) -> Looks:
        """The counts of earlier tests of these cases; this test is noted."""

        def noted() -> dict[str, Any]:
            pair = runs[COMPILED], runs[UNCOMPILED]
            look = look_at(part, pair, judge=self.judge.name, objective=self.objective.name)
            counts, looks = note_look(look, self.looks)
            return {"counts": counts.model_dump(), "looks": [look.model_dump() for look in looks]}

        content = self.checkpoints.once(LOOKS, noted)
        with self.checkpoints.reading(LOOKS):
            counts = Looks.model_validate(content["counts"])
        if counts.problem:
            self.progress.step("ledger", f"this machine does not remember the tested cases ({counts.problem})")
        return counts

    def _baseline_verdicts(self, part: Sequence[Case], folder: str) -> dict[str, Sequence[Judged]]:
        """The verdicts of the baseline by its name; empty where its model cannot answer it, with the reason as a step.

        The judge's own model may give no token probabilities, or only those of other tokens than the options; the judge
        may not need them, and the baseline does.
        """
        if self.baseline is None:
            return {}
        try:
            return {self.baseline.name: self.evidence.with_head(self.baseline, part, folder)}
        except (ModelError, Unreadable, Infrastructure) as error:
            if isinstance(error, Infrastructure) and NoTokenProbabilities.words not in str(error):
                raise
            self.progress.step("baseline", f"{self.baseline.name} left out: {error}")
            return {}

    @property
    def learn(self) -> list[Case]:
        """The labelled cases that heads are fitted to."""
        return self.parts[ALL] if ALL in self.parts else [case for name in self.head_parts for case in self.parts[name]]

    @property
    def _other_head(self) -> dict[str, Any]:
        """What the head is fitted to, where that is not the usual parts."""
        parts = {"head_parts": [*self.head_parts]} if self.head_parts != HEAD_PARTS else {}
        return parts | ({"lessons": digest_of(self.lessons)} if self.lessons else {})

    @property
    def _certifiable(self) -> bool:
        """Whether verdicts are right or wrong: scores of single texts are not."""
        return self.cases[0].kind != "texts"

    def _identity(self) -> dict[str, Any]:
        judge = {name: value for name, value in identity(self.judge).items() if name != "data"}
        state, recipe = digest(identity(self.judge)), self.recipe.identity()
        models = {"models": self.judge.resolved_models()}
        return {**judge, **models, "state": state, "cases": digest_of(self.cases), "recipe": recipe} | self._other_head

    def _training(self, tested: Result | None, certificate: Certificate | None) -> dict[str, Any]:
        parts = {name: len(part) for name, part in self.parts.items()}
        origin = {"parts": parts, "cases": case_fingerprints(self.cases, self.seen), "seed": self.recipe.seed}
        if self.heads.final is not None:
            origin["final"] = self.heads.final.model_dump()
        if self.heads.labels is not None:
            origin["head"] = self.heads.labels.model_dump()
        if self.heads.worth:
            origin["evidence"] = [worth.model_dump() for worth in self.heads.worth]
        if finetuning := read_json(self.checkpoints.folder / f"{STEP}.json"):
            origin["finetuning"] = finetuning
        if joined := read_json(self.checkpoints.folder / f"{GROUPS}.json").get("summary"):
            origin["joined"] = joined
        looks = read_looks(read_json(self.checkpoints.folder / f"{LOOKS}.json").get("looks"))
        return training_record(tested, certificate, origin=origin, spent=self.account.total, looks=looks)
