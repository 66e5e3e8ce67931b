"""Rules and demos from cases on which the judge's answers vary between samples (DSPy's SIMBA).

Answers that are read from probabilities do not vary: of such a judge SIMBA learns demos only.
"""

from typing import Any

from ..optimizer import PromptOptimizer, PromptTask, register

BATCH = 32  # the optimizer's own default


def _run(task: PromptTask) -> Any:
    import dspy

    options = task.options
    optimizer = dspy.SIMBA(
        metric=task.metric,
        bsize=min(BATCH, len(task.train)),  # SIMBA asserts that there are enough
        num_candidates=options.candidates,
        max_steps=max(1, round(options.trials / (options.candidates + 1))),
        max_demos=options.demos,
        prompt_model=task.prompt_lm,
        num_threads=options.workers,
    )
    return optimizer.compile(task.program, trainset=task.train, seed=options.seed)


register(PromptOptimizer("simba", "rules and demos from cases on which the judge's answers vary", _run))
