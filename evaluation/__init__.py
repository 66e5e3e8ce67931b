"""How well verdicts agree with people; numbers only, no LM."""

from .signature import signature
from .tally import Proportion, Tally

__all__ = ["Proportion", "Tally", "signature"]
