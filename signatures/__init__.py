"""The typed contract of every LM call, one file a paper; a signature's docstring is the instruction."""
