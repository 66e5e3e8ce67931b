"""How well verdicts agree with people; numbers only, no LM."""

from .choice import Choices
from .corrections import Corrections
from .factors import Factors
from .measures import Mean, Proportion, correlations
from .signature import signature
from .systems import Systems
from .tally import Tally

__all__ = [
    "Choices",
    "Corrections",
    "Factors",
    "Mean",
    "Proportion",
    "Systems",
    "Tally",
    "correlations",
    "signature",
]
