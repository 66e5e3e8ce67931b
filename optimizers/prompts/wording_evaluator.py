"""Judge cases with any wording: a copy of the judge per wording, and all verdicts of every wording."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import dspy

from ...data import Case, Judged, Verdict
from ...engines.ledger import charge_to
from ...engines.pace import current_pace, paced
from ...engines.parallel import stream
from ...errors import Infrastructure
from ...judging.judge import Judge
from ...judging.sampling import sampled
from ...judging.stage import Stage
from .limits import BudgetGuard, ParseFailures, Stopped
from .prompt_state import Wordings, digest_of, plain_inputs, plain_outputs, stages_of, worded

UNFIT = ("parse_failure", "refusal")  # reasons that the wording of a stage can fix
MOST_COPIES = 32  # of the judge, one per wording


class StageCall(NamedTuple):
    """One call of a stage, as JSON."""

    stage: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


@dataclass
class EvaluatedWording:
    """A wording and its verdicts so far, by case id."""

    wordings: Wordings
    verdicts: dict[str, Judged] = field(default_factory=dict)


class WordingEvaluator:
    """Judges cases with any wording, and remembers every verdict; all copies of a `JudgeProxy` share one evaluator.

    `on_verdict` is called with the digest of the wording after each new verdict, from any thread.

    Args:
        judge: gives structure, LMs and head.
        guard: checks the budget before each case, and the cost of a trial before each new wording.
    """

    def __init__(self, judge: Judge, guard: BudgetGuard) -> None:
        self.judge, self.guard, self._pace = judge, guard, current_pace()
        self.on_verdict: Callable[[str], None] = lambda digest: None
        self.trial_cost = 0.0  # of one wording on all select cases, as a proportion of the budget
        self.tried: dict[str, EvaluatedWording] = {}
        self._copies: dict[str, Judge] = {}
        self._lock = threading.RLock()
        self._running, self._closed, self._idle = 0, False, threading.Condition()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @contextmanager
    def running(self) -> Iterator[None]:
        """A case of an optimizer in flight; after `close` no case begins."""
        with self._idle:
            if self._closed:
                raise Stopped(KeyboardInterrupt())
            self._running += 1
        try:
            yield
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    def close(self) -> None:
        """Wait for an optimizer's cases in flight: DSPy's threads continue when an evaluation ends early."""
        with self._idle:
            self._closed = True
            self._idle.wait_for(lambda: not self._running)

    def judge_case(
        self, wordings: Wordings, case: Case, *, sample: int = 0, steps: bool = False
    ) -> tuple[Verdict, list[StageCall]]:
        """The verdict with this wording and, with `steps`, its stage calls in an order that threads cannot change.

        Args:
            sample: 0 is greedy; any other number samples generated answers, whose verdicts are not remembered.

        Raises:
            BudgetSpent, KeyboardInterrupt: see `BudgetGuard.check`.
            Infrastructure: the server failed, which does not depend on the wording.
        """
        digest = digest_of(wordings)
        with self._lock:
            if digest not in self.tried:
                self.guard.check(ahead=self.trial_cost)
            tried = self.tried.setdefault(digest, EvaluatedWording(wordings))
        if sample == 0 and not steps and case.id in tried.verdicts:
            return tried.verdicts[case.id], []
        self.guard.check()
        verdict, taken = self._ask(self._copy(digest, wordings), case, sample)
        if verdict.reason == "infrastructure":
            raise Infrastructure(verdict.detail)
        if sample == 0 and case.id not in tried.verdicts:
            tried.verdicts[case.id] = Judged.of(case, verdict)
            self.on_verdict(digest)
        return verdict, taken

    def rename(self, digest: str, wordings: Wordings) -> None:
        """Move the verdicts of a wording to an equivalent wording, such as the same without some stages."""
        self.tried[digest_of(wordings)] = EvaluatedWording(wordings, self.tried.pop(digest).verdicts)

    def judge_all(self, wordings: Wordings, cases: Sequence[Case], *, workers: int) -> set[str]:
        """Judge the cases without a verdict of this wording; returns the stages that were called.

        Raises:
            BudgetSpent, KeyboardInterrupt, Infrastructure, DeclarationError: as in `judge_case`.
        """

        def called(case: Case) -> set[str]:
            return {step.stage for step in self.judge_case(wordings, case, steps=True)[1]}

        digest, stop = digest_of(wordings), self.guard.stop
        known = self.tried[digest].verdicts if digest in self.tried else {}
        missing = [case for case in cases if case.id not in known]
        stages = [names for _, names in stream(called, missing, workers=workers, stop=stop, failed=lambda _: None)]
        if len(stages) < len(missing):
            raise KeyboardInterrupt
        return set().union(*stages)

    def _copy(self, digest: str, wordings: Wordings) -> Judge:
        with self._lock:
            if digest not in self._copies:
                while len(self._copies) >= MOST_COPIES:
                    del self._copies[next(iter(self._copies))]
                self._copies[digest] = worded(self.judge, wordings)
            return self._copies[digest]

    def _ask(self, judge: Judge, case: Case, sample: int) -> tuple[Verdict, list[StageCall]]:
        failures, trace = ParseFailures(), list[tuple[Any, dict[str, Any], Any]]()
        with ExitStack() as stack:
            stack.enter_context(charge_to(self.guard.ledger))
            stack.enter_context(paced(self._pace))  # DSPy's threads have no context of ours
            stack.enter_context(dspy.context(trace=trace, callbacks=[*dspy.settings.callbacks, failures]))
            if sample:
                stack.enter_context(sampled(sample, temperature=1.0, top_p=None))
            verdict = judge(case)
        return verdict, sorted(_steps(judge, trace, failures, verdict), key=_in_order)


def _steps(
    judge: Judge, trace: Iterable[tuple[Any, dict[str, Any], Any]], failures: ParseFailures, verdict: Verdict
) -> list[StageCall]:
    """The calls of the stages; unusable answers are included only if there is no verdict because of them."""
    owners = {id(stage.ask): (path, stage) for path, stage in stages_of(judge).items()}
    calls = []
    for predictor, inputs, outputs in trace:
        if id(predictor) in owners:
            path, stage = owners[id(predictor)]
            if verdict.status != "unscored" and not _usable(stage, outputs):
                continue
            calls.append(StageCall(path, plain_inputs(stage, inputs), plain_outputs(stage, outputs)))
    if verdict.reason in UNFIT:
        for predictor, inputs, answer in failures.answers:
            if id(predictor) in owners:
                path, stage = owners[id(predictor)]
                calls.append(StageCall(path, plain_inputs(stage, inputs), {"answer": answer}))
    return calls


def _usable(stage: Stage, outputs: Any) -> bool:
    try:
        if stage.check is not None:
            stage.check(outputs)
    except ValueError:
        return False
    return True


def _in_order(step: StageCall) -> str:
    return json.dumps(step, sort_keys=True, default=str)
