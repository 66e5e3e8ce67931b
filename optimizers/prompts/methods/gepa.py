"""Instructions rewritten by reflection on wrong judgments (DSPy's GEPA, arXiv 2507.19457).

The select cases are passed explicitly, because GEPA would reuse the train cases silently.
"""

from typing import Any

from ..optimizer import PromptOptimizer, PromptTask, adapter_for, register

REFLECTED = 3  # cases per reflection; GEPA's own default
GUIDANCE = (
    "Write the whole instruction for the judge. Say what people value in such cases, in general words; never name or "
    "quote single cases. Keep what the old instruction says of texts between <<< and >>>."
)


def _run(task: PromptTask) -> Any:
    import dspy
    from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer

    options, batch = task.options, min(REFLECTED, len(task.train))
    optimizer = dspy.GEPA(
        metric=task.metric,
        max_metric_calls=len(task.select) + options.trials * (2 * batch + len(task.select)),
        reflection_minibatch_size=batch,
        reflection_lm=task.prompt_lm,
        instruction_proposer=InstructionProposer(adapter=adapter_for(task.prompt_lm), additional_instructions=GUIDANCE),
        num_threads=options.workers,
        seed=options.seed,
        gepa_kwargs={"stop_callbacks": lambda state: state.i + 1 >= options.trials},
    )
    return optimizer.compile(task.program, trainset=task.train, valset=task.select)


register(PromptOptimizer("gepa", "instructions rewritten by reflection on wrong judgments", _run))
