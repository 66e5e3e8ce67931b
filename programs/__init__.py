"""Judges: DSPy modules that chain signatures into a verdict, one file a system."""

from .judge import Judge
from .panel import Panel
from .registry import PROGRAMS, Program, build, build_panel

__all__ = ["PROGRAMS", "Judge", "Panel", "Program", "build", "build_panel"]
