"""Instructions and demos by DSPy's optimizers, behind one interface and our guards."""
