"""Published tables recomputed from the recorded judgments of other judges: no model, no texts."""

from .comparison import PublishedValue, Recomputed, TableRow
from .published import TABLES, PublishedTable
from .recorded import folder

__all__ = ["TABLES", "PublishedTable", "PublishedValue", "Recomputed", "TableRow", "folder"]
