"""A package that adds a judge, a metric, an objective, a prompt optimizer and an engine to dicast, one file each."""
