"""Public human-labelled data sets by name."""
