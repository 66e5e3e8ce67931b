"""The version of dicast, in a module of its own so that any room may read it."""

__version__ = "0.1.0"
