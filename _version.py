"""The version of dicast. A separate module, so that any room may import it."""

__version__ = "0.1.0"
