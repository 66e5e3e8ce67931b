"""How many cases name a reviewer without a history: said before a judge that reads histories is paid for them."""

from collections.abc import Iterable, Iterator

from ..data import Case, Reviewer
from ..judging import Judge
from .progress import Progress


class HistoryCount:
    """Counts cases as they pass; a judge that reads no history counts none.

    Attributes:
        rows: the cases so far.
        without: those of them whose reviewer has neither reviews nor choices.
    """

    def __init__(self, judge: Judge, progress: Progress) -> None:
        self.rows = self.without = 0
        self.judge, self.progress = judge, progress

    def counted(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The same cases; the first without a history is said at once."""
        if not any(member.reads_history for _, member in self.judge.named_sub_modules(Judge)):
            yield from cases
            return
        for case in cases:
            self.rows += 1
            if isinstance(case.profile, Reviewer) and not (case.profile.reviews or case.profile.comparisons):
                self.without += 1
                if self.without == 1:
                    self.progress.notice(
                        f"case {case.id!r} names reviewer {case.profile.id!r} without any earlier review: "
                        f"{self.judge.name} judges it without a history. Rows of one review each become cases with a "
                        "history by: dicast prepare --with histories"
                    )
            yield case

    def notice(self) -> str:
        """The sentence to say at the end; empty where every case has a history."""
        if not self.without:
            return ""
        return f"{self.without:,} of {self.rows:,} cases were judged without a history of their reviewer."
