"""What the verbs of the command line do, as functions."""
