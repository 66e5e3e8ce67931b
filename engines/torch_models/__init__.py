"""Models that torch runs in this process: weights, prompts, forward passes, batches, written answers."""
