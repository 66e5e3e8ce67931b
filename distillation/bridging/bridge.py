"""Bridging of judgments: criterion and guideline are filled in backwards, and checked by judging forward.

The reverse program finds criterion and guideline of a published judgment. With these, Fennec's own stage judges the
responses again: where it comes to another result than the published judgment, all of it is dropped. What is learnt is
the forward judgment, which has the form that a student is asked for; the published one decided that it is right.

`bridge` does it in memory, `bridge_folder` in a folder that can be continued.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...data import Case, Verdict
from ...engines.parallel import stream
from ...engines.stop_rule import Failure
from ...errors import BudgetSpent, DeclarationError, ExecutionError
from ...judging.evidence import rescaled
from ...judging.firewall import as_failure
from ...judging.judge import present
from ...judging.module_base import StagedModule
from ...judging.question import Answer
from ...judging.recorded_calls import recording
from ...programs.fennec import Fennec
from ...programs.reverse import Reverse
from ..trace import traces_of
from .bridged import PROGRAM, Bridged
from .bridged_rows import BridgedRows, rows_of_bridged
from .judgment import ReadCounts, SetJudgment

ASKED = (1.0, 5.0)  # the scale of Fennec's judgments
TOLERANCE = 1.0  # points of 1..5 by which a forward score of one response may differ from the published one


class Bridging(StagedModule):
    """The reverse program and the stages that judge forward, which are bound, prepared and identified together.

    Args:
        tolerance: see `TOLERANCE`.
    """

    name = "bridging"
    kind = "program"

    def __init__(self, reverse: Reverse | None = None, forward: Fennec | None = None, *, tolerance: float = TOLERANCE):
        super().__init__()
        forward = forward or Fennec()
        self.reverse, self.tolerance = reverse or Reverse(), tolerance
        self.judge_pair, self.judge_single = forward.judge_pair, forward.judge_single

    def forward(self, judgment: SetJudgment) -> Bridged:
        """The judgment with criterion and guideline, and whether the forward judgment confirms it.

        Raises:
            ExecutionError, ModelError: see `Stage.forward`.
        """
        known = (judgment.criterion, judgment.guideline)
        criterion, guideline = self.reverse(judgment.request, judgment.responses, judgment.judgment, *known)
        filled = judgment.model_copy(update={"criterion": criterion, "guideline": guideline})
        case = judgment.case
        shown = present(case)
        inputs = {"request": shown.request, "criterion": criterion, "guideline": guideline}
        with recording() as calls:
            if case.is_pair:
                pair = {"response_a": shown.responses[0], "response_b": shown.responses[1]}
                answer: Answer = self.judge_pair(readout="generate", **inputs, **pair)
                scores = [answer.reading(name).score for name in ("score_a", "score_b")]
            else:
                answer = self.judge_single(readout="generate", **inputs, response=shown.responses[0])
                scores = [answer.reading("score").score]
        traces = traces_of(PROGRAM, case, Verdict(case_id=case.id), calls)
        agrees = _agrees(judgment, scores, self.tolerance)
        return Bridged(id=judgment.id, digest=case.digest, judgment=filled, traces=traces, agrees=agrees)


def bridge(
    judgments: Iterable[SetJudgment],
    reverse: Reverse,
    forward: Fennec,
    *,
    workers: int = 1,
    counts: Mapping[str, ReadCounts] | None = None,
    tolerance: float = TOLERANCE,
    stop: threading.Event | None = None,
) -> BridgedRows:
    """The rows of the judgments that the forward judgment confirms.

    Args:
        reverse: finds what is missing.
        forward: judges again.
        workers: judgments bridged at once.
        counts: what was read of each set, for the statistics.
        tolerance: see `TOLERANCE`.
        stop: once set, no further judgment is bridged.

    Raises:
        Infrastructure: judgment after judgment failed at the server.
        DeclarationError, BudgetSpent: a model cannot be used, or the budget is used up.
    """
    program = Bridging(reverse, forward, tolerance=tolerance)
    done = bridged_judgments(judgments, program, workers=workers, stop=stop or threading.Event())
    return rows_of_bridged(done, counts)


def bridged_judgments(
    judgments: Iterable[SetJudgment], program: Bridging, *, workers: int, stop: threading.Event
) -> Iterator[Bridged]:
    """The judgments, bridged in parallel, in order of completion; those that no model could answer say why.

    Raises:
        Infrastructure, DeclarationError, BudgetSpent: see `bridge`.
    """
    by_id: dict[str, SetJudgment] = {}

    def cases() -> Iterator[Case]:
        for judgment in judgments:
            by_id[judgment.id] = judgment
            yield judgment.case

    def bridged_case(case: Case) -> Bridged:
        judgment = by_id[case.id]
        try:
            result: Bridged = program(judgment)
        except (BudgetSpent, DeclarationError):
            raise
        except Exception as error:
            failure: ExecutionError = as_failure(error, "bridging")
            said = {"failure": failure.reason, "detail": str(failure)}
            return Bridged(id=judgment.id, digest=case.digest, judgment=judgment, **said)
        return result

    for case, bridged in stream(bridged_case, cases(), workers=workers, stop=stop, failed=_server_failure):
        del by_id[case.id]
        yield bridged


def _server_failure(bridged: Bridged) -> Failure | None:
    return Failure(bridged.detail or "the server failed") if bridged.failure == "infrastructure" else None


def _agrees(judgment: SetJudgment, scores: Sequence[float], tolerance: float) -> bool:
    """Whether the forward scores come to the published result: the same winner, or nearly the same score."""
    if len(scores) == 2:
        label = judgment.case.label
        winner = "tie" if scores[0] == scores[1] else "a" if scores[0] > scores[1] else "b"
        return label is not None and label.winner == winner
    assert judgment.scores is not None
    return abs(rescaled(judgment.scores[0], judgment.scale, ASKED) - scores[0]) <= tolerance
