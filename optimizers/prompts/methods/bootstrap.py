"""Demos from the judge's own correct judgments (DSPy's BootstrapFewShot)."""

from typing import Any

from ..optimizer import PromptOptimizer, PromptTask, register


def _run(task: PromptTask) -> Any:
    import dspy

    optimizer = dspy.BootstrapFewShot(
        metric=task.metric, max_bootstrapped_demos=task.options.demos, max_labeled_demos=0
    )
    return optimizer.compile(task.program, trainset=task.train)


register(
    PromptOptimizer(
        "bootstrap", "demos from the judge's own correct judgments", _run, needs_writer=False, needs_demos=True
    )
)
