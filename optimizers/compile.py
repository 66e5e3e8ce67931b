"""Compile a judge: split, record, fit a head, optimise prompts, search structure, certify, and test once.

Every step leaves a file in the compilation's folder and its evidence in run folders, so that a kill at any moment loses
little and the same call goes on to the same judge. The test part is judged once, at the end.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..data import Case, Judged
from ..data.split import split
from ..engines.ledger import Budget
from ..errors import BudgetSpent, DeclarationError
from ..programs.baselines import Longer, Majority, ReviewerAverage
from ..programs.head import Head
from ..programs.judge import Judge
from .certificates.certify import Certificate, certify, check
from .evidence import Evidence, Interrupted, Telling, digest, digest_of, plain, seen_cases, with_head
from .head.fit import fit
from .objective import OBJECTIVES, Objective, default_for
from .prompts.wording import Wording, demonstrated, worded, wordings_of
from .recipe import Recipe
from .record import identity
from .result import COMPILED, UNCOMPILED, Result, result
from .spending import PerVerdict, Spending
from .steps import Steps
from .structure.search import search
from .structure.space import space_of, with_settings
from .training import training_record

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
        spending: what this compilation has cost so far.

    Raises:
        TooFewLabels: fewer than 40 labelled cases.
        DeclarationError: an objective that is not for these cases.
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
        telling: Telling | None = None,
    ) -> None:
        self.judge, self.recipe, self.workers, self.telling = plain(judge), recipe, workers, telling or Telling()
        self.baseline = baseline
        self.cases = [case for case in cases if case.label is not None]
        if len(self.cases) < LEAST:
            raise TooFewLabels(
                f"compile: {len(self.cases)} labelled cases; at least {LEAST} are needed to learn from some and test "
                "on others. Label more, and see power in docs/measuring.md for how many show a difference."
            )
        self.objective = _objective(recipe, self.cases)
        self.steps = Steps(folder, self._identity())
        self.spending = Spending(folder / "spent.json", budget)
        self.evidence = Evidence(folder / "evidence", self.spending, self.telling, workers)
        self.parts = self._split()
        self._best: Judge | None = None

    def run(self) -> Compiled:
        """The compiled judge, or what an earlier call left to do of it.

        Raises:
            Interrupted: it was stopped.
            BudgetSpent: before the test was done; the same call with more goes on.
        """
        with self.spending.sitting():
            variants = self._learnt()
            final = variants[COMPILED]
            certificate = self._certified(final)
            tested = self._tested(variants, certificate)
        if certificate is not None:
            final.threshold = certificate.threshold
        return Compiled(final, tested, certificate, self._training(tested, certificate))

    def best_so_far(self) -> tuple[Judge, dict[str, Any]] | None:
        """The judge of the steps that are done, not tested, and its training record; None when nothing was learnt."""
        return None if self._best is None else (self._best, self._training(None, None))

    # the steps

    def _split(self) -> dict[str, list[Case]]:
        by_id = {case.id: case for case in self.cases}

        def dealt() -> dict[str, Any]:
            parts = split(self.cases, parts=self.recipe.parts.shares, seed=self.recipe.seed)
            return {name: [case.id for case in part] for name, part in parts.items()}

        parts = {name: [by_id[one] for one in ids] for name, ids in self.steps.once("split", dealt).items()}
        self.telling.step("split", ", ".join(f"{name} {len(part)}" for name, part in parts.items()))
        return parts

    def _learnt(self) -> dict[str, Judge]:
        """The judges to test: uncompiled, after each step that added something, and compiled."""
        learn = [*self.parts["train"], *self.parts["select"]]
        variants, headed = {UNCOMPILED: self.judge}, self._headed(self.judge, learn)
        if self.recipe.head:
            variants["head"] = headed
        judge = self._prompted(self.judge)
        if judge is not self.judge:
            headed = variants["head and prompts" if self.recipe.head else "prompts"] = self._headed(judge, learn)
        structured = self._structured(judge, learn)
        if identity(structured) != identity(judge):
            return {**variants, COMPILED: self._headed(structured, learn)}
        steps = {name: one for name, one in variants.items() if name == UNCOMPILED or one is not headed}
        return {**steps, COMPILED: headed}

    def _headed(self, judge: Judge, learn: Sequence[Case]) -> Judge:
        """The judge with a head fitted to its evidence, less that of cases that its own demos show; as it is when the
        recipe has no head."""
        evidence = self.evidence.of(judge, learn, "learn")
        if not self.recipe.head:
            self._best = judge
            return judge

        def fitted() -> dict[str, Any]:
            taught = [pair for pair in zip(learn, evidence, strict=True) if not demonstrated(judge, pair[0])]
            found = fit(*zip(*taught, strict=True), seed=self.recipe.seed, length=self.recipe.length)
            return {"head": found.head.model_dump(mode="json"), "tried": [one.model_dump() for one in found.candidates]}

        told = self.steps.once(f"head-{digest(identity(judge))}", fitted)
        self.telling.step("head", f"fitted to {told['head']['n']} cases: {told['head']['fitted']}")
        self._best = with_head(judge, HEADS.validate_python(told["head"]))
        return self._best

    def _prompted(self, judge: Judge) -> Judge:
        """The judge with better prompts; itself when none were better on the select part, or none were asked for."""
        if self.recipe.prompts == "none":
            return judge
        from .prompts.optimise import INTERRUPTED, optimise_prompts

        options = self.recipe.prompt_options(self.objective.name, self.workers)

        def optimised() -> dict[str, Any]:
            with self._search(judge):
                found = optimise_prompts(
                    judge,
                    self.parts["train"],
                    self.parts["select"],
                    options,
                    on_trial=lambda trial: self.telling.step("prompts", trial.told()),
                    stop=self.telling.stop,
                )
            if found.stopped == INTERRUPTED or self.telling.stop.is_set():
                raise Interrupted
            wordings = {path: one.model_dump(mode="json") for path, one in wordings_of(found.judge).items()}
            trials = [trial.model_dump(mode="json") for trial in found.trials]
            told = {"chosen": found.chosen, "before": found.score_before, "after": found.score_after}
            return {**told, "stopped": found.stopped, "wordings": wordings, "trials": trials}

        try:
            told = self.steps.once("prompts", optimised)
        except BudgetSpent:
            told = self.steps.once("prompts", lambda: {"chosen": 0, "trials": [], "stopped": "budget", "wordings": {}})
        self.telling.step("prompts", _prompts_told(told, self.objective))
        if not told["chosen"]:
            return judge
        return worded(judge, {path: Wording.model_validate(one) for path, one in told["wordings"].items()})

    def _structured(self, judge: Judge, learn: Sequence[Case]) -> Judge:
        """The judge with the structure that the search takes; prompts have seen the train part, so that structures
        for them are compared on the select part alone."""
        space = self.recipe.space or space_of(judge)
        if not self.recipe.trials or not space:
            return judge
        seen = self.parts["select"] if judge is not self.judge else learn

        def searched() -> dict[str, Any]:
            with self._search(judge):
                found = search(
                    judge,
                    seen,
                    space=space,
                    objective=self.objective.name,
                    folder=self.steps.folder,
                    measure=lambda tried, cases: self.evidence.of(tried, cases, "learn"),
                    trials=self.recipe.trials,
                    seed=self.recipe.seed,
                    fit_head=self.recipe.head,
                    prefer=self.recipe.prefer,
                    on_trial=lambda trial: self.telling.step("structure", trial.told()),
                )
            if found.ended == "interrupted" or self.telling.stop.is_set():
                raise Interrupted
            return {**found.model_dump(mode="json"), "settings": found.settings, "told": found.told()}

        try:
            told = self.steps.once("structure", searched)
        except BudgetSpent:
            told = self.steps.once("structure", lambda: {"trials": [], "settings": {}, "told": [("ended", "budget")]})
        except KeyboardInterrupt:  # stopped before the first trial was done
            raise Interrupted from None
        for what, words in told["told"]:
            self.telling.step("structure", f"{what}: {words}")
        return with_settings(judge, told["settings"])

    def _search(self, judge: Judge) -> Any:
        """A context in which only so much is spent as leaves the certificate and the test affordable."""
        learn = [*self.parts["train"], *self.parts["select"]]
        each = PerVerdict.of(self.evidence.of(judge, learn, "learn"))
        judges = 2 + (self.baseline is not None) + (self.recipe.prompts != "none")
        still = judges * len(self.parts["test"]) + len(self.parts.get("certify", ()))
        again = len(learn) if self.recipe.prompts != "none" and judge is self.judge else 0
        return self.spending.with_reserve(each, still + again)

    def _certified(self, judge: Judge) -> Certificate | None:
        part = self.parts.get("certify")
        if not part or len(part[0].candidates) < 2:
            return None

        def made() -> dict[str, Any]:
            sides = _certainties(self.evidence.decided(judge, part, "certify"))
            levels = {"risk": self.recipe.risk, "delta": self.recipe.delta}
            return certify(
                *sides, groups=[case.split_key for case in part], seed=self.recipe.seed, **levels
            ).model_dump(mode="json")

        certificate = Certificate.model_validate(self.steps.once("certificate", made))
        self.telling.step("certify", certificate.told())
        return certificate

    def _tested(self, variants: Mapping[str, Judge], certificate: Certificate | None) -> Result:
        part = self.parts["test"]

        def made() -> dict[str, Any]:
            runs: dict[str, Sequence[Judged]] = _told(ReviewerAverage(), part)
            if self.baseline is not None:
                runs[self.baseline.name] = self.evidence.decided(self.baseline, part, "test")
            bars = runs | _told(Longer(), part) | _told(Majority().fit(self.parts["train"]), part)
            runs |= {name: self.evidence.decided(judge, part, "test") for name, judge in variants.items()}
            found = result(runs, self.objective, bars=bars, seed=self.recipe.seed, identity=identity(self.judge))
            if certificate is not None and certificate.threshold is not None:
                sides = _certainties(runs[COMPILED])
                kept = check(certificate, *sides, groups=[case.split_key for case in part], seed=self.recipe.seed)
                found = found.model_copy(update={"kept": kept})
            return found.model_dump(mode="json")

        tested = Result.model_validate(self.steps.once("test", made))
        self.telling.step("test", tested.told)
        return tested

    # what is told

    def _identity(self) -> dict[str, Any]:
        judge = {name: value for name, value in identity(self.judge).items() if name != "data"}
        state, recipe = digest(identity(self.judge)), self.recipe.model_dump(mode="json")
        return {**judge, "state": state, "cases": digest_of(self.cases), "recipe": recipe}

    def _training(self, tested: Result | None, certificate: Certificate | None) -> dict[str, Any]:
        parts = {name: len(part) for name, part in self.parts.items()}
        origin = {"parts": parts, "cases": seen_cases(self.cases), "seed": self.recipe.seed}
        return training_record(tested, certificate, origin=origin, spent=self.spending.total)


def _objective(recipe: Recipe, cases: Sequence[Case]) -> Objective:
    if recipe.objective is None:
        return default_for(cases)
    if recipe.objective not in OBJECTIVES:
        raise DeclarationError(f"objective {recipe.objective!r}: there is none. Use one of {', '.join(OBJECTIVES)}.")
    return OBJECTIVES[recipe.objective]


def _certainties(verdicts: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """(n,) certainties, NaN without a verdict, and whether people said the same."""
    sure = [math.nan if one.status != "scored" or one.certainty is None else one.certainty for one in verdicts]
    return sure, [one.winner == one.human_winner for one in verdicts]


def _told(judge: Judge, part: Sequence[Case]) -> dict[str, Sequence[Judged]]:
    """The verdicts of a judge that asks no model, by its name; none where it cannot judge such cases."""
    try:
        return {judge.name: [Judged.of(case, judge(case)) for case in part]}
    except DeclarationError:
        return {}


def _prompts_told(told: Mapping[str, Any], objective: Objective) -> str:
    if not told["trials"]:
        return "left out: the budget is needed for the test"
    kept = f"wording {told['chosen']} of {len(told['trials'])}" if told["chosen"] else "no other wording was better"
    return f"{kept}; {objective.name} {told['before']:.3f} -> {told['after']:.3f} on the select part"
