"""Judges: DSPy modules that chain signatures into a verdict, one file a system."""

from .building import build, build_panel
from .cascade import Cascade
from .judge import Judge
from .panel import Panel
from .program import Program
from .registry import PROGRAMS
from .signature_judge import SignatureJudge

__all__ = ["PROGRAMS", "Cascade", "Judge", "Panel", "Program", "SignatureJudge", "build", "build_panel"]
