"""Public human-labelled data sets by name: what they are, where they come from, and their cases."""

from .catalog import get, locate, read
from .public_set import DATA_SETS, PublicSet, SourceFile, register
from .rows import json_list, jsonl, pairwise_row, pointwise_row

__all__ = [
    "DATA_SETS",
    "PublicSet",
    "SourceFile",
    "get",
    "json_list",
    "jsonl",
    "locate",
    "pairwise_row",
    "pointwise_row",
    "read",
    "register",
]
