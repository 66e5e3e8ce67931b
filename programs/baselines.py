"""Baselines that cost nothing; a judge that does not beat them has shown nothing."""

import math
import random
from collections import Counter
from collections.abc import Iterable
from typing import Self

from ..data import Case, Finding, Reviewer, Scores, Verdict, Winner
from ..data.profiles import by_aspect, history
from ..errors import DeclarationError, MissingField
from ..judging.aggregate import best
from ..judging.hparam import HParam
from ..judging.judge import FittedJudge, Judge, verdict_of
from ..judging.registry import register

ALL = "all"


@register("longer", summary="baseline: the longer text wins", source="-", inputs="anything", calls="0")
class Longer(Judge):
    """The longer candidate, in characters, wins; equal lengths tie. No LM is called."""

    name = "longer"

    def assess(self, case: Case) -> Verdict:
        if case.categories:
            raise DeclarationError(f"judge 'longer': case {case.id!r} has categories, and a length names none of them.")
        lengths = tuple(float(len(candidate.text)) for candidate in case.candidates)
        finding = Finding(criterion="length in characters", scores=lengths)
        winner = None if len(lengths) == 1 else best(lengths)
        return Verdict(case_id=case.id, winner=winner, scores=lengths, findings=(finding,))


@register(
    "majority",
    summary="baseline: the most frequent label of the cases",
    source="-",
    inputs="anything with labels",
    calls="0",
)
class Majority(FittedJudge):
    """The most frequent label of the cases it was fitted to, for every case; of equally frequent ones the first in the
    alphabet. No LM is called.
    """

    name = "majority"
    symmetric = False

    def __init__(self) -> None:
        super().__init__()
        self.shares: dict[str, float] = {}

    def fit(self, cases: Iterable[Case]) -> Self:
        labels = [case.label for case in cases if not isinstance(case.label, Scores | None)]
        counts = Counter(label.answer for label in labels)
        self.shares = {label: n / counts.total() for label, n in sorted(counts.items())} if counts else {}
        return self

    def assess(self, case: Case) -> Verdict:
        if not self.shares:
            raise DeclarationError("judge 'majority': no labelled case was given, so there is no majority.")
        label = max(self.shares, key=lambda name: self.shares[name])
        if case.categories:
            return Verdict(case_id=case.id, category=label, distribution=self.shares, certainty=self.shares[label])
        winner = Winner.model_validate({"value": int(label) if label.isdigit() else label}).value
        return Verdict(case_id=case.id, winner=winner, distribution=self.shares, certainty=self.shares[label])


@register(
    "reviewer-average",
    summary="baseline: the mean of the reviewer's history, or the usual choice",
    source="PerSE, arXiv 2310.03304",
    inputs="anything; a reviewer's history",
    calls="0",
)
class ReviewerAverage(Judge):
    """The mean score of the reviewer's history, for every text; of a pair, the choice that the reviewer made most often
    (with one earlier choice: that choice again). The baseline of PerSE (arXiv 2310.03304). No LM is called.

    Args:
        k: how many reviews, or choices about the case's aspect, are known: "all", or those that `perse` and
            `perse-pairwise` show for the same k and seed; with 0 a score of the scale, or a or b, is drawn.
        seed: draws them.
    """

    name = "reviewer-average"
    scores_only = True
    symmetric = False

    def __init__(self, *, k: int | str = ALL, seed: int = 0) -> None:
        super().__init__()
        self.k = HParam(k, (ALL, *range(21)), search=())
        self.seed = HParam(seed)

    def lacks(self, case: Case) -> str:
        if isinstance(case.profile, Reviewer):
            return ""
        return f"judge 'reviewer-average': case {case.id!r} has no reviewer. Give rows with `reviewer` and `reviews`."

    def assess(self, case: Case) -> Verdict:
        assert isinstance(case.profile, Reviewer)
        texts = [candidate.text for candidate in case.candidates]
        known = by_aspect(case.profile, case.aspect)
        k = max(len(known.reviews), len(known.comparisons)) if self.k.value == ALL else int(self.k.value)
        if not k and self.k.value != ALL:
            return self._drawn(case, case.profile)
        known = history(known, k=k, seed=self.seed.value, unseen=texts)
        if case.is_pair and known.comparisons:
            choices = Counter(comparison.label for comparison in known.comparisons)
            top = [label for label, n in choices.items() if n == max(choices.values())]
            winner = top[0] if len(top) == 1 else "tie"
            return Verdict(case_id=case.id, winner=winner, certainty=choices[winner] / choices.total())
        scores = [review.score for review in known.reviews]
        if not scores:
            raise MissingField(
                f"judge 'reviewer-average': case {case.id!r} has a reviewer without a history. "
                "Give rows with `reviews`."
            )
        finding = Finding(
            criterion="mean of the history", scores=(math.fsum(scores) / len(scores),) * len(case.candidates)
        )
        return verdict_of(case, [finding])

    def _drawn(self, case: Case, reviewer: Reviewer) -> Verdict:
        """What is said without any history: for each text a score of the scale, of a pair a choice, by seed."""
        if case.is_pair and not reviewer.reviews:
            first, second = sorted(candidate.text for candidate in case.candidates)
            drawn = random.Random(f"{self.seed.value}/{reviewer.id}/{first}/{second}").choice((first, second))
            winner = "a" if drawn == case.candidates[0].text else "b"
            return Verdict(case_id=case.id, winner=winner)
        lo, hi = reviewer.scale
        scores = tuple(
            lo + random.Random(f"{self.seed.value}/{reviewer.id}/{candidate.text}").randrange(math.floor(hi - lo) + 1)
            for candidate in case.candidates
        )
        return verdict_of(case, [Finding(criterion="drawn without a history", scores=scores)])


@register(
    "third-person",
    summary="human annotators: the majority of those who judged for the person",
    source="arXiv 2406.11657",
    inputs="anything with votes",
    calls="0",
)
class ThirdPerson(Judge):
    """What people say who judge for somebody else: the majority of the case's votes; equal counts are a tie.

    The certainty is the mean of what the majority's annotators stated, or else the majority's share (arXiv 2406.11657,
    section 5). No LM is called.
    """

    name = "third-person"

    def lacks(self, case: Case) -> str:
        if any(isinstance(vote, Winner) for vote in case.votes):
            return ""
        return f"judge 'third-person': case {case.id!r} has no votes. Give rows with `votes`."

    def assess(self, case: Case) -> Verdict:
        votes = [vote for vote in case.votes if isinstance(vote, Winner)]
        counts = Counter(vote.value for vote in votes)
        top = [value for value, n in counts.items() if n == max(counts.values())]
        winner = top[0] if len(top) == 1 else "tie"
        stated = [vote.certainty for vote in votes if vote.value == winner and vote.certainty is not None]
        shares = {str(value): n / len(votes) for value, n in counts.items()}
        certainty = math.fsum(stated) / len(stated) if stated else counts[winner] / len(votes)
        return Verdict(case_id=case.id, winner=winner, distribution=shares, certainty=certainty)
