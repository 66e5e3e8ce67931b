"""What became of the judgments of each set, as a table (the shape of Fennec's Table 6, arXiv 2405.12163)."""

from collections.abc import Sequence

from pydantic import Field

from ...data.case import Record

HEADS = (
    "set", "rows", "judgments", "bridged", "failed", "disagreed", "confirmed", "criteria", "guidelines", "pairwise",
    "single", "words of a criterion", "of a guideline", "of a judgment",
)  # fmt: skip


class SetStatistics(Record):
    """The counts of one set."""

    source: str = Field(description="the set")
    rows: int = Field(default=0, description="published rows that were read")
    left_out: dict[str, int] = Field(default_factory=dict, description="rows that could not be used, by the reason")
    judgments: int = Field(default=0, description="judgments in the rows")
    failed: dict[str, int] = Field(default_factory=dict, description="judgments that no model could answer, by reason")
    disagreed: int = Field(default=0, description="judgments that the forward judgment contradicts")
    confirmed: int = Field(default=0, description="judgments that rows were written of")
    criteria: int = Field(default=0, description="rows that teach criteria")
    guidelines: int = Field(default=0, description="rows that teach a guideline")
    pairwise: int = Field(default=0, description="rows that teach a judgment of two responses, both orders")
    single: int = Field(default=0, description="rows that teach a judgment of one response")
    criterion_words: float = Field(default=0.0, description="mean words of a kept criterion")
    guideline_words: float = Field(default=0.0, description="mean words of a kept guideline")
    judgment_words: float = Field(default=0.0, description="mean words of a kept judgment, as it was published")

    @property
    def bridged(self) -> int:
        """How many judgments were bridged so far, whatever became of them."""
        return sum(self.failed.values()) + self.disagreed + self.confirmed

    @property
    def outcomes(self) -> dict[str, int]:
        """What became of the rows and judgments, in words, for a data card."""
        counts = {
            **{f"rows, {reason}": n for reason, n in self.left_out.items()},
            **{f"judgments, failed ({reason})": n for reason, n in self.failed.items()},
            "judgments that the forward judgment contradicts": self.disagreed,
            "judgments that it confirms": self.confirmed,
        }
        return {f"{self.source}: {outcome}": n for outcome, n in counts.items() if n}

    @property
    def cells(self) -> tuple[str, ...]:
        """The counts as a row of the table."""
        failed = sum(self.failed.values())
        counts = (self.rows, self.judgments, self.bridged, failed, self.disagreed, self.confirmed)
        tasks = (self.criteria, self.guidelines, self.pairwise, self.single)
        words = (self.criterion_words, self.guideline_words, self.judgment_words)
        return (self.source, *(f"{n:,}" for n in (*counts, *tasks)), *(f"{mean:.1f}" for mean in words))


def markdown(statistics: Sequence[SetStatistics]) -> str:
    """The table, and below it why rows were left out or failed."""
    lines = [HEADS, ("---",) * len(HEADS), *(counted.cells for counted in statistics)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = [
        f"{counted.source}: {count:,} {reason}."
        for counted in statistics
        for reason, count in [
            *counted.left_out.items(),
            *((f"failed ({name})", n) for name, n in counted.failed.items()),
        ]
    ]
    return "\n\n".join([table, *notes]) + "\n"
