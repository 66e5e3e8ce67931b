"""A section of the pages of compilations, distillations and experiments."""

from dataclasses import dataclass, field

from .plots.chart import Chart
from .text_tables import TextTable


@dataclass
class Section:
    """One question of the page with its answer."""

    key: str
    question: str
    short: str
    charts: list[tuple[str, Chart]] = field(default_factory=list)
    grids: list[TextTable] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
