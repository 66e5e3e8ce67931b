"""What the head of a compiled judge was fitted to at the end, and which estimate speaks for it."""

from pydantic import Field

from ..data.case import Record

FINAL = "head-final"  # the beginning of the name of its file


class FinalHead(Record):
    """The head that is delivered."""

    n: int = Field(description="labelled cases that it was fitted to")
    of_all: bool = Field(description="whether these are all labelled cases of the compilation")
    sentence: str = Field(description="this, and which estimate speaks for it")

    @classmethod
    def of(cls, n: int, labels: int, *, cross_fitted: bool, tested: int = 0, reason: str = "") -> "FinalHead":
        """The record.

        Args:
            n: labelled cases that the head was fitted to.
            labels: labelled cases in all.
            cross_fitted: whether the estimate is of verdicts out of fold.
            tested: labelled cases that the head of the test was fitted to.
            reason: why it was not fitted to all labels.
        """
        if reason:
            sentence = f"the head stays as it was tested, fitted to {n:,} of {labels:,} labels: {reason}"
        elif cross_fitted:
            sentence = (
                f"the head is fitted to all {n:,} labels; the figures are of the same labels out of fold, by heads "
                "that were fitted and chosen without the case and its group"
            )
        else:
            sentence = (
                f"the head is fitted to all {n:,} labels, those of the test part too; the figures are of the test part "
                f"with a head of {tested:,} labels, so that more labels may make the delivered one better, and cases "
                "of this compilation cannot test it again"
            )
        return cls(n=n, of_all=not reason, sentence=sentence)
