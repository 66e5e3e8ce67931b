"""How well verdicts agree with people; numbers only, no LM."""

from ..stats.proportions import Mean, Proportion, correlations
from .correction_metrics import Corrections
from .factor_metrics import Factors
from .ranking_metrics import Choices
from .run_signature import signature_line
from .running_counts import Tally
from .system_ranking import Systems

__all__ = [
    "Choices",
    "Corrections",
    "Factors",
    "Mean",
    "Proportion",
    "Systems",
    "Tally",
    "correlations",
    "signature_line",
]
