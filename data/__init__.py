"""Cases and verdicts, and how they are read, split and found."""

from .case import (
    Candidate,
    Case,
    Category,
    Comparison,
    EarlierConversation,
    Persona,
    Preference,
    Review,
    Reviewer,
    Scores,
    Turn,
    Winner,
)
from .readers import read_cases
from .rejects import Rejects
from .split import split
from .verdict import Correction, Finding, Judged, Usage, Verdict

__all__ = [
    "Candidate",
    "Case",
    "Category",
    "Comparison",
    "Correction",
    "EarlierConversation",
    "Finding",
    "Judged",
    "Persona",
    "Preference",
    "Rejects",
    "Review",
    "Reviewer",
    "Scores",
    "Turn",
    "Usage",
    "Verdict",
    "Winner",
    "read_cases",
    "split",
]
