"""Public sets, a file for each family, which registers its sets; and the rows of the packaged sets."""
