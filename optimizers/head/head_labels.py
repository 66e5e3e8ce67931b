"""What a head was fitted to: labels or votes, and whether a search saw the cases before.

A head that is fitted to the cases on which its judge's prompts were chosen is up to .013 too certain in simulated
worlds (benchmarks/head_after_search.py). Half of the labels held back from the search cost as much as they give, so the
head takes all labels and says so.
"""

from pydantic import Field

from ...data.case import Record
from ...data.counting import cases_text


class HeadLabels(Record):
    """The labels that a head was fitted to."""

    n: int = Field(description="labelled cases")
    soft: int = Field(default=0, description="cases whose target is the proportions of their votes, which disagree")
    against: int = Field(default=0, description="cases whose label contradicts their votes; the label is the target")
    searched: int = Field(default=0, description="cases on which a prompt search chose the judge's prompts before")

    @property
    def sentence(self) -> str:
        """As in "180 of 300 cases with soft labels, 1 label against the votes"; empty for labels that nothing saw."""
        soft = f"{self.soft:,} of {cases_text(self.n)} with soft labels" if self.soft or self.against else ""
        against = f"{self.against:,} label{'' if self.against == 1 else 's'} against the votes" if self.against else ""
        searched = (
            f"the prompts were chosen on {'all' if self.searched == self.n else f'{self.searched:,}'} of these "
            "cases, so its certainty may be about .01 too high"
            if self.searched
            else ""
        )
        return "; ".join(filter(None, [", ".join(filter(None, [soft, against])), searched]))
