"""Distilling a judge into a small local model: traces, training sets, training, acceptance.

Read it in this order: `trace`, `traces`, `rejection`, `row`, `soft_targets`, `training_set`.
"""
