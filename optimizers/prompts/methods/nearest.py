"""Demos by nearness: each case is shown the labelled cases that are nearest to it, never those of its group.

Every train case is judged once, a pair in both orders, and what the stages were asked becomes the pool, with people's
label as the answer (see `labelled_demos`). Several numbers of demos are tried; no LM writes anything. The idea is
DSPy's KNNFewShot, which neither saves its pool nor leaves out a group.
"""

import copy
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....data import Case
from ....engines.parallel import concurrently
from ....errors import DeclarationError
from ....judging.block_base import Vectors
from ....judging.demo_pool import DemoPool, placed
from ....judging.judge import Judge
from ..labelled_demos import labelled_demos
from ..limits import Stopped
from ..optimizer import PromptOptimizer, PromptOptions, PromptTask, register
from ..prompt_state import owner_of, stages_of

if TYPE_CHECKING:
    from ....evidence.source import EvidenceSource

TOKENS = 1500  # of the demos in one prompt, about
LEAST = 4  # labelled cases of a pool

StageDemo = tuple[str, Case, dict[str, Any], Vectors]


def _run(task: PromptTask) -> Any:
    try:
        pools = _pools(task)
    except Exception as error:  # DSPy is not between: budget, Ctrl-C and a failed server end the search as elsewhere
        raise Stopped(error) from error
    program = task.program
    for most in numbers(task.options.demos, task.options.trials):
        program = copy.deepcopy(task.program)
        for path, predictor in program.named_predictors():
            if path in pools:
                predictor.pool = pools[path].model_copy(update={"most": most})
        try:
            program.judge_all([example.case for example in task.select], workers=task.options.workers)
        except Exception as error:
            raise Stopped(error) from error
    return program


def numbers(most: int, trials: int) -> list[int]:
    """How many demos are tried: the most, half of it, and so on down to 1.

    Example:
        >>> numbers(4, 10), numbers(4, 2)
        ([4, 2, 1], [4, 2])
    """
    halves = [most]
    while halves[-1] > 1:
        halves.append(halves[-1] // 2)
    return halves[: max(1, trials)]


def _pools(task: PromptTask) -> dict[str, DemoPool]:
    """The pool of each stage that has demos of `LEAST` cases or more."""
    by_stage: dict[str, list[StageDemo]] = defaultdict(list)
    for demos in concurrently(lambda example: _demos(task, example.case), task.train):
        for demo in demos:
            by_stage[demo[0]].append(demo)
    pools = {path: _pool(task.program.judge, path, rows) for path, rows in by_stage.items()}
    if not any(pools.values()):
        raise DeclarationError(
            f"prompts: fewer than {LEAST} of {len(task.train)} train cases make a demo. Label more cases."
        )
    return {path: pool for path, pool in pools.items() if pool is not None}


def _demos(task: PromptTask, case: Case) -> list[StageDemo]:
    """The demos of a case, as it is and with its candidates exchanged, where it is a pair."""
    demos: list[StageDemo] = []
    tuned = {path for path, _ in task.program.named_predictors()}
    for shown in (case, case.swapped()) if case.is_pair else (case,):
        verdict, calls = task.program.calls(shown)
        for path, _, demo in labelled_demos(task.program.judge, shown, verdict, calls):
            if path in tuned:
                source = source_of(owner_of(task.program.judge, path))
                demos.append((path, shown, demo, placed(shown, demo, source.read(shown))))
    return demos


def _pool(judge: Judge, path: str, rows: Sequence[StageDemo]) -> DemoPool | None:
    """The pool of the rows that show as many texts as most of them."""
    places = Counter(len(vectors) for *_, vectors in rows).most_common(1)[0][0]
    chosen = [(case, demo, vectors) for _, case, demo, vectors in rows if len(vectors) == places]
    if len({case.id for case, *_ in chosen}) < LEAST:
        return None
    source = source_of(owner_of(judge, path))
    return DemoPool.of(source.spec, source.name, chosen, most=1, tokens=TOKENS)


def source_of(judge: Judge) -> "EvidenceSource":
    """The judge's evidence that nearness is measured by: the first with several numbers a text.

    Raises:
        DeclarationError: the judge has none.
    """
    for source in judge.sources():
        if source.width > 1:
            return source
    raise DeclarationError(
        f"prompts: nearest measures nearness by hidden states, which judge {judge.name!r} does not read. Give --set "
        "evidence=state, or evidence=state=local/MODEL where the judge's model gives none."
    )


def _check(judge: Judge, options: PromptOptions) -> None:
    for path in stages_of(judge):
        source_of(owner_of(judge, path))


register(
    PromptOptimizer(
        "nearest",
        "the labelled cases that are nearest to each case, as demos",
        _run,
        needs_writer=False,
        needs_demos=True,
        check=_check,
    )
)
