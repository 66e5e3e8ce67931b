"""Preparations: cases rewritten before they are judged."""
