"""Labels that a judge was compiled on, among the verdicts of its run: left out of every figure, or said.

A judge file holds digests of the texts of the cases that it was compiled on, and the manifest of its run repeats them.
On such labels it agrees more with people than on new ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ..data import Judged
from ..data.counting import cases_text
from ..optimizers.fingerprints import text_digests


@dataclass(frozen=True)
class LearntLabels:
    """The labelled cases of a run that its judge was compiled on.

    Args:
        digests: of all cases that the judge was compiled on.
        seen: how many of them are among the labelled cases.
        labelled: labelled cases of the run.
    """

    digests: frozenset[str]
    seen: int
    labelled: int

    @classmethod
    def of(cls, verdicts: Iterable[Judged], fingerprints: object) -> "LearntLabels":
        """Those of these verdicts, by the fingerprints of a judge file; anything but a text has none."""
        digests = text_digests(fingerprints)
        labelled = [judged.text_digest in digests for judged in verdicts if _is_labelled(judged)] if digests else []
        return cls(digests, sum(labelled), len(labelled))

    @property
    def are_left_out(self) -> bool:
        return 0 < self.seen < self.labelled

    def counts(self, judged: Judged) -> bool:
        """Whether a verdict counts in figures."""
        return not (self.are_left_out and judged.text_digest in self.digests and _is_labelled(judged))

    @property
    def notice(self) -> str:
        """What a reader must know of the figures; empty where the judge has seen no label of the run."""
        if not self.seen:
            return ""
        if self.are_left_out:
            return (
                f"{self.seen:,} of {self.labelled:,} labelled cases are left out: the judge was compiled on them, and "
                "agrees more with people there than on new cases"
            )
        return (
            f"the judge was compiled on all {cases_text(self.labelled)} with labels, so every figure of agreement "
            "flatters it: measure it on new labels; what it reaches on new cases is in dicast show of its file"
        )


def _is_labelled(judged: Judged) -> bool:
    return judged.label is not None or bool(judged.votes)
