"""Judges: DSPy modules that chain signatures into a verdict, one file a system."""

from .judge import Judge
from .registry import PROGRAMS, Program, build

__all__ = ["PROGRAMS", "Judge", "Program", "build"]
