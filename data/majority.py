"""The label that several people's votes make: the mean of scores, the most frequent of any other."""

from collections import Counter
from collections.abc import Sequence

from .case import Label, Scores


def majority(votes: Sequence[Label]) -> Label | None:
    """What most voted for, without a certainty; None where two labels are equally frequent, and without votes.

    Example:
        >>> from .case import Winner
        >>> votes = [Winner(value=letter) for letter in ("a", "b", "a")]
        >>> majority(votes).value, majority(votes[:2])
        ('a', None)
    """
    scores = [vote for vote in votes if isinstance(vote, Scores)]
    if scores:
        means = tuple(sum(column) / len(scores) for column in zip(*(vote.values for vote in scores), strict=True))
        return scores[0].model_copy(update={"values": means})
    counts = Counter(vote.answer for vote in votes).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return None
    label = next(vote for vote in votes if vote.answer == counts[0][0])
    return label.model_copy(update={"certainty": None})
