"""A real but weak model in tests: it rambles until its answer is cut, so short answers show as much as long ones."""

TOKENS = 48


def shorten(program):
    """The judge or preparation, its generated answers cut after 48 tokens and asked for at most twice."""
    for stage in program.stages():
        stage.max_tokens, stage.attempts = min(stage.max_tokens, TOKENS), min(stage.attempts, 2)
    return program
