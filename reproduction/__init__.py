"""Published tables, recomputed from recorded judgments by other judges: no LM, no text."""

from .recorded import folder
from .table import Figure, Printed, Row
from .tables import TABLES, Table, find

__all__ = ["TABLES", "Figure", "Printed", "Row", "Table", "find", "folder"]
