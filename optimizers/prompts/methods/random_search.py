"""Several sets of bootstrapped demos compared (DSPy's BootstrapFewShotWithRandomSearch)."""

from typing import Any

from ..optimizer import PromptOptimizer, PromptTask, register


def _run(task: PromptTask) -> Any:
    import dspy

    optimizer = dspy.BootstrapFewShotWithRandomSearch(
        metric=task.metric,
        max_bootstrapped_demos=task.options.demos,
        max_labeled_demos=0,
        num_candidate_programs=task.options.trials - 1,
        num_threads=task.options.workers,
        stop_at_score=100.0,
    )
    shuffled = range(-1, task.options.trials - 1)  # -3 and -2 would be the judge without demos, twice
    return optimizer.compile(task.program, trainset=task.train, valset=task.select, restrict=shuffled)


register(
    PromptOptimizer(
        "random-search", "several sets of bootstrapped demos compared", _run, needs_writer=False, needs_demos=True
    )
)
