"""Instructions written from a summary of the data, and demos, by Bayesian search (DSPy's MIPROv2, arXiv 2406.11695).

The select cases are passed explicitly, because MIPROv2 would split the train cases silently. It does not see our source
code, which is plumbing and longer than a small model's context.
"""

from typing import Any

from ..optimizer import PromptOptimizer, PromptTask, register

MINIBATCH = 35  # the optimizer's own default
WHOLE = 50  # select cases up to which each trial judges all of them


def _run(task: PromptTask) -> Any:
    import dspy

    options, cases = task.options, len(task.select)
    optimizer = dspy.MIPROv2(
        metric=task.metric,
        prompt_model=task.prompt_lm,
        task_model=dspy.settings.lm or task.prompt_lm,  # stages that are bound to a model do not look at it
        auto=None,
        num_candidates=options.candidates,
        max_bootstrapped_demos=options.demos,
        max_labeled_demos=0,
        num_threads=options.workers,
        seed=options.seed,
        track_stats=False,
    )
    return optimizer.compile(
        task.program,
        trainset=task.train,
        valset=task.select,
        num_trials=options.trials,
        minibatch=cases > WHOLE,
        minibatch_size=min(MINIBATCH, cases),
        program_aware_proposer=False,
    )


register(PromptOptimizer("miprov2", "instructions from a summary of the data, and demos, by Bayesian search", _run))
