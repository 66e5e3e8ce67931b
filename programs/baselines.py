"""Baselines that cost nothing; a judge that does not beat them has shown nothing."""

from collections import Counter
from collections.abc import Iterable

from ..data import Case, Finding, Verdict, Winner
from ..data.case import Letter
from ..errors import DeclarationError
from .judge import Judge


class Longer(Judge):
    """The longer candidate, in characters, wins; equal lengths tie. No LM is called."""

    name = "longer"

    def assess(self, case: Case) -> Verdict:
        lengths = tuple(float(len(candidate.text)) for candidate in case.candidates)
        finding = Finding(criterion="length in characters", scores=lengths)
        top = [index for index, length in enumerate(lengths) if length == max(lengths)]
        winner: Letter | int | None = None
        if len(lengths) == 2:
            winner = "tie" if len(top) == 2 else ("a", "b")[top[0]]
        elif len(lengths) > 2:
            winner = top[0] if len(top) == 1 else "tie"
        consistent = True if case.is_pair else None
        return Verdict(case_id=case.id, winner=winner, scores=lengths, findings=(finding,), consistent=consistent)


class Majority(Judge):
    """The most frequent label of the cases it was shown, for every case. No LM is called.

    Args:
        cases: labelled cases; ties between labels go to the label that comes first in the alphabet.
    """

    name = "majority"

    def __init__(self, cases: Iterable[Case] = ()) -> None:
        super().__init__()
        counts = Counter(str(case.label.value) for case in cases if isinstance(case.label, Winner))
        self.shares = {label: n / counts.total() for label, n in sorted(counts.items())} if counts else {}

    def assess(self, case: Case) -> Verdict:
        if not self.shares:
            raise DeclarationError("judge 'majority': no labelled case was given, so there is no majority.")
        label = max(self.shares, key=lambda name: self.shares[name])
        winner = Winner.model_validate({"value": int(label) if label.isdigit() else label}).value
        return Verdict(case_id=case.id, winner=winner, distribution=self.shares, certainty=self.shares[label])
