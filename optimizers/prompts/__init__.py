"""Prompt optimisation: instructions and demos by DSPy's optimizers, behind one interface."""
