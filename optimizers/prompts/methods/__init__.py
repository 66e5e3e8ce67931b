"""The built-in prompt optimizers: DSPy's, each called in the one way that its traps allow (DSPy 3.4.1).

Labelled demos are switched off everywhere: DSPy would put whole cases where a stage's inputs and outputs belong.
"""
