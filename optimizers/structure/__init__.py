"""Structure search: which branches, readouts, orders and models, at what cost."""
