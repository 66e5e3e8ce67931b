"""Preparations: cases rewritten before they are judged, or built out of a whole set."""

from .base import Preparation, rewritten, texts_of
from .registry import PREPARATIONS, build_preparation, register
from .set_preparation import BuiltCases, SetPreparation

__all__ = [
    "PREPARATIONS",
    "BuiltCases",
    "Preparation",
    "SetPreparation",
    "build_preparation",
    "register",
    "rewritten",
    "texts_of",
]
