"""Compile a judge: split, record evidence, fit a head, optimise prompts, search structure, certify, and test once.

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
from .checkpoints import CERTIFICATE, GROUPS, SPENT, Checkpoints
from .compile_folder import HEAD, LOOKS, read_json
from .cost_account import CostAccount
from .criteria.learn import check_criteria
from .evidence import Evidence, Interrupted, ProgressCallbacks, fit_head, identity, with_head, without_head
from .fingerprints import case_fingerprints, digest, digest_of
from .head.fit import TooFewVerdicts, fit
from .head.head_labels import HeadLabels
from .head.worth import EvidenceWorth
from .looks import Look, Looks, look_at, note_look, read_looks
from .objective import objective_for
from .prompts.prompt_state import demonstrated
from .recipe import Recipe
from .result import COMPILED, UNCOMPILED, Result, compare_on_test, training_record
from .search_steps import SearchSteps, check_prompts, searched_space
from .split_step import split_step

LEAST = 40  # labelled cases; with fewer, no part is large enough to fit or test a judge


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
    ) -> None:
        self.judge, self.recipe, self.workers, self.progress = (
            without_head(judge),
            recipe,
            workers,
            progress or ProgressCallbacks(),
        )
        self.baseline, self.looks, self.seen = baseline, tuple(looks), seen
        self.cases = [case for case in cases if case.label is not None]
        if repeated := [name for name, times in Counter(case.id for case in self.cases).items() if times > 1]:
            raise DeclarationError(f"compile: several cases have the id {repeated[0]!r}. Give every case another id.")
        if len(self.cases) < LEAST:
            raise TooFewLabels(
                f"compile: {len(self.cases)} labelled cases; at least {LEAST} are needed to fit a judge on some "
                "and test it on others. Label more; docs/measuring.md says how many show a difference."
            )
        self.objective = objective_for(recipe.objective, self.cases)
        space = searched_space(recipe, self.judge)
        check_prompts(recipe, self.judge, self.objective, workers)
        check_criteria(self.judge, recipe.criteria, recipe.criteria_lm)
        self.checkpoints = Checkpoints(folder, self._identity())
        self.account = CostAccount(folder / SPENT, budget)
        as_read = {case.id: case for case in self.cases}
        self.evidence = Evidence(folder / "evidence", self.account, self.progress, workers, as_read)
        self.parts = self._split()
        self.searches = SearchSteps(
            recipe, self.objective, space, self.parts, int(baseline is not None), self.checkpoints, self.account,
            self.evidence, self.progress, workers,
        )  # fmt: skip
        searched = (
            recipe.criteria != "none"
            or recipe.prompts != "none"
            or space is not None
            or bool(judge.evidence_text)  # certificates out of fold were never tried with heads of many columns
            or any(demonstrated(judge, case) for case in self.cases)
        )
        self.certify = CertifyStep(recipe, self.parts, self._certifiable, searched, self.checkpoints, self.progress)
        self._best: Judge | None = None
        # Of the head that was fitted last, which is the compiled judge's.
        self._labels: HeadLabels | None = None
        self._worth: tuple[EvidenceWorth, ...] = ()

    def run(self) -> Compiled:
        """The compiled judge; steps that an earlier call finished are not repeated.

        Raises:
            Interrupted: the compilation was stopped.
            BudgetSpent: before the test was done; the same call with a larger budget continues.
        """
        with self.account.session():
            limits = self.certify.announce()
            variants = self._variants()
            final = variants[COMPILED]
            certificate = self._certified(final, limits) if limits.part == "certify" else None
            tested = self._tested(variants, certificate)
            looks = tested.looks.number if tested.looks else 1
            certificate = self._certified(final, limits, looks) if limits.part == "test" else certificate
        if tested.withdrawal:
            certificate = None
        if certificate is not None:
            final.threshold = certificate.threshold
        return Compiled(final, tested, certificate, self._training(tested, certificate), limits)

    def best_so_far(self) -> BestSoFar | None:
        """The judge of an interrupted compilation; None before its evidence was recorded."""
        return None if self._best is None else BestSoFar(self._best, self._training(None, None))

    # the steps

    def _split(self) -> dict[str, list[Case]]:
        proportions = self.recipe.proportions(self._certifiable)
        parts, text = split_step(self.cases, proportions, self.recipe.seed, self.checkpoints)
        self.progress.step("split", text)
        return parts

    def _variants(self) -> dict[str, Judge]:
        """The judges to test: uncompiled, after each step that changed the judge, and compiled."""
        learn = [*self.parts["train"], *self.parts["select"]]
        variants, headed = {UNCOMPILED: self.judge}, self._with_head(self.judge, learn, searched=False)
        if self.recipe.head:
            variants["head"] = headed
        questioned = self.searches.questioned(self.judge, headed)
        if questioned is not self.judge:
            name = "head and criteria" if self.recipe.head else "criteria"
            headed = variants[name] = self._with_head(questioned, learn, searched=True)
        judge = self.searches.prompted(questioned)
        if judge is not questioned:
            name = "head and prompts" if self.recipe.head else "prompts"
            headed = variants[name] = self._with_head(judge, learn, searched=True)
        prompted = judge is not questioned
        try:
            structured = self.searches.structured(judge, prompted=prompted)
        except Interrupted as stopped:
            if stopped.best is not None:
                self._with_head(stopped.best, learn, searched=prompted)
            raise
        if identity(structured) != identity(judge):
            return {**variants, COMPILED: self._with_head(structured, learn, searched=prompted)}
        steps = {name: variant for name, variant in variants.items() if name == UNCOMPILED or variant is not headed}
        return {**steps, COMPILED: headed}

    def _with_head(self, judge: Judge, learn: Sequence[Case], *, searched: bool) -> Judge:
        """The judge with a head fitted to its evidence, without cases that its demos show.

        The judge stays unchanged if the recipe has no head, or there are too few verdicts for a head.

        Args:
            searched: whether its prompts were chosen on these cases. The head is fitted to them nevertheless, and its
                record says so: there are no others, and fewer labels cost more than the choice (docs/compiling.md).
        """
        self._labels, self._worth = None, ()
        evidence = self.evidence.of(judge, learn, "learn")
        self._best = judge
        if not self.recipe.head:
            return judge

        def fitted() -> dict[str, Any]:
            usable = [pair for pair in zip(learn, evidence, strict=True) if not demonstrated(judge, pair[0])]
            cases, verdicts = [case for case, _ in usable], [verdict for _, verdict in usable]
            result = fit_head(judge, cases, verdicts, seed=self.recipe.seed, length=self.recipe.length)
            candidates = [candidate.model_dump() for candidate in result.candidates]
            labels = result.labels.model_copy(update={"searched": result.labels.n if searched else 0})
            worth = [worth.model_dump(mode="json") for worth in result.worth]
            return {
                "head": result.head.model_dump(mode="json"), "labels": labels.model_dump(), "candidates": candidates,
                **({"worth": worth} if worth else {}),
            }  # fmt: skip

        name = f"head-{digest(identity(judge))}"
        try:
            content = self.checkpoints.once(name, fitted)
        except TooFewVerdicts as error:
            self.progress.step("head", f"left out: {error}")
            return judge
        with self.checkpoints.reading(name):
            head = HEAD.validate_python(content["head"])
            self._labels = HeadLabels.model_validate(content["labels"]) if "labels" in content else None
            self._worth = tuple(map(EvidenceWorth.model_validate, content.get("worth", ())))
        sentence = self._labels.sentence if self._labels else ""
        self.progress.step("head", "; ".join(filter(None, [f"fitted to {head.n} cases: {head.fitted}", sentence])))
        for worth in self._worth:
            self.progress.step("evidence", worth.sentence)
        self._best = with_head(judge, head)
        return self._best

    def _certified(self, judge: Judge, limits: Certifiable, looks: int = 1) -> Certificate | None:
        """The certificate; None where the labels can certify nothing, or no verdict has a certainty."""
        if not (limits.possible or self.checkpoints.has(CERTIFICATE)):
            return None
        verdicts = self.evidence.with_head(judge, self.parts[limits.part], limits.part)
        learned = None
        if limits.out_of_fold and judge.head is not None and not self.checkpoints.has(CERTIFICATE):
            learn, test = [*self.parts["train"], *self.parts["select"]], self.parts["test"]
            of_learn, of_test = self.evidence.of(judge, learn, "learn"), self.evidence.of(judge, test, "test")
            fitted = fit(learn, of_learn, seed=self.recipe.seed, length=self.recipe.length)
            learned = out_of_fold(judge.head, fitted, learn, of_learn, test, of_test)
        return self.certify.certificate(limits.part, verdicts, learned, looks)

    def _tested(self, variants: Mapping[str, Judge], certificate: Certificate | None) -> Result:
        part = self.parts["test"]

        def tested() -> dict[str, Any]:
            runs: dict[str, Sequence[Judged]] = _verdicts(ReviewerAverage(), part)
            runs |= self._baseline_verdicts(part)
            baselines = runs | _verdicts(Longer(), part) | _verdicts(Majority().fit(self.parts["train"]), part)
            runs |= {name: self.evidence.with_head(judge, part, "test") for name, judge in variants.items()}
            result = compare_on_test(
                runs, self.objective, baselines=baselines, seed=self.recipe.seed, identity=identity(self.judge),
                count_looks=lambda: self._looks(part, runs),
            )  # fmt: skip
            if certificate is not None and certificate.threshold is not None:
                sides = judge_evidence(runs[COMPILED])
                groups = [case.split_key for case in part]
                threshold_check = check(certificate, *sides, groups=groups, ids=[case.id for case in part])
                result = result.model_copy(update={"threshold_check": threshold_check})
            self.checkpoints.settle()
            return result.model_dump(mode="json")

        content = self.checkpoints.once("test", tested)
        with self.checkpoints.reading("test"):
            result = Result.model_validate(content)
        self.progress.step("test", result.summary)
        return result

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

    def _baseline_verdicts(self, part: Sequence[Case]) -> dict[str, Sequence[Judged]]:
        """The verdicts of the baseline by its name; empty where its model cannot answer it, with the reason as a step.

        The judge's own model may give no token probabilities, or only those of other tokens than the options; the judge
        may not need them, and the baseline does.
        """
        if self.baseline is None:
            return {}
        try:
            return {self.baseline.name: self.evidence.with_head(self.baseline, part, "test")}
        except (ModelError, Unreadable, Infrastructure) as error:
            if isinstance(error, Infrastructure) and NoTokenProbabilities.words not in str(error):
                raise
            self.progress.step("baseline", f"{self.baseline.name} left out: {error}")
            return {}

    @property
    def _certifiable(self) -> bool:
        """Whether verdicts are right or wrong: scores of single texts are not."""
        return len(self.cases[0].candidates) > 1

    # records

    def _identity(self) -> dict[str, Any]:
        judge = {name: value for name, value in identity(self.judge).items() if name != "data"}
        state, recipe = digest(identity(self.judge)), self.recipe.identity()
        models = {"models": self.judge.resolved_models()}
        return {**judge, **models, "state": state, "cases": digest_of(self.cases), "recipe": recipe}

    def _training(self, tested: Result | None, certificate: Certificate | None) -> dict[str, Any]:
        parts = {name: len(part) for name, part in self.parts.items()}
        origin = {"parts": parts, "cases": case_fingerprints(self.cases, self.seen), "seed": self.recipe.seed}
        if self._labels is not None:
            origin["head"] = self._labels.model_dump()
        if self._worth:
            origin["evidence"] = [worth.model_dump() for worth in self._worth]
        if joined := read_json(self.checkpoints.folder / f"{GROUPS}.json").get("summary"):
            origin["joined"] = joined
        looks = read_looks(read_json(self.checkpoints.folder / f"{LOOKS}.json").get("looks"))
        return training_record(tested, certificate, origin=origin, spent=self.account.total, looks=looks)


def _verdicts(judge: Judge, part: Sequence[Case]) -> dict[str, Sequence[Judged]]:
    """The verdicts of a judge without a model, by its name; empty if it cannot judge such cases."""
    try:
        return {judge.name: [Judged.of(case, judge(case)) for case in part]}
    except DeclarationError:
        return {}
