"""Thresholds of certainty with a finite-sample guarantee."""
