"""The head: offline from recorded evidence to calibrated probabilities or scores."""
