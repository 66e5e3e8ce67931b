"""Guesses, with their evidence, of what the columns of somebody's file are and what its labels say."""

from .columns import MOST_ROWS, Column, read_columns
from .guess import Guess, OpenQuestion, PossibleReading, guess

__all__ = ["MOST_ROWS", "Column", "Guess", "OpenQuestion", "PossibleReading", "guess", "read_columns"]
