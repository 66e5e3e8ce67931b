"""How many cases have a human label: said aloud where some have none, as a measure counts only those that have one."""

from collections.abc import Iterable, Iterator

from ..data import Case


class LabelCount:
    """Counts cases as they pass.

    Attributes:
        rows: the cases so far.
        unlabelled: those of them without a label and without an annotator's.
    """

    def __init__(self) -> None:
        self.rows = self.unlabelled = 0

    def counted(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The same cases."""
        for case in cases:
            self.rows += 1
            self.unlabelled += case.label is None and not case.votes
            yield case

    def notice(self) -> str:
        """The sentence to say; "" where all cases have a label, or none has."""
        if not 0 < self.unlabelled < self.rows:
            return ""
        verb = "has" if self.unlabelled == 1 else "have"
        return f"{self.unlabelled:,} of {self.rows:,} rows {verb} no label."
