"""What a verdict of a judge on this machine takes, measured: a few cases judged again, one after another.

In a run many cases are judged at once, and answers may come from the store, so that its times say little of one
verdict. Here nothing stored is used and nothing is stored; processor time is that of this process, which runs the
models. It does not depend on what else the machine does, as seconds of waiting do.
"""

import threading
import time
from collections.abc import Sequence

from pydantic import Field

from ..data import Case
from ..data.case import Record
from ..engines.answer_store import asking_anew
from ..engines.ledger import Ledger, charge_to
from ..engines.model_string import IN_PROCESS, ModelString
from ..judging import Judge
from ..optimizers.evidence import Interrupted

CASES = 8  # measured after a first one, which loads the models
SECONDS = 60.0  # after which no further case begins


class MeasuredCost(Record):
    """Means over verdicts that were measured one at a time."""

    cases: int = Field(description="how many were measured")
    seconds: float = Field(description="of waiting for a verdict, on this machine as busy as it was")
    cpu: float = Field(description="seconds of processor time of a verdict, over all cores")


def measure_cost(judge: Judge, cases: Sequence[Case], *, stop: threading.Event | None = None) -> MeasuredCost | None:
    """The cost of a verdict; None of a judge that asks a server, or none, and without cases.

    Args:
        cases: of which the first `CASES` + 1 are judged.

    Raises:
        Interrupted: `stop` was set.
    """
    models = [*(stage.model for stage in judge.stages()), *(source.item.model for source in judge.sources())]
    if not cases or not models or not all(_is_here(model) for model in models):
        return None
    began, count, seconds, cpu = time.monotonic(), 0, 0.0, 0.0
    with asking_anew(), charge_to(Ledger()):
        for number, case in enumerate(cases[: CASES + 1]):
            if stop is not None and stop.is_set():
                raise Interrupted
            if number > 1 and time.monotonic() - began > SECONDS:
                break
            wall, used = time.perf_counter(), time.process_time()
            judge(case)
            if number or len(cases) == 1:
                count += 1
                seconds, cpu = seconds + time.perf_counter() - wall, cpu + time.process_time() - used
    return MeasuredCost(cases=count, seconds=seconds / count, cpu=cpu / count)


def _is_here(model: str) -> bool:
    return bool(model) and ModelString.parse(model).provider in IN_PROCESS
