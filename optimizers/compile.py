"""Compile a judge: split, record, fit a head, optimise prompts, search structure, certify, and test once.

Every step leaves a file in the compilation's folder and its evidence in run folders, so that a kill at any moment loses
little and the same command goes on to the same judge. The test part is judged once, at the end.
"""

import copy
import hashlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..data import Case, Judged
from ..data.split import split
from ..errors import DeclarationError
from ..programs.head import Head
from ..programs.judge import Judge
from .certificates.certify import Certificate, certify
from .head.fit import Fitted, fit
from .objective import OBJECTIVES, Objective, default_for
from .recipe import Recipe
from .record import OnVerdict, identity, record
from .result import COMPILED, UNCOMPILED, Result, Row, result
from .steps import Steps
from .structure.search import search
from .structure.space import space_of, with_settings

LEAST = 40  # labelled cases: below, no part has enough to learn from or to test on
HEADS: TypeAdapter[Any] = TypeAdapter(Head)


class Interrupted(Exception):
    """Somebody asked to stop; what is done is kept, and the same command goes on."""


@dataclass
class Telling:
    """Where a compilation tells how far it is."""

    step: Callable[[str, str], None] = lambda name, told: None
    on_verdict: OnVerdict | None = None
    stop: threading.Event = field(default_factory=threading.Event)


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

    Raises:
        DeclarationError: too few labelled cases, or an objective that is not for them.
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
        telling: Telling | None = None,
    ) -> None:
        self.judge, self.recipe, self.workers, self.telling = plain(judge), recipe, workers, telling or Telling()
        self.baseline = baseline
        self.cases = [case for case in cases if case.label is not None]
        if len(self.cases) < LEAST:
            raise DeclarationError(
                f"compile: {len(self.cases)} labelled cases; at least {LEAST} are needed to learn from some and test "
                "on others. Label more, and see power in docs/measuring.md for how many show a difference."
            )
        self.objective = _objective(recipe, self.cases)
        self.steps = Steps(folder, self._identity())
        self.parts = self._split()

    def run(self) -> Compiled:
        """The compiled judge, or what an earlier call left to do of it.

        Raises:
            Interrupted: it was stopped.
            BudgetSpent: before the test was done; the same command with more goes on.
        """
        learn = [*self.parts["train"], *self.parts["select"]]
        judge, variants = self.judge, {UNCOMPILED: self.judge}
        variants["head"] = final = self._headed(judge, learn)
        prompted = self._prompted(judge)
        if prompted is not None:
            judge = prompted
            variants["head and prompts"] = final = self._headed(judge, learn)
        structured = self._structured(judge, learn)
        if identity(structured) != identity(judge):
            final = self._headed(structured, learn)
        else:
            variants.popitem()  # nothing was added to it: it is the compiled judge
        certificate = self._certified(final)
        tested = self._tested({**variants, COMPILED: final})
        if certificate is not None:
            final.threshold = certificate.threshold
        return Compiled(final, tested, certificate, self._training(tested, certificate))

    # the steps

    def _split(self) -> dict[str, list[Case]]:
        by_id = {case.id: case for case in self.cases}

        def dealt() -> dict[str, Any]:
            parts = split(self.cases, parts=self.recipe.parts.shares, seed=self.recipe.seed)
            return {name: [case.id for case in part] for name, part in parts.items()}

        return {name: [by_id[one] for one in ids] for name, ids in self.steps.once("split", dealt).items()}

    def _headed(self, judge: Judge, learn: Sequence[Case]) -> Judge:
        """The judge with a head fitted to its evidence; as it is when the recipe has no head."""
        evidence = self._recorded(judge, learn, "learn")
        if not self.recipe.head:
            return judge

        def fitted() -> dict[str, Any]:
            found = self._fit(learn, evidence)
            return {"head": found.head.model_dump(mode="json"), "tried": [one.model_dump() for one in found.candidates]}

        told = self.steps.once(f"head-{_digest(identity(judge))}", fitted)
        self.telling.step("head", f"fitted to {len(learn)} cases: {told['head']['fitted']}")
        return with_head(judge, HEADS.validate_python(told["head"]))

    def _fit(self, cases: Sequence[Case], evidence: Sequence[Judged]) -> Fitted:
        return fit(cases, evidence, seed=self.recipe.seed, length=self.recipe.length)

    def _prompted(self, judge: Judge) -> Judge | None:
        """The judge with better prompts; None when none were better on the select part, or none were asked for."""
        if self.recipe.prompts == "none":
            return None
        from .prompts.methods import PromptOptions
        from .prompts.optimise import INTERRUPTED, optimise_prompts
        from .prompts.wording import Wording, worded, wordings_of

        options = PromptOptions(
            method=self.recipe.prompts,
            objective=self.objective.name,
            prompt_lm=self.recipe.prompt_lm,
            stages=self.recipe.stages or None,
            trials=self.recipe.prompt_trials,
            workers=self.workers,
            seed=self.recipe.seed,
        )

        def optimised() -> dict[str, Any]:
            found = optimise_prompts(judge, self.parts["train"], self.parts["select"], options, stop=self.telling.stop)
            if found.stopped == INTERRUPTED or self.telling.stop.is_set():
                raise Interrupted
            wordings = {path: one.model_dump(mode="json") for path, one in wordings_of(found.judge).items()}
            trials = [trial.model_dump(mode="json") for trial in found.trials]
            told = {"chosen": found.chosen, "before": found.score_before, "after": found.score_after}
            return {**told, "stopped": found.stopped, "wordings": wordings, "trials": trials}

        told = self.steps.once("prompts", optimised)
        kept = f"wording {told['chosen']} of {len(told['trials'])}" if told["chosen"] else "no other wording was better"
        self.telling.step(
            "prompts", f"{kept}; {self.objective.name} {told['before']:.3f} -> {told['after']:.3f} on the select part"
        )
        if not told["chosen"]:
            return None
        return worded(judge, {path: Wording.model_validate(one) for path, one in told["wordings"].items()})

    def _structured(self, judge: Judge, learn: Sequence[Case]) -> Judge:
        """The judge with the structure that the search takes; prompts have seen the train part, so that they are
        compared on the select part alone."""
        if not self.recipe.trials:
            return judge
        space = self.recipe.space or space_of(judge)
        if not space:
            return judge
        seen = self.parts["select"] if judge is not self.judge else learn

        def searched() -> dict[str, Any]:
            found = search(
                judge,
                seen,
                space=space,
                objective=self.objective.name,
                folder=self.steps.folder,
                measure=lambda tried, cases: self._recorded(tried, cases, "learn"),
                trials=self.recipe.trials,
                seed=self.recipe.seed,
                fit_head=self.recipe.head,
                prefer=self.recipe.prefer,
            )
            if found.ended == "interrupted" or self.telling.stop.is_set():
                raise Interrupted
            return {**found.model_dump(mode="json"), "settings": found.settings, "told": found.told()}

        try:
            told = self.steps.once("structure", searched)
        except KeyboardInterrupt:  # stopped before the first trial was done
            raise Interrupted from None
        for what, words in told["told"]:
            self.telling.step("structure", f"{what}: {words}")
        return with_settings(judge, told["settings"])

    def _certified(self, judge: Judge) -> Certificate | None:
        part = self.parts.get("certify")
        if not part or len(part[0].candidates) < 2:
            return None

        def made() -> dict[str, Any]:
            verdicts = sorted(self._decided(judge, part, "certify"), key=lambda one: one.case_id)
            sure = [math.nan if one.status != "scored" or one.certainty is None else one.certainty for one in verdicts]
            right = [one.winner == one.human_winner for one in verdicts]
            groups = [one.group or one.case_id for one in verdicts]
            found = certify(
                sure, right, risk=self.recipe.risk, delta=self.recipe.delta, groups=groups, seed=self.recipe.seed
            )
            return found.model_dump(mode="json")

        certificate = Certificate.model_validate(self.steps.once("certificate", made))
        self.telling.step("certify", certificate.told())
        return certificate

    def _tested(self, variants: Mapping[str, Judge]) -> Result:
        part = self.parts["test"]

        def made() -> dict[str, Any]:
            runs: dict[str, Sequence[Judged]] = {}
            if self.baseline is not None:
                runs[self.baseline.name] = self._recorded(self.baseline, part, "test")
            runs |= {name: self._decided(judge, part, "test") for name, judge in variants.items()}
            told = identity(self.judge)
            return result(runs, self.objective, seed=self.recipe.seed, identity=told).model_dump(mode="json")

        tested = Result.model_validate(self.steps.once("test", made))
        self.telling.step("test", tested.told)
        return tested

    # evidence

    def _recorded(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The judge's own verdicts, without a head; judged once a part.

        Raises:
            Interrupted: it was stopped before all were judged.
        """
        bare = plain(judge)
        folder = self.steps.folder / "evidence" / f"{part}-{_digest(identity(bare))}"
        found = record(
            bare, cases, folder, workers=self.workers, on_verdict=self.telling.on_verdict, stop=self.telling.stop
        )
        if len(found) < len(cases):
            raise Interrupted
        return found

    def _decided(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The verdicts with the judge's head, all kept."""
        verdicts = self._recorded(judge, cases, part)
        if judge.head is None:
            return verdicts
        return [Judged.of(case, judge.head(case, one)) for case, one in zip(cases, verdicts, strict=True)]

    # what is told

    def _identity(self) -> dict[str, Any]:
        told = "\n".join(case.model_dump_json() for case in self.cases)
        data = hashlib.sha256(told.encode()).hexdigest()
        judge = {name: value for name, value in identity(self.judge).items() if name != "data"}
        return {
            **judge,
            "state": _digest(identity(self.judge)),
            "cases": data,
            "recipe": self.recipe.model_dump(mode="json"),
        }

    def _training(self, tested: Result, certificate: Certificate | None) -> dict[str, Any]:
        """The training record of the judge file."""
        rows = {
            row.name: {
                "figures": {
                    one.name: one.model_dump(mode="json") for one in row.evaluation.sections.get("agreement", ())
                }
                | {one.name: one.model_dump(mode="json") for one in row.evaluation.sections.get("correlation", ())},
                "calls": row.calls,
                "tokens": row.tokens,
            }
            for row in tested.rows
        }
        return {
            "before": _accuracy(tested.row(UNCOMPILED)),
            "after": _accuracy(tested.row(COMPILED)),
            "objective": tested.objective,
            "outcome": tested.outcome,
            "told": tested.told,
            "parts": {name: len(part) for name, part in self.parts.items()},
            "cases": self._identity()["cases"],
            "seed": self.recipe.seed,
            "test": rows,
            "baselines": [one.model_dump(mode="json") for one in tested.baselines],
            "certificate": certificate.model_dump(mode="json") if certificate else None,
        }


def _accuracy(row: Row) -> dict[str, Any] | None:
    """Hits and n of the test part, with the interval; None for judges of scores."""
    figure = row.evaluation.measure("accuracy")
    if figure is None or figure.value is None:
        return None
    return {"hits": round(figure.value * figure.n), "n": figure.n, "low": figure.low, "high": figure.high}


def plain(judge: Judge) -> Judge:
    """A copy without head and threshold: what evidence is recorded of."""
    bare: Judge = judge.deepcopy()
    bare.head, bare.threshold = None, None
    return bare


def with_head(judge: Judge, head: Head) -> Judge:
    """A copy with this head."""
    headed = plain(judge)
    headed.head = copy.deepcopy(head)
    return headed


def _objective(recipe: Recipe, cases: Sequence[Case]) -> Objective:
    if recipe.objective is None:
        return default_for(cases)
    if recipe.objective not in OBJECTIVES:
        raise DeclarationError(f"objective {recipe.objective!r}: there is none. Use one of {', '.join(OBJECTIVES)}.")
    return OBJECTIVES[recipe.objective]


def _digest(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest()[:12]
