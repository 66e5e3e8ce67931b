"""A prompt optimizer: tries the instructions with one more sentence."""

import dspy

from dicast.optimizers import PromptOptimizer


def search(task):
    program = task.program.deepcopy()
    for predictor in program.predictors():
        signature = predictor.signature
        predictor.signature = signature.with_instructions(f"{signature.instructions}\n\nA polite reply says thank you.")
    evaluate = dspy.Evaluate(devset=task.select, metric=task.metric, num_threads=task.options.workers)
    return max([task.program, program], key=lambda tried: evaluate(tried).score)


optimizer = PromptOptimizer("one-sentence", "one sentence about politeness added", search, needs_writer=False)
