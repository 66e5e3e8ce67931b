"""The two searches of a compilation, for prompts and for structure, within the budget that the test leaves.

A judge that cannot be tested is useless. So a search may spend what remains after the test, at the price of the present
judge, and never takes a structure whose test the budget can no longer pay.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..data import Case, Judged
from ..engines.ledger import Budget
from ..errors import BudgetSpent
from ..judging.judge import Judge
from .checkpoints import Checkpoints
from .cost_account import CostAccount, PerVerdict
from .evidence import Evidence, Interrupted, ProgressCallbacks
from .head.fit import TooFewVerdicts
from .objective import Objective
from .prompts.prompt_state import Wording, worded, wordings_of
from .recipe import Recipe
from .structure.pareto import StructureTrial
from .structure.search import search
from .structure.space import Space, Values, space_of, with_settings
from .structure.study import check_optuna


@dataclass(frozen=True)
class SearchSteps:
    """The searches of one compilation.

    Args:
        space: of the structure search; None leaves it out.
        baselines: the number of baseline judges with a model on the test part.
    """

    recipe: Recipe
    objective: Objective
    space: Values | None
    parts: Mapping[str, Sequence[Case]]
    baselines: int
    checkpoints: Checkpoints
    account: CostAccount
    evidence: Evidence
    progress: ProgressCallbacks
    workers: int

    @property
    def learn(self) -> list[Case]:
        return [*self.parts["train"], *self.parts["select"]]

    def questioned(self, judge: Judge, headed: Judge) -> Judge:
        """The judge with questions learnt from labels; the same object if none was chosen, or the recipe learns none.

        Args:
            headed: the judge with a head, whose disagreement with people is shown to the LM that proposes questions.

        Raises:
            Interrupted: the step was stopped.
        """
        if self.recipe.criteria == "none":
            return judge
        from .criteria.learn import LearntCriteria, learn_criteria, most_expensive, summary_of, with_criteria

        def learned() -> dict[str, Any]:
            others = 1 + (self.recipe.prompts != "none") + (self.space is not None)
            rest = self._rest(others=others, again=len(self.learn), price=most_expensive(judge))
            with self._leaving(judge, rest):
                learnt = learn_criteria(
                    judge,
                    headed,
                    self.parts["train"],
                    self.parts["select"],
                    checkpoints=self.checkpoints,
                    evidence=self.evidence,
                    progress=self.progress,
                    writer=self.recipe.criteria_lm,
                    seed=self.recipe.seed,
                )
            return learnt.model_dump(mode="json")

        try:
            content = self.checkpoints.once("criteria", learned)
        except BudgetSpent:
            none = LearntCriteria(stopped="the budget is needed for the test").model_dump(mode="json")
            content = self.checkpoints.once("criteria", lambda: none, interrupted=bool)
        except TooFewVerdicts as error:
            self.progress.step("criteria", f"left out: {error}")
            return judge
        except KeyboardInterrupt:
            raise Interrupted from None
        with self.checkpoints.reading("criteria"):
            result = LearntCriteria.model_validate(content)
        self.progress.step("criteria", summary_of(result, self.checkpoints.folder))
        return with_criteria(judge, result.questions)

    def prompted(self, judge: Judge) -> Judge:
        """The judge with better prompts; the same object if no wording was better, or the recipe has no prompt search.

        Raises:
            Interrupted: the search was stopped.
        """
        if self.recipe.prompts == "none":
            return judge
        from .prompts.optimise import INTERRUPTED, optimise_prompts

        def optimised() -> dict[str, Any]:
            rest = self._rest(others=1 + (self.space is not None), again=len(self.learn))
            with self._leaving(judge, rest) as budget:
                result = optimise_prompts(
                    judge,
                    self.parts["train"],
                    self.parts["select"],
                    self.recipe.prompt_options(self.objective.name, self.workers, budget),
                    on_trial=lambda trial: self.progress.step("prompts", trial.summary()),
                    stop=self.progress.stop,
                )
            if result.stopped == INTERRUPTED or self.progress.stop.is_set():
                raise Interrupted
            wordings = {path: wording.model_dump(mode="json") for path, wording in wordings_of(result.judge).items()}
            trials = [trial.model_dump(mode="json") for trial in result.trials]
            scores = {"chosen": result.chosen, "before": result.score_before, "after": result.score_after}
            return {**scores, "stopped": result.stopped, "wordings": wordings, "trials": trials}

        try:
            content = self.checkpoints.once("prompts", optimised, interrupted=lambda result: bool(result["stopped"]))
        except BudgetSpent:
            none: dict[str, Any] = {"chosen": 0, "trials": [], "stopped": "budget", "wordings": {}}
            content = self.checkpoints.once("prompts", lambda: none, interrupted=bool)
        except KeyboardInterrupt:  # stopped before the present judge was measured
            raise Interrupted from None
        with self.checkpoints.reading("prompts"):
            self.progress.step("prompts", _prompt_summary(content, self.objective))
            if not content["chosen"]:
                return judge
            wordings = {path: Wording.model_validate(wording) for path, wording in content["wordings"].items()}
        return worded(judge, wordings)

    def structured(self, judge: Judge, *, prompted: bool) -> Judge:
        """The judge with the best structure.

        Args:
            prompted: whether its prompts were optimised on the train part, so that structures are compared on the
                select part only.

        Raises:
            Interrupted: the search was stopped; with the best structure so far if it has judged all cases.
        """
        if self.space is None:
            return judge
        space, seen = self.space, self.parts["select"] if prompted else self.learn
        again = len(self.learn) - len(seen)

        def rest(trial: StructureTrial | None = None) -> float:
            return self._rest(others=1 + prompted, again=again, price=self._relative_price(judge, trial))

        def measured(tried: Judge, cases: Sequence[Case]) -> Sequence[Judged]:
            try:
                return self.evidence.of(tried, cases, "learn")
            except Interrupted:
                return ()

        def searched() -> dict[str, Any]:
            with self._leaving(judge, rest()):
                result = search(
                    judge,
                    seen,
                    space=space,
                    objective=self.objective.name,
                    folder=self.checkpoints.folder,
                    run_judge=measured,
                    trials=self.recipe.trials or 0,
                    seed=self.recipe.seed,
                    fit_head=self.recipe.head,
                    prefer=self.recipe.prefer,
                    cost=self.recipe.cost,
                    per_verdict=self.recipe.per_verdict,
                    affords=lambda trial: self.account.affords(self._price(judge), rest(trial)),
                    on_trial=lambda trial: self.progress.step("structure", trial.summary()),
                )
            if result.ended == "interrupted" or self.progress.stop.is_set():
                raise Interrupted(None if again else with_settings(judge, result.settings))
            return {**result.model_dump(mode="json"), "settings": result.settings, "summary": result.summary()}

        try:
            content = self.checkpoints.once(
                "structure", searched, interrupted=lambda result: bool(result["ended"] == "budget")
            )
        except BudgetSpent:
            none: dict[str, Any] = {"trials": [], "settings": {}, "summary": [("ended", "budget")]}
            content = self.checkpoints.once("structure", lambda: none, interrupted=bool)
        except TooFewVerdicts as error:
            self.progress.step("structure", f"left out: {error}")
            return judge
        except KeyboardInterrupt:  # stopped before the present judge was measured
            raise Interrupted from None
        with self.checkpoints.reading("structure"):
            for title, text in content["summary"]:
                self.progress.step("structure", f"{title}: {text}")
            return with_settings(judge, content["settings"])

    # the cost of the following steps

    def _leaving(self, judge: Judge, verdicts: float) -> AbstractContextManager[Budget]:
        """A context that reserves enough of the budget for so many of the judge's verdicts."""
        return self.account.with_reserve(self._price(judge), verdicts)

    def _price(self, judge: Judge) -> PerVerdict:
        return PerVerdict.of(self.evidence.of(judge, self.learn, "learn"))

    def _relative_price(self, judge: Judge, trial: StructureTrial | None) -> float:
        """The price of a structure's verdict, relative to the judge's."""
        price = self._price(judge)
        if trial is None or not price.calls:
            return 1.0
        by_tokens = trial.tokens / price.tokens if trial.tokens and price.tokens else 0.0
        return max(trial.calls / price.calls, by_tokens)

    def _rest(self, *, others: int, again: int, price: float = 1.0) -> float:
        """The number of verdicts after a search, in units of the present judge's verdicts.

        Args:
            others: judges to test beside the result of the search, without the baselines.
            again: cases of train and select that the result of the search has not judged.
            price: of its verdict, relative to that of the others.
        """
        test, certify = len(self.parts["test"]), len(self.parts.get("certify", ()))
        return (others + self.baselines) * test + price * (test + certify + again)


def searched_space(recipe: Recipe, judge: Judge, cases: Sequence[Case]) -> Values | None:
    """The space of the structure search; None if the recipe leaves it out, or the judge has nothing to search.

    Raises:
        DeclarationError: a name or a value that the judge cannot take; or Optuna is not installed.
    """
    space: Values = recipe.space or space_of(judge)
    if not any(case.is_pair for case in cases):
        idle = {name for name, hparam in judge.hparams().items() if hparam.of_pairs}
        space = {name: values for name, values in space.items() if name not in idle}
    if not recipe.trials or not Space.of(judge, space).values:
        return None
    check_optuna()
    return space


def check_prompts(recipe: Recipe, judge: Judge, objective: Objective, workers: int) -> None:
    """Raise DeclarationError at once for what the prompt search would refuse after money was spent."""
    if recipe.prompts != "none":
        from .prompts.optimise import check_options

        check_options(judge, recipe.prompt_options(objective.name, workers))


def _prompt_summary(content: Mapping[str, Any], objective: Objective) -> str:
    if not content["trials"]:
        return "left out: the budget is needed for the test"
    number, trials, stopped = content["chosen"], len(content["trials"]), content["stopped"]
    chosen = f"wording {number} of {trials}" if number else "no other wording was better"
    ended = f"; stopped early: {stopped}" if stopped else ""
    return f"{chosen}; {objective.title} {content['before']:.3f} -> {content['after']:.3f} on the select part{ended}"
