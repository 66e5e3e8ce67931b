"""Compile a judge: split, record, fit a head, optimise prompts, search structure, certify, and test once.

Every step leaves a file in the compilation's folder and its evidence in run folders, so that a kill at any moment loses
little and the same call goes on to the same judge. The test part is judged once, at the end.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..data import Case, Judged
from ..data.split import split
from ..engines.ledger import Budget
from ..errors import DeclarationError
from ..judging.heads import Head
from ..judging.judge import Judge
from ..judging.judge_file import save
from ..programs.baselines import Longer, Majority, ReviewerAverage
from .certificates.certify import Certificate, certify, check, judge_evidence
from .checkpoints import Steps
from .cost_account import CostAccount
from .evidence import Evidence, Interrupted, ProgressCallbacks, identity, with_head, without_head
from .fingerprints import case_fingerprints, digest, digest_of
from .head.fit import TooFewVerdicts, fit
from .objective import objective_for
from .prompts.prompt_state import demonstrated
from .recipe import Recipe
from .result import COMPILED, UNCOMPILED, Result, compare_on_test
from .search_steps import Searches, check_prompts, searched_space
from .training_record import training_record

LEAST = 40  # labelled cases: below, no part has enough to learn from or to test on
HEADS: TypeAdapter[Any] = TypeAdapter(Head)


class TooFewLabels(DeclarationError):
    """The labels cannot show anything, whatever the judge."""


@dataclass(frozen=True)
class Compiled:
    """A compiled judge with its head and threshold, and the proof."""

    judge: Judge
    result: Result
    certificate: Certificate | None
    training: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write the judge file, with training record and certificate; see `judgefile.save`."""
        save(self.judge, path, training=self.training, certificate=self.training["certificate"])


@dataclass(frozen=True)
class BestSoFar:
    """The judge of the steps that are done, not tested."""

    judge: Judge
    training: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write the judge file; see `judgefile.save`."""
        save(self.judge, path, training=self.training)


class Compiler:
    """One compilation.

    Args:
        judge: bound to its models; it is not changed.
        cases: labelled, of one kind; those without a label are left out.
        folder: keeps what is done.
        baseline: a plain judge beside it on the test part.
        workers: cases at once.
        budget: of this call; searches leave enough of it for the test.

    Attributes:
        account: what this compilation has cost so far.

    Raises:
        TooFewLabels: fewer than 40 labelled cases.
        DeclarationError: an objective that is not for these cases, cases of one id, or a recipe whose space, stages or
            models the judge cannot take.
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
    ) -> None:
        self.judge, self.recipe, self.workers, self.progress = (
            without_head(judge),
            recipe,
            workers,
            progress or ProgressCallbacks(),
        )
        self.baseline = baseline
        self.cases = [case for case in cases if case.label is not None]
        if repeated := [name for name, times in Counter(case.id for case in self.cases).items() if times > 1]:
            raise DeclarationError(f"compile: several cases have the id {repeated[0]!r}. Give each its own.")
        if len(self.cases) < LEAST:
            raise TooFewLabels(
                f"compile: {len(self.cases)} labelled cases; at least {LEAST} are needed to learn from some and test "
                "on others. Label more, and see power in docs/measuring.md for how many show a difference."
            )
        self.objective = objective_for(recipe.objective, self.cases)
        space = searched_space(recipe, self.judge)
        check_prompts(recipe, self.judge, self.objective, workers)
        self.steps = Steps(folder, self._identity())
        self.account = CostAccount(folder / "spent.json", budget)
        self.evidence = Evidence(folder / "evidence", self.account, self.progress, workers)
        self.parts = self._split()
        self.searches = Searches(
            recipe, self.objective, space, self.parts, int(baseline is not None), self.steps, self.account,
            self.evidence, self.progress, workers,
        )  # fmt: skip
        self._best: Judge | None = None

    def run(self) -> Compiled:
        """The compiled judge, or what an earlier call left to do of it.

        Raises:
            Interrupted: it was stopped.
            BudgetSpent: before the test was done; the same call with more goes on.
        """
        with self.account.session():
            variants = self._learnt()
            final = variants[COMPILED]
            certificate = self._certified(final)
            tested = self._tested(variants, certificate)
        if certificate is not None:
            final.threshold = certificate.threshold
        return Compiled(final, tested, certificate, self._training(tested, certificate))

    def best_so_far(self) -> BestSoFar | None:
        """What an interrupted compilation leaves; None when nothing was learnt."""
        return None if self._best is None else BestSoFar(self._best, self._training(None, None))

    # the steps

    def _split(self) -> dict[str, list[Case]]:
        by_id = {case.id: case for case in self.cases}

        def dealt() -> dict[str, Any]:
            parts = split(self.cases, parts=self.recipe.parts.shares(self._certifiable), seed=self.recipe.seed)
            return {name: [case.id for case in part] for name, part in parts.items()}

        parts = {name: [by_id[one] for one in ids] for name, ids in self.steps.once("split", dealt).items()}
        self.progress.step("split", ", ".join(f"{name} {len(part)}" for name, part in parts.items()))
        return parts

    def _learnt(self) -> dict[str, Judge]:
        """The judges to test: uncompiled, after each step that added something, and compiled."""
        learn = [*self.parts["train"], *self.parts["select"]]
        variants, headed = {UNCOMPILED: self.judge}, self._headed(self.judge, learn)
        if self.recipe.head:
            variants["head"] = headed
        judge = self.searches.prompted(self.judge)
        if judge is not self.judge:
            headed = variants["head and prompts" if self.recipe.head else "prompts"] = self._headed(judge, learn)
        try:
            structured = self.searches.structured(judge, prompted=judge is not self.judge)
        except Interrupted as stopped:
            if stopped.best is not None:
                self._headed(stopped.best, learn)
            raise
        if identity(structured) != identity(judge):
            return {**variants, COMPILED: self._headed(structured, learn)}
        steps = {name: one for name, one in variants.items() if name == UNCOMPILED or one is not headed}
        return {**steps, COMPILED: headed}

    def _headed(self, judge: Judge, learn: Sequence[Case]) -> Judge:
        """The judge with a head fitted to its evidence, less that of cases that its own demos show; as it is when the
        recipe has no head, or there are too few verdicts for one."""
        evidence = self.evidence.of(judge, learn, "learn")
        self._best = judge
        if not self.recipe.head:
            return judge

        def fitted() -> dict[str, Any]:
            taught = [pair for pair in zip(learn, evidence, strict=True) if not demonstrated(judge, pair[0])]
            cases, verdicts = [case for case, _ in taught], [verdict for _, verdict in taught]
            found = fit(cases, verdicts, seed=self.recipe.seed, length=self.recipe.length)
            return {"head": found.head.model_dump(mode="json"), "tried": [one.model_dump() for one in found.candidates]}

        try:
            told = self.steps.once(f"head-{digest(identity(judge))}", fitted)
        except TooFewVerdicts as error:
            self.progress.step("head", f"left out: {error}")
            return judge
        self.progress.step("head", f"fitted to {told['head']['n']} cases: {told['head']['fitted']}")
        self._best = with_head(judge, HEADS.validate_python(told["head"]))
        return self._best

    def _certified(self, judge: Judge) -> Certificate | None:
        part = self.parts.get("certify")
        if not part:
            return None

        sides = judge_evidence(self.evidence.with_head(judge, part, "certify"))
        if all(map(math.isnan, sides[0])):
            self.progress.step("certify", "left out: no verdict has a certainty")
            return None

        def made() -> dict[str, Any]:
            levels = {"risk": self.recipe.risk, "delta": self.recipe.delta}
            return certify(
                *sides, groups=[case.split_key for case in part], seed=self.recipe.seed, **levels
            ).model_dump(mode="json")

        certificate = Certificate.model_validate(self.steps.once("certificate", made))
        self.progress.step("certify", certificate.summary())
        return certificate

    def _tested(self, variants: Mapping[str, Judge], certificate: Certificate | None) -> Result:
        part = self.parts["test"]

        def made() -> dict[str, Any]:
            runs: dict[str, Sequence[Judged]] = _told(ReviewerAverage(), part)
            if self.baseline is not None:
                runs[self.baseline.name] = self.evidence.with_head(self.baseline, part, "test")
            baselines = runs | _told(Longer(), part) | _told(Majority().fit(self.parts["train"]), part)
            runs |= {name: self.evidence.with_head(judge, part, "test") for name, judge in variants.items()}
            found = compare_on_test(
                runs, self.objective, baselines=baselines, seed=self.recipe.seed, identity=identity(self.judge)
            )
            if certificate is not None and certificate.threshold is not None:
                sides = judge_evidence(runs[COMPILED])
                kept = check(certificate, *sides, groups=[case.split_key for case in part], seed=self.recipe.seed)
                found = found.model_copy(update={"threshold_check": kept})
            self.steps.settle()
            return found.model_dump(mode="json")

        tested = Result.model_validate(self.steps.once("test", made))
        self.progress.step("test", tested.summary)
        return tested

    @property
    def _certifiable(self) -> bool:
        """Whether verdicts are right or wrong: scores of single texts are not."""
        return len(self.cases[0].candidates) > 1

    # what is told

    def _identity(self) -> dict[str, Any]:
        judge = {name: value for name, value in identity(self.judge).items() if name != "data"}
        state, recipe = digest(identity(self.judge)), self.recipe.model_dump(mode="json")
        return {**judge, "state": state, "cases": digest_of(self.cases), "recipe": recipe}

    def _training(self, tested: Result | None, certificate: Certificate | None) -> dict[str, Any]:
        parts = {name: len(part) for name, part in self.parts.items()}
        origin = {"parts": parts, "cases": case_fingerprints(self.cases), "seed": self.recipe.seed}
        return training_record(tested, certificate, origin=origin, spent=self.account.total)


def _told(judge: Judge, part: Sequence[Case]) -> dict[str, Sequence[Judged]]:
    """The verdicts of a judge that asks no model, by its name; none where it cannot judge such cases."""
    try:
        return {judge.name: [Judged.of(case, judge(case)) for case in part]}
    except DeclarationError:
        return {}
