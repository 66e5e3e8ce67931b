"""The two searches of a compilation, for prompts and for structure, each within what the rest of it will cost.

A judge that was found but cannot be tested is worth nothing. So a search may spend what is left when the test is paid
for at the price of the judge as it stands, and takes no structure whose own test can no longer be paid.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..data import Case, Judged
from ..engines.ledger import Budget
from ..errors import BudgetSpent
from ..judging.judge import Judge
from .checkpoints import Steps
from .cost_account import CostAccount, PerVerdict
from .evidence import Evidence, Interrupted, ProgressCallbacks
from .head.fit import TooFewVerdicts
from .objective import Objective
from .prompts.prompt_state import Wording, worded, wordings_of
from .recipe import Recipe
from .structure.pareto import StructureTrial
from .structure.search import search
from .structure.space import Space, Values, space_of, with_settings

Told = Mapping[str, Any]


@dataclass(frozen=True)
class Searches:
    """The searches of one compilation; the arguments are its own.

    Args:
        space: what the structure search tries; None leaves it out.
        plain: judges on the test part beside the uncompiled one and those that are found: the baseline.
    """

    recipe: Recipe
    objective: Objective
    space: Values | None
    parts: Mapping[str, Sequence[Case]]
    plain: int
    steps: Steps
    account: CostAccount
    evidence: Evidence
    progress: ProgressCallbacks
    workers: int

    @property
    def learn(self) -> list[Case]:
        return [*self.parts["train"], *self.parts["select"]]

    def prompted(self, judge: Judge) -> Judge:
        """The judge with better prompts; itself when none were better on the select part, or none were asked for.

        Raises:
            Interrupted: it was stopped.
        """
        if self.recipe.prompts == "none":
            return judge
        from .prompts.optimise import INTERRUPTED, optimise_prompts

        def optimised() -> dict[str, Any]:
            rest = self._rest(others=1 + (self.space is not None), again=len(self.learn))
            with self._leaving(judge, rest) as budget:
                found = optimise_prompts(
                    judge,
                    self.parts["train"],
                    self.parts["select"],
                    self.recipe.prompt_options(self.objective.name, self.workers, budget),
                    on_trial=lambda trial: self.progress.step("prompts", trial.summary()),
                    stop=self.progress.stop,
                )
            if found.stopped == INTERRUPTED or self.progress.stop.is_set():
                raise Interrupted
            wordings = {path: one.model_dump(mode="json") for path, one in wordings_of(found.judge).items()}
            trials = [trial.model_dump(mode="json") for trial in found.trials]
            told = {"chosen": found.chosen, "before": found.score_before, "after": found.score_after}
            return {**told, "stopped": found.stopped, "wordings": wordings, "trials": trials}

        try:
            told = self.steps.once("prompts", optimised, cut_short=lambda made: bool(made["stopped"]))
        except BudgetSpent:
            none: dict[str, Any] = {"chosen": 0, "trials": [], "stopped": "budget", "wordings": {}}
            told = self.steps.once("prompts", lambda: none, cut_short=bool)
        except KeyboardInterrupt:  # stopped before the judge as it stands was measured
            raise Interrupted from None
        self.progress.step("prompts", _told(told, self.objective))
        if not told["chosen"]:
            return judge
        return worded(judge, {path: Wording.model_validate(one) for path, one in told["wordings"].items()})

    def structured(self, judge: Judge, *, prompted: bool) -> Judge:
        """The judge with the structure that the search takes.

        Args:
            prompted: its prompts have seen the train part, so that structures are compared on the select part alone.

        Raises:
            Interrupted: it was stopped; the best so far is told where it has judged all cases to learn from.
        """
        if self.space is None:
            return judge
        space, seen = self.space, self.parts["select"] if prompted else self.learn
        again = len(self.learn) - len(seen)

        def rest(trial: StructureTrial | None = None) -> float:
            return self._rest(others=1 + prompted, again=again, dearer=self._dearer(judge, trial))

        def measured(tried: Judge, cases: Sequence[Case]) -> Sequence[Judged]:
            try:
                return self.evidence.of(tried, cases, "learn")
            except Interrupted:
                return ()

        def searched() -> dict[str, Any]:
            with self._leaving(judge, rest()):
                found = search(
                    judge,
                    seen,
                    space=space,
                    objective=self.objective.name,
                    folder=self.steps.folder,
                    run_judge=measured,
                    trials=self.recipe.trials,
                    seed=self.recipe.seed,
                    fit_head=self.recipe.head,
                    prefer=self.recipe.prefer,
                    affords=lambda trial: self.account.affords(self._price(judge), rest(trial)),
                    on_trial=lambda trial: self.progress.step("structure", trial.summary()),
                )
            if found.ended == "interrupted" or self.progress.stop.is_set():
                raise Interrupted(None if again else with_settings(judge, found.settings))
            return {**found.model_dump(mode="json"), "settings": found.settings, "summary": found.summary()}

        try:
            told = self.steps.once("structure", searched, cut_short=lambda made: made["ended"] == "budget")
        except BudgetSpent:
            none: dict[str, Any] = {"trials": [], "settings": {}, "summary": [("ended", "budget")]}
            told = self.steps.once("structure", lambda: none, cut_short=bool)
        except TooFewVerdicts as error:
            self.progress.step("structure", f"left out: {error}")
            return judge
        except KeyboardInterrupt:  # stopped before the judge as it stands was measured
            raise Interrupted from None
        for what, words in told["summary"]:
            self.progress.step("structure", f"{what}: {words}")
        return with_settings(judge, told["settings"])

    # what the rest will cost

    def _leaving(self, judge: Judge, verdicts: float) -> AbstractContextManager[Budget]:
        """A context in which only so much is spent as leaves enough for so many of the judge's verdicts."""
        return self.account.with_reserve(self._price(judge), verdicts)

    def _price(self, judge: Judge) -> PerVerdict:
        return PerVerdict.of(self.evidence.of(judge, self.learn, "learn"))

    def _dearer(self, judge: Judge, trial: StructureTrial | None) -> float:
        """The price of a structure, where the judge's own is 1."""
        price = self._price(judge)
        if trial is None or not price.calls:
            return 1.0
        by_tokens = trial.tokens / price.tokens if trial.tokens and price.tokens else 0.0
        return max(trial.calls / price.calls, by_tokens)

    def _rest(self, *, others: int, again: int, dearer: float = 1.0) -> float:
        """The verdicts that are still to come after a search, in those of the judge as it stands.

        Args:
            others: judges to test beside the one that is found, less the plain ones.
            again: cases to learn from that it has not judged.
            dearer: its price, where that of the others is 1.
        """
        test, certify = len(self.parts["test"]), len(self.parts.get("certify", ()))
        return (others + self.plain) * test + dearer * (test + certify + again)


def searched_space(recipe: Recipe, judge: Judge) -> Values | None:
    """What the structure search tries; None where the recipe leaves it out, or the judge has nothing to search.

    Raises:
        DeclarationError: a name or a value that the judge cannot take.
    """
    space = recipe.space or space_of(judge)
    return space if recipe.trials and Space.of(judge, space).values else None


def check_prompts(recipe: Recipe, judge: Judge, objective: Objective, workers: int) -> None:
    """Refuse at once what the search of prompts would refuse after money was spent; raises DeclarationError."""
    if recipe.prompts != "none":
        from .prompts.optimise import check_options

        check_options(judge, recipe.prompt_options(objective.name, workers))


def _told(told: Told, objective: Objective) -> str:
    if not told["trials"]:
        return "left out: the budget is needed for the test"
    kept = f"wording {told['chosen']} of {len(told['trials'])}" if told["chosen"] else "no other wording was better"
    ended = f"; stopped early: {told['stopped']}" if told["stopped"] else ""
    return f"{kept}; {objective.name} {told['before']:.3f} -> {told['after']:.3f} on the select part{ended}"
