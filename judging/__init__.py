"""The framework for judges: what the programs of dicast and the judges of other packages are built from."""

from .building import build, build_panel
from .cascade import Cascade
from .judge import FittedJudge, Judge
from .panel import Panel
from .registry import PROGRAMS, Program, new_judge, register
from .signature_judge import SignatureJudge

__all__ = [
    "PROGRAMS",
    "Cascade",
    "FittedJudge",
    "Judge",
    "Panel",
    "Program",
    "SignatureJudge",
    "build",
    "build_panel",
    "new_judge",
    "register",
]
