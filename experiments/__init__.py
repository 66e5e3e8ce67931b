"""Experiments as files: what is run, what is measured, what the paper prints, and what differs from it."""

from .files import Experiment, find_experiment, read_experiment, shipped_experiments

__all__ = ["Experiment", "find_experiment", "read_experiment", "shipped_experiments"]
