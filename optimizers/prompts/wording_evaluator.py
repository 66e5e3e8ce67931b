"""Where wordings are tried: a judge's copies, one a wording, and every verdict that any of them gave."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import dspy

from ...data import Case, Judged, Verdict
from ...engines.ledger import charge_to
from ...engines.parallel import stream
from ...errors import Infrastructure
from ...judging.judge import Judge
from ...judging.stage import Stage, sampled
from .limits import Allowance, Failures, Stopped
from .prompt_state import Wordings, digest_of, plain_inputs, plain_outputs, stages_of, worded

UNFIT = ("parse_failure", "refusal")  # what a stage's wording can mend
MOST_COPIES = 32  # of the judge, one a wording


class Step(NamedTuple):
    """One call of a stage, as JSON."""

    stage: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


@dataclass
class Tried:
    """A wording and its verdicts so far, by case id."""

    wordings: Wordings
    verdicts: dict[str, Judged] = field(default_factory=dict)


class Bench:
    """Judges cases with any wording, and remembers every verdict; all copies of a `Judging` share one.

    `on_verdict` is called with the digest of the wording after each new verdict, from any thread.

    Args:
        judge: whose structure, LMs and head are kept.
        allowance: asked before each case, and with what a trial costs before each new wording.
    """

    def __init__(self, judge: Judge, allowance: Allowance) -> None:
        self.judge, self.allowance = judge, allowance
        self.on_verdict: Callable[[str], None] = lambda digest: None
        self.trial_cost = 0.0  # of one wording over all cases to select by, as a share of the budget
        self.tried: dict[str, Tried] = {}
        self._copies: dict[str, Judge] = {}
        self._lock = threading.RLock()
        self._running, self._closed, self._idle = 0, False, threading.Condition()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @contextmanager
    def running(self) -> Iterator[None]:
        """A case of an optimizer's under way; none begins once the bench is closed to optimizers."""
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
        """Wait for an optimizer's cases in flight; DSPy leaves its threads to work on when an evaluation ends early."""
        with self._idle:
            self._closed = True
            self._idle.wait_for(lambda: not self._running)

    def judge_case(
        self, wordings: Wordings, case: Case, *, draw: int = 0, steps: bool = False
    ) -> tuple[Verdict, list[Step]]:
        """The verdict with this wording and, when they are wanted, its steps in an order that threads cannot change.

        Args:
            draw: 0 is greedy; any other number draws written answers anew, which are not remembered.

        Raises:
            BudgetSpent, KeyboardInterrupt: see `Allowance.check`.
            Infrastructure: the server failed, which says nothing of the wording.
        """
        digest = digest_of(wordings)
        with self._lock:
            if digest not in self.tried:
                self.allowance.check(ahead=self.trial_cost)
            tried = self.tried.setdefault(digest, Tried(wordings))
        if draw == 0 and not steps and case.id in tried.verdicts:
            return tried.verdicts[case.id], []
        self.allowance.check()
        verdict, taken = self._ask(self._copy(digest, wordings), case, draw)
        if verdict.reason == "infrastructure":
            raise Infrastructure(verdict.detail)
        if draw == 0 and case.id not in tried.verdicts:
            tried.verdicts[case.id] = Judged.of(case, verdict)
            self.on_verdict(digest)
        return verdict, taken

    def rename(self, digest: str, wordings: Wordings) -> None:
        """Let the verdicts of one wording stand for another that says the same, as when stages were left out."""
        self.tried[digest_of(wordings)] = Tried(wordings, self.tried.pop(digest).verdicts)

    def judge_all(self, wordings: Wordings, cases: Sequence[Case], *, workers: int) -> set[str]:
        """Judge the cases that this wording has no verdict of; gives the stages that were asked.

        Raises:
            BudgetSpent, KeyboardInterrupt, Infrastructure, DeclarationError: as `judge_case`.
        """

        def asked(case: Case) -> set[str]:
            return {step.stage for step in self.judge_case(wordings, case, steps=True)[1]}

        digest, stop = digest_of(wordings), self.allowance.stop
        known = self.tried[digest].verdicts if digest in self.tried else {}
        missing = [case for case in cases if case.id not in known]
        found = [names for _, names in stream(asked, missing, workers=workers, stop=stop, failed=lambda _: "")]
        if len(found) < len(missing):
            raise KeyboardInterrupt
        return set().union(*found)

    def _copy(self, digest: str, wordings: Wordings) -> Judge:
        with self._lock:
            if digest not in self._copies:
                while len(self._copies) >= MOST_COPIES:
                    del self._copies[next(iter(self._copies))]
                self._copies[digest] = worded(self.judge, wordings)
            return self._copies[digest]

    def _ask(self, judge: Judge, case: Case, draw: int) -> tuple[Verdict, list[Step]]:
        failures, trace = Failures(), list[tuple[Any, dict[str, Any], Any]]()
        with ExitStack() as stack:
            stack.enter_context(charge_to(self.allowance.ledger))
            stack.enter_context(dspy.context(trace=trace, callbacks=[*dspy.settings.callbacks, failures]))
            if draw:
                stack.enter_context(sampled(draw, temperature=1.0, top_p=None))
            verdict = judge(case)
        return verdict, sorted(_steps(judge, trace, failures, verdict), key=_in_order)


def _steps(
    judge: Judge, trace: Iterable[tuple[Any, dict[str, Any], Any]], failures: Failures, verdict: Verdict
) -> list[Step]:
    """The stages' calls; answers that could not be used stand among them only where they left no verdict."""
    owners = {id(stage.ask): (path, stage) for path, stage in stages_of(judge).items()}
    found = []
    for predictor, inputs, outputs in trace:
        if id(predictor) in owners:
            path, stage = owners[id(predictor)]
            if verdict.status != "unscored" and not _usable(stage, outputs):
                continue
            found.append(Step(path, plain_inputs(stage, inputs), plain_outputs(stage, outputs)))
    if verdict.reason in UNFIT:
        for predictor, inputs, answer in failures.found:
            if id(predictor) in owners:
                path, stage = owners[id(predictor)]
                found.append(Step(path, plain_inputs(stage, inputs), {"answer": answer}))
    return found


def _usable(stage: Stage, outputs: Any) -> bool:
    try:
        if stage.check is not None:
            stage.check(outputs)
    except ValueError:
        return False
    return True


def _in_order(step: Step) -> str:
    return json.dumps(step, sort_keys=True, default=str)
