"""Preparations: cases rewritten before they are judged."""

from .base import Preparation, rewritten, texts_of
from .registry import PREPARATIONS, build_preparation, register

__all__ = ["PREPARATIONS", "Preparation", "build_preparation", "register", "rewritten", "texts_of"]
